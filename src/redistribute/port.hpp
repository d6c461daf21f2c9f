// What an algorithm sees of the outside: messages, transfers of blocks, and a few collectives.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

#include "redistribute/block_store.hpp"

namespace taquin::detail {

using word = std::uint32_t;

/// Something that happened.
struct event {
  enum class kind : std::uint8_t {
    message,  ///< words came from `peer`; valid until the next event
    arrived,  ///< the transfer `id` into this rank is complete
    sent      ///< the blocks of `run` are sent: their slots may be used again
  };
  kind what = kind::message;
  int peer = -1;
  std::uint32_t id = 0;
  std::span<const word> words;
  slot_range run;
};

/// Sizes that a port is made for.
struct port_limits {
  slot chunk = 1;               ///< most blocks in a transfer that is not one run of slots at its sender
  slot send_buffers = 1;        ///< such transfers that may be on their way from this rank
  slot scattered = 1;           ///< most runs that a transfer is received into
  std::uint32_t words = 16;     ///< most words in a message
  std::uint32_t messages = 1;   ///< messages that may be on their way from this rank
  std::uint32_t transfers = 2;  ///< other transfers that may be on their way, of both directions together
  std::uint32_t reserved = 1;   ///< those of them that are kept for receiving
};

class port {
 public:
  port() = default;
  port(const port&) = delete;
  port& operator=(const port&) = delete;
  virtual ~port() = default;

  /// Sends words; they are copied.
  virtual void post(int to, std::span<const word> words) = 0;
  /// Begins to receive blocks into free slots: one run, or at most `scattered` runs in the caller's array that hold at
  /// most `chunk` blocks. Transfers from one rank are taken in the order in which they were begun on either side.
  virtual void receive(int from, std::span<const slot_range> into, std::uint32_t id) = 0;
  void receive(int from, const slot_range& into, std::uint32_t id) { receive(from, std::span(&into, 1), id); }
  /// Begins to send blocks; the receiver must have begun to receive them, or be sure to do so whatever this rank does.
  /// True when the slots may be used again at once; otherwise, for a single run, an event says so later. More than one
  /// run, or all but the reserved transfers on their way: at most `chunk` blocks.
  virtual bool send(int to, std::span<const slot_range> from) = 0;

  /// co_await next(): the next event.
  auto next() {
    struct awaiter {
      port& p;
      bool await_ready() { return p.wait_event(); }
      void await_suspend(std::coroutine_handle<> h) { p.suspended_ = h; }
      event await_resume() { return p.take_event(); }
    };
    return awaiter{*this};
  }
  /// co_await exchange(…): alltoallv of words. Rank r's are at out_at[r] to out_at[r+1].
  auto exchange(std::span<const word> out, std::span<const std::uint32_t> out_at, std::span<word> in,
                std::span<const std::uint32_t> in_at) {
    return together{*this, {out, out_at, in, in_at, 0, {}}};
  }
  /// co_await alltoall(…): `each` words to and from every rank.
  auto alltoall(std::span<const word> out, std::span<word> in, std::uint32_t each = 1) {
    return together{*this, {out, {}, in, {}, each, {}}};
  }
  /// co_await sum(…): the sums over all ranks, in place.
  auto sum(std::span<std::uint64_t> values) { return together{*this, {{}, {}, {}, {}, 0, values}}; }

 protected:
  struct collective {
    std::span<const word> out;
    std::span<const std::uint32_t> out_at;
    std::span<word> in;
    std::span<const std::uint32_t> in_at;
    std::uint32_t each;
    std::span<std::uint64_t> sums;
  };
  struct together {
    port& p;
    collective c;
    bool await_ready() { return p.begin(c); }
    void await_suspend(std::coroutine_handle<> h) { p.suspended_ = h; }
    void await_resume() {}
  };
  /// True when take_event() has one to give; over MPI always, after waiting for it.
  virtual bool wait_event() = 0;
  virtual event take_event() = 0;
  /// True when the collective is over.
  virtual bool begin(const collective& c) = 0;

  std::coroutine_handle<> suspended_;
};

}  // namespace taquin::detail
