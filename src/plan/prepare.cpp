#include "plan/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/environment.hpp"
#include "exchange/agree.hpp"
#include "exchange/validate.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/progress.hpp"
#include "node/blocking_channel.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::size_t elements_needed(const exchange& x, int ranks) {
  if (x.kind != exchange::form::alltoallw || x.fault != nullptr) return 0;
  return (x.in_place && x.symmetric ? 1U : 2U) * static_cast<std::size_t>(ranks);
}

exchange with_elements(const exchange& x, int ranks, std::pmr::vector<element>& elements) {
  exchange y = x;
  const bool shared = x.in_place && x.symmetric;  // both sides have the receive side's types
  elements.reserve(elements_needed(x, ranks));
  for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.recv.types[i]));
  if (!shared)
    for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.send.types[i]));
  y.recv.elements = elements.data();
  y.send.elements = elements.data() + (shared ? 0 : ranks);
  return y;
}

namespace {

constexpr std::string_view automatic = "auto";
constexpr int most_ports = mpi::communicator::tags_per_plan - 2;  // each port has a tag of its own

bool beyond_int(const blocks& side, int ranks) {
  const count_t limit = mpi::count_limit();
  if (limit == 0x7fffffff) {  // without branches: this is done in every call
    if (side.counts.narrow() != nullptr && side.displs.narrow() != nullptr) return false;
    count_t bits = 0;
    for (int i = 0; i < ranks; ++i) {
      const count_t displ = side.displs[i];
      bits |= side.counts[i] | (displ < 0 ? ~displ : displ);
    }
    return bits > limit;
  }
  for (int i = 0; i < ranks; ++i)
    if (side.counts[i] > limit || side.displs[i] > limit || side.displs[i] < -limit) return true;
  return false;
}

std::optional<invalid_argument> check_inner(std::string_view name) {
  const algorithm* inner = find_algorithm(name);
  if (inner != nullptr && inner->serves_inside) return std::nullopt;
  return invalid_argument{fmt::format("algorithm '{}' does not serve as an inner one", name)};
}

std::optional<invalid_argument> check_levels(std::string_view names) {
  while (true) {
    const auto comma = names.find(',');
    if (auto bad = check_inner(names.substr(0, comma))) return bad;
    if (comma == std::string_view::npos) return std::nullopt;
    names = names.substr(comma + 1);
  }
}

std::optional<invalid_argument> check_options(const options& o, std::string_view name) {
  if (!environment::get().invalid_argument.empty()) return invalid_argument{environment::get().invalid_argument};
  if (name != automatic && find_algorithm(name) == nullptr)
    return invalid_argument{fmt::format("unknown algorithm '{}'; known are auto, {}", name, algorithm_names())};
  if (auto bad = check_inner(o.inner)) return bad;
  if (auto bad = check_levels(o.levels)) return bad;
  if (o.radix && *o.radix < 2) return invalid_argument{fmt::format("radix {} is below 2", *o.radix)};
  if (o.ports < 0 || o.ports > most_ports)
    return invalid_argument{fmt::format("ports {} is not within 0 and {}", o.ports, most_ports)};
  if (o.aux_parts < 0) return invalid_argument{fmt::format("aux_parts {} is negative", o.aux_parts)};
  if (o.progress == progress_by::thread && !mpi::can_progress_by_thread())
    return invalid_argument{"progress by a thread takes MPI_THREAD_MULTIPLE, which the MPI library does not provide",
                            MPI_ERR_UNSUPPORTED_OPERATION};
  if (o.max_in_flight < 0) return invalid_argument{fmt::format("max_in_flight {} is negative", o.max_in_flight)};
  return std::nullopt;
}

// What a plan of these options is gone on with by.
progress_by progress_of(const options& o) {
  const bool asked = o.progress == progress_by::library && environment::get().progress_thread;
  return asked && mpi::can_progress_by_thread() ? progress_by::thread : o.progress;
}

// FNV-1a over what must be the same on every rank.
std::uint64_t fingerprint(const exchange& x, const options& o, std::string_view name) {
  std::uint64_t h = 14695981039346656037ULL;
  const auto add = [&](std::uint64_t v) { h = (h ^ v) * 1099511628211ULL; };
  for (const std::string_view text : {name, o.inner, o.levels})
    for (const char c : text) add(static_cast<unsigned char>(c));
  add(static_cast<std::uint64_t>(x.kind));
  add((x.in_place ? 1U : 0U) + (x.symmetric ? 2U : 0U) + (o.check || environment::get().check ? 4U : 0U));
  add(static_cast<std::uint64_t>(o.radix.value_or(0)));
  add(static_cast<std::uint64_t>(o.layout));
  add(static_cast<std::uint64_t>(o.max_in_flight));
  add(static_cast<std::uint64_t>(o.ports));
  add(static_cast<std::uint64_t>(o.aux_parts));
  add(static_cast<std::uint64_t>(progress_of(o)) + (patience::of(o).seconds > 0 ? 4U : 0U));
  add((o.aux_heap ? 1U : 0U) + (o.sparse_requests ? 2U : 0U) + (o.tune ? 4U : 0U));
  const auto add_sizes = [&](std::span<const int> sizes) {
    add(sizes.size());
    for (const int size : sizes) add(static_cast<std::uint64_t>(size));
  };
  add_sizes(o.nodes);
  add_sizes(environment::get().nodes);
  for (const auto& sizes : environment::get().groups) add_sizes(sizes);
  return h;
}

// What a rank sends to itself it also receives.
std::optional<invalid_argument> check_equal_blocks(const exchange& x) {
  if (x.kind != exchange::form::alltoall || x.in_place) return std::nullopt;
  const count_t sent = x.send[0].bytes();
  const count_t received = x.recv[0].bytes();
  if (sent == received) return std::nullopt;
  return invalid_argument{
      fmt::format("alltoall sends blocks of {} bytes and receives blocks of {} bytes", sent, received),
      MPI_ERR_TRUNCATE};
}

// What the in-place algorithms go by: how many blocks there are, and whether one type serves for all.
void propose_units(const exchange& x, int ranks, proposal& mine) {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (int i = 0; i < ranks; ++i) {
    out += x.send[i].bytes() > 0 ? 1U : 0U;
    in += x.recv[i].bytes() > 0 ? 1U : 0U;
  }
  mine.peers = std::max(out, in);
  const element& e = x.recv.element;
  if (x.kind == exchange::form::alltoallw || e.size <= 0 || e.extent <= 0 || e.true_extent > e.extent) return;
  mine.unit_size = static_cast<std::uint64_t>(e.size);
  if (!e.contiguous()) mine.unit_span = static_cast<std::uint64_t>(e.extent);
}

proposal propose(const exchange& x, const options& o, std::string_view name, int ranks, const mpi::communicator* comm,
                 std::pmr::memory_resource* memory) {
  proposal mine;
  mine.bad = check_options(o, name);
  if (!mine.bad && comm != nullptr) mine.bad = check_nodes(*comm, o.nodes);
  if (!mine.bad) mine.bad = validate(x, ranks, memory);
  if (!mine.bad && comm != nullptr) mine.bad = check_equal_blocks(x);
  mine.choices = fingerprint(x, o, name);
  mine.memory = o.memory;
  mine.in_place = x.in_place;
  if (mine.bad) return mine;
  if (x.kind == exchange::form::alltoall) {
    mine.max_block_bytes = mine.min_block_bytes = static_cast<std::uint64_t>(x.send[0].bytes());
    mine.sent_bytes = mine.received_bytes = mine.max_block_bytes * static_cast<std::uint64_t>(ranks);
  } else {
    mine.min_block_bytes = unlimited;
    for (int i = 0; i < ranks; ++i) {
      const auto bytes = static_cast<std::uint64_t>(x.send[i].bytes());
      mine.max_block_bytes = std::max(mine.max_block_bytes, bytes);
      mine.min_block_bytes = std::min(mine.min_block_bytes, bytes);
      mine.sent_bytes += bytes;
      mine.received_bytes += static_cast<std::uint64_t>(x.recv[i].bytes());
    }
  }
  if (x.in_place) propose_units(x, ranks, mine);
  mine.large = beyond_int(x.recv, ranks) || (!x.in_place && beyond_int(x.send, ranks));
  return mine;
}

proposal propose_nothing(const exchange& x, const options& o, std::string_view name) {
  proposal mine;
  mine.choices = fingerprint(x, o, name);
  mine.memory = o.memory;
  mine.in_place = x.in_place;
  return mine;
}

const algorithm* named(std::string_view name, const shape& s) {
  const algorithm* a = find_algorithm(name);
  if (!a->supports(s))
    throw on_all_ranks(
        usage_error(fmt::format("algorithm '{}' does not serve this exchange ({} ranks{}{})", name, s.ranks,
                                s.in_place ? ", in place" : "", s.symmetric ? "" : ", asymmetric counts"),
                    MPI_ERR_UNSUPPORTED_OPERATION));
  return a;
}

}  // namespace

