// A sparse exchange, stage by stage: meet, describe, agree, find, make room, move, account. On one node all that is one
// step (node_step.hpp), or two where the caller makes two; the stages are gone through where that step has no success.
#include "taquin/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/grants.hpp"
#include "algorithms/sparse/on_node.hpp"
#include "base/checked.hpp"
#include "base/fingerprint.hpp"
#include "base/memory_budget.hpp"
#include "base/memory_charge.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "node/blocking_channel.hpp"
#include "taquin/error.hpp"

namespace taquin {

using namespace detail;

namespace {

constexpr std::uint64_t sparse_facts = mpi::whereabouts::of(mpi::call_kind::sparse);

// Pieces on their way to a rank at once, and from it.
std::size_t in_flight_of(const options& o) noexcept { return o.in_flight > 0 ? detail::as_size(o.in_flight) : 32; }

std::optional<invalid_argument> check_options(const options& o) {
  if (find_sparse(o.algorithm) == nullptr)
    return invalid_argument{
        fmt::format("unknown sparse algorithm '{}'; known are auto, {}", o.algorithm, sparse_names())};
  if (o.in_flight < 0) return invalid_argument{fmt::format("in_flight must be ≥ 0, got {}", o.in_flight)};
  return std::nullopt;
}

// What is wrong with this rank's blocks; `total`: their elements.
std::optional<invalid_argument> check_blocks(const sparse_blocks& x, int ranks, checked& total) {
  if (x.type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (x.destinations.data() == nullptr && !x.destinations.empty())
    return invalid_argument{"null array of destinations", MPI_ERR_ARG};
  if (x.counts.missing() && !x.destinations.empty()) return invalid_argument{"null array of counts", MPI_ERR_ARG};
  bool any = false;
  for (std::size_t i = 0; i < x.destinations.size(); ++i) {
    const int to = x.destinations[i];
    const count_t n = x.counts[static_cast<int>(i)];
    if (to < 0 || to >= ranks)
      return invalid_argument{fmt::format("block {} goes to rank {}; ranks are 0 to {}", i, to, ranks - 1),
                              MPI_ERR_RANK, to};
    if (n < 0)
      return invalid_argument{fmt::format("block {}, to rank {}, has {} elements; 0 or more are allowed", i, to, n),
                              MPI_ERR_COUNT, to};
    any = any || n > 0;
    total = total + n;
  }
  if (any && x.data == nullptr) return invalid_argument{"null data", MPI_ERR_BUFFER};
  return std::nullopt;
}

}  // namespace

struct sparse_call::state {
  /// What a rank brings: its blocks, on a communicator; `fault`: of the interface on top, or null.
  struct arguments {
    const sparse_blocks& blocks;
    MPI_Comm comm;
    const char* fault;
    bool at_once;  // the data follow at once
  };

  state(const arguments&, const options& o) : running(sparse_facts, patience::of(o), o.stats), opts(o) {}

  void begin(const arguments& x, const options&, bool lacks_memory) {
    const bool may_be_short = x.at_once && !lacks_memory && patience::of(opts).seconds <= 0;
    const bool counted = may_be_short && leaving(x.comm, [&] { return begin_short(x); });
    if (served_short) return;
    running.meet(x.comm, counted);
    running.stage([&] {
      if (!counted && !lacks_memory && running.node() != nullptr && find_on_node(*running.node(), x)) return;
      const agreed all = agree_on_call(x.blocks, x.fault, lacks_memory);
      budget.emplace(all.memory);
      find(x.blocks);
    });
  }

  // Of a call at once, without what taquin keeps for its messages. False where there is no node's memory.
  bool begin_short(const arguments& x) {
    channel* const shared = blocking_channel(x.comm);
    if (shared == nullptr) return false;
    mpi::count_call(*shared->calls());
    inside.emplace(shared->calls(), sparse_facts);
    user = x.comm;
    served_short = find_on_node(*shared, x);
    if (!served_short) inside.reset();
    return true;
  }
  template <class Work>
  static bool leaving(MPI_Comm comm, Work work) {
    return mpi::or_leave([comm](const std::exception& why) { leave(comm, why); }, work);
  }

