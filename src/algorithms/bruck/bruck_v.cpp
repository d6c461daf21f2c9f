// bruck_v: irregular exchange in log rounds for small blocks, directly for the others.
//
// Source:  beyond Träff, Rougier, Hunold, §3.5: sizes travel with the data, no rank needs the largest block of others,
//          and each pair decides from its own size whether its block takes the log rounds.
// Rounds:  ⌈log_r p⌉, of up to r − 1 messages each way; one more with direct messages where blocks are large.
// Bytes:   each small block once for every digit of its distance that is not zero, and 2 bytes with it; in a plan that
//          is reused without these bytes, because sizes travel when it is made.
// Memory:  when blocking, for all that may pass through a rank: p⌈log_r p⌉ times the largest block that takes the log
//          rounds; in a reused plan for the data that do. Large blocks are not staged. memory() states the most, from p
//          and the largest block.
// Limits:  separate buffers.
// Wins:    small blocks, equal or not, among many ranks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>

#include "algorithms/algorithm.hpp"
#include "algorithms/bruck/bruck.hpp"
#include "algorithms/bruck/bruck_v_schedule.hpp"
#include "algorithms/bruck/bruck_v_state.hpp"
#include "algorithms/bruck/log_rounds.hpp"
#include "algorithms/direct/spread_out.hpp"
#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "schedule/executor.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using namespace bruck;

// A round of a blocking call costs more than the messages that it saves among so few ranks.
constexpr int direct_ranks = 4;

// Sizes are not known in advance: each block that may arrive has as much space as the largest of any rank.
route blocking_route(const shape& s, const options& o) noexcept {
  route r = reused_route(s.ranks, o);
  if (!o.bruck.radix && s.ranks <= direct_ranks) r.radix = std::max(s.ranks, 2);
  r.largest = std::min(r.threshold, static_cast<count_t>(s.max_block_bytes));
  return r;
}

// One blocking call.
class bruck_v_operation final : public operation {
 public:
  bruck_v_operation(const exchange& x, mpi::communicator& comm, int tag, const options& o, const route& r,
                    std::pmr::memory_resource* memory)
      : comm_(comm), tag_(tag), route_(r), memory_(memory), x_(local(x, comm)), state_(x_, r, memory) {
    if (!state_.any_direct()) return;
    const local_exchange& mine = x_;
    schedule s(memory, direct_size({.ranks = r.ranks, .kind = x.kind}));
    s.add_types(mine);
    add_direct_round(s, mine, o, r.threshold);
    direct_ = make_operation<executor>(*memory, std::move(s),
                                       execution{comm.get(), tag + 1, x.send.base, x.recv.base, false}, memory);
  }

  // The functions that run_log_rounds calls.
  [[nodiscard]] std::size_t outgoing() const noexcept { return as_size(route_.radix - 1) * route_.capacity(true); }
  std::byte* receive_slot() noexcept { return state_.receive_slot(); }
  std::size_t load(count_t weight, count_t digit, std::span<std::byte> to) {
    const std::size_t bytes = state_.load(weight, digit, to);
    ++messages_;
    bytes_ += bytes;
    return bytes;
  }
  void unload(count_t weight, count_t digit, std::span<const std::byte> from) { state_.unload(weight, digit, from); }

  void start() override {
    run_log_rounds(comm_, tag_, route_, route_.capacity(true), *this, memory_);
    if (const auto invalid = state_.mismatch())
      throw usage_error(invalid->what, invalid->mpi_class, x_.rank, invalid->peer);
    state_.deliver();
    if (direct_ != nullptr) direct_->start();
  }
  bool test() override { return direct_ == nullptr || direct_->test(); }
  void wait() override {
    if (direct_ != nullptr) direct_->wait();
  }

  void account(statistics& s) const override {
    s.rounds += bruck::count(route_.ranks, route_.radix).rounds;
    s.messages += messages_;
    s.bytes_sent += bytes_;
    s.bytes_copied += state_.bytes_copied();
    if (direct_ != nullptr) direct_->account(s);
  }

