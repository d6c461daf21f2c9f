// zero_copy_bruck_v: irregular exchange in log rounds without any local copy; the sizes of blocks travel before.
//
// Source:  Träff, Rougier, Hunold, §3.5, for any radix r.
// Rounds:  ⌈log_r p⌉ of up to r − 1 messages each way; as many before them, of sizes alone, in a blocking call and when
//          a plan is made.
// Bytes:   each block once for every digit of its distance that is not zero; its size, 8 bytes, as often.
// Memory:  two intermediate buffers of p − 1 buckets, each for the largest block of any rank; one datatype for each run
//          of buckets.
// Limits:  separate buffers. One large block makes all buckets large: bruck_v sends it directly instead.
// Wins:    nowhere that was measured (docs/internals/bruck.md): bruck_v, which packs, is faster for small blocks, and
//          direct messages for large ones.
//
// Element t of rank u is the block for u + t (mod p); its bucket is number t − 1. A run of elements whose digits from
// the round's on are equal has only its first from the send buffer. The others wait in consecutive buckets of one
// buffer: the number of their remaining digits is even or odd, which says which. Those without a further digit are
// received where the caller wants them.
#include "algorithms/bruck/zero_copy_bruck_v.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "algorithms/algorithm.hpp"
#include "algorithms/bruck/bruck.hpp"
#include "algorithms/bruck/log_rounds.hpp"
#include "algorithms/bruck/zero_copy_bruck.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "datatypes/bucket_type.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace bruck {

namespace {

std::size_t intermediate_bytes(const shape& s, const route& r) noexcept {
  return r.radix >= r.ranks ? 0 : 2 * as_size(r.ranks - 1) * as_size(s.max_block_bytes);  // with one round none waits
}

// The sizes of all elements, as they are before a round and after it, and the regions of a message.
struct round_sizes {
  round_sizes(std::size_t ranks, std::size_t longest, std::pmr::memory_resource* memory)
      : now(memory), next(memory), list(memory) {
    array_list::take(*this, ranks, longest);
  }
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, std::size_t longest) {
    each(&round_sizes::now, ranks);
    each(&round_sizes::next, ranks);
    each(&round_sizes::list, at_most{longest});
  }
  std::pmr::vector<count_t> now;
  std::pmr::vector<count_t> next;
  std::pmr::vector<region> list;
};

class zero_copy_builder {
 public:
  zero_copy_builder(schedule& s, const local_exchange& x, const shape& sh, const route& r,
                    std::pmr::vector<datatype>* types, std::pmr::memory_resource* memory)
      : s_(s),
        x_(x),
        route_(r),
        bucket_bytes_(static_cast<count_t>(sh.max_block_bytes)),
        types_(types),
        memory_(memory),
        sizes_(as_size(r.ranks), bruck::count(r.ranks, r.radix).message_elements, memory),
        byte_(s.add_type(element::bytes(1))) {
    for (int t = 0; t < r.ranks; ++t) sizes_.now[as_size(t)] = x.send[(x.rank + t) % r.ranks].bytes();
    sizes_.next = sizes_.now;
  }

  void add_round(count_t weight, const wide_size*& received) {
    const auto peer = [&](count_t distance) { return static_cast<int>((x_.rank + distance + x_.ranks) % x_.ranks); };
    for_each_digit(x_.ranks, route_.radix, weight, [&](count_t digit) {
      sizes_.list.clear();
      for_each_row(x_.ranks, route_.radix, weight, digit, [&](int first, int end) {
        for (int t = first; t < end; ++t) sizes_.next[as_size(t)] = *received++;
        receive_run(weight, first, end);
      });
      s_.recv(peer(-digit * weight), sizes_.list.data(), sizes_.list.size(), packing::structured);
    });
    for_each_digit(x_.ranks, route_.radix, weight, [&](count_t digit) {
      sizes_.list.clear();
      for_each_row(x_.ranks, route_.radix, weight, digit, [&](int first, int end) { send_run(weight, first, end); });
      s_.send(peer(digit * weight), sizes_.list.data(), sizes_.list.size(), packing::structured);
    });
    s_.end_round();
    sizes_.now = sizes_.next;
  }

