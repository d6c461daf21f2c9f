// A migration: the items of a rank are sorted by destination in place, and the runs for each rank are exchanged in
// place. The ranks agree once on all possible errors; then they exchange how many items go where; then only the failure
// of a rank, or of the exchange itself, can end it.
#include "taquin/migrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_operation.hpp"
#include "algorithms/in_place/units.hpp"
#include "base/collective_error.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/invalid_argument.hpp"
#include "base/memory_budget.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "call/elements.hpp"
#include "call/failure_map.hpp"
#include "mpi/collectives.hpp"
#include "mpi/user_code.hpp"
#include "redistribute/choices.hpp"
#include "redistribute/local_permutation.hpp"
#include "redistribute/migrated_column.hpp"
#include "redistribute/migration_map.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t most_buffer = 4096;   // for a part of an item, while items are sorted
constexpr std::size_t least_chunk = 16384;  // with less, data that have no free place go in too many messages

}  // namespace

struct migration::state {
  struct arguments {
    std::size_t items;
    std::span<const migrated_array> arrays;
    bool keeps;
    MPI_Comm comm;
  };

  state(const arguments& x, const redistribute_options& o)
      : running(call_word, timeout_of(o), nullptr),
        user(x.comm),
        items(x.items),
        keeps(x.keeps),
        options(o),
        budget(o.memory) {}

  void begin(const arguments& x, const redistribute_options& o, bool lacks_memory);
  std::optional<invalid_argument> check(const arguments& x) const;
  void take_arrays();
  void count_kept(proposal& p);
  std::optional<invalid_argument> plan(const char* invalid_text, std::size_t capacity,
                                       std::optional<std::size_t> storage);
  [[nodiscard]] std::array<std::uint64_t, 7> numbers() const;
  void describe(const std::array<std::uint64_t, 7>& all);
  // From here to the next stage the caller reads destinations, sorts, or lets its container grow, by functions of the
  // program.
  void let_caller_work() { callers_work.emplace(running.comm()->calls()); }
  void sort(std::span<void* const> data);
  void run(std::span<void* const> data);
  void exchange_all(std::span<void* const> data);
  void exchange_items(void* data, const migrated_column& c, std::span<const unit_column> several);
  void keep_map(const migrated_column& c, bool started, bool whole) noexcept;

  [[nodiscard]] std::size_t ranks() const noexcept { return as_size(running.comm()->size()); }
  // Four numbers per rank; the sort and the exchange use the rest, one after the other.
  [[nodiscard]] std::size_t needed() const noexcept {
    const std::size_t sorting = keeps ? items * sizeof(int) + buffer_bytes() : 0;
    return fixed_bytes() + std::max(sorting, exchange_bytes());
  }
  // Bytes that are as good as no limit, if no rank gets more items than the most that a rank has.
  [[nodiscard]] std::size_t usual() const noexcept {
    const std::size_t sorting = keeps ? items * sizeof(int) + buffer_bytes() + usual_part() : 0;
    return fixed_bytes() + std::max({sorting, usual_part(), 4 * least_of_exchange()});
  }
  // Without a limit.
  [[nodiscard]] std::size_t usual_part() const noexcept { return std::max<std::size_t>(items * widest() / 100, 65536); }
  // With the heap's rounding.
  [[nodiscard]] std::size_t state_bytes() const noexcept {
    return sizeof(state) + columns.size() * sizeof(migrated_column) + 64;
  }
  [[nodiscard]] std::size_t fixed_bytes() const noexcept { return state_bytes() + 4 * ranks() * sizeof(count_t); }
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return std::min(widest(), most_buffer); }
  [[nodiscard]] std::size_t exchange_bytes() const noexcept {
    return least_of_exchange() + std::min(items * widest(), least_chunk);
  }
  [[nodiscard]] std::size_t least_of_exchange() const noexcept {
    detail::shape s;
    s.max_peers = static_cast<int>(ranks());
    for (const migrated_column& c : columns)
      if (!c.item.contiguous()) s.unit_span = std::max(s.unit_span, static_cast<std::uint64_t>(c.item.extent));
    return in_place_operation::least(s);
  }
  // As much as the exchange has afterwards.
  [[nodiscard]] std::size_t sorting_allowance() const noexcept {
    if (options.memory != unlimited) return options.memory - std::min(options.memory, budget.used());
    return usual_part();
  }
  [[nodiscard]] std::size_t widest(std::size_t migrated_column::*bytes = &migrated_column::stride) const noexcept {
    return columns.empty() ? 0 : std::ranges::max(columns, {}, bytes).*bytes;
  }

  static constexpr std::uint64_t call_word = mpi::progress_record::of(mpi::call_kind::migration);
  call running;
  MPI_Comm user;
  std::size_t items;
  bool keeps;
  redistribute_options options;
  memory_budget budget;
  std::vector<migrated_column> columns;
  std::optional<std::pmr::vector<int>> destinations;  // then the place of each item among those sorted
  std::optional<raw_buffer> buffer;
  // Per rank: items for it, where they begin, items from it, where they go.
  std::optional<std::pmr::vector<count_t>> out, out_at, in, in_at;
  detail::shape shape;  // agreed, for an array with the most bytes
  std::size_t allowed = unlimited;
  std::size_t sent_here = 0;  // items for this rank, whether or not it has room for them
  std::size_t arriving = 0;
  std::size_t storage_peak = 0;
  std::optional<mpi::user_code> callers_work;
  bool waits = false;  // for storage, or for sorts, of any rank: the same on all
};

