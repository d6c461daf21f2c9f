#include "scalapack/redistribute_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/size_text.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "mpi/check.hpp"
#include "scalapack/blacs.hpp"
#include "taquin/error.hpp"
#include "taquin/exchange.hpp"
#include "taquin/layout.hpp"

namespace taquin::scalapack {

namespace {

using detail::as_size;

// The entries of a descriptor.
enum entry { dtype, ctxt, m, n, mb, nb, rsrc, csrc, lld };
// Types of a descriptor whose other entries have another meaning: a first block of its own, one-dimensional, out of
// core. Any other number is a dense matrix, because ScaLAPACK's own functions do not read it.
constexpr std::array other_types{2, 501, 502, 601};

// The entries of a matrix that ranks exchange. Those outside its context have no descriptor.
constexpr std::array shared_entries{m, n, mb, nb, rsrc, csrc};
constexpr std::size_t numbers = shared_entries.size() + 2;
// From here on the place of a rank in a grid is a context whose grid it is not in.
constexpr int not_in_grid = 1 << 30;

const std::array<const char*, numbers> entry_names{"NPROW", "NPCOL", "M", "N", "MB", "NB", "RSRC", "CSRC"};

// The arguments that all ranks of the context give, each plus 1.
constexpr std::size_t call_numbers = 8;
using call_values = std::array<int, call_numbers>;
const std::array<const char*, call_numbers> call_names{"M", "N", "IA", "JA", "IB", "JB", "UPLO", "DIAG"};
call_values values_of(const matrix_call& c) {
  const auto letter = [&](char l) { return c.triangle == 0 ? 0 : std::toupper(static_cast<unsigned char>(l)); };
  call_values v{c.rows,   c.columns,   c.from.row,         c.from.column,
                c.to.row, c.to.column, letter(c.triangle), letter(c.diagonal)};
  for (int& n : v) n = std::max(n, -1) + 1;
  return v;
}

// One side of a call: the matrix, once all ranks have exchanged their entries.
struct side {
  const matrix* x = nullptr;
  grid mine{};
  std::array<int, numbers> all{};  // grid rows and columns, then the shared entries; each plus 1
  std::vector<int> ranks{};        // of the communicator, by position in the grid, column by column
  int stray = -1;                  // a rank that is not in the grid of its context
  int stray_context = -1;

