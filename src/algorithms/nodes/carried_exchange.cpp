#include "algorithms/nodes/carried_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory_charge.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "mpi/simulated_time.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

bool carried_exchange::possible(const exchange& x, const internode& step, const memory_budget& budget) noexcept {
  if (x.in_place && !x.symmetric && !(x.send.element.contiguous() && x.recv.element.contiguous())) return false;
  if (budget.limit() != unlimited && step.share() > budget.limit() - std::min(budget.limit(), budget.used()))
    return false;
  const auto most = static_cast<count_t>(step.most_bytes());
  if (x.kind == exchange::form::alltoall) return x.send.bytes(0) <= most;
  return std::ranges::all_of(step.order(), [&](int rank) { return x.send.bytes(rank) <= most; });
}

void carried_exchange::write(internode& step) {
  for (const int rank : step.order()) {
    const element& e = x_.send.element_of(rank);
    const bool own = rank == step.rank();
    const auto n = own ? 0 : static_cast<std::size_t>(x_.send.bytes(rank));
    std::byte* const to = step.room(n);
    if (n == 0) continue;
    const std::byte* const from = static_cast<const std::byte*>(x_.send.base) + x_.send.offset(rank);
    if (e.contiguous())
      std::memcpy(to, from, n);
    else
      pack(from, x_.send.counts[rank], e, to);
    copied_ += static_cast<count_t>(n);
  }
  mpi::spend_on_copies(static_cast<std::size_t>(copied_));
}

void carried_exchange::carry(int tag) {
  step_.begin(tag);
  write(step_);
  step_.publish({});
  step_.complete([](internode::record&, const internode::record&) {});
}

void carried_exchange::start() {
  const memory_charge step(budget_, step_.used());
  const int own = step_.rank();
  deliver_own(own);
  const count_t written = copied_;
  for (const int rank : step_.order())
    if (rank != own) deliver(rank);
  mpi::spend_on_copies(static_cast<std::size_t>(copied_ - written));
  if (too_long_from_ < 0) return;
  const int rank = too_long_from_;
  const auto bytes = rank == own ? x_.send.bytes(own) : static_cast<count_t>(step_.block(rank).size());
  throw usage_error(too_long(rank, bytes, own, x_.recv.bytes(rank)), MPI_ERR_TRUNCATE, own, rank);
}

// First of all: in place it may lie where others come to.
void carried_exchange::deliver_own(int own) {
  const auto n = static_cast<std::size_t>(x_.send.bytes(own));
  auto* const sent = static_cast<const std::byte*>(x_.send.base) + x_.send.offset(own);
  auto* const received = static_cast<std::byte*>(x_.recv.base) + x_.recv.offset(own);
  if (x_.send.bytes(own) > x_.recv.bytes(own))
    too_long_from_ = own;
  else if (n > 0 && x_.in_place)
    std::memmove(received, sent, n);
  else if (n > 0)
    typed_copy(sent, x_.send.counts[own], x_.send.element_of(own), received, x_.recv.counts[own],
               x_.recv.element_of(own));
}

// A block that is too long is cut to its receive block.
void carried_exchange::deliver(int rank) {
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

void carried_exchange::account(statistics& s) const {
  s.rounds += 1;
  s.messages += step_.messages();
  s.bytes_sent += step_.bytes_sent();
  s.bytes_copied += static_cast<std::uint64_t>(copied_);
}

}  // namespace taquin::detail