migration::migration(std::size_t items, std::span<const migrated_array> arrays, bool keeps, MPI_Comm comm,
                     const redistribute_options& o) {
  check_communicator(comm, "migration");
  state_ = begin_together<state>(state::arguments{items, arrays, keeps, comm}, o);
  state_->let_caller_work();
}
migration::~migration() = default;

std::span<int> migration::destinations() noexcept { return *state_->destinations; }
std::span<count_t> migration::counts() noexcept { return *state_->out; }
std::span<count_t> migration::next() noexcept { return *state_->out_at; }
std::size_t migration::incoming() const noexcept { return state_->sent_here; }
count_t migration::end_of(std::size_t rank) const noexcept { return (*state_->in_at)[rank]; }

std::optional<invalid_argument> migration::state::check(const arguments& x) const {
  if (x.items > most_items)
    return invalid_argument{fmt::format("{} elements; 0 to {} are allowed", x.items, most_items), MPI_ERR_COUNT};
  if (options.algorithm != "auto" && options.algorithm != in_place.name)
    return invalid_argument{
        fmt::format("unknown algorithm '{}'; a migration has auto, which is {}", options.algorithm, in_place.name)};
  if (!(options.timeout >= 0))
    return invalid_argument{fmt::format("timeout must be ≥ 0 seconds, got {}", static_cast<float>(options.timeout))};
  if (options.in_flight < 0) return invalid_argument{fmt::format("in_flight must be ≥ 0, got {}", options.in_flight)};
  for (const migrated_array& a : x.arrays)
    if (auto wrong = check_item(a)) return wrong;
  return std::nullopt;
}

void migration::state::take_arrays() {
  budget.charge(state_bytes());
  if (keeps) {
    destinations.emplace(items, 0, &budget);
    buffer.emplace(buffer_bytes(), &budget);
  }
  for (auto* list : {&out, &out_at, &in, &in_at}) list->emplace(ranks(), 0, &budget);
}

void migration::state::begin(const arguments& x, const redistribute_options&, bool lacks_memory) {
  forget_map();
  running.algorithm = "migrate";
  running.set_up(x.comm);
  running.stage([&] {
    proposal p;
    std::size_t needed = 0;
    p.invalid = lacks_memory ? out_of_memory() : check(x);
    if (!p.invalid) try {
        for (const migrated_array& a : x.arrays) columns.push_back(migrated_column_of(a));
        needed = this->needed();
        if (needed <= options.memory) take_arrays();
      } catch (const std::bad_alloc&) {
        p.invalid = out_of_memory();
      }
    fingerprint choices;
    choices.add(running.algorithm);
    choices.add(options.in_flight);
    p.choices = choices.value();
    p.algorithm = running.algorithm;
    p.memory = options.memory;
    const std::uint64_t limit = running.agree(p, &budget).memory;
    if (limit == unlimited) return;
    const bool lacks = needed > options.memory;
    running.agree_again({.lacking = lacks ? needed : 0, .usual = lacks ? usual() : 0, .limit = options.memory},
                        "a migration");
  });
}

std::size_t migration::plan(const char* invalid_text, std::size_t capacity, std::optional<std::size_t> storage) {
  state& s = *state_;
  s.callers_work.reset();
  s.running.stage([&] {
    const auto invalid = s.plan(invalid_text, capacity, storage);
    // The old storage, which is there until the vector has grown; the budget object does not count it.
    if (!invalid && s.arriving > capacity) s.storage_peak = s.budget.used() + *storage;
    auto numbers = s.numbers();
    s.waits = s.running.agree_again({.invalid = invalid,
                                     .lacking = s.storage_peak > s.options.memory ? s.storage_peak : 0,
                                     .limit = s.options.memory,
                                     .any = s.arriving > s.items || !s.keeps,
                                     .largest = numbers},
                                    "a vector that grows, and for which nothing was reserved,");
    s.describe(numbers);
  });
  s.let_caller_work();
  return s.arriving;
}

