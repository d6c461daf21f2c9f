// The state of a redistribution: the agreed sizes, the memory for any map, and the pending moves.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "call/failure_map.hpp"
#include "node/detect.hpp"
#include "node/internode.hpp"
#include "protocol/mpi_port.hpp"
#include "redistribute/access.hpp"
#include "redistribute/block_reader.hpp"
#include "redistribute/check_map.hpp"
#include "redistribute/choices.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/node_steps.hpp"
#include "redistribute/pushed.hpp"
#include "redistribute/redistribution_map.hpp"
#include "redistribute/repair.hpp"
#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {

using namespace detail;

struct redistribution::state final {
  /// A redistribution's arguments.
  struct arguments {
    void* data;
    count_t blocks;
    count_t length;
    MPI_Datatype type;
    MPI_Comm comm;
    const char* invalid_text;  // of the interface on top; null: none
  };

  state(const arguments&, const redistribute_options& o)
      : running(call_word, timeout_of(o), o.stats), budget(o.memory), options(o) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { running.forget(); }

  // redistribution_setup.cpp
  void begin(const arguments& x, const redistribute_options&, bool lacks_memory);
  element describe(const arguments& x, bool lacks_memory);
  redistribution_problem report_blocks(const arguments& x, const element& e, const agreed& all);
  void prepare(const arguments& x, const element& e, const agreed& all);

  // Forgets the last redistribution.
  void begin_next(std::string_view algorithm) {
    running.check_idle("the redistribution");
    running.algorithm = algorithm;
    forget_map();
    left.reset();
    ended = false;
  }

  void start(given_map given) {
    given.parts = parts;
    begin_next(chosen->name);
    in_error_forget(
        [&] { running.start([&]() -> operation& { return moving.emplace(*this, given); }, by_thread(options)); },
        &given);
  }

  // start(), if ranks may wait for each other: they find their targets by a sparse exchange.
  void find_targets_and_start(given_map given) {
    given.parts = parts;
    begin_next(chosen->name);
    in_error_forget(
        [&] {
          running.count();
          running.stage([&] { moving.emplace(*this, given).find_targets(); });
          const auto agreed_on = [&]() -> operation& {
            moving->agree_on_targets();
            return *moving;
          };
          running.start(agreed_on, by_thread(options));
        },
        &given);
  }

  // start() and wait(). If two steps of the node's memory suffice, it uses them.
  void run(const given_map& given) {
    if (channel* const node = running.node_if_there(); by_steps && node != nullptr && run_by_steps(*node, given))
      return;
    if (finds_targets && running.user_if_there() != MPI_COMM_NULL)
      find_targets_and_start(given);
    else
      start(given);
    wait();
    by_steps = false;  // memory, or permission to read, is missing: it would be missing again
  }

  bool run_by_steps(channel& node, const given_map& given) {
    begin_next(node_steps::name);
    in_error_forget(
        [&] {
          running.count();
          ended = running.stage([&] { return node_steps::run(steps, node, *units, budget, given, options.stats); });
        },
        &given);
    if (ended) running.account([](statistics&) {}, budget.peak());
    return ended;
  }

  bool test() {
    if (!moving) return true;
    bool over = false;
    in_error_forget([&] { over = running.test(); });
    if (over) end();
    return over;
  }
  void wait() {
    if (!moving) return;
    in_error_forget([&] { running.wait(); });
    end();
  }

  template <class Step>
  void in_error_forget(Step step, const given_map* given = nullptr) {
    try {
      step();
    } catch (...) {
      keep(given);
      moving.reset();
      throw;
    }
  }

  /// Keeps the map of whole blocks, for failure::blocks() and for repair(). `given`: the destinations of a start that
  /// has failed.
  void keep(const given_map* given) noexcept {
    if (!moving && given == nullptr) return;
    keep_map_of([&] {
      const int rank = running.comm()->rank();
      if (!moving && check_ranges(*given, *blocks, rank)) return failure::block_map{};
      left.emplace(moving ? moving->map() : map_of(*given, units->unit_bytes(), rank));
      return left->known ? *left : failure::block_map{};
    });
  }

  [[nodiscard]] std::size_t peak() const noexcept { return std::max(budget.peak(), targets_peak); }

  void end() {
    ended = true;
    running.account([&](statistics& s) { moving->account(s); }, peak());
    moving.reset();
  }

  /// Blocks on their way to their places.
  class transfer final : public operation {
   public:
    transfer(state& s, const given_map& given)
        : memory(&s.budget),
          all_(s),
          copied_(s.units->bytes_copied()),
          bad_(check_ranges(given, *s.blocks, s.running.comm()->rank())),
          map_(*s.units, memory),
          known_(memory),
          m_{.memory = memory,
             .rank = s.running.comm()->rank(),
             .ranks = s.running.comm()->size(),
             .map = &map_,
             .net = &*s.net,
             .sizes = s.sizes,
             .least_progress = s.options.least_progress,
             .known = &known_,
             .parts = static_cast<slot>(s.parts)},
          steps_(run_steps()) {
      s.net->begin_run();
      for (count_t k = 0; !bad_ && k < given.units(); ++k)
        if (const count_t r = given.rank(k); r >= 0)
          map_.set(static_cast<slot>(k), {static_cast<std::int32_t>(r), static_cast<slot>(given.index(k))});
    }

    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;
    ~transfer() override {
      all_.net->abandon();  // after an error messages may still arrive in memory that is freed now
      if (known_.is_read && !all_.ended) all_.budget.outlive();  // and ranks that do not know of it read
    }

