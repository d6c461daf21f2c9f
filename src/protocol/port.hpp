// The interface through which a protocol communicates: control messages, transfers of units, and a few collectives.
//
// A protocol is a task (task.hpp): it decides, the port communicates. There are ports over MPI messages (mpi_port.hpp)
// and to a simulated network of all ranks in one process (simulation/network.hpp). A port may also let a receiver fetch
// data by itself, if ranks share memory: a rank then offers data for a peer, the peer fetches parts of them instead of
// requesting them, and the port reports to the rank which parts are gone. Before a rank moves data that it offers it
// must revoke the offer, which fails while the peer fetches; from then on the peer sends requests.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "node/single_copy.hpp"
#include "protocol/store.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

using word = std::uint32_t;

/// Something that happened.
struct event {
  enum class kind : std::uint8_t {
    message,  ///< words arrived from `peer`; valid until the next event
    arrived,  ///< the transfer `id` into this rank is complete; `units` has the received units, at its first place
    sent,     ///< the transfer `id` is sent: `units` may be used again
    fetched,  ///< the peer has fetched these units of this rank's offer
    taken,    ///< the peer has received the words of post_known(), and all that it was sent before them
    quiet     ///< no event for a while
  };
  kind what = kind::message;
  int peer = -1;
  std::uint32_t id = 0;
  std::span<const word> words;
  unit_run units;
};

/// Sizes that a port is made for.
struct port_limits {
  count_t chunk = 0;               ///< most units in a transfer that is packed; 0: none is
  std::uint32_t send_buffers = 0;  ///< packed transfers that may be on their way from this rank
  std::uint32_t scattered = 1;     ///< most runs that a transfer is received into, or, unpacked, sent from
  std::uint32_t words = 16;        ///< most words in a message
  std::uint32_t messages = 1;      ///< messages that may be on their way from this rank
  std::uint32_t transfers = 2;     ///< other transfers that may be on their way, of both directions together
  std::uint32_t reserved = 1;      ///< those of them that are kept for receiving
  double idle_threshold = -1;      ///< seconds without news until next() gives `quiet`; negative: never
};

/// Units that two ranks swap: those that either has started to swap, and those that are done.
struct swap_counts {
  count_t started = 0;
  count_t done = 0;
};

class port {
 protected:
  /// The events that next() waits for.
  struct filter {
    bool messages = true;
    bool transfers = true;
    int from = -1;  ///< only messages of this rank
  };
  struct collective {
    std::span<const word> out{};
    std::size_t stride = 1;
    std::span<const std::uint32_t> out_at{};
    std::span<word> in{};
    std::span<const std::uint32_t> in_at{};
    std::uint32_t each = 0;
    std::span<std::uint64_t> values{};
    bool largest = false;
    int root = -1;
  };

 private:
  // The object that a task awaits: it suspends unless `ready`, and receives `result`.
  template <class Ready, class Result>
  struct awaiter {
    port& p;
    Ready ready;
    Result result;
    bool await_ready() { return ready(); }
    void await_suspend(std::coroutine_handle<> h) { p.waiting_ = h; }
    auto await_resume() { return result(); }
  };
  template <class Ready, class Result>
  auto until(Ready ready, Result result) {
    return awaiter<Ready, Result>{*this, ready, result};
  }
  template <class Ready>
  auto until(Ready ready) {
    return until(ready, [] {});
  }
  auto event_for(const filter& f) {
    return until([this, f] { return poll(f); }, [this] { return take(); });
  }
  auto run(const collective& c) {
    return until([this, c] { return begin(c); });
  }

 public:
  port() = default;
  port(const port&) = delete;
  port& operator=(const port&) = delete;
  virtual ~port() = default;

  /// Sends words; they are copied.
  virtual void post(int to, std::span<const word> words) = 0;
  /// The same; an event reports that the peer has received them. Fewer than port_limits::messages may await their
  /// event. For ports that let ranks read.
  virtual void post_known(int /*to*/, std::span<const word> /*words*/) {}
  /// Posts a receive of units into free places: one run, or at most `scattered` runs in the caller's array. A longer
  /// message than these places is an error; a shorter one is not. Transfers from one rank are matched in the order in
  /// which they were posted on either side.
  virtual void receive(int from, std::span<const unit_run> into, std::uint32_t id) = 0;
  void receive(int from, const unit_run& into, std::uint32_t id) { receive(from, std::span(&into, 1), id); }
  /// Posts all pending receives to the MPI library now, instead of when their messages are announced.
  virtual void post_now() {}
  /// Posts a send of units. The receiver must have posted its receive, or be certain to do so whatever this rank does.
  /// True when their places may be used again immediately; otherwise an event reports it later. If the port packs: more
  /// than one run, or all but the reserved pending transfers, have at most `chunk` units.
  virtual bool send(int to, std::span<const unit_run> from, std::uint32_t id) = 0;
  bool send(int to, const unit_run& from, std::uint32_t id) { return send(to, std::span(&from, 1), id); }
  /// Answers with an empty transfer, where the peer expects one.
  virtual void refuse(int to) = 0;

  /// Seconds since a fixed moment.
  [[nodiscard]] virtual double now() const { return 0; }

  /// This rank has moved units by itself: for ports that draw the moves.
  virtual void moved(const unit_run& /*from*/, count_t /*to*/) {}

