#include "taquin/redistribute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/checked.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/memory_budget.hpp"
#include "exchange/agree.hpp"
#include "mpi/collectives.hpp"
#include "mpi/leave.hpp"
#include "mpi/progress.hpp"
#include "node/blocking_channel.hpp"
#include "node/detect.hpp"
#include "protocol/mpi_port.hpp"
#include "redistribute/access.hpp"
#include "redistribute/block_reader.hpp"
#include "redistribute/check_map.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/watched.hpp"
#include "taquin/error.hpp"

namespace taquin {

using namespace detail;

namespace {

constexpr count_t most_blocks = std::numeric_limits<std::int32_t>::max() - 1;

std::optional<invalid_argument> check_arguments(const void* data, count_t blocks, count_t length, MPI_Datatype type,
                                                const redistribute_options& o, const char* fault) {
  if (fault != nullptr) return invalid_argument{fault, MPI_ERR_ARG};
  if (blocks < 0 || blocks > most_blocks)
    return invalid_argument{fmt::format("{} blocks; 0 to {} are allowed", blocks, most_blocks), MPI_ERR_COUNT};
  if (length < 0) return invalid_argument{fmt::format("negative block length {}", length), MPI_ERR_COUNT};
  if (type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (data == nullptr && blocks > 0 && length > 0) return invalid_argument{"null data", MPI_ERR_BUFFER};
  if (find_redistribution(o.algorithm) == nullptr)
    return invalid_argument{
        fmt::format("unknown algorithm '{}'; known are auto, {}", o.algorithm, redistribution_names())};
  if (o.progress == progress_by::thread && !mpi::can_progress_by_thread())
    return invalid_argument{"progress by a thread takes MPI_THREAD_MULTIPLE, which the MPI library does not provide",
                            MPI_ERR_UNSUPPORTED_OPERATION};
  if (!(o.least_progress >= 0 && o.least_progress <= 1))
    return invalid_argument{fmt::format("least_progress {} is not between 0 and 1", o.least_progress)};
  return std::nullopt;
}

bool by_thread(const redistribute_options& o) {
  return o.progress == progress_by::thread ||
         (o.progress == progress_by::library && environment::get().progress_thread && mpi::can_progress_by_thread());
}

// What all ranks must have alike.
std::uint64_t choices_of(const redistribute_options& o) {
  fingerprint all;
  all.add(o.algorithm);
  all.add(o.check);
  all.add(std::lround(o.least_progress * 1e9));
  all.add((by_thread(o) ? 1U : 0U) + (patience_of(o).seconds > 0 ? 2U : 0U));
  return all.value();
}

}  // namespace

struct redistribution::state final : private mpi::started {
  state(void* data, count_t mine, count_t length, MPI_Datatype type, const meeting& here, const redistribute_options& o,
        const char* fault, bool lacks_memory)
      : budget(o.memory), options(o), comm(here.state->keep()) {
    channel* const node = here.node;
    number = mpi::count_call(comm->calls());
    const in_redistribution during(*comm, number, running_name, options);
    proposal p;
    p.bad = lacks_memory ? out_of_memory() : check_arguments(data, mine, length, type, o, fault);
    const element e = p.bad ? element{} : element::of(type);
    if (!p.bad && !(checked(mine) * length * std::max(e.size, e.extent)).fits())
      p.bad = invalid_argument{fmt::format("{} blocks of {} elements make more than 2^56 bytes", mine, length),
                               MPI_ERR_COUNT};
    p.choices = choices_of(o);
    p.memory = o.memory;
    p.max_block_bytes = p.min_block_bytes = p.bad ? 0 : static_cast<std::uint64_t>(length * e.size);
    p.facts = in_redistribution::facts | mpi::whereabouts::plan;
    p.number = number;
    p.algorithm = o.algorithm;
    const agreed all = agree(*comm, comm->next_tag(), p, way_of(*comm, node), &budget);
    if (!all.uniform) throw on_all_ranks(usage_error("ranks disagree on the bytes of a block", MPI_ERR_ARG));
    const std::size_t bytes = all.max_block_bytes;
    // A limit below the array of lengths fails everywhere, as this rank's need is part of every rank's.
    std::size_t least = 0;
    std::size_t most = 0;
    const auto ranks = static_cast<std::size_t>(comm->size());
    const auto too_small = [&](std::size_t needed) {
      throw on_all_ranks(budget_exceeded(
          fmt::format("a redistribution needs {} bytes of extra memory, {} are allowed", needed, all.memory), needed, 0,
          all.memory));
    };
    if (ranks * sizeof(count_t) > all.memory) too_small(ranks * sizeof(count_t));
    blocks = std::pmr::vector<count_t>(ranks, 0, &budget);
    if (comm->between != nullptr) nodes = nodes_of(*comm, {});
    // Complemented by a rank whose blocks others cannot read where they are.
    const bool copies =
        node != nullptr ? node->single_copies() : nodes != nullptr && channel_of_node(*nodes) != nullptr;
    const bool readable = copies && bytes >= block_reader::least_bytes && (e.contiguous() || mine == 0);
    const count_t told = readable ? mine : ~mine;
    mpi::allgather(told, std::span(*blocks), comm->get());
    const auto readers = who_reads();
    for (count_t& b : *blocks) {
      if (b < 0) b = ~b;
      const auto n = static_cast<std::size_t>(b);
      if (n > 0) least = least == 0 ? n : std::min(least, n);
      most = std::max(most, n);
    }
    chosen = find_redistribution(o.algorithm);
    running_name = chosen->name;
    const auto need = [&] { return redistribution_footprint(*chosen, sizes, comm->size(), most, bytes); };
    sizes = redistribution_sizes(bytes, least);
    while (sizes.chunk > 1 && need() > all.memory) sizes = redistribution_sizes(bytes, least, sizes.chunk - 1);
    const std::size_t needed = need();
    if (mine == 0) sizes = redistribution_sizes(bytes, 0, sizes.chunk);
    if (needed > all.memory) too_small(needed);
    units.emplace(data, mine, length, e, sizes.staging_slots(), &budget);
    net.emplace(*comm, comm->next_tag(), *units, redistribution_limits(sizes, comm->size()), &budget);
    if (readers) net->let_read(*readers);
    if (nodes != nullptr) net->let_come(rank_group::of(nodes->topology.nodes(), comm->rank()));
  }