  // In the node's memory. False, on all ranks alike, where that has brought nothing.
  bool find_on_node(channel& shared, const arguments& x) {
    const bool named = opts.algorithm == node_step_way.name;
    if ((!named && opts.algorithm != "auto") || describe(x.blocks, x.fault, shared.size())) return false;
    if (!sparse_on_node::suits(data.element)) return false;
    budget.emplace(opts.memory);
    node.emplace(shared, data, *budget);
    if (!node->find(x.blocks, x.at_once, named)) {
      node.reset();
      budget.reset();
      return false;
    }
    running.algorithm = node_step_way.name;
    running.account([](statistics&) {}, 0);
    try {
      take_lines(shared.rank(), x.at_once);
    } catch (const std::bad_alloc&) {
      if (!x.at_once) throw;
      lacks_result = true;
    }
    return true;
  }

  // All ranks have the memory for them.
  void take_lines(int rank, bool at_once) {
    sources.emplace(node->blocks(), 0, &*budget);
    counts.emplace(node->blocks(), 0, &*budget);
    if (!at_once) noticed.emplace(node->blocks(), notice{}, &*budget);
    std::size_t i = 0;
    node->each([&](int from, count_t n, count_t first) {
      (*sources)[i] = from;
      (*counts)[i] = n;
      if (!at_once) (*noticed)[i] = {from, rank, n, first};
      total = total + n;
      ++i;
    });
    if (at_once) return;
    blocks = *noticed;
    node->found(opts.stats);
  }

  // The data of a call at once. A rank that has no place for them has taken part all the same: it alone throws.
  void receive_short(std::byte* into, const char* fault) {
    leaving(user, [&] {
      if (fault == nullptr) node->receive(into);
      node->end(opts.stats);
      return true;
    });
    if (fault != nullptr) throw usage_error(fault, MPI_ERR_NO_MEM);
    throw_fault();
  }
  void throw_fault() const {
    if (node && node->fault())
      throw usage_error(node->fault()->what, node->fault()->mpi_class, -1, node->fault()->peer);
  }

  // The data's step on a node. False where they have to come in another way.
  bool begin_data_on_node(bool ready) {
    if (!node || !node->begin_data(ready && !moved)) return false;
    return moved = true;
  }

  [[nodiscard]] mpi::communicator& comm() const noexcept { return *running.comm(); }

  // What is wrong with this rank's arguments; otherwise what they are is known.
  std::optional<invalid_argument> describe(const sparse_blocks& mine, const char* fault, int ranks) {
    checked sent = 0;
    if (fault != nullptr) return invalid_argument{fault, MPI_ERR_ARG};
    if (auto bad = check_options(opts)) return bad;
    if (auto bad = check_blocks(mine, ranks, sent)) return bad;
    data.element = element::of(mine.type);
    if (data.element.extent < 0)
      return invalid_argument{"a sparse exchange needs elements of no negative extent", MPI_ERR_TYPE};
    const count_t span = std::max({data.element.size, data.element.extent, data.element.true_extent});
    if (!(sent * span).fits()) return invalid_argument{"the blocks make more than 2^56 bytes", MPI_ERR_COUNT};
    data.at = static_cast<const std::byte*>(mine.data);
    data.to_send = sent.value();
    return std::nullopt;
  }

  // Describe and agree.
  agreed agree_on_call(const sparse_blocks& mine, const char* fault, bool lacks_memory) {
    proposal p;
    p.bad = lacks_memory ? out_of_memory() : describe(mine, fault, comm().size());
    fingerprint choices;
    choices.add("sparse");
    choices.add(p.bad ? "" : find_sparse(opts.algorithm)->name);
    choices.add(patience::of(opts).seconds > 0);
    p.choices = choices.value();
    p.memory = opts.memory;
    p.max_block_bytes = p.min_block_bytes = static_cast<std::uint64_t>(data.element.size);
    p.algorithm = opts.algorithm;
    const agreed all = running.agree(p, std::pmr::new_delete_resource());
    if (!all.uniform)
      throw on_all_ranks(usage_error("ranks disagree on the bytes of an element of a sparse exchange", MPI_ERR_TYPE));
    return all;
  }

