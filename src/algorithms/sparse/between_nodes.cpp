#include "algorithms/sparse/between_nodes.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/grants.hpp"
#include "base/checked.hpp"
#include "base/copy_bytes.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "mpi/big_count.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::size_t piggybacked_headers::bytes_of(int block) const noexcept {
  return as_size(counts_[block] * mine_.element.size);
}

// Data are sent in the step while there is space for them and for the notices of all that follow.
template <class Each>
std::size_t piggybacked_headers::blocks_to(int rank, Each f) const {
  std::size_t headers = 0;
  for (int b = (*to_)[as_size(rank)]; b >= 0; b = (*next_)[as_size(b)]) headers += header_bytes;
  std::size_t used = 0;
  for (int b = (*to_)[as_size(rank)]; b >= 0; b = (*next_)[as_size(b)]) {
    headers -= header_bytes;
    const std::size_t with_data = of_count + bytes_of(b);
    const bool travels = data_ && bytes_of(b) <= step_.most_bytes() && used + with_data + headers <= step_.most_bytes();
    used += travels ? with_data : header_bytes;
    f(b, travels);
  }
  return used;
}

template <class Each>
void piggybacked_headers::each_left(int own, int ranks, Each f) const {
  for (int rank = 0; rank < ranks && left_ > 0; ++rank)
    blocks_to(rank, [&](int b, bool travels) {
      if (!travels && counts_[b] > 0 && rank != own) f(rank, b);
    });
}

// No rank gets more than 2^56 bytes then, whatever the extent of its elements, or it brings nothing.
bool piggybacked_headers::sums_fit(int ranks) const noexcept {
  constexpr count_t most_gaps = 256;
  const count_t most_extent = most_gaps * std::max<count_t>(mine_.element.size, 1);
  return mine_.element.extent <= most_extent && (checked(mine_.to_send) * ranks * most_extent).fits();
}

bool piggybacked_headers::prepare(const sparse_blocks& x, int ranks, bool at_once) {
  const auto budget_allows = [&] {
    try {
      to_.emplace(as_size(ranks), -1, &memory_);
      next_.emplace(x.destinations.size(), -1, &memory_);
      first_.emplace(x.destinations.size(), 0, &memory_);
      return true;
    } catch (const budget_exceeded&) {
    } catch (const std::bad_alloc&) {
    }
    return false;
  };
  if (x.destinations.size() >= as_size(std::numeric_limits<std::int32_t>::max()) || !sums_fit(ranks)) return false;
  if (!budget_allows()) return false;
  counts_ = x.counts;
  data_ = at_once && mine_.element.size > 0;
  count_t first = mine_.to_send;
  for (std::size_t i = x.destinations.size(); i-- > 0;) {
    first -= x.counts[static_cast<int>(i)];
    (*first_)[i] = first;
    std::int32_t& head = (*to_)[as_size(x.destinations[i])];
    (*next_)[i] = head;
    head = static_cast<std::int32_t>(i);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t stay = 0;
    const std::size_t bytes = blocks_to(rank, [&](int b, bool travels) {
      left_ += travels ? 0 : counts_[b];
      stay += travels ? 0 : 1;
    });
    most_left_ = std::max(most_left_, stay);
    if (bytes > step_.most_bytes()) return false;
  }
  return true;
}

void piggybacked_headers::write() {
  for (std::size_t i = 0; i < to_->size(); ++i) {
    const int rank = step_.reader(static_cast<int>(i));
    std::byte* to = step_.payload(blocks_to(rank, [](int, bool) {}));
    const auto put = [&](std::uint64_t word) {
      std::memcpy(to, &word, sizeof word);
      to += sizeof word;
    };
    blocks_to(rank, [&](int b, bool travels) {
      const count_t n = counts_[b];
      const count_t first = (*first_)[as_size(b)];
      put(static_cast<std::uint64_t>(n) << 1U | (travels ? 1U : 0U));
      if (!travels) return put(static_cast<std::uint64_t>(first));
      const std::byte* const from = mine_.at + first * mine_.element.extent;
      if (n > 0 && mine_.element.contiguous()) copy_bytes(to, from, bytes_of(b));
      if (n > 0 && !mine_.element.contiguous()) pack(from, n, mine_.element, to);
      to += bytes_of(b);
    });
  }
}