// This rank is in the plan's call, whose waits have its timeout.
struct plan_state::watched {
  explicit watched(plan_state& p)
      : here(p.comm != nullptr ? &p.comm->calls() : nullptr, p.comm != nullptr ? p.facts : 0) {
    if (p.timeout.seconds > 0 && p.comm != nullptr) [[unlikely]]
      clock.emplace(*p.comm, p.facts, p.number, p.running, p.timeout);
  }
  mpi::in_call here;
  std::optional<call_watch> clock;
};

void plan_state::count() {
  if (comm != nullptr) number = mpi::count_call(comm->calls());
}

plan_state::plan_state(const exchange& given, const options& asked, bool reused)
    : budget(asked.memory, &pool), elements(&budget), types(&budget), stats(asked.stats) {
  options o = asked;
  if (environment::get().invalid_argument.empty()) o.progress = progress_of(asked);
  by_thread = o.progress == progress_by::thread;
  if (given.comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  comm = mpi::communicator::known(given.comm);
  const bool inter = comm == nullptr && mpi::is_inter(given.comm);
  channel* node = inter ? nullptr : blocking_channel(given.comm);
  if (comm == nullptr && !inter) {
    if (node != nullptr) meet_on_node(*node);
    comm = &mpi::communicator::of(given.comm);
  }
  if (!inter) comm_lease = comm->keep();
  if (node != nullptr) share_calls(given.comm, *comm);
  facts = static_cast<std::uint64_t>(given.kind) << 1U | (given.in_place ? mpi::whereabouts::in_place : 0) |
          (reused ? mpi::whereabouts::plan : 0);
  timeout = patience::of(asked);
  // A blocking call on a node was counted when the short way was tried.
  if (node == nullptr || reused) {
    count();
  } else {
    number = comm->calls().calls.load(std::memory_order_relaxed);
  }
  const watched during(*this);
  int ranks = 0;
  if (inter) {
    TAQUIN_MPI(MPI_Comm_remote_size(given.comm, &ranks));
  } else {
    ranks = comm->size();
  }
  std::string_view name = o.algorithm;
  if (name == automatic && !environment::get().algorithm.empty()) name = environment::get().algorithm;

  // Memory that is taken whatever the algorithm. A limit below that fails after the agreement, on all ranks.
  const std::size_t element_bytes = elements_needed(given, ranks) * (sizeof(element) + sizeof(mpi::datatype));
  const bool enough = element_bytes <= o.memory;
  exchange x = enough && element_bytes > 0 ? with_elements(given, ranks, elements) : given;
  proposal mine = enough ? propose(x, o, name, ranks, comm, &budget) : propose_nothing(x, o, name);
  mine.facts = facts;
  mine.number = number;
  mine.algorithm = name;
  agreed all;
  all.memory = o.memory;
  all.max_block_bytes = mine.max_block_bytes;
  all.max_rank_bytes = mine.sent_bytes;
  all.max_received_bytes = mine.received_bytes;
  all.uniform = false;
  all.large = mine.large;
  const int tag = inter ? 0 : comm->next_tag();
  if (!inter) {
    all = agree_with_payload(x, o, name, reused, mine, tag, node);
  } else if (mine.bad) {  // both groups cannot be asked in one reduction: the MPI library's rules hold
    throw usage_error(mine.bad->what, mine.bad->mpi_class, -1, mine.bad->peer);
  }
  if (!inter && x.kind == exchange::form::alltoall && !all.uniform)
    throw on_all_ranks(usage_error(
        fmt::format("alltoall's blocks differ between ranks: the largest has {} bytes", all.max_block_bytes),
        MPI_ERR_TRUNCATE));
  shape = {.ranks = ranks,
           .kind = x.kind,
           .inter = inter,
           .in_place = x.in_place,
           .symmetric = x.symmetric,
           .shared = !inter && (node != nullptr || ranks == 1),
           .uniform = all.uniform,
           .large = all.large,
           .max_peers = static_cast<int>(all.max_peers),
           .one_unit = all.unit_size > 0,
           .unit_size = all.unit_size,
           .unit_span = all.unit_span,
           .max_block_bytes = all.max_block_bytes,
           .min_block_bytes = all.min_block_bytes,
           .max_rank_bytes = all.max_rank_bytes,
           .max_received_bytes = all.max_received_bytes};
  const bool free_choice = !inter && name == automatic;
  if (!free_choice) chosen = named(inter ? "native" : name, shape);
  if (free_choice || (chosen->needs_nodes && !inter)) {
    nodes = nodes_of(*comm, o.nodes);
    describe(nodes->topology, shape);
  }
  shape.memory_limit = all.memory == unlimited ? unlimited : all.memory - std::min(all.memory, element_bytes);
  if (free_choice) {
    const algorithm* carried = body != nullptr ? chooser::of(*comm).piggyback_choice(x.kind) : nullptr;
    chosen = chooser::of(*comm).choose(shape, o, reused, shape.memory_limit);
    if (chosen != carried) body.reset();  // what was carried was in vain, and is forgotten
  }
  const bool check = !inter && (o.check || environment::get().check);
  if (all.memory != unlimited) {
    const std::size_t needed = element_bytes + std::max(chosen->memory(shape, o), check ? check_bytes(ranks) : 0);
    if (needed > all.memory)
      throw on_all_ranks(budget_exceeded(fmt::format("algorithm '{}' needs {} bytes of extra memory, {} are allowed",
                                                     chosen->name, needed, all.memory),
                                         needed, 0, all.memory));
  }
  if (check) check_sizes(*comm, x, &budget);
  running = chosen->name;
  if (body != nullptr) return;  // the agreement carried it
  if (reused) types.keep(x, elements);
  // Messages that wait for their turn would need this rank.
  const bool all_at_once = free_choice ? o.progress == progress_by::library : chosen == &spread_out;
  if (reused && all_at_once && o.max_in_flight == 0) o.max_in_flight = ranks;
  if (free_choice && reused && o.tune && tune(x, o)) return;
  const int own_tag = reused && !inter ? tags.take(*comm) : tag;
  const std::size_t left = all.memory == unlimited ? unlimited : all.memory - element_bytes;
  const context c{comm, own_tag, &shape, &o, nodes.get(), reused, left};
  body = prepare_operation(*chosen, x, c, budget);
}

// The agreement, with the small blocks of a blocking call on board where the algorithm can do that.
agreed plan_state::agree_with_payload(const exchange& x, const options& o, std::string_view name, bool reused,
                                      const proposal& mine, int tag, channel* node) {
  const int agreement_tag = tag + mpi::communicator::agreement_tag;
  if (node != nullptr) return agree(*comm, agreement_tag, mine, nullptr, &budget, node);
  // Not every rank may have come here with "auto": only the agreement tells.
  const algorithm* a = name == automatic ? chooser::piggyback_choice(*comm, x.kind) : find_algorithm(name);
  const bool check = o.check || environment::get().check;  // must come before any data
  if (reused || check || comm->size() == 1 || a == nullptr || a->carried.prepare == nullptr || x.in_place ||
      a->carried.capacity(comm->size(), o) == 0)
    return agree(*comm, agreement_tag, mine, nullptr, &budget);
  try {
    if (!mine.bad) {
      auto piggyback_choice = a->carried.prepare(x, *comm, tag, o, budget);
      piggyback* payload = piggyback_choice.get();
      body = std::move(piggyback_choice);
      return agree(*comm, agreement_tag, mine, payload, &budget);
    }
    empty_piggyback nothing(a->carried.capacity(comm->size(), o), &budget);
    return agree(*comm, agreement_tag, mine, &nothing, &budget);
  } catch (const budget_exceeded&) {
    // Nothing was sent yet; the others learn of the limit and fail as well. Until then this rank takes what they send,
    // in memory outside its budget, because not every MPI library survives a message that is too long.
    body.reset();
    empty_piggyback nothing(a->carried.capacity(comm->size(), o), std::pmr::new_delete_resource());
    return agree(*comm, agreement_tag, mine, &nothing, std::pmr::new_delete_resource());
  }
}

// Several candidates, as far as the memory allows; false where it allows one only.
bool plan_state::tune(const exchange& x, const options& o) {
  const std::size_t limit = shape.memory_limit;
  const auto few = candidates(chooser::of(*comm).ranked(shape, o, limit), shape, o, limit);
  if (few.size() < 2) return false;
  std::size_t needed = autotuner::overhead(shape.ranks, few.size());
  for (const algorithm* a : few) needed += a->memory(shape, o);
  // Those that make use of more than they need share what is left.
  const std::size_t share = limit == unlimited ? 0 : (limit - needed) / few.size();
  std::pmr::vector<prepared_candidate> all(&budget);
  all.reserve(few.size());
  const int tag = tags.take(*comm, static_cast<int>(few.size()));
  for (const algorithm* a : few) {
    detail::shape own = shape;
    if (limit != unlimited) own.memory_limit = a->memory(shape, o) + share;
    const int own_tag = tag + static_cast<int>(all.size()) * mpi::communicator::tags_per_plan;
    const context c{comm, own_tag, &own, &o, nodes.get(), true, own.memory_limit};
    all.push_back({a, prepare_operation(*a, x, c, budget)});
  }
  auto made = make_operation<autotuner>(budget, std::move(all), *comm, tag + mpi::communicator::agreement_tag, &budget);
  tuned = made.get();
  chosen = tuned->running();
  body = std::move(made);
  return true;
}

void plan_state::start() {
  if (under_way) throw usage_error("the plan is started already", MPI_ERR_REQUEST);
  count();
  const watched during(*this);
  body->start();
  if (tuned != nullptr) chosen = tuned->running();
  under_way = true;
  begin(by_thread);
}

bool plan_state::test() {
  if (!under_way) return true;
  const watched during(*this);
  try {
    if (!look()) return false;
  } catch (...) {
    under_way = false;
    throw;
  }
  end();
  return true;
}

void plan_state::wait() {
  if (!under_way) return;
  const watched during(*this);
  under_way = false;
  finish();
  end();
}

void plan_state::run() {
  if (under_way) throw usage_error("the plan is started already", MPI_ERR_REQUEST);
  if ((facts & mpi::whereabouts::plan) != 0) count();
  const watched during(*this);
  body->run();
  if (tuned != nullptr) chosen = tuned->running();
  end();
}

void plan_state::end() {
  under_way = false;
  if (stats == nullptr) return;
  ++stats->starts;
  body->account(*stats);
  stats->peak_memory = std::max(stats->peak_memory, budget.peak());
  stats->algorithm = chosen->name;
}

}  // namespace taquin::detail