  // Sources and sizes. What a rank needs for them and the least for the data is agreed on.
  void find(const sparse_blocks& mine) {
    const sparse_algorithm& how = *find_sparse(opts.algorithm);
    running.algorithm = how.name;
    if (how.find == nullptr)
      throw on_all_ranks(
          usage_error(fmt::format("{} serves ranks of one node, whose memory has room for their blocks", how.name),
                      MPI_ERR_UNSUPPORTED_OPERATION));
    notices.emplace(comm().rank(), comm().size(), &*budget);
    finding f{.comm = comm(), .tag = comm().next_tag(), .notices = *notices};
    f.attempt([&] {
      notices->reserve(mine.destinations.size());
      data.to_send = 0;
      for (std::size_t i = 0; i < mine.destinations.size(); ++i) {
        const count_t n = mine.counts[static_cast<int>(i)];
        notices->add({comm().rank(), mine.destinations[i], n, data.to_send});
        data.to_send += n;
      }
    });
    how.find(f);
    f.attempt([&] {
      blocks = notices->sorted();
      sources.emplace(blocks.size(), 0, &*budget);
      counts.emplace(blocks.size(), 0, &*budget);
      std::ranges::transform(blocks, sources->begin(), &notice::from);
      std::ranges::transform(blocks, counts->begin(), &notice::count);
      for (const count_t n : *counts) total = total + n;
      reserve_least(0);
    });
    std::optional<invalid_argument> bad;
    if (f.exhausted) bad = out_of_memory();
    if (!f.failed() && !(total * std::max(data.element.extent, data.element.size)).fits())
      bad = invalid_argument{"the blocks that come to this rank make more than 2^56 bytes", MPI_ERR_COUNT};
    agree_on(f.lacking, bad);
    messages = f.messages;
    bytes = f.bytes;
  }

  // Throws where there is no room for one piece on its way.
  void reserve_least(std::size_t piece) { const memory_charge least(*budget, sparse_grants::footprint(1, piece)); }

  void agree_on(std::size_t lacking, const std::optional<invalid_argument>& bad) {
    running.agree_again({.bad = bad, .lacking = lacking, .limit = budget->limit()}, "a sparse exchange");
  }

  // How many pieces have room, at most as many as may be on their way.
  [[nodiscard]] std::size_t window_of(std::size_t piece) const noexcept {
    const std::size_t room = budget->limit() - budget->used();
    std::size_t w = in_flight_of(opts);
    while (w > 1 && sparse_grants::footprint(w, piece) > room) w = (w + 1) / 2;
    return w;
  }

  // Bytes of a piece that waits here.
  [[nodiscard]] checked piece_bytes(count_t elements) const noexcept {
    return checked(elements - 1) * data.element.extent + std::max(data.element.true_extent, data.element.size);
  }