  [[nodiscard]] bool here() const noexcept { return mine.has_this_rank(); }
  [[nodiscard]] int value(std::size_t i) const noexcept { return all[i] - 1; }
  [[nodiscard]] layout made() const {
    return layout::scalapack(value(2), value(3), value(4), value(5), value(6), value(7),
                             here() ? x->descriptor[lld] : 0, value(0), value(1), ranks);
  }
};

side side_of(const matrix& x) {
  side s{.x = &x};
  if (x.descriptor[ctxt] < 0) return s;
  s.mine = grid_of(x.descriptor[ctxt]);
  if (!s.here()) return s;
  s.all[0] = s.mine.rows + 1;
  s.all[1] = s.mine.columns + 1;
  for (std::size_t i = 0; i < shared_entries.size(); ++i)
    s.all[2 + i] = std::max(x.descriptor[shared_entries[i]], -1) + 1;
  return s;
}

std::string invalid(const side& s, const char* which, int rank) {
  if (s.here() && std::ranges::find(other_types, s.x->descriptor[dtype]) != other_types.end())
    return fmt::format("the descriptor of {} has type {}, which is not a dense matrix", which, s.x->descriptor[dtype]);
  if (s.value(0) < 1 && s.stray < 0) return fmt::format("no rank of the context is in the grid of {}", which);
  if (const auto gap = std::ranges::find(s.ranks, -1); s.value(0) < 1 || gap != s.ranks.end()) {
    if (s.stray >= 0)
      return fmt::format("the context of {} on rank {} is {}, whose grid it is not in", which, s.stray,
                         s.stray_context);
    const auto at = static_cast<int>(gap - s.ranks.begin());
    return fmt::format("no rank of the context is at row {}, column {} of the grid of {}", at % s.value(0),
                       at / s.value(0), which);
  }
  // 0, as ScaLAPACK's own tester has it, where this rank has no elements.
  if (s.here() && (s.x->descriptor[lld] < 0 || (s.x->descriptor[lld] == 0 && s.made().local_size(rank) > 0)))
    return fmt::format("the leading dimension of {} is {}", which, s.x->descriptor[lld]);
  return {};
}

bool overlap(const side& a, const side& b, int rank, count_t element) {
  const auto first = [](const side& s) { return reinterpret_cast<std::uintptr_t>(s.x->data); };
  const auto past = [&](const side& s) { return first(s) + as_size(s.made().local_size(rank) * element); };
  return a.here() && b.here() && first(a) < past(b) && first(b) < past(a);
}

// The agreed data of all ranks of the context: their ranks in the parent, and the two sides.
struct agreed_call {
  explicit agreed_call(const matrix_call& call) : given(values_of(call)) {
    if (!call.is_empty()) {  // the descriptors of an empty one are not read
      a = side_of(call.from);
      b = side_of(call.to);
    }
    const grid here = grid_of(call.context);
    if (!here.has_this_rank()) throw usage_error("this rank is not in the context of the call", MPI_ERR_ARG);
    const auto ranks = as_size(here.rows) * as_size(here.columns);
    const MPI_Comm parent = parent_of(call.context);
    int rank = 0;
    MPI_Comm_rank(parent, &rank);
    // By row and column of the context: the rank, and its places in both grids; each plus 1.
    std::vector<int> reported(3 * ranks + 2 * all_numbers, 0);
    const std::size_t mine = as_size(here.row) * as_size(here.columns) + as_size(here.column);
    reported[3 * mine] = rank + 1;
    for (const side* s : {&a, &b})
      if (s->here())
        reported[3 * mine + (s == &a ? 1 : 2)] = s->mine.row + s->mine.column * s->mine.rows + 1;
      else if (const int context = s->x != nullptr ? s->x->descriptor[ctxt] : -1; context >= 0)
        reported[3 * mine + (s == &a ? 1 : 2)] = not_in_grid + std::min(context, not_in_grid - 2) + 1;
    const std::span<int> most = std::span(reported).last(2 * all_numbers).first(all_numbers);
    const std::span<int> complements = std::span(reported).last(all_numbers);  // of the least
    const auto own = values();
    for (std::size_t i = 0; i < all_numbers; ++i) {
      most[i] = own[i].value_or(0);
      complements[i] = own[i] ? largest - *own[i] : 0;
    }
    maximum(call.context, reported);
    std::copy_n(most.begin(), numbers, a.all.begin());
    std::copy_n(most.begin() + numbers, numbers, b.all.begin());
    empty = most[2 * numbers] < 2 || most[2 * numbers + 1] < 2;
    std::vector<int> members(ranks);
    for (side* s : {&a, &b}) s->ranks.assign(as_size(std::max(s->value(0), 0)) * as_size(std::max(s->value(1), 0)), -1);
    for (std::size_t k = 0; k < ranks; ++k) {
      members[k] = reported[3 * k] - 1;
      for (side* s : {&a, &b})
        if (const int at = reported[3 * k + (s == &a ? 1 : 2)] - 1; at >= not_in_grid) {
          s->stray = static_cast<int>(k);
          s->stray_context = at - not_in_grid;
        } else if (at >= 0 && as_size(at) < s->ranks.size()) {
          s->ranks[as_size(at)] = static_cast<int>(k);
        }
    }
    comm = communicator_of(parent, members);
    me = static_cast<int>(mine);
    for (std::size_t i = 0; i < all_numbers && disagreement.empty(); ++i)
      if (const bool any = complements[i] > 0 || most[i] > 0; any && most[i] != largest - complements[i])
        disagreement = named(i, own[i]);
  }
  side a{};
  side b{};
  call_values given;
  bool empty = false;  // on all ranks
  std::string disagreement{};
  MPI_Comm comm = MPI_COMM_NULL;
  int me = 0;

 private:
  static constexpr std::size_t all_numbers = 2 * numbers + call_numbers;
  static constexpr int largest = std::numeric_limits<int>::max();

  // Of this rank, those of A, of B, and of the call; none where it is not in the grid.
  [[nodiscard]] std::array<std::optional<int>, all_numbers> values() const {
    std::array<std::optional<int>, all_numbers> v;
    for (const side* s : {&a, &b})
      for (std::size_t i = 0; s->here() && i < numbers; ++i) v[(s == &a ? 0 : numbers) + i] = s->all[i];
    for (std::size_t i = 0; i < call_numbers; ++i) v[2 * numbers + i] = given[i];
    return v;
  }

