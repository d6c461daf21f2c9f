// A sparse exchange in progress: its stages are set up, describe, agree, find, make room, move, account. On one node
// all that is one step (on_node.hpp), or two if the caller makes two, and otherwise the agreement has the notices
// (between_nodes.hpp); the stages are executed if that fails. See sparse.cpp and steps.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/between_nodes.hpp"
#include "algorithms/sparse/check.hpp"
#include "algorithms/sparse/grants.hpp"
#include "algorithms/sparse/on_node.hpp"
#include "base/checked.hpp"
#include "base/fingerprint.hpp"
#include "base/in_flight.hpp"
#include "base/memory_budget.hpp"
#include "base/memory_charge.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "call/forwarded_blocks.hpp"
#include "mpi/observer.hpp"
#include "node/blocking_channel.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace taquin {

using namespace detail;

namespace detail {

inline constexpr std::uint64_t sparse_call_word = mpi::progress_record::of(mpi::call_kind::sparse);

// Chunks concurrently in flight to a rank, and from it.
inline std::size_t in_flight_of(const options& o) noexcept { return as_size(in_flight_bound(o.in_flight)); }

}  // namespace detail

struct sparse_call::state {
  /// The arguments of a rank: its blocks, on a communicator; `invalid_text`: of the interface on top, or null.
  struct arguments {
    const sparse_blocks& blocks;
    MPI_Comm comm;
    const char* invalid_text;
    bool at_once;  // a one-step call: the data follow immediately
  };

  state(const arguments& x, const options& o)
      : running(sparse_call_word, call_timeout::of(o), o.stats), opts(o), own(x.blocks), requested_on(x.comm) {
    // The caller's text need not live until reply().
    if (const sparse_algorithm* const known = find_sparse(o.algorithm); known != nullptr)
      opts.algorithm = o.algorithm == "auto" ? "auto" : known->name;
  }

  void begin(const arguments& x, const options&, bool lacks_memory) {
    const bool may_be_short = x.at_once && !lacks_memory && call_timeout::of(opts).seconds <= 0;
    const bool counted = may_be_short && leaving(x.comm, [&] { return begin_short(x); });
    if (served_short) return;
    running.set_up(x.comm, counted);
    running.stage([&] {
      if (!counted && !lacks_memory && running.node() != nullptr && find_on_node(*running.node(), x)) return;
      agree_and_find(x, lacks_memory);
    });
  }

  // Of a one-step call, without taquin's objects for its messages. False if there is no node's memory.
  bool begin_short(const arguments& x);
  template <class Work>
  static bool leaving(MPI_Comm comm, Work work) {
    return mpi::or_abort([comm](const std::exception& why) { abort_call(comm, why); }, work);
  }

  // In the node's memory. False, on all ranks, if that has transferred nothing.
  bool find_on_node(channel& shared, const arguments& x);

  // All ranks have the memory for them.
  void read_mailboxes(int rank, bool at_once);

  // The data of a one-step call. A rank that has no place for them has taken part all the same: it alone throws.
  void receive_short(std::byte* into, const char* invalid_text);
  void throw_if_invalid() const {
    if (node && node->invalid())
      throw usage_error(node->invalid()->what, node->invalid()->mpi_class, -1, node->invalid()->peer);
  }

  // The data's step on a node. False if they must follow as messages.
  bool begin_data_on_node(bool ready) { return node && node->begin_data(ready); }

  [[nodiscard]] mpi::communicator& comm() const noexcept { return *running.comm(); }

  // The error in this rank's arguments; without an error their properties are known.
  std::optional<invalid_argument> describe(const sparse_blocks& mine, const char* invalid_text, int ranks);

  // Describe, agree and find: between nodes in one step, where all ranks have their notices in it.
  void agree_and_find(const arguments& x, bool lacks_memory);

  // This rank's headers, and data of a one-step call, are in the messages of the agreement.
  bool piggyback(const arguments& x, agreement_path& path);
  // Those of all ranks, which have the memory for them.
  void take_piggybacked(const agreed& all, bool at_once);
  void drop_piggybacked();

  void list_sources();

  // The data of a one-step call whose notices arrived in a find.
  void receive_reported(std::byte* into, const char* invalid_text);

  // The data of a one-step call that were in the agreement; longer blocks follow. A rank that has no place for them
  // takes part all the same, and throws alone.
  void receive_piggybacked(std::byte* into, const char* invalid_text);

