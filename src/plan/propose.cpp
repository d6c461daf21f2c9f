#include "plan/propose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "exchange/validate.hpp"
#include "mpi/big_count.hpp"
#include "mpi/progress.hpp"
#include "node/call_watch.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"

namespace taquin::detail {

progress_by progress_of(const options& o) {
  const bool asked = o.progress == progress_by::library && environment::get().progress_thread;
  return asked && mpi::can_progress_by_thread() ? progress_by::thread : o.progress;
}

bool always_agrees(const options& o) {
  return o.agreement == agreement_when::always || environment::get().always_agree;
}

namespace {

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
  add((o.aux_heap ? 1U : 0U) + (o.sparse_requests ? 2U : 0U) + (o.tune ? 4U : 0U) + (always_agrees(o) ? 8U : 0U));
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

}  // namespace

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

}  // namespace taquin::detail