 private:
  mpi::communicator& comm_;
  int tag_;
  route route_;
  std::pmr::memory_resource* memory_;
  local_exchange x_;
  bruck_v_state state_;
  operation_ptr direct_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

std::size_t blocking_memory(const shape& s, const options& o) noexcept {
  const route r = blocking_route(s, o);
  const bool direct = s.max_block_bytes > static_cast<std::uint64_t>(r.threshold);
  return sizeof(bruck_v_operation) + bruck_v_state::bytes(r) + (direct ? executor::footprint(direct_size(s), 0) : 0) +
         log_rounds_bytes(r, as_size(r.radix - 1) * r.capacity(true));
}

operation_ptr prepare_bruck_v(const exchange& x, const context& c, memory_budget& budget) {
  const local_exchange mine = local(x, *c.comm);
  if (!c.reused) {
    const route r = blocking_route(*c.shape, *c.opts);
    return make_operation<bruck_v_operation>(budget, x, *c.comm, c.tag, *c.opts, r, &budget);
  }
  const route r = reused_route(mine.ranks, *c.opts);
  size_history sizes(mine, r, &budget);
  run_log_rounds(*c.comm, c.tag, r, r.capacity(false), sizes, &budget);
  agree_on_invalid_argument(*c.comm, sizes.mismatch());
  return make_operation<executor>(budget, bruck_v_schedule(mine, *c.shape, *c.opts, r, sizes.received(), &budget),
                                  execution_of(x, c), &budget);
}

std::size_t memory_of_bruck_v(const shape& s, const options& o) noexcept {
  const route r = reused_route(s.ranks, o);
  const std::size_t reused =
      bruck_v_schedule_memory(s, r) + log_rounds_bytes(r, as_size(r.radix - 1) * r.capacity(false));
  return std::max(blocking_memory(s, o), reused);
}

// The division into log rounds and direct messages. Uneven blocks above the threshold are assumed to be as large as the
// largest.
struct division {
  double small = 0;  // bytes of a block in the log rounds
  double direct = 0;
  double direct_bytes = 0;

  division(const shape& s, const terms& t, count_t limit) noexcept : small(t.mean_block()) {
    const auto threshold = static_cast<double>(limit);
    if (t.largest_block() <= threshold) return;
    direct = s.uniform ? t.ranks() - 1 : std::min(t.ranks() - 1, std::ceil(t.busiest() / t.largest_block()));
    direct_bytes = s.uniform ? t.busiest() : std::min(t.busiest(), direct * t.largest_block());
    small = std::min(threshold, (t.busiest() - direct_bytes) / t.ranks());
  }
};

seconds cost_of_bruck_v(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  const route r = reused_route(s.ranks, o);
  const figures f = bruck::count(r.ranks, r.radix);
  if (f.rounds == 0) return t.copies(1, t.mean_block());
  const division d(s, t, r.threshold);
  const auto elements = static_cast<double>(f.elements);
  const auto rounds = static_cast<double>(f.rounds);
  const double messages = static_cast<double>(f.messages) / rounds;
  const double bytes = elements * d.small / rounds;
  return t.rounds(rounds, messages, bytes, bytes / messages) + t.packs(2 * elements, 2 * elements * d.small) +
         t.round(d.direct, d.direct_bytes, t.largest_block()) + t.copies(1, t.mean_block());
}

}  // namespace

const algorithm bruck_v{
    .name = "bruck_v",
    .summary = "irregular blocks: small ones in log rounds, large ones directly",
    .source = "Träff et al. §3.5, and beyond",
    .rounds = "⌈log_r p⌉",
    .serves_inside = true,
    .memory = memory_of_bruck_v,
    .cost = cost_of_bruck_v,
    .prepare = prepare_bruck_v,
};

}  // namespace taquin::detail