  // Two ranks that give different values, and these. Collective.
  [[nodiscard]] std::string named(std::size_t i, std::optional<int> own) const {
    struct place {
      int value, rank;
    };
    place least{own.value_or(largest), me};
    place most{own.value_or(-1), me};
    TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_2INT, MPI_MINLOC, comm));
    TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_2INT, MPI_MAXLOC, comm));
    const bool of_call = i >= 2 * numbers;
    const std::string name = of_call ? std::string(call_names[i - 2 * numbers])
                                     : fmt::format("{} of {}", entry_names[i % numbers], i < numbers ? "A" : "B");
    const auto text = [&](int value) {
      return of_call && i >= 2 * numbers + 6 ? fmt::format("'{}'", static_cast<char>(value - 1))
                                             : fmt::format("{}", value - 1);
    };
    const bool in_order = least.rank < most.rank;
    const place& first = in_order ? least : most;
    const place& second = in_order ? most : least;
    return fmt::format("ranks disagree: {} is {} on rank {} and {} on rank {}", name, text(first.value), first.rank,
                       text(second.value), second.rank);
  }
};

// 5% of the local matrix, at least 1 MiB, unless TAQUIN_MEMORY is set.
std::size_t memory_for(const agreed_call& all, count_t element) {
  if (const char* const given = std::getenv("TAQUIN_MEMORY"); given != nullptr && *given != '\0') {
    const detail::size_text size = detail::read_size(given);
    if (size.invalid_text != nullptr)
      throw usage_error(fmt::format("TAQUIN_MEMORY is '{}': {}", given, size.invalid_text), MPI_ERR_ARG);
    return as_size(size.bytes);
  }
  const count_t largest = std::max(all.a.made().local_size(all.me), all.b.made().local_size(all.me));
  return std::max(as_size(largest * element) / 20, std::size_t{1} << 20U);
}

detail::written_part part_of(const matrix_call& call) {
  using kind = detail::written_part::kind;
  if (call.triangle == 0) return {};
  const bool upper = std::toupper(call.triangle) == 'U';
  const bool with_diagonal = std::toupper(call.diagonal) != 'U';
  // The diagonal of the triangle ends in the last column (upper) or row (lower).
  const count_t corner = upper ? std::max(call.rows - call.columns, 0) : -std::max(call.columns - call.rows, 0);
  return {upper ? kind::upper : kind::lower, corner + (with_diagonal ? 0 : (upper ? -1 : 1))};
}

void run(const matrix_call& call, const agreed_call& all) {
  const element e = element::of(call.type);
  std::string wrong = all.disagreement;
  if (wrong.empty()) wrong = invalid(all.a, "A", all.me);
  if (wrong.empty()) wrong = invalid(all.b, "B", all.me);
  layout from;
  layout to;
  layout_options o;
  if (wrong.empty()) {
    from = all.a.made();
    to = all.b.made();
    o.memory = memory_for(all, e.size);
    o.from_begin = {call.from.row - 1, call.from.column - 1};
    o.to_begin = {call.to.row - 1, call.to.column - 1};
    o.extents = {call.rows, call.columns};
  }
  detail::layout_arguments x{.from_array = call.from.data,
                             .from = &from,
                             .to_array = call.to.data,
                             .to = &to,
                             .type = call.type,
                             .comm = all.comm,
                             .invalid_text = wrong.empty() ? nullptr : wrong.c_str(),
                             .part = part_of(call)};
  detail::layout_access::make(x, o)();
}

// A and B share memory on some rank: ScaLAPACK's own function packs everything first.
bool forwarded(const matrix_call& call, const agreed_call& all, count_t element) {
  int overlaps = overlap(all.a, all.b, all.me, element) ? 1 : 0;
  if (call.next == nullptr) return false;
  maximum(call.context, std::span(&overlaps, 1));
  if (overlaps == 0) return false;
  void* const function = find_function(call.name);
  if (function == nullptr) return false;
  call.next(call, function);
  return true;
}

}  // namespace

void redistribute(const matrix_call& call) noexcept {
  MPI_Comm comm = MPI_COMM_WORLD;
  try {
    if (call.is_empty() && !grid_of(call.context).has_this_rank()) return;
    const agreed_call all(call);
    comm = all.comm;
    int size = 0;
    MPI_Type_size(call.type, &size);
    const bool valid = all.disagreement.empty();
    if (valid && all.empty) return;
    if (!valid || !forwarded(call, all, size)) run(call, all);
    return;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "libtaquin_scalapack: %s: %s\n", call.name, e.what());
  }
  MPI_Abort(comm, EXIT_FAILURE);
}

}  // namespace taquin::scalapack
