#include "algorithms/nodes/piggybacked_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/memory_charge.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "mpi/big_count.hpp"
#include "mpi/simulated_time.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

std::byte* at(const blocks& side, int peer) noexcept { return static_cast<std::byte*>(side.base) + side.offset(peer); }

}  // namespace

bool piggybacked_exchange::possible(const exchange& x, const internode& step, const memory_budget& budget) noexcept {
  if (x.in_place && !x.symmetric && !(x.send.element.contiguous() && x.recv.element.contiguous())) return false;
  const std::size_t left = budget.limit() - std::min(budget.limit(), budget.used());
  if (!x.in_place && step.share() > left) return false;
  internode::amount mine;
  for (const int rank : step.order()) {
    const auto bytes = as_size(x.send.bytes(rank));
    mine.longest = std::max(mine.longest, bytes);
    mine.sent += bytes;
    mine.received += as_size(x.recv.bytes(rank));
  }
  if (mine.longest <= step.most_bytes() && step.share_with(mine) > left) return false;
  return short_enough(mine.longest, mine.sent / step.order().size(), x.kind, x.in_place, step.most_bytes());
}

std::size_t piggybacked_exchange::footprint(const shape& s) noexcept {
  std::size_t direct = 0;
  if (!s.carries_all()) {
    const auto most = static_cast<std::uint64_t>(s.ranks - 1);
    direct = std::min(most, s.max_rank_bytes / s.piggybacked_block) +
             std::min(most, s.max_received_bytes / s.piggybacked_block);
  }
  return sizeof(piggybacked_exchange) +
         internode::footprint(
             s.ranks, s.nodes, s.largest_node, s.smallest_node,
             {std::min<std::size_t>(s.max_block_bytes, s.piggybacked_block), s.max_rank_bytes, s.max_received_bytes}) +
         mpi::request_set::bytes(direct) + direct * (sizeof(int) + sizeof(mpi::datatype));
}

piggybacked_exchange::piggybacked_exchange(const exchange& x, mpi::communicator& comm, int tag, memory_budget& budget)
    : x_(x),
      comm_(comm),
      step_(*internode::find(comm)),
      tag_(tag),
      budget_(budget),
      direct_(count_long(x.send) + count_long(x.recv), &budget),
      peers_(direct_.size(), -1, &budget),
      types_(&budget) {
  types_.reserve(direct_.size());
  direct_.describe_by(this);
  direct_.keep_truncations();
}

bool piggybacked_exchange::is_long(count_t bytes) const noexcept {
  return bytes > static_cast<count_t>(step_.most_bytes());
}

// This rank's own block does not travel in the step.
std::size_t piggybacked_exchange::count_long(const blocks& side) const noexcept {
  if (x_.in_place) return 0;
  return as_size(std::ranges::count_if(step_.order(),
                                       [&](int rank) { return rank != step_.rank() && is_long(side.bytes(rank)); }));
}

void piggybacked_exchange::write() {
  for (const int rank : step_.order()) {
    const element& e = x_.send.element_of(rank);
    const bool own = rank == step_.rank();
    const auto n = own ? 0 : as_size(x_.send.bytes(rank));
    if (!own && is_long(x_.send.bytes(rank))) {
      step_.no_payload();
      continue;
    }
    std::byte* const to = step_.payload(n);
    if (n == 0) continue;
    const std::byte* const from = static_cast<const std::byte*>(x_.send.base) + x_.send.offset(rank);
    if (e.contiguous())
      copy_bytes(to, from, n);
    else
      pack(from, x_.send.counts[rank], e, to);
    copied_ += static_cast<count_t>(n);
  }
  mpi::spend_on_copies(as_size(copied_));
}

void piggybacked_exchange::start() {
  const memory_charge step(budget_, step_.used());
  const int own = step_.rank();
  deliver_own(own);
  // As many as this rank expects, where the counts match.
  const auto arriving = std::ranges::count_if(step_.order(), [&](int rank) { return step_.elsewhere(rank); });
  const std::size_t most = as_size(arriving) + count_long(x_.send);
  if (most > direct_.size()) {
    direct_.resize(most);
    peers_.resize(most, -1);
  }
  for (const int rank : step_.order())
    if (step_.elsewhere(rank)) receive(rank);
  for (const int rank : step_.order())
    if (rank != own && !x_.in_place && is_long(x_.send.bytes(rank))) send(rank);
  const count_t written = copied_;
  for (const int rank : step_.order())
    if (rank != own) deliver(rank);
  mpi::spend_on_copies(as_size(copied_ - written));
}