  ~state() override { forget(); }

  void check_idle() const {
    if (running) throw usage_error("the redistribution is started already", MPI_ERR_REQUEST);
  }

  void start(const given_map& given) {
    check_idle();
    number = mpi::count_call(comm->calls());
    const in_redistribution during(*comm, number, running_name, options);
    net->begin_run();
    copied = units->bytes_copied();
    try {
      mpi::or_leave(*comm, [&] {
        running.emplace(*this, given);
        running->steps.start();
      });
    } catch (...) {
      running.reset();
      throw;
    }
    begin(by_thread(options));
  }

  bool test() {
    return ended([&] { return look(); });
  }
  void wait() {
    ended([&] {
      finish();
      return true;
    });
  }

  bool advance() override { return net->test(running->steps); }
  void await() override { net->wait(running->steps); }

  template <class Step>
  bool ended(Step step) {
    if (!running) return true;
    const in_redistribution during(*comm, number, running_name, options);
    try {
      const bool over = mpi::or_leave(*comm, [&] {
        const bool done = step();
        if (!done) mpi::present::look();
        return done;
      });
      if (!over) return false;
    } catch (...) {
      running.reset();
      throw;
    }
    const std::uint64_t rounds = running->m.rounds;
    running.reset();
    if (options.stats == nullptr) return true;
    statistics& s = *options.stats;
    ++s.starts;
    s.rounds += rounds;
    s.messages += net->messages();
    s.bytes_sent += net->bytes_sent() + net->control_bytes();
    s.bytes_copied += units->bytes_copied() - copied;
    s.peak_memory = std::max(s.peak_memory, budget.peak());
    s.algorithm = chosen->name;
    return true;
  }

  /// Ranks of a node read each other's blocks where all of the node can: those whose blocks this rank reads, by what ranks
  /// have told of theirs. Null on all ranks where nobody reads.
  [[nodiscard]] std::optional<rank_group> who_reads() const {
    const auto readable = [&](int rank) { return (*blocks)[static_cast<std::size_t>(rank)] >= 0; };
    if (nodes == nullptr) {
      const bool all = std::ranges::all_of(*blocks, [](count_t told) { return told >= 0; });
      return all ? std::optional(rank_group::all()) : std::nullopt;
    }
    const level& all = nodes->topology.nodes();
    const int own = all.group[static_cast<std::size_t>(comm->rank())];
    bool any = false;
    bool here = false;
    for (int node = 0; node < all.groups(); ++node) {
      if (all.size(node) == 1 || !std::ranges::all_of(all.members(node), readable)) continue;
      any = true;
      here = here || node == own;
    }
    if (!any) return std::nullopt;
    return here ? rank_group::of(all, comm->rank()) : rank_group::none();
  }

  /// A call under way.
  struct call {
    call(state& s, const given_map& given)
        : memory(&s.budget),
          all(s),
          bad(check_ranges(given, *s.blocks, s.comm->rank())),
          map(*s.units, memory),
          known(memory),
          m{.memory = memory,
            .rank = s.comm->rank(),
            .ranks = s.comm->size(),
            .map = &map,
            .net = &*s.net,
            .sizes = s.sizes,
            .least_progress = s.options.least_progress,
            .known = &known},
          steps(run()) {
      for (slot k = 0; !bad && k < static_cast<slot>(given.length); ++k)
        if (const count_t r = given.ranks[static_cast<int>(k)]; r >= 0)
          map.set(k, {static_cast<std::int32_t>(r), static_cast<slot>(given.indices[static_cast<int>(k)])});
    }

