#include "plan/early_exchange.hpp"

#include <utility>

#include "algorithms/direct/spread_out.hpp"
#include "base/memory_budget.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

// Half of the messages of spread_out, and the copy of a rank's own block.
schedule_size size_of_half(const shape& s) noexcept {
  schedule_size size = direct_size(s);
  size.regions = size.messages = as_size(s.ranks);
  size.regions += 2;
  size.copies = 1;
  return size;
}

operation_ptr half(const exchange& x, const context& c, bool sends, memory_budget& budget) {
  const int p = c.comm->size();
  const int rank = c.comm->rank();
  const local_exchange local{rank, p, false, x.send, x.recv, nullptr};
  schedule s(&budget, size_of_half(*c.shape));
  s.add_types(local);
  if (!sends) s.add_copy(s.send_block(local, rank), s.recv_block(local, rank));
  for (int distance = 1; distance < p; ++distance) {
    const int to = (rank + distance) % p;
    const int from = (rank - distance + p) % p;
    if (sends && local.send[to].bytes() > 0) s.send(to, s.send_block(local, to));
    if (!sends && local.recv[from].bytes() > 0) s.recv(from, s.recv_block(local, from));
  }
  s.end_round(static_cast<std::uint32_t>(p));
  return make_operation<executor>(budget, std::move(s), execution_of(x, c), &budget);
}

}  // namespace

early_exchange::early_exchange(const exchange& x, const context& c, memory_budget& budget)
    : x_(x), rank_(c.comm->rank()), sends_(half(x, c, true, budget)), receives_(half(x, c, false, budget)) {}

std::size_t early_exchange::footprint(const shape& s) noexcept {
  return sizeof(early_exchange) + 2 * executor::footprint(size_of_half(s), 0);
}

void early_exchange::start() {
  receiving_ = true;
  receives_->start();
}

bool early_exchange::test() {
  const bool received = receives_->test();
  return sends_->test() && received;
}

void early_exchange::wait() {
  if (receiving_) receives_->wait();
  sends_->wait();
}

// One round: what is sent, and the copy of the other half.
void early_exchange::account(statistics& s) const {
  sends_->account(s);
  statistics received;
  receives_->account(received);
  s.bytes_copied += received.bytes_copied;
}

}  // namespace taquin::detail