// Counts the items for each rank, and sends each rank its count: nothing if that is not known.
std::optional<invalid_argument> migration::state::plan(const char* invalid_text, std::size_t capacity,
                                                       std::optional<std::size_t> storage) {
  const auto p = static_cast<int>(ranks());
  std::optional<invalid_argument> invalid;
  if (invalid_text != nullptr) invalid = of_interface(invalid_text);
  if (keeps) {
    for (std::size_t k = 0; k < items && !invalid; ++k)
      if (const int r = (*destinations)[k]; r < 0 || r >= p)
        invalid = invalid_argument{fmt::format("element {} goes to rank {} of {}", k, r, p), MPI_ERR_RANK};
    for (std::size_t k = 0; k < items && !invalid; ++k) ++(*out)[as_size((*destinations)[k])];
  }
  if (invalid) std::ranges::fill(*out, 0);
  mpi::alltoall(*out, std::span(*in), *running.comm());
  const count_t total = std::accumulate(in->begin(), in->end(), count_t{0});
  if (!invalid && as_size(total) > most_items)
    invalid = invalid_argument{fmt::format("{} elements go to this rank", total), MPI_ERR_COUNT};
  else if (!invalid && as_size(total) > capacity && !storage)
    invalid = invalid_argument{fmt::format("{} elements go to this rank, which has room for {}", total, capacity),
                               MPI_ERR_COUNT};
  sent_here = as_size(total);
  arriving = invalid ? 0 : sent_here;
  std::exclusive_scan(out->begin(), out->end(), out_at->begin(), count_t{0});
  std::inclusive_scan(out->begin(), out->end(), in_at->begin());  // until they are sorted: end_of()
  return invalid;
}

// Of this rank, for describe(); with a hash of all that the exchange in place requires to be identical.
std::array<std::uint64_t, 7> migration::state::numbers() const {
  const std::uint64_t bytes = widest(&migrated_column::bytes);
  std::uint64_t span = 0;
  fingerprint sizes;
  sizes.add(known_elements::fingerprint());
  for (const migrated_column& c : columns) {
    sizes.add(c.bytes);
    if (!c.item.contiguous()) span = std::max(span, static_cast<std::uint64_t>(c.item.extent));
  }
  const auto peers = [](const auto& counts) { return counts.size() - as_size(std::ranges::count(counts, count_t{0})); };
  const std::size_t left = budget.limit() == unlimited ? unlimited : budget.limit() - fixed_bytes();
  return {bytes * items, bytes * arriving, std::max(peers(*out), peers(*in)), span, ~left,
          sizes.value(), ~sizes.value()};
}

// By the largest of these numbers of all ranks.
void migration::state::describe(const std::array<std::uint64_t, 7>& all) {
  if (all[5] != ~all[6]) {
    agree_on_elements(running.comm()->get(), known_elements::here());
    throw_on_all_ranks([&] { return usage_error("ranks disagree on the bytes of an element", MPI_ERR_ARG); });
  }
  shape = {.ranks = running.comm()->size(),
           .kind = exchange::form::alltoallv,
           .in_place = true,
           .symmetric = false,
           .shared = running.node() != nullptr || ranks() == 1,
           .single_copies = running.node() != nullptr && running.node()->single_copies(),
           .uniform = false};
  shape.max_rank_bytes = all[0];
  shape.max_received_bytes = all[1];
  shape.max_peers = static_cast<int>(all[2]);
  shape.one_unit = true;
  shape.unit_span = all[3];
  shape.unit_size = 1;
  allowed = in_place_allowance(shape, ~all[4], in_place_operation::least(shape));
}

void migration::ready(const char* invalid_text, int mpi_class) {
  state& s = *state_;
  s.callers_work.reset();
  if (!s.waits) return;
  s.running.stage([&] {
    std::optional<invalid_argument> invalid;
    if (invalid_text != nullptr) invalid = invalid_argument{invalid_text, mpi_class};
    s.running.agree_again({.invalid = invalid}, "a migration");
  });
}