 private:
  void receive_run(count_t weight, int first, int end) {
    const int further = higher_digits(route_.radix, weight, first);
    if (further > 0) return add_buckets(further, first, end, sizes_.next);
    for (int t = first; t < end; ++t) sizes_.list.push_back(s_.recv_block(x_, (x_.rank - t + x_.ranks) % x_.ranks));
  }

  // The others of the run have arrived in earlier rounds, when this round's digit was one of those that remained.
  void send_run(count_t weight, int first, int end) {
    sizes_.list.push_back(s_.send_block(x_, (x_.rank + first) % x_.ranks));
    add_buckets(higher_digits(route_.radix, weight, first) + 1, first + 1, end, sizes_.now);
  }

  void add_buckets(int digits, int first, int end, const std::pmr::vector<count_t>& sizes) {
    const std::span<const count_t> counts(sizes.data() + first, as_size(end - first));
    const count_t at = (digits % 2 * (route_.ranks - 1) + first - 1) * bucket_bytes_;
    if (types_ == nullptr) {
      for (std::size_t i = 0; i < counts.size(); ++i)
        sizes_.list.push_back({at + static_cast<count_t>(i) * bucket_bytes_, counts[i], 0, 1, byte_, place::scratch});
      return;
    }
    count_t bytes = 0;
    for (const count_t n : counts) bytes += n;
    if (bytes == 0) return;
    types_->push_back(make_bucket_type({bucket_bytes_, counts}, MPI_BYTE, memory_));
    const count_t extent = bucket_bytes_ * static_cast<count_t>(counts.size());
    sizes_.list.push_back({at, 1, 0, 1, s_.add_type({types_->back().get(), bytes, extent, 0, extent}), place::scratch});
  }

  schedule& s_;
  const local_exchange& x_;
  route route_;
  count_t bucket_bytes_;
  std::pmr::vector<datatype>* types_;
  std::pmr::memory_resource* memory_;
  round_sizes sizes_;
  std::uint32_t byte_;
};

}  // namespace

// Runs are the multiples of a weight whose digit is not zero. Those of the first period have no further digit, and in
// the first round no element has arrived before.
std::size_t bucket_runs(const route& r) noexcept {
  const auto multiples = [&](count_t n) { return as_size((r.ranks + n - 1) / n); };
  std::size_t runs = 0;
  for_each_weight(r.ranks, r.radix, [&](count_t weight) {
    const std::size_t all = multiples(weight) - multiples(weight * r.radix);
    runs += all - as_size(std::min<count_t>(r.radix - 1, (r.ranks - 1) / weight)) + (weight > 1 ? all : 0);
  });
  return runs;
}

schedule_size zero_copy_v_size(const shape& s, const route& r) noexcept {
  const figures f = count(r.ranks, r.radix);
  const std::size_t callers = s.kind == exchange::form::alltoallw ? 2 * as_size(r.ranks) : 2;
  return {.types = callers + 1 + bucket_runs(r),
          .regions = 2 * f.elements,
          .messages = 2 * f.messages,
          .copies = 1,
          .rounds = f.rounds + 1};
}

std::size_t zero_copy_v_memory(const shape& s, const route& r) noexcept {
  const figures f = count(r.ranks, r.radix);
  return executor::footprint(zero_copy_v_size(s, r), intermediate_bytes(s, r), 0, f.message_elements) +
         bucket_runs(r) * sizeof(datatype) + array_list::bytes<round_sizes>(as_size(r.ranks), f.message_elements) +
         bucket_type_bytes(f.message_elements);
}

schedule zero_copy_v_schedule(const local_exchange& x, const shape& sh, const route& r,
                              const std::pmr::vector<wide_size>& received, std::pmr::vector<datatype>* types,
                              std::pmr::memory_resource* memory) {
  schedule s(memory, zero_copy_v_size(sh, r));
  s.synchronizes = sh.min_block_bytes > 0;
  s.add_types(x);
  s.scratch_bytes = intermediate_bytes(sh, r);
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  zero_copy_builder builder(s, x, sh, r, types, memory);
  const wide_size* next = received.data();
  for_each_weight(r.ranks, r.radix, [&](count_t weight) { builder.add_round(weight, next); });
  s.end_round();
  return s;
}

}  // namespace bruck