  /// True if a receiver may fetch data itself.
  [[nodiscard]] bool fetches() const noexcept { return fetches_; }
  /// `peer` may fetch this rank's data for it: consecutive units. In their place `back` units of the peer's belong,
  /// from the first on. Before open().
  virtual void offer(int /*peer*/, const unit_run& /*units*/, count_t /*back*/ = 0) {}
  /// co_await open(): all ranks have made their offers.
  auto open() {
    return until([this] { return try_open(); });
  }
  /// co_await withdraw(peer): revokes the offer, once the peer does not fetch. Before a local move of offered
  /// data.
  auto withdraw(int peer) {
    return until([this, peer] { return try_withdraw(peer); });
  }
  /// Fetches `into.length` units from `offset` of the units that `from` offers, as the transfer `id`: its event follows
  /// as for receive(). False if no run of `expected` units is offered (any more): then they must be requested.
  virtual bool fetch(int /*from*/, count_t /*offset*/, count_t /*expected*/, const unit_run& /*into*/,
                     std::uint32_t /*id*/) {
    return false;
  }

  /// Units that this rank and the peer offer each other, from the first on, that stand in each other's places; the same
  /// on both ranks. Neither rank fetches or requests them: either of the two swaps them.
  [[nodiscard]] virtual count_t swappable(int /*peer*/) const { return 0; }
  /// Swaps some of them that neither rank has started to swap, through at most `space`. Returns how many; 0: none are
  /// left.
  virtual count_t swap_some(int /*peer*/, const unit_run& /*room*/) { return 0; }
  [[nodiscard]] virtual swap_counts swaps(int /*peer*/) const { return {}; }
  /// co_await swapped(peer): all of them are swapped.
  auto swapped(int peer) {
    return until([this, peer] { return try_swapped(peer); });
  }
  /// The bytes, about, that a rank copies by itself in one test of an operation, so that a program which tests between
  /// other work gets the core back. A protocol that has more to copy yields in between.
  static constexpr std::size_t bytes_per_test = std::size_t{1} << 20U;
  /// co_await suspend_test(): a test of the operation ends here, and the next one continues.
  auto suspend_test() {
    return until([this] { return suspends_test_ = true, false; });
  }

  /// True if some ranks may read data of others, from their memory, by its address; the same on all ranks.
  [[nodiscard]] bool reads() const noexcept { return reads_; }
  /// This rank and the peer may do so.
  [[nodiscard]] bool reads(int peer) const noexcept { return readers_.has(peer); }
  /// Lets this rank and `readers` do so; other ranks may have other readers. Collective in effect: all ranks call it or
  /// none. For the owner of the port.
  void let_read(rank_group readers) noexcept {
    reads_ = true;
    readers_ = readers;
  }
  /// The identity of this process that others need for that.
  [[nodiscard]] virtual word process() const { return 0; }
  /// Whether the kernel still permits it, tested by a part.
  virtual bool may_read(int /*from*/, word /*process*/, const remote_part& /*part*/) { return true; }
  /// Copies from the memory of `from`, whose process is this one. Throws usage_error if that is not possible.
  virtual void read(int /*from*/, word /*process*/, std::span<const remote_part> /*parts*/) {}
  /// `to` has read so many units of this rank's: for the statistics.
  virtual void gone(int /*to*/, count_t /*units*/) {}

  /// co_await next(): the next event.
  auto next() { return event_for({}); }
  /// The same, where there is one; waits for nothing.
  std::optional<event> next_at_hand() { return poll({}) ? std::optional(take()) : std::nullopt; }
  /// co_await next_transfer(): the next event that is not a message; messages wait.
  auto next_transfer() { return event_for({.messages = false}); }
  /// co_await message(from): the next message of one rank; all else waits.
  auto message(int from) { return event_for({.transfers = false, .from = from}); }
  /// True when next() has an event at hand.
  [[nodiscard]] bool more() const noexcept { return at_hand_ > 0; }

  /// co_await exchange(…): alltoallv of words. Rank r's are at out_at[r] to out_at[r+1]; of `out` each `stride`th word.
  auto exchange(std::span<const word> out, std::span<const std::uint32_t> out_at, std::span<word> in,
                std::span<const std::uint32_t> in_at, std::size_t stride = 1) {
    return run({.out = out, .stride = stride, .out_at = out_at, .in = in, .in_at = in_at});
  }
  /// co_await alltoall(…): `each` words to and from every rank.
  auto alltoall(std::span<const word> out, std::span<word> in, std::uint32_t each = 1) {
    return run({.out = out, .in = in, .each = each});
  }
  /// co_await sum(…), maximum(…): over all ranks, in place.
  auto sum(std::span<std::uint64_t> values) { return run({.values = values}); }
  auto maximum(std::span<std::uint64_t> values) { return run({.values = values, .largest = true}); }
  /// co_await share(…): the words of one rank for all, in place.
  auto share(int root, std::span<word> words) { return run({.in = words, .root = root}); }

 protected:
  /// True when there is an event for the filter, which take() gives; otherwise the task suspends.
  virtual bool poll(const filter& f) = 0;
  virtual event take() = 0;
  /// True when the offers of all ranks can be seen; otherwise the task suspends.
  virtual bool try_open() { return true; }
  /// True when nothing is offered to the peer; otherwise the task suspends.
  virtual bool try_withdraw(int /*peer*/) { return true; }
  /// True when all that can be swapped with the peer is; otherwise the task suspends.
  virtual bool try_swapped(int /*peer*/) { return true; }
  /// True when the collective is complete; otherwise the task suspends.
  virtual bool begin(const collective& c) = 0;

  [[nodiscard]] bool suspended() const noexcept { return static_cast<bool>(waiting_); }
  void resume() {
    suspends_test_ = false;
    std::exchange(waiting_, nullptr).resume();
  }
  /// The task yields until its next turn.
  [[nodiscard]] bool suspends_test() const noexcept { return suspends_test_; }

  std::uint32_t at_hand_ = 0;
  bool fetches_ = false;

 private:
  std::coroutine_handle<> waiting_;
  bool suspends_test_ = false;
  bool reads_ = false;
  rank_group readers_ = rank_group::none();
};

}  // namespace taquin::detail