  // Finds sources and sizes. Ranks agree on the memory for them and on the least for the data.
  void find(const sparse_blocks& mine, const sparse_algorithm& how);
  [[nodiscard]] checked span_of(checked elements) const noexcept {
    return elements * std::max(data.element.extent, data.element.size);
  }
  std::size_t message_of(const sparse_algorithm& how, const sparse_blocks& mine);
  // The bytes with which a rank finds `blocks` blocks for it, by messages of so many bytes, and can receive them.
  [[nodiscard]] std::size_t needed(const sparse_algorithm& how, std::size_t message, std::size_t blocks) const noexcept;
  // Of any rank. Collective: a reduction for each 64 ranks.
  [[nodiscard]] std::size_t most_blocks(const sparse_blocks& mine) const;
  // A rank has one message of notices for each other rank in flight, at most.
  [[nodiscard]] std::size_t headers_in_flight() const noexcept {
    return std::min(in_flight_of(opts), detail::as_size(comm().size()));
  }
  void drop_found();
  // One try: data of blocks up to `piggybacked` bytes go with their notices. False, on all ranks, if a rank has no
  // memory; in the last one that is an error.
  bool find_by(const sparse_algorithm& how, const sparse_blocks& mine, std::size_t message, std::size_t piggybacked,
               bool last);

  // Throws if there is no memory for one chunk in flight.
  void reserve_least(std::size_t chunk) { const memory_charge least(*budget, sparse_grants::footprint({}, chunk)); }

  void agree_on(std::size_t lacking, const std::optional<invalid_argument>& invalid) {
    running.agree_again({.invalid = invalid, .lacking = lacking, .limit = budget->limit()}, "a sparse exchange");
  }

  // Chunks of at most so many elements that this rank requests; 0: whole blocks. At most `most`.
  [[nodiscard]] std::size_t chunks_of(count_t elements, std::size_t most) const noexcept {
    std::size_t n = 0;
    for (const header& b : blocks) {
      if (n >= most) break;
      if (b.count == 0 || b.has_arrived()) continue;
      n += elements == 0 ? 1 : std::min(most, as_size((b.count - 1) / elements) + 1);
    }
    return std::min(n, most);
  }

  // By the amount of data: no more than may be in flight, or than the memory has space for. A receiver may divide a
  // block of this rank's: it has as many requests as usual at least.
  [[nodiscard]] sparse_grants::window window_of(std::size_t chunk, count_t elements) const noexcept {
    constexpr std::size_t usual = 32;
    constexpr std::size_t most_useful = 4096;
    const std::size_t most = std::min(in_flight_of(opts), most_useful);
    const std::size_t space = budget->limit() - budget->used();
    sparse_grants::window w{std::max<std::size_t>(chunks_of(elements, most), 1),
                            std::min(most, std::max(usual, sends))};
    while (w.to_here + w.from_here > 2 && sparse_grants::footprint(w, chunk) > space)
      w = {(w.to_here + 1) / 2, (w.from_here + 1) / 2};
    return w;
  }

  // Bytes of a chunk that waits here.
  [[nodiscard]] checked chunk_bytes(count_t elements) const noexcept {
    return checked(elements - 1) * data.element.extent + std::max(data.element.true_extent, data.element.size);
  }

  // The operation that moves the data. The requests at a rank are bounded by the messages in flight, or one of each
  // rank that it sends to.
  void make_move(const sparse_grants::window& window, std::size_t chunk) {
    const std::size_t receivers = most_destinations > 0 ? most_destinations : detail::as_size(comm().size());
    move.emplace(comm(), 0, data, blocks, window, std::max<std::size_t>(in_flight_of(opts) / receivers, 1), chunk,
                 &*budget);
  }

  // After the agreement on memory, of which all ranks have the least that moves data.
  void make_move_at_once() {
    try {
      make_move(window_of(0, 0), 0);
    } catch (const std::exception&) {
      make_move({}, 0);
    }
  }

  void begin_move(std::optional<invalid_argument> invalid, std::size_t chunk, count_t elements) {
    std::size_t lacking = 0;
    if (!invalid) {
      try {
        reserve_least(chunk);
        make_move(window_of(chunk, elements), chunk);
      } catch (const budget_exceeded& e) {
        lacking = e.used() + e.requested();
      } catch (const std::bad_alloc&) {
        invalid = out_of_memory();
      }
    }
    agree_on(lacking, invalid);
  }

  // Move and account.
  template <class Run>
  void run(Run how) {
    move->set_tag(comm().next_tag());
    const auto done = [&] {
      messages += move->messages();
      bytes += move->bytes_sent();
      move.reset();
      account();
    };
    try {
      how(*move);
    } catch (...) {
      done();
      throw;
    }
    done();
  }

  // The work since the last time.
  void account() {
    running.account(
        [&](statistics& s) {
          s.rounds += rounds + (!piggybacked || rest_follows ? 2 : 0);
          s.messages += messages;
          s.bytes_sent += bytes;
        },
        peak());
    rounds = messages = bytes = 0;
  }

  // The counts of calls on the communicator.
  [[nodiscard]] mpi::call_record& calls() const noexcept {
    return inside ? *channel_of_short->calls() : running.comm()->calls();
  }

