#include "plan/propose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/option_table.hpp"
#include "base/pair_weights.hpp"
#include "exchange/validate.hpp"
#include "mpi/big_count.hpp"
#include "mpi/progress.hpp"
#include "node/call_deadline.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"
#include "select/selection.hpp"

namespace taquin::detail {

progress_by progress_of(const options& o) {
  const bool requested = o.progress == progress_by::library && environment::get().progress_thread;
  return requested && mpi::can_progress_by_thread() ? progress_by::thread : o.progress;
}

namespace {

// Each port has a tag of its own.
static_assert(option_rows::ports.most == mpi::communicator::gate_tag);

bool beyond_int(const blocks& side, int ranks) {
  const count_t limit = mpi::count_limit();
  if (limit == 0x7fffffff) {  // without branches: this is executed in every call
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
  return invalid_argument{fmt::format("algorithm '{}' cannot be an inner algorithm", name)};
}

// A name and its radix, or "auto".
std::optional<invalid_argument> check_level(std::string_view level) {
  if (level == automatic) return std::nullopt;
  const auto colon = level.find(':');
  if (colon != std::string_view::npos) {
    int radix = 0;
    const char* const end = level.data() + level.size();
    const auto [stop, failed] = std::from_chars(level.data() + colon + 1, end, radix);
    if (failed != std::errc{} || stop != end || radix < 2)
      return invalid_argument{fmt::format("level '{}' has no radix of at least 2 after the colon", level)};
  }
  return check_inner(level.substr(0, colon));
}

std::optional<invalid_argument> check_levels(std::string_view names) {
  while (true) {
    const auto comma = names.find(',');
    if (auto invalid = check_level(names.substr(0, comma))) return invalid;
    if (comma == std::string_view::npos) return std::nullopt;
    names = names.substr(comma + 1);
  }
}

std::string out_of_range(const option_row& row, int value) {
  if (row.most != std::numeric_limits<int>::max())
    return fmt::format("{} must be between {} and {}, got {}", row.name, row.least, row.most, value);
  return fmt::format("{} must be ≥ {}, got {}", row.name, row.least, value);
}
std::string out_of_range(const option_row& row, float seconds) {
  return fmt::format("{} must be ≥ 0 seconds, got {}", row.name, seconds);
}

template <class Value>
std::optional<invalid_argument> check_range(const option_row& row, const Value& value) {
  if (in_range(row, value)) return std::nullopt;
  if constexpr (std::is_same_v<Value, std::optional<int>>) return invalid_argument{out_of_range(row, *value)};
  if constexpr (std::is_enum_v<Value>) return invalid_argument{out_of_range(row, static_cast<int>(value))};
  if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, time_limit>)
    return invalid_argument{out_of_range(row, value)};
  return std::nullopt;
}

std::optional<invalid_argument> check_options(const options& o, std::string_view name) {
  if (!environment::get().invalid_argument.empty()) return invalid_argument{environment::get().invalid_argument};
  if (name != automatic && find_algorithm(name) == nullptr)
    return invalid_argument{fmt::format("unknown algorithm '{}'; known are auto, {}", name, algorithm_names())};
  if (auto invalid = check_inner(o.two_phase.inner)) return invalid;
  if (auto invalid = check_levels(o.multilevel.levels)) return invalid;
#define TAQUIN_OPTION(NAME, FIELD, ...) \
  if (auto invalid = check_range(option_rows::NAME, o.FIELD)) return invalid;
#include "base/options.def"
  if (o.progress == progress_by::thread && !mpi::can_progress_by_thread())
    return invalid_argument{"progress by a thread needs MPI_THREAD_MULTIPLE, which the MPI library does not provide",
                            MPI_ERR_UNSUPPORTED_OPERATION};
  return std::nullopt;
}

// The options, some of which the environment overrides.
options in_effect(options o, std::string_view name) {
  o.algorithm = name;
  o.check = o.check || environment::get().check;
  o.progress = progress_of(o);
  o.timeout = call_timeout::of(o).seconds;
  return o;
}

template <class Value>
void add_option(fingerprint& all, const option_row& row, const Value& value) {
  if constexpr (std::is_same_v<Value, time_limit>) {
    if (row.ranks == option_ranks::given) all.add(value > 0);
  } else {
    if (row.ranks == option_ranks::identical) all.add(value);
  }
}

// All that must be the same on every rank.
std::uint64_t choices_of(const exchange& x, const options& given, std::string_view name) {
  fingerprint all;
  all.add(x.kind);
  all.add(x.in_place);
  all.add(x.symmetric);
  const options o = in_effect(given, name);
#define TAQUIN_OPTION(NAME, FIELD, ...) add_option(all, option_rows::NAME, o.FIELD);
#include "base/options.def"
  all.add(std::span<const int>(environment::get().nodes));
  for (const auto& sizes : environment::get().groups) all.add(std::span<const int>(sizes));
  if (!calls_from::rules().empty()) all.add(calls_from::rules());
  return all.value();
}

// The bytes that a rank sends to itself it also receives.
std::optional<invalid_argument> check_equal_blocks(const exchange& x) {
  if (x.kind != exchange::form::alltoall || x.in_place) return std::nullopt;
  const count_t sent = x.send[0].bytes();
  const count_t received = x.recv[0].bytes();
  if (sent == received) return std::nullopt;
  return invalid_argument{
      fmt::format("alltoall sends blocks of {} bytes and receives blocks of {} bytes", sent, received),
      MPI_ERR_TRUNCATE};
}

// Figures for the in-place algorithms: how many blocks there are, and whether all have one type.
void propose_units(const exchange& x, int ranks, proposal& mine) {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (int i = 0; i < ranks; ++i) {
    out += x.send[i].bytes() > 0 ? 1U : 0U;
    in += x.recv[i].bytes() > 0 ? 1U : 0U;
  }
  mine.max_peers = std::max(out, in);
  const element& e = x.recv.element;
  if (x.kind == exchange::form::alltoallw || e.size <= 0 || e.extent <= 0 || e.true_extent > e.extent) return;
  mine.unit_size = static_cast<std::uint64_t>(e.size);
  if (!e.contiguous()) mine.unit_span = static_cast<std::uint64_t>(e.extent);
}

bool has_gaps(const blocks& side, int ranks) {
  if (side.elements == nullptr) return !side.element.contiguous();
  return std::any_of(side.elements, side.elements + ranks, [](const element& e) { return !e.contiguous(); });
}

}  // namespace

proposal propose(const exchange& x, const options& o, std::string_view name, int ranks, const mpi::communicator* comm,
                 std::pmr::memory_resource* memory) {
  proposal mine;
  mine.invalid = check_options(o, name);
  if (!mine.invalid && comm != nullptr) mine.invalid = check_nodes(*comm, o.nodes);
  if (!mine.invalid) mine.invalid = validate(x, ranks, memory);
  if (!mine.invalid && comm != nullptr) mine.invalid = check_equal_blocks(x);
  mine.choices = choices_of(x, o, name);
  mine.memory = o.memory;
  mine.full_record = x.in_place;
  if (mine.invalid) return mine;
  if (x.kind == exchange::form::alltoall) {
    mine.max_block_bytes = mine.min_block_bytes = static_cast<std::uint64_t>(x.send[0].bytes());
    mine.max_rank_bytes = mine.max_received_bytes = mine.max_block_bytes * static_cast<std::uint64_t>(ranks);
    mine.moves = ranks > 1 && mine.max_block_bytes > 0;
  } else {
    mine.min_block_bytes = unlimited;
    std::uint64_t out = 0;  // weighted by the peers
    std::uint64_t in = 0;
    for (int i = 0; i < ranks; ++i) {
      const auto bytes = static_cast<std::uint64_t>(x.send[i].bytes());
      const auto expected = static_cast<std::uint64_t>(x.recv[i].bytes());
      out += bytes * pair_weights::receiver(i);
      in += expected * pair_weights::sender(i);
      mine.max_block_bytes = std::max(mine.max_block_bytes, bytes);
      mine.min_block_bytes = std::min(mine.min_block_bytes, bytes);
      mine.max_rank_bytes += bytes;
      mine.max_received_bytes += expected;
      mine.moves = mine.moves || (bytes + expected > 0 && (comm == nullptr || i != comm->rank()));
    }
    if (comm != nullptr)
      mine.unmatched = out * pair_weights::sender(comm->rank()) - in * pair_weights::receiver(comm->rank());
  }
  if (x.in_place) propose_units(x, ranks, mine);
  mine.gaps = has_gaps(x.recv, ranks) || (!x.in_place && has_gaps(x.send, ranks));
  mine.large = beyond_int(x.recv, ranks) || (!x.in_place && beyond_int(x.send, ranks));
  return mine;
}

proposal propose_nothing(const exchange& x, const options& o, std::string_view name) {
  proposal mine;
  mine.choices = choices_of(x, o, name);
  mine.memory = o.memory;
  mine.full_record = x.in_place;
  mine.unpublished = true;
  return mine;
}

}  // namespace taquin::detail