// By destination, and by position: block by block, where the memory suffices for that; otherwise each element along its
// cycle, for which destinations become places.
void migration::state::sort(std::span<void* const> data) {
  if (!keeps) return;  // the caller has
  bool places = false;
  for (std::size_t a = data.size(); a-- > 0;) {
    auto* const first = static_cast<std::byte*>(data[a]);
    const std::size_t stride = columns[a].stride;
    const std::size_t block = places ? 0 : partition_buffers::block_length(items, stride, ranks(), sorting_allowance());
    std::size_t copied = 0;
    if (block > 0) {
      copied = partition_buffers(items, stride, ranks(), block, &budget).partition(first, *destinations, *out, *out_at);
    } else {
      for (int& to : *destinations)
        if (!places) to = static_cast<int>((*out_at)[as_size(to)]++);
      places = true;
      copied = permute(first, stride, *destinations, {buffer->data(), buffer->size()});
    }
    if (options.stats != nullptr) options.stats->bytes_copied += copied;
  }
}

void migration::state::run(std::span<void* const> data) {
  running.stage([&] {
    sort(data);
    std::exclusive_scan(out->begin(), out->end(), out_at->begin(), count_t{0});
    std::exclusive_scan(in->begin(), in->end(), in_at->begin(), count_t{0});
    destinations.reset();
    buffer.reset();
    exchange_all(data);
  });
  if (options.stats == nullptr) return;
  ++options.stats->starts;
  options.stats->algorithm = in_place.name;
  options.stats->peak_memory = std::max({options.stats->peak_memory, budget.peak(), storage_peak});
}

void migration::state::exchange_all(std::span<void* const> data) {
  std::array<unit_column, most_columns> joined;
  for (std::size_t a = 0; a < data.size();) {
    const joined_columns n = join(std::span(columns).subspan(a), data.subspan(a), shape, allowed, joined);
    if (n.arrays == 1) {
      if (columns[a].bytes > 0) exchange_items(data[a], columns[a], {});
      ++a;
      continue;
    }
    const std::span<const unit_column> several = std::span(joined).first(n.joined);
    const std::size_t bytes = several.back().before + several.back().bytes;
    exchange_items(several.front().data, {element::bytes(static_cast<count_t>(bytes)), 1, bytes, bytes}, several);
    a += n.arrays;
  }
}

// The whole items: of the exchange, or of the data before it. `whole`: its units are items.
void migration::state::keep_map(const migrated_column& c, bool started, bool whole) noexcept {
  try {
    const auto unit = whole ? c.bytes : shape.unit_span == 0 ? std::size_t{1} : as_size(c.item.size);
    failure::block_map map{.known = true, .unit_bytes = static_cast<count_t>(c.bytes)};
    if (started) map = map_of_items(failure::blocks(), c.bytes / unit, c.bytes);
    for (int r = 0; r < running.comm()->size() && !started; ++r) {
      const auto i = as_size(r);
      const count_t n = c.length;  // the counts are those of elements
      if ((*out)[i] > 0) append(map.outgoing, {failure::state::stands, r, 0, (*out)[i] / n, (*out_at)[i] / n});
      if ((*in)[i] > 0) append(map.incoming, {failure::state::missing, r, 0, (*in)[i] / n, -1});
    }
    detail::keep_map(std::move(map));
  } catch (const std::exception&) {
    forget_map();
  }
}

void migration::state::exchange_items(void* data, const migrated_column& c, std::span<const unit_column> several) {
  const auto scale = [&](count_t by, count_t down) {
    if (c.length == 1) return;
    for (auto* list : {&out, &out_at, &in, &in_at})
      for (count_t& n : **list) n = n / down * by;
  };
  scale(c.length, 1);
  exchange x = exchange::alltoallv_in_place(data, count_view(out->data()), count_view(out_at->data()),
                                            count_view(in->data()), count_view(in_at->data()), MPI_BYTE, user);
  for (blocks* side : {&x.send, &x.recv}) {
    side->element = c.item;
    side->displ_unit = c.item.extent;
  }
  taquin::options o;
  o.in_flight = options.in_flight;
  detail::shape of_this = shape;
  if (!several.empty()) {
    const auto of_widest = std::max<std::size_t>(widest(&migrated_column::bytes), 1);
    of_this.max_rank_bytes = shape.max_rank_bytes / of_widest * c.bytes;
    of_this.max_received_bytes = shape.max_received_bytes / of_widest * c.bytes;
  }
  const context where{running.comm(), running.comm()->next_tag(), &of_this, &o, nullptr, false, allowed};
  operation_ptr moves;
  try {
    moves = make_operation<in_place_operation>(budget, x, where, allowed, budget, several);
    moves->run();
  } catch (...) {
    keep_map(c, moves != nullptr, !several.empty());
    throw;
  }
  if (options.stats != nullptr) moves->account(*options.stats);
  moves.reset();
  scale(1, c.length);
}

void migration::run(std::span<void* const> data) {
  state_->callers_work.reset();
  state_->run(data);
}

}  // namespace taquin::detail
