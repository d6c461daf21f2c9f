// A sparse exchange, stage by stage: meet, describe, agree, find, make room, move, account.
#include "taquin/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/grants.hpp"
#include "base/checked.hpp"
#include "base/fingerprint.hpp"
#include "base/memory_budget.hpp"
#include "base/memory_charge.hpp"
#include "call/call.hpp"
#include "taquin/error.hpp"

namespace taquin {

using namespace detail;

namespace {

constexpr std::uint64_t sparse_facts = mpi::whereabouts::of(mpi::call_kind::sparse);

// Pieces on their way to a rank at once, and from it.
std::size_t in_flight_of(const options& o) noexcept {
  return static_cast<std::size_t>(o.in_flight > 0 ? o.in_flight : 32);
}

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
  };

  state(const arguments&, const options& o) : running(sparse_facts, patience::of(o), o.stats), opts(o) {}

  void begin(const arguments& x, const options&, bool lacks_memory) {
    running.meet(x.comm);
    running.stage([&] {
      const agreed all = agree_on_call(x.blocks, x.fault, lacks_memory);
      budget.emplace(all.memory);
      find(x.blocks);
    });
  }

  [[nodiscard]] mpi::communicator& comm() const noexcept { return *running.comm(); }

  // Describe and agree.
  agreed agree_on_call(const sparse_blocks& mine, const char* fault, bool lacks_memory) {
    proposal p;
    checked sent = 0;
    if (lacks_memory) p.bad = out_of_memory();
    if (!p.bad && fault != nullptr) p.bad = invalid_argument{fault, MPI_ERR_ARG};
    if (!p.bad) p.bad = check_options(opts);
    if (!p.bad) p.bad = check_blocks(mine, comm().size(), sent);
    if (!p.bad) data.element = element::of(mine.type);
    const count_t span = std::max({data.element.size, data.element.extent, data.element.true_extent});
    if (!p.bad && data.element.extent < 0)
      p.bad = invalid_argument{"a sparse exchange needs elements of no negative extent", MPI_ERR_TYPE};
    if (!p.bad && !(sent * span).fits())
      p.bad = invalid_argument{"the blocks make more than 2^56 bytes", MPI_ERR_COUNT};
    if (!p.bad) data.at = static_cast<const std::byte*>(mine.data);
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
    notices.emplace(comm().rank(), comm().size(), &*budget);
    finding f{.comm = comm(), .tag = comm().next_tag(), .notices = *notices};
    f.attempt([&] {
      notices->reserve(mine.destinations.size());
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
    running.stage([&] {
      std::optional<invalid_argument> bad;
      if (fault != nullptr) bad = invalid_argument{fault, MPI_ERR_NO_MEM};
      if (!bad && into == nullptr && elements() > 0)
        bad = invalid_argument{"null address for what comes", MPI_ERR_BUFFER};
      begin_move(bad, 0);
      run([&](sparse_grants& g) { g.receive(static_cast<std::byte*>(into)); });
    });
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
          bad || !piece_bytes(most).fits() ? 0 : static_cast<std::size_t>(piece_bytes(most).value());
      begin_move(bad, bytes_of_piece);
      run([&](sparse_grants& g) { thrown = g.deliver(most, take); });
    });
    if (thrown) std::rethrow_exception(thrown);
  }

  [[nodiscard]] count_t elements() const noexcept { return total.value(); }

  call running;  // first: what follows uses its communicator
  options opts;
  sparse_data data;
  std::optional<memory_budget> budget;  // before what takes from it
  std::optional<notice_rounds> notices;
  std::span<const notice> blocks;
  std::optional<std::pmr::vector<int>> sources;
  std::optional<std::pmr::vector<count_t>> counts;
  std::optional<sparse_grants> move;
  checked total = 0;
  bool moved = false;
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
  state_ = begin_together<state>(state::arguments{mine, comm, fault}, o);
  if (!make_room) return;
  void* into = nullptr;
  const char* lacks = nullptr;
  try {
    into = make_room(*this);
  } catch (const std::exception&) {
    lacks = "no memory for what comes to a rank";
  }
  if (lacks == nullptr && into == nullptr && total() > 0) lacks = "no memory for what comes to a rank";
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
