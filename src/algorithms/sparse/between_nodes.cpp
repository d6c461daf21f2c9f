#include "algorithms/sparse/between_nodes.hpp"

#include <limits>
#include <new>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/grants.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::size_t carried_notices::bytes_of(int block) const noexcept { return as_size(counts_[block] * mine_.element.size); }

// Data travel while there is place for them and for the notices of all that follow.
template <class Each>
std::size_t carried_notices::blocks_to(int rank, Each f) const {
  std::size_t notices = 0;
  for (int b = (*to_)[as_size(rank)]; b >= 0; b = (*next_)[as_size(b)]) notices += of_notice;
  std::size_t used = 0;
  for (int b = (*to_)[as_size(rank)]; b >= 0; b = (*next_)[as_size(b)]) {
    notices -= of_notice;
    const std::size_t with_data = sizeof(std::uint64_t) + bytes_of(b);
    const bool travels = data_ && bytes_of(b) <= step_.most_bytes() && used + with_data + notices <= step_.most_bytes();
    used += travels ? with_data : of_notice;
    f(b, travels);
  }
  return used;
}

bool carried_notices::prepare(const sparse_blocks& x, int ranks, bool at_once) {
  const auto budget_allows = [&] {
    try {
      to_.emplace(as_size(ranks), -1, memory_);
      next_.emplace(x.destinations.size(), -1, memory_);
      first_.emplace(x.destinations.size(), 0, memory_);
      return true;
    } catch (const budget_exceeded&) {
    } catch (const std::bad_alloc&) {
    }
    return false;
  };
  if (x.destinations.size() >= as_size(std::numeric_limits<std::int32_t>::max()) || !budget_allows()) return false;
  counts_ = x.counts;
  at_once_ = at_once;
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
    const std::size_t bytes = blocks_to(rank, [&](int b, bool travels) { left_ += travels ? 0 : counts_[b]; });
    if (bytes > step_.most_bytes()) return false;
  }
  return true;
}

void carried_notices::write(internode& step) {
  for (const int rank : step.order()) {
    std::byte* to = step.room(blocks_to(rank, [](int, bool) {}));
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
      if (n > 0 && mine_.element.contiguous()) std::memcpy(to, from, bytes_of(b));
      if (n > 0 && !mine_.element.contiguous()) pack(from, n, mine_.element, to);
      to += bytes_of(b);
    });
  }
}

void carried_notices::tell(proposal& p) const noexcept {
  p.max_rank_bytes = next_->size();
  p.max_received_bytes = static_cast<std::uint64_t>(left_);
  (at_once_ ? p.large : p.holes) = true;  // facts of exchanges that a sparse one does not need
}

// Per block its notice, source and size; then the least that moves data.
bool carried_notices::fit(const agreed& all, int ranks) noexcept {
  constexpr std::uint64_t each = sizeof(notice) + sizeof(int) + sizeof(count_t);
  const std::uint64_t rest = sparse_grants::footprint(1, 0);
  if (all.large && all.holes) return false;  // not all make the call in as many steps
  return all.memory == unlimited ||
         (all.memory > rest && all.max_rank_bytes <= (all.memory - rest) / each / as_size(ranks));
}

const sparse_algorithm between_nodes_way{
    .name = "carried_notices",
    .summary =
        "one message per pair of nodes agrees and has notices and small data; larger data when they are asked for",
    .source = "taquin",
    .rounds = "1, and 2 for large data",
    .find = nullptr,
    .needs = "ranks of several nodes that share memory, with few blocks from one rank to another"};

}  // namespace taquin::detail