mpi::counted piggybacked_exchange::message(const blocks& side, int peer) {
  auto c = mpi::make_counted(side.counts[peer], side.element_of(peer).type);
  if (c.owner.get() != MPI_DATATYPE_NULL) types_.push_back(std::move(c.owner));
  return c;
}

void piggybacked_exchange::receive(int from) {
  const std::size_t n = posted_++;
  const auto c = message(x_.recv, from);
  peers_[n] = from;
  direct_.receive(n, at(x_.recv, from), c.count, c.type, from, tag_, comm_.get());
}

void piggybacked_exchange::send(int to) {
  const std::size_t n = posted_++;
  const auto c = message(x_.send, to);
  peers_[n] = to;
  direct_.send(n, at(x_.send, to), c.count, c.type, to, tag_, comm_.get());
  sent_ += static_cast<std::uint64_t>(x_.send.bytes(to));
  ++messages_;
}

count_t piggybacked_exchange::capacity(std::size_t number) const noexcept { return x_.recv.bytes(peers_[number]); }

bool piggybacked_exchange::test() {
  if (!direct_.complete_all(false, [this](std::size_t number) { return capacity(number); })) return false;
  end();
  return true;
}

void piggybacked_exchange::wait() {
  direct_.complete_all(true, [this](std::size_t number) { return capacity(number); });
  end();
}

void piggybacked_exchange::end() {
  if (const auto long_one = direct_.take_truncation()) mpi::refuse_truncation(*long_one, step_.rank());
  if (too_long_from_ < 0) return;
  const int rank = too_long_from_;
  const int own = step_.rank();
  const auto bytes = rank == own ? x_.send.bytes(own) : static_cast<count_t>(step_.block(rank).size());
  const auto wrong = mismatch(rank, bytes, own, x_.recv.bytes(rank));
  throw usage_error(wrong.what, wrong.mpi_class, own, rank);
}

// Before all others: in place it may lie where another block is received. With the same counts both ways it stays where
// it is; otherwise its data have no gaps (possible), so its bytes are moved.
void piggybacked_exchange::deliver_own(int own) {
  const auto n = as_size(x_.send.bytes(own));
  const std::byte* const sent = at(x_.send, own);
  std::byte* const received = at(x_.recv, own);
  if (x_.send.bytes(own) > x_.recv.bytes(own))
    too_long_from_ = own;
  else if (n > 0 && x_.in_place && !x_.symmetric)
    std::memmove(received, sent, n);
  else if (n > 0 && !x_.in_place)
    typed_copy(sent, x_.send.counts[own], x_.send.element_of(own), received, x_.recv.counts[own],
               x_.recv.element_of(own));
}

// A block that is too long is truncated to its receive block.
void piggybacked_exchange::deliver(int rank) {
  const auto block = step_.block(rank);
  const count_t most = x_.recv.bytes(rank);
  const count_t n = std::min(static_cast<count_t>(block.size()), most);
  if (static_cast<count_t>(block.size()) > most && too_long_from_ < 0) too_long_from_ = rank;
  if (n == 0) return;
  const element& e = x_.recv.element_of(rank);
  std::byte* const to = static_cast<std::byte*>(x_.recv.base) + x_.recv.offset(rank);
  copied_ += n;
  unpack_first(block.data(), n, to, x_.recv.counts[rank], e);
}

void piggybacked_exchange::account(statistics& s) const {
  s.rounds += 1;
  s.messages += step_.messages() + messages_;
  s.bytes_sent += step_.bytes_sent() + sent_;
  s.bytes_copied += static_cast<std::uint64_t>(copied_);
}

void piggybacked_exchange::describe(mpi::wait_record& to) const {
  to.what = "exchanging long blocks";
  to.comm = comm_.get();
  for (std::size_t n = 0; n < direct_.size(); ++n)
    if (direct_.active(n)) to.miss(peers_[n]);
}

}  // namespace taquin::detail