namespace {

using namespace bruck;

// The executor of the schedule, with the datatypes of its buckets. A blocking call has exchanged its sizes before.
class zero_copy_v_operation final : public operation {
 public:
  zero_copy_v_operation(const exchange& x, const context& c, const route& r, const wide_history& sizes,
                        std::pmr::memory_resource* memory)
      : route_(r), blocking_(!c.reused), types_(memory) {
    types_.reserve(bucket_runs(r));
    executor_.emplace(zero_copy_v_schedule(bruck::local(x, *c.comm), *c.shape, r, sizes.received(), &types_, memory),
                      execution_of(x, c), memory);
  }

  void start() override { executor_->start(); }
  bool test() override { return executor_->test(); }
  void wait() override { executor_->wait(); }
  void account(statistics& s) const override {
    executor_->account(s);
    if (!blocking_) return;
    const figures f = bruck::count(route_.ranks, route_.radix);
    s.rounds += f.rounds;
    s.messages += f.messages;
    s.bytes_sent += f.elements * sizeof(wide_size);
  }

 private:
  route route_;
  bool blocking_;
  std::pmr::vector<datatype> types_;  // freed after the executor, whose datatypes contain them
  std::optional<executor> executor_;
};

operation_ptr prepare_zero_copy_bruck_v(const exchange& x, const context& c, memory_budget& budget) {
  const route r = zero_copy_v_route(*c.shape, *c.opts);
  wide_history sizes(bruck::local(x, *c.comm), r, &budget);
  run_log_rounds(*c.comm, c.tag, r, sizes.capacity(), sizes, &budget);
  const auto invalid = sizes.mismatch();
  if (c.reused) {
    agree_on_invalid_argument(*c.comm, invalid);
  } else if (invalid) {
    throw usage_error(invalid->what, invalid->mpi_class, c.comm->rank(), invalid->peer);
  }
  return make_operation<zero_copy_v_operation>(budget, x, c, r, sizes, &budget);
}

std::size_t memory_of_zero_copy_bruck_v(const shape& s, const options& o) noexcept {
  const route r = zero_copy_v_route(s, o);
  const std::size_t rounds = log_rounds_bytes(r, as_size(r.radix - 1) * r.capacity(false, sizeof(wide_size)));
  return wide_history::bytes(r) + std::max(rounds, sizeof(zero_copy_v_operation) + zero_copy_v_memory(s, r));
}

// `bytes` of each element travel in log rounds.
seconds log_rounds_cost(const terms& t, const route& r, double bytes) noexcept {
  const figures f = bruck::count(r.ranks, r.radix);
  if (f.rounds == 0) return 0;
  const auto rounds = static_cast<double>(f.rounds);
  const double messages = static_cast<double>(f.messages) / rounds;
  const double each = static_cast<double>(f.elements) / rounds * bytes;
  return t.rounds(rounds, messages, each, each / messages) +
         t.packs(2 * static_cast<double>(f.elements), 2 * rounds * each);
}

seconds cost_of_zero_copy_bruck_v(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  return log_rounds_cost(t, zero_copy_v_route(s, o), t.mean_block()) + t.copies(1, t.mean_block());
}

// Sizes, and a datatype for each run of buckets, whose parts are written one by one.
seconds zero_copy_bruck_v_preparation(const shape& s, const options& o, const machine_model& m, bool reused) noexcept {
  if (reused) return 0;
  const terms t(s, m);
  const route r = zero_copy_v_route(s, o);
  const auto elements = static_cast<double>(bruck::count(r.ranks, r.radix).elements);
  return log_rounds_cost(t, r, sizeof(wide_size)) + t.packs(2 * elements, 0) +
         t.copies(1, static_cast<double>(memory_of_zero_copy_bruck_v(s, o)));
}

}  // namespace

const algorithm zero_copy_bruck_v{
    .name = "zero_copy_bruck_v",
    .summary = "log rounds for blocks of different sizes, by bucket datatypes, without any local copy",
    .source = "Träff et al. §3.5",
    .rounds = "2⌈log_r p⌉",
    .serves_inside = true,
    .memory = memory_of_zero_copy_bruck_v,
    .cost = cost_of_zero_copy_bruck_v,
    .preparation = zero_copy_bruck_v_preparation,
    .prepare = prepare_zero_copy_bruck_v,
};

}  // namespace taquin::detail