  void receive(void* into, const char* invalid_text) {
    running.check_may_call();
    if (node && node->is_open()) return receive_short(static_cast<std::byte*>(into), invalid_text);
    if (piggybacked) return receive_piggybacked(static_cast<std::byte*>(into), invalid_text);
    if (at_once_here) return receive_reported(static_cast<std::byte*>(into), invalid_text);
    running.stage([&] {
      std::optional<invalid_argument> invalid;
      if (invalid_text != nullptr) invalid = invalid_argument{invalid_text, MPI_ERR_NO_MEM};
      if (!invalid && into == nullptr && elements() > 0)
        invalid = invalid_argument{"null address for received data", MPI_ERR_BUFFER};
      if (begin_data_on_node(!invalid)) {
        node->receive(static_cast<std::byte*>(into));
        return node->end(opts.stats);
      }
      begin_move(invalid, 0, 0);
      run([&](sparse_grants& g) { g.receive(static_cast<std::byte*>(into)); });
    });
    throw_if_invalid();
  }

  // Where a chunk waits on a node; none if the memory is too small for it.
  std::optional<raw_buffer> space_for_chunk(std::size_t n) {
    try {
      return std::optional<raw_buffer>(std::in_place, n, &*budget);
    } catch (const budget_exceeded&) {
    } catch (const std::bad_alloc&) {
    }
    return std::nullopt;
  }

  void deliver(count_t chunk, const taker& take) {
    running.check_may_call();
    std::exception_ptr thrown;  // by `take`: no rank waits for this one then
    running.stage([&] {
      std::optional<invalid_argument> invalid;
      if (chunk < 1) invalid = invalid_argument{fmt::format("a chunk must have 1 element or more, got {}", chunk)};
      if (!invalid && !take) invalid = invalid_argument{"null function for the chunks"};
      // No block is longer than all incoming data.
      const count_t most = std::clamp<count_t>(elements(), 1, std::max<count_t>(chunk, 1));
      const std::size_t bytes_of_chunk =
          invalid || !chunk_bytes(most).fits() ? 0 : detail::as_size(chunk_bytes(most).value());
      {
        auto waits = invalid || !node ? std::nullopt : space_for_chunk(bytes_of_chunk);
        if (begin_data_on_node(waits.has_value())) {
          thrown = node->deliver(most, take, waits->data() - data.element.true_lb);
          return node->end(opts.stats);
        }
      }
      begin_move(invalid, bytes_of_chunk, most);
      run([&](sparse_grants& g) { thrown = g.deliver(most, take); });
    });
    throw_if_invalid();
    if (thrown) std::rethrow_exception(thrown);
  }

  // For the recorder of the call: its data; that they have moved; and a run of the operation.
  void report(const observed_call& to) const;
  void end(const observed_call& by) const {
    if (by) by.end(running.algorithm, peak(), data.element.size);
  }
  template <class Run>
  void recorded(const void* site, Run run) {
    if (seen && *seen) seen->start(site);
    run();
    if (seen) end(*seen);
  }

  // See reply.cpp.
  void reply(const void* answers, MPI_Datatype type, void* into);
  void reply_in_order(std::byte* into);

  [[nodiscard]] count_t elements() const noexcept { return total.value(); }
  [[nodiscard]] std::size_t peak() const noexcept {
    return std::max(budget->peak(), for_piggybacked ? for_piggybacked->peak() : 0);
  }

  call running;  // first: the members that follow use its communicator
  options opts;
  sparse_blocks own;
  MPI_Comm requested_on;
  MPI_Datatype replied = MPI_DATATYPE_NULL;
  std::optional<sparse_call> back;  // the way of the answers
  sparse_data data;
  std::optional<memory_budget> budget;  // before the members that allocate from it
  std::optional<header_store> store;
  std::optional<std::pmr::vector<header>> noticed;  // in a step
  std::span<const header> blocks;                   // of either
  std::optional<std::pmr::vector<int>> sources;
  std::optional<std::pmr::vector<count_t>> counts;
  std::optional<sparse_grants> move;
  std::optional<sparse_on_node> node;
  std::optional<observed_call> seen;    // of a call in two steps
  std::optional<mpi::in_call> inside;   // a call on the fast path
  channel* channel_of_short = nullptr;  // of such a call
  MPI_Comm user = MPI_COMM_NULL;
  bool served_short = false;
  bool lacks_result = false;                       // no memory for the sources
  std::optional<memory_budget> for_piggybacked;    // before the members that allocate from it
  std::optional<forwarded_blocks> forwarded;       // if the agreement is by messages of all ranks
  std::optional<piggybacked_headers> piggybacked;  // a one-step call, whose notices were in the agreement
  std::optional<memory_charge> of_piggybacked;     // the memory of these, in the budget
  bool few_follow = false;                         // which are sent unsolicited
  bool rest_follows = false;                       // some rank has blocks that have not
  bool all_at_once = false;                        // every rank makes the one-step call
  bool at_once_here = false;                       // and its notices arrived in a find
  std::uint64_t most_destinations = 0;             // of a rank; 0: not known
  std::size_t sends = 0;                           // blocks of this rank
  std::uint64_t rounds = 0;
  checked total = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

}  // namespace taquin