    // Collective, blocking.
    void find_targets() {
      target_exchange exchange{all_.running, all_.options, all_.memory_for_targets};
      requested_ = exchange(m_, known_, !bad_, all_.budget);
      found_ = exchange.done;
      all_.targets_peak = std::max(all_.targets_peak, exchange.peak);
      if (requested_ == outcome::lacking) all_.finds_targets = false;  // it would be again
    }

    // Whether all ranks know theirs, and no two blocks go to one place. Otherwise they take the general path, which
    // finds the reason. Collective, blocking.
    void agree_on_targets() {
      if (requested_ == outcome::refused || requested_ == outcome::lacking) return;
      const bool good = requested_ == outcome::learnt && !(all_.options.check && known_.wanted_twice.has_value());
      channel* const node = all_.running.node_if_there();
      known_.learnt = reported_ =
          node != nullptr ? node_steps::agree(all_.steps, *node, good) : !all_.running.agree_again({.any = !good}, {});
    }

    void start() override { steps_.start(); }
    bool test() override { return all_.net->test(steps_); }
    void wait() override { all_.net->wait(steps_); }
    void account(statistics& s) const override {
      s.rounds += m_.rounds;
      s.messages += all_.net->messages() + found_.messages;
      s.bytes_sent += all_.net->bytes_sent() + all_.net->control_bytes() + found_.bytes_sent;
      s.bytes_copied += all_.units->bytes_copied() - copied_ + found_.bytes_copied;
    }

    [[nodiscard]] failure::block_map map() const { return map_of(map_, known_, m_.rank); }

    std::pmr::memory_resource* memory;  // of the tasks

   private:
    task run_steps() {
      if (all_.pushes) {
        bool done = false;
        co_await pushed_blocks::run(m_, known_, *all_.blocks, !bad_, done);
        if (done) {
          all_.running.algorithm = pushed_blocks::name;
          co_return;
        }
      }
      if (!reported_) {
        // A late rank may not have received blocks of the start before. If the exchange's messages beside them would be
        // too many, no rank sends these before all ranks are here.
        if (static_cast<slot>(m_.ranks) - 1 > m_.sizes.requests) co_await agree_on(m_, bad_);
        bool valid = !bad_;
        co_await learn_sources(m_, known_, &valid);
        if (!valid) co_await agree_on(m_, bad_);
        if (all_.options.check || known_.overfull) co_await check_injective(m_, known_);
      }
      co_await redistribute_blocks(m_, *all_.chosen);
    }

    state& all_;
    std::uint64_t copied_;  // before the call
    std::optional<invalid_argument> bad_;
    block_map map_;
    targets known_;
    using outcome = target_exchange::outcome;
    outcome requested_ = outcome::refused;
    bool reported_ = false;  // all ranks have their targets, and they are good
    statistics found_;       // of the sparse exchange
    machine m_;
    task steps_;
  };

  static failure::block_map repair(std::unique_ptr<state>& self, MPI_Comm survivors,
                                   const std::optional<given_map>& back, const char* invalid_text);

  static constexpr std::uint64_t call_word = mpi::progress_record::of(mpi::call_kind::redistribution);
  call running;          // first: the members that follow use its communicator
  mpi::plan_tags tags;   // pending between start() and wait()
  memory_budget budget;  // before the members that return their memory to it
  redistribute_options options;
  proposal proposed;
  std::shared_ptr<const node_view> nodes;  // where there are several that share memory
  count_t length = 0;                      // the caller's
  MPI_Datatype type = MPI_DATATYPE_NULL;
  count_t parts = 1;  // of each block, which are blocks of their own if the memory is too small for whole ones
  std::optional<std::pmr::vector<count_t>> blocks;
  node_steps::setting steps;
  bool by_steps = false;               // calls that wait use two steps: the same on all ranks
  bool pushes = false;                 // few blocks are sent without a request: the same on all ranks
  bool finds_targets = false;          // calls that wait find their targets by a sparse exchange: the same on all ranks
  std::size_t memory_for_targets = 0;  // that such an exchange may use: the same on all ranks
  std::size_t targets_peak = 0;        // the most during sparse exchanges
  std::optional<rank_group> readers;   // whose blocks this rank reads; null on all ranks if no rank reads
  const redistribution_algorithm* chosen = nullptr;
  buffer_sizes sizes;
  std::optional<store> units;
  std::optional<mpi_port> net;
  std::optional<transfer> moving;
  std::optional<failure::block_map> left;  // of the last one, if it was aborted
  bool ended = false;                      // the last one, well
};

}  // namespace taquin