    task run() {
      co_await agree_on(m, bad);
      co_await exchange_targets(m, known);
      if (all.options.check || known.crowded) co_await check_injective(m, known);
      co_await redistribute_blocks(m, *all.chosen);
    }

    std::pmr::memory_resource* memory;  // of the tasks
    state& all;
    std::optional<invalid_argument> bad;
    block_map map;
    targets known;
    machine m;
    task steps;
  };

  memory_budget budget;  // first: everything else returns its memory to it
  redistribute_options options;
  mpi::communicator::lease comm;
  std::shared_ptr<const node_view> nodes;  // where there are several that share memory
  std::uint64_t number = 0;                // of this object's last call on the communicator
  std::string_view running_name;           // the algorithm, once it is agreed on
  std::optional<std::pmr::vector<count_t>> blocks;
  const redistribution_algorithm* chosen = nullptr;
  buffer_sizes sizes;
  std::optional<store> units;
  std::optional<mpi_port> net;
  std::optional<call> running;
  std::uint64_t copied = 0;  // before the call
};

redistribution::redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                               const redistribute_options& o)
    : redistribution(data, blocks, block_length, type, comm, o, nullptr) {}
redistribution::redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                               const redistribute_options& o, const char* fault) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (mpi::is_inter(comm)) throw usage_error("redistribution needs an intracommunicator", MPI_ERR_COMM);
  mpi::or_leave([&](const std::exception& why) { detail::leave(comm, why); },
                [&] {
                  const detail::meeting here = detail::meet(comm, o);
                  state_ = detail::make_together<state>(data, blocks, block_length, type, here, o, fault);
                });
}
redistribution::redistribution(redistribution&&) noexcept = default;
redistribution& redistribution::operator=(redistribution&&) noexcept = default;
redistribution::~redistribution() = default;

void redistribution::start(count_t length, const count_view& dest_ranks, const count_view& dest_indices) {
  state_->start({length, dest_ranks, dest_indices});
}

namespace {

template <class Index>
given_map whole(std::span<const int> dest_ranks, std::span<const Index> dest_indices) {
  return {static_cast<count_t>(dest_ranks.size()), count_view(dest_ranks.data()), count_view(dest_indices.data()),
          dest_ranks.size() == dest_indices.size()};
}

}  // namespace

void redistribution::start(std::span<const int> dest_ranks, std::span<const int> dest_indices) {
  state_->start(whole(dest_ranks, dest_indices));
}
void redistribution::start(std::span<const int> dest_ranks, std::span<const count_t> dest_indices) {
  state_->start(whole(dest_ranks, dest_indices));
}
bool redistribution::test() { return state_->test(); }
void redistribution::wait() { state_->wait(); }

void redistribution::operator()(count_t length, const count_view& dest_ranks, const count_view& dest_indices) {
  start(length, dest_ranks, dest_indices);
  wait();
}
void redistribution::operator()(std::span<const int> dest_ranks, std::span<const int> dest_indices) {
  start(dest_ranks, dest_indices);
  wait();
}
void redistribution::operator()(std::span<const int> dest_ranks, std::span<const count_t> dest_indices) {
  start(dest_ranks, dest_indices);
  wait();
}

void redistribution::sort(std::span<int> dest_ranks, std::span<int> dest_indices) {
  check_sort(dest_ranks, dest_indices.size(), state_->units->border(), state_->comm->size());
  redistribution_access::sort(*this, dest_ranks, dest_indices);
}

void detail::redistribution_access::sort(redistribution& r, std::span<int> dest_ranks, std::span<int> dest_indices) {
  auto& state = *r.state_;
  block_map map(*state.units, &state.budget);
  const auto n = static_cast<slot>(dest_ranks.size());
  for (slot s = 0; s < n; ++s)
    if (dest_ranks[s] >= 0) map.set(s, {dest_ranks[s], static_cast<slot>(dest_indices[s])});
  const std::uint64_t copied = state.units->bytes_copied();
  map.sort(state.comm->size(), map.slots() - 1, &state.budget);
  for (slot s = 0; s < n; ++s) {
    dest_ranks[s] = map[s].rank;
    dest_indices[s] = static_cast<int>(map[s].index);
  }
  if (state.options.stats != nullptr) state.options.stats->bytes_copied += state.units->bytes_copied() - copied;
}

void redistribution::set_data(void* data) noexcept { state_->units->set_data(data); }
std::size_t redistribution::memory() const noexcept { return state_->budget.used(); }
std::size_t redistribution::peak_memory() const noexcept { return state_->budget.peak(); }
std::string_view redistribution::algorithm() const noexcept { return state_->chosen->name; }

}  // namespace taquin