void piggybacked_headers::report(proposal& p) const noexcept {
  p.max_rank_bytes = next_->size();
  p.max_received_bytes = static_cast<std::uint64_t>(left_);
  p.max_peers = most_left_;
  p.unit_span = memory_.used();
}

// The step; per block its header, source and size; then the least that moves data.
bool piggybacked_headers::fit(const agreed& all, int ranks) noexcept {
  if (all.large && all.gaps) return false;
  if (all.memory == unlimited) return true;
  const std::uint64_t rest = sparse_grants::footprint({}, 0) + all.unit_span;
  return all.memory > rest && all.max_rank_bytes <= (all.memory - rest) / each_arrived / as_size(ranks);
}

void piggybacked_headers::take_data(std::byte* into, int ranks) const {
  const element& e = mine_.element;
  each(step_, ranks, e, [&](const header& n, const std::byte* from) {
    if (from != nullptr && n.count > 0) {
      if (e.contiguous())
        copy_bytes(into, from, as_size(n.count * e.size));
      else
        unpack(from, into, n.count, e);
    }
    into += n.count * e.extent;  // cppcheck-suppress uselessAssignmentPtrArg
  });
}

// Receives first: most incoming data find their place then. Data without a place are received all the same, block by
// block, into memory that is freed again.
std::uint64_t piggybacked_headers::move_rest(mpi::communicator& comm, int tag, std::span<const header> blocks,
                                             std::byte* into, std::pmr::memory_resource* memory) const {
  const element& e = mine_.element;
  const auto arrives = [&](const header& n) { return !n.has_arrived() && n.count > 0 && n.from != comm.rank(); };
  const std::size_t arriving = as_size(std::ranges::count_if(blocks, arrives));
  std::size_t leaving = 0;
  each_left(comm.rank(), comm.size(), [&](int, int) { ++leaving; });
  raw_buffer unwanted(memory);
  mpi::request_set requests(arriving + leaving, memory);  // last: ended first
  std::size_t i = 0;
  std::byte* at = into;
  const auto receive = [&](const header& n, std::byte* to) {
    const auto what = mpi::make_counted(n.count, e.type);
    requests.receive(i++, to, what.count, what.type, n.from, tag, comm.get());
  };
  for (const header& n : blocks) {
    if (into == nullptr) break;
    if (arrives(n)) receive(n, at);
    if (!n.has_arrived() && n.from == comm.rank() && n.count > 0)
      typed_copy(mine_.at + n.first * e.extent, n.count, e, at, n.count, e);
    at += n.count * e.extent;
  }
  each_left(comm.rank(), comm.size(), [&](int rank, int b) {
    const auto what = mpi::make_counted(counts_[b], e.type);
    const std::byte* const from = mine_.at + (*first_)[as_size(b)] * e.extent;
    requests.send(arriving + --leaving, from, what.count, what.type, rank, tag, comm.get());
    ++i;
  });
  const auto capacity = [](std::size_t) { return most_bytes; };
  for (const header& n : blocks) {
    if (into != nullptr || !arrives(n)) continue;
    unwanted.reset(as_size(n.count * std::max(e.extent, e.true_extent)));
    i = 0;
    receive(n, unwanted.data() - e.true_lb);
    while (requests.active(0)) requests.wait_some([](std::size_t, const MPI_Status&) {}, capacity);
    unwanted.reset(0);
  }
  requests.complete_all(true, capacity);
  std::uint64_t sent = 0;
  each_left(comm.rank(), comm.size(), [&](int, int) { ++sent; });
  return sent;
}

const sparse_algorithm between_nodes_algorithm{
    .name = "piggybacked_headers",
    .summary = "messages of the agreement carry headers and small data; larger data follow, at last on request",
    .source = "taquin; Bruck et al.",
    .rounds = "1 or ⌈log_r p⌉, and 1 or 2 for large data",
    .find = nullptr,
    .memory = nullptr,
    .needs = "ranks of several nodes, with few blocks from one rank to another"};

}  // namespace taquin::detail