  void begin_move(std::optional<invalid_argument> bad, std::size_t piece) {
    if (!bad && moved) bad = invalid_argument{"the data of this sparse exchange have been received", MPI_ERR_REQUEST};
    std::size_t lacking = 0;
    if (!bad) {
      try {
        reserve_least(piece);
        const std::size_t w = window_of(piece);
        move.emplace(comm(), 0, data, blocks, w, piece, &*budget);
      } catch (const budget_exceeded& e) {
        lacking = e.used() + e.requested();
      } catch (const std::bad_alloc&) {
        bad = out_of_memory();
      }
    }
    agree_on(lacking, bad);
    moved = true;
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

  void account() const {
    running.account(
        [&](statistics& s) {
          s.rounds += static_cast<std::uint64_t>(notice_rounds::rounds(comm().size())) + 2;
          s.messages += messages;
          s.bytes_sent += bytes;
        },
        budget->peak());
  }

  void receive(void* into, const char* fault) {
    if (served_short) return receive_short(static_cast<std::byte*>(into), fault);
    running.stage([&] {
      std::optional<invalid_argument> bad;
      if (fault != nullptr) bad = invalid_argument{fault, MPI_ERR_NO_MEM};
      if (!bad && into == nullptr && elements() > 0)
        bad = invalid_argument{"null address for what comes", MPI_ERR_BUFFER};
      if (begin_data_on_node(!bad)) {
        node->receive(static_cast<std::byte*>(into));
        return node->end(opts.stats);
      }
      begin_move(bad, 0);
      run([&](sparse_grants& g) { g.receive(static_cast<std::byte*>(into)); });
    });
    throw_fault();
  }

  // Where a piece waits on a node; none where the memory has no room for it.
  std::optional<raw_buffer> room_for_piece(std::size_t n) {
    try {
      return std::optional<raw_buffer>(std::in_place, n, &*budget);
    } catch (const budget_exceeded&) {
    } catch (const std::bad_alloc&) {
    }
    return std::nullopt;
  }

  void deliver(count_t piece, const taker& take) {
    std::exception_ptr thrown;  // by `take`: nobody waits for this rank then
    running.stage([&] {
      std::optional<invalid_argument> bad;
      if (piece < 1) bad = invalid_argument{fmt::format("a piece must have 1 element or more, got {}", piece)};
      if (!bad && !take) bad = invalid_argument{"no function for the pieces"};
      // No block is longer than all that comes.
      const count_t most = std::clamp<count_t>(elements(), 1, std::max<count_t>(piece, 1));
      const std::size_t bytes_of_piece =
          bad || !piece_bytes(most).fits() ? 0 : detail::as_size(piece_bytes(most).value());
      {
        auto waits = bad || !node ? std::nullopt : room_for_piece(bytes_of_piece);
        if (begin_data_on_node(waits.has_value())) {
          thrown = node->deliver(most, take, waits->data() - data.element.true_lb);
          return node->end(opts.stats);
        }
      }
      begin_move(bad, bytes_of_piece);
      run([&](sparse_grants& g) { thrown = g.deliver(most, take); });
    });
    throw_fault();
    if (thrown) std::rethrow_exception(thrown);
  }

  [[nodiscard]] count_t elements() const noexcept { return total.value(); }

  call running;  // first: what follows uses its communicator
  options opts;
  sparse_data data;
  std::optional<memory_budget> budget;  // before what takes from it
  std::optional<notice_rounds> notices;
  std::optional<std::pmr::vector<notice>> noticed;  // on a node
  std::span<const notice> blocks;                   // of either
  std::optional<std::pmr::vector<int>> sources;
  std::optional<std::pmr::vector<count_t>> counts;
  std::optional<sparse_grants> move;
  std::optional<sparse_on_node> node;
  std::optional<mpi::in_call> inside;  // a call on the short way
  MPI_Comm user = MPI_COMM_NULL;       // of such a call
  bool served_short = false;
  bool lacks_result = false;  // no memory for the sources
  bool moved = false;
  checked total = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

std::size_t detail::sparse_memory(std::size_t blocks) noexcept {
  return blocks * (sizeof(notice) + sizeof(int) + sizeof(count_t)) + sparse_grants::footprint(1, 0);
}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o)
    : sparse_call(mine, comm, o, nullptr, nullptr) {}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o, const char* fault,
                         const room& make_room) {
  check_communicator(comm, "a sparse exchange");
  state_ = begin_together<state>(state::arguments{mine, comm, fault, static_cast<bool>(make_room)}, o);
  if (!make_room) return;
  void* into = nullptr;
  constexpr const char* no_memory = "no memory for what comes to a rank";
  const char* lacks = state_->lacks_result ? no_memory : nullptr;
  if (lacks == nullptr) {
    try {
      into = make_room(*this);
    } catch (const std::exception&) {
      lacks = no_memory;
    }
  }
  if (lacks == nullptr && into == nullptr && total() > 0) lacks = no_memory;
  state_->receive(into, lacks);
}

sparse_call::sparse_call(sparse_call&&) noexcept = default;
sparse_call& sparse_call::operator=(sparse_call&&) noexcept = default;
sparse_call::~sparse_call() = default;

std::span<const int> sparse_call::sources() const noexcept { return *state_->sources; }
std::span<const count_t> sparse_call::counts() const noexcept { return *state_->counts; }
count_t sparse_call::total() const noexcept { return state_->elements(); }
void sparse_call::receive(void* into) { state_->receive(into, nullptr); }
void sparse_call::deliver(count_t elements, const taker& take) { state_->deliver(elements, take); }

}  // namespace taquin
