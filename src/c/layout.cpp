// The C API's layouts.
#include "taquin/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/invalid_argument.hpp"
#include "base/sizes.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "datatypes/committed.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using taquin::count_t;
using taquin::dimension;
using taquin::storage_order;
using taquin::usage_error;
using taquin::detail::as_size;
using taquin::detail::guarded;

struct TAQUIN_Layout_state {
  std::vector<dimension> dimensions;
  storage_order storage = storage_order::c;
  storage_order grid = storage_order::c;
  std::vector<int> ranks{}, stored{};
  std::vector<count_t> allocated{}, before{}, after{};
  std::complex<double> scale{1.0, 0.0};
  bool conjugate = false;
  std::vector<count_t> part_begin{}, part_extents{};

  [[nodiscard]] taquin::layout made() const {
    taquin::layout l(dimensions, storage, grid);
    l.on_ranks(ranks).stored(stored).allocated(allocated).halo(before, after);
    return l;
  }
};

struct TAQUIN_Layout_plan_state {
  taquin::detail::handle_comm comm;
  std::optional<taquin::layout_redistribution> redistribution{};
};

namespace {

// MPI need not run.
template <class F>
int locally(F f) noexcept {
  try {
    const char* const invalid_text = taquin::detail::take_invalid_text();  // of Fortran's arrays
    if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_ARG);
    f();
    return MPI_SUCCESS;
  } catch (...) {
    return taquin::detail::raise(MPI_COMM_NULL, taquin::detail::code_of_current_exception());
  }
}

void need(bool holds, const char* otherwise) {
  if (!holds) throw usage_error(otherwise, MPI_ERR_ARG);
}

storage_order order_of(int order) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    throw usage_error(fmt::format("the order must be MPI_ORDER_C ({}) or MPI_ORDER_FORTRAN ({}), got {}", MPI_ORDER_C,
                                  MPI_ORDER_FORTRAN, order),
                      MPI_ERR_ARG);
  return order == MPI_ORDER_FORTRAN ? storage_order::fortran : storage_order::c;
}

std::vector<count_t> list_of(const MPI_Count numbers[], std::size_t n) {
  return numbers == nullptr ? std::vector<count_t>{} : std::vector<count_t>(numbers, numbers + n);
}

template <class F>
int with(TAQUIN_Layout layout, F f) noexcept {
  return locally([&] {
    need(layout != nullptr, "null layout");
    f(*layout);
  });
}

constexpr const char* different_parts = "the parts of source and target have different extents";

// The axes, and the part that source and target have been given. Axes that are no permutation are refused later.
taquin::layout_options options_of_move(const TAQUIN_Layout_state& from, const TAQUIN_Layout_state& to,
                                       const int axes[]) {
  taquin::layout_options o;
  const std::size_t n = from.dimensions.size();
  if (axes != nullptr) o.axes.assign(axes, axes + n);
  o.from_begin = from.part_begin;
  o.to_begin = to.part_begin;
  o.extents = from.part_extents;
  if (to.part_extents.empty() || to.dimensions.size() != n) return o;
  std::vector<count_t> there(n);
  for (std::size_t d = 0; d < n; ++d) {
    const std::size_t axis = axes == nullptr ? d : static_cast<std::size_t>(axes[d]);
    if (axis >= n) return o;
    there[d] = to.part_extents[axis];
  }
  need(o.extents.empty() || o.extents == there, different_parts);
  o.extents = std::move(there);
  return o;
}

dimension dimension_of(int distribution, count_t extent, int processes, count_t block, int first) {
  switch (distribution) {
    case TAQUIN_EVEN:
      return dimension::even(extent, processes);
    case TAQUIN_BLOCK:
      return dimension::block_of(extent, processes);
    case TAQUIN_BLOCK_CYCLIC:
      if (block < 1) throw usage_error(fmt::format("a block must have 1 element or more, got {}", block), MPI_ERR_ARG);
      return dimension::block_cyclic(extent, processes, block, first);
    default:
      throw usage_error(
          fmt::format("a distribution must be TAQUIN_EVEN, TAQUIN_BLOCK or TAQUIN_BLOCK_CYCLIC, got {}", distribution),
          MPI_ERR_ARG);
  }
}

// The arguments of a collective call. A rank that lacks one reports it to all in the call.
struct call_arguments {
  taquin::layout from{}, to{};
  taquin::layout_options options{};
  taquin::detail::layout_arguments x{};

  call_arguments(const void* from_array, TAQUIN_Layout source, void* to_array, TAQUIN_Layout target, const int axes[],
                 MPI_Datatype type, MPI_Comm comm) {
    x = {.from_array = from_array, .from = &from, .to_array = to_array, .to = &to, .type = type, .comm = comm};
    x.invalid_text = taquin::detail::take_invalid_text();  // of Fortran's arrays
    if (x.invalid_text == nullptr) x.invalid_text = taquin::detail::invalid_text_of(type);
    if (source == nullptr || target == nullptr) {
      x.invalid_text = "null layout";
    } else {
      try {
        from = source->made();
        to = target->made();
        options = options_of_move(*source, *target, axes);
        options.scale = target->scale;
        options.conjugate = target->conjugate;
      } catch (const std::bad_alloc&) {
        x.invalid_text = taquin::detail::lacks_memory_text;
      } catch (const usage_error&) {
        x.invalid_text = different_parts;
      }
    }
    const taquin::options of_comm = taquin::detail::options_of(comm);
    options.memory = of_comm.memory;
    options.progress = of_comm.progress;
    options.on_timeout = of_comm.on_timeout;
    options.timeout = of_comm.timeout;
    options.in_flight = of_comm.in_flight;
  }
  call_arguments(const call_arguments&) = delete;
  call_arguments& operator=(const call_arguments&) = delete;

  void set_in_one_array() {
    x.in_one_array = true;
    options.memory = std::min(options.memory, taquin::layout_options{}.memory);
  }
  taquin::layout_redistribution make() { return taquin::detail::layout_access::make(x, options); }
};

// Collective.
void keep_plan(call_arguments& all, MPI_Comm comm, TAQUIN_Layout_plan* plan) {
  if (plan != nullptr) *plan = TAQUIN_LAYOUT_PLAN_NULL;
  if (plan == nullptr) all.x.invalid_text = "null address for the plan";
  // A rank without memory for the handle says so in the call.
  std::unique_ptr<TAQUIN_Layout_plan_state> made(
      new (std::nothrow) TAQUIN_Layout_plan_state{.comm = taquin::detail::handle_comm(comm)});
  if (made == nullptr) all.x.invalid_text = taquin::detail::lacks_memory_text;
  taquin::layout_redistribution redistribution = all.make();
  if (made == nullptr || plan == nullptr) return;  // never: all ranks have thrown
  made->redistribution.emplace(std::move(redistribution));
  made->comm.keep();
  *plan = made.release();
}

template <class F>
int with_plan(TAQUIN_Layout_plan plan, F f, const char* function = __builtin_FUNCTION()) noexcept {
  return taquin::detail::guarded_handle(
      plan, "null plan", MPI_ERR_ARG, [&](auto& p) { f(*p.redistribution); }, function);
}

}  // namespace

extern "C" {

int TAQUIN_Layout_create(int ndims, const MPI_Count extents[], const int distributions[], const int processes[],
                         const MPI_Count blocks[], const int firsts[], int order, TAQUIN_Layout* layout) {
  return locally([&] {
    need(layout != nullptr, "null address for the layout");
    *layout = nullptr;
    need(ndims > 0 && extents != nullptr && processes != nullptr, "no dimensions, extents or processes");
    auto made = std::make_unique<TAQUIN_Layout_state>();
    for (std::size_t d = 0; d < as_size(ndims); ++d)
      made->dimensions.push_back(dimension_of(distributions != nullptr ? distributions[d] : TAQUIN_EVEN, extents[d],
                                              processes[d], blocks != nullptr ? blocks[d] : 1,
                                              firsts != nullptr ? firsts[d] : 0));
    made->storage = order_of(order);
    *layout = made.release();
  });
}

int TAQUIN_Layout_set_lengths(TAQUIN_Layout layout, int dim, const MPI_Count lengths[]) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    if (dim < 0 || as_size(dim) >= l.dimensions.size())
      throw usage_error(fmt::format("dimension {}, counted from 0, of a layout with {}", dim, l.dimensions.size()),
                        MPI_ERR_ARG);
    need(lengths != nullptr, "null lengths");
    dimension& d = l.dimensions[as_size(dim)];
    dimension given = dimension::given(list_of(lengths, as_size(d.processes)));
    given.extent = d.extent;
    d = std::move(given);
  });
}

int TAQUIN_Layout_set_ranks(TAQUIN_Layout layout, int nranks, const int ranks[], int order) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    if (ranks != nullptr && nranks < 0)
      throw usage_error(fmt::format("the number of ranks must be ≥ 0, got {}", nranks), MPI_ERR_ARG);
    l.grid = order_of(order);
    l.ranks = ranks == nullptr ? std::vector<int>{} : std::vector<int>(ranks, ranks + nranks);
  });
}

int TAQUIN_Layout_set_allocated(TAQUIN_Layout layout, const MPI_Count extents[]) {
  return with(layout, [&](TAQUIN_Layout_state& l) { l.allocated = list_of(extents, l.dimensions.size()); });
}

int TAQUIN_Layout_set_halo(TAQUIN_Layout layout, const MPI_Count before[], const MPI_Count after[]) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    l.before = list_of(before, l.dimensions.size());
    l.after = list_of(after, l.dimensions.size());
  });
}

int TAQUIN_Layout_set_stored(TAQUIN_Layout layout, const int dims[]) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    l.stored = dims == nullptr ? std::vector<int>{} : std::vector<int>(dims, dims + l.dimensions.size());
  });
}

int TAQUIN_Layout_set_scale(TAQUIN_Layout target, double real, double imaginary, int conjugate) {
  return with(target, [&](TAQUIN_Layout_state& l) {
    l.scale = {real, imaginary};
    l.conjugate = conjugate != 0;
  });
}

int TAQUIN_Layout_set_part(TAQUIN_Layout layout, const MPI_Count begin[], const MPI_Count extents[]) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    l.part_begin = list_of(begin, l.dimensions.size());
    l.part_extents = list_of(extents, l.dimensions.size());
  });
}

int TAQUIN_Layout_scalapack(const int descriptor[], int nprow, int npcol, const int ranks[], TAQUIN_Layout* layout) {
  return locally([&] {
    need(layout != nullptr, "null address for the layout");
    *layout = nullptr;
    need(descriptor != nullptr, "null descriptor");
    if (descriptor[0] != 1)
      throw usage_error(fmt::format("the descriptor has type {}; that of a dense matrix is 1", descriptor[0]),
                        MPI_ERR_ARG);
    auto made = std::make_unique<TAQUIN_Layout_state>();
    for (const std::size_t d : {0U, 1U})
      made->dimensions.push_back(dimension_of(TAQUIN_BLOCK_CYCLIC, descriptor[2 + d], d == 0 ? nprow : npcol,
                                              descriptor[4 + d], descriptor[6 + d]));
    made->storage = made->grid = storage_order::fortran;
    made->allocated = {descriptor[8], 0};
    if (ranks != nullptr && nprow > 0 && npcol > 0) made->ranks.assign(ranks, ranks + count_t{nprow} * npcol);
    *layout = made.release();
  });
}

int TAQUIN_Layout_darray(int ndims, const int gsizes[], const int distribs[], const int dargs[], const int psizes[],
                         int order, TAQUIN_Layout* layout) {
  return locally([&] {
    need(layout != nullptr, "null address for the layout");
    *layout = nullptr;
    need(ndims > 0 && gsizes != nullptr && distribs != nullptr && dargs != nullptr && psizes != nullptr,
         "no dimensions, or a null list");
    auto made = std::make_unique<TAQUIN_Layout_state>();
    const auto list = [&](const int numbers[]) { return std::span(numbers, as_size(ndims)); };
    made->dimensions =
        taquin::layout::darray(list(gsizes), list(distribs), list(dargs), list(psizes), order).dimensions();
    made->storage = order_of(order);
    *layout = made.release();
  });
}

int TAQUIN_Layout_local_extents(TAQUIN_Layout layout, int rank, MPI_Count extents[]) {
  return with(layout, [&](const TAQUIN_Layout_state& l) {
    need(extents != nullptr, "null address for the extents");
    const std::vector<count_t> owned = l.made().local_extents(rank);
    for (std::size_t d = 0; d < owned.size(); ++d) extents[d] = owned[d];
  });
}

int TAQUIN_Layout_local_size(TAQUIN_Layout layout, int rank, MPI_Count* elements) {
  return with(layout, [&](const TAQUIN_Layout_state& l) {
    need(elements != nullptr, "null address for the elements");
    *elements = l.made().local_size(rank);
  });
}

int TAQUIN_Layout_find(TAQUIN_Layout layout, const MPI_Count index[], int* rank, MPI_Count* offset) {
  return with(layout, [&](const TAQUIN_Layout_state& l) {
    need(index != nullptr && rank != nullptr && offset != nullptr, "null index, rank or offset");
    const taquin::layout of = l.made();
    const std::string invalid = of.invalid_on(std::numeric_limits<int>::max());
    need(invalid.empty(), invalid.c_str());
    const std::vector<count_t> at = list_of(index, l.dimensions.size());
    for (std::size_t d = 0; d < at.size(); ++d)
      if (at[d] < 0 || at[d] >= l.dimensions[d].extent)
        throw usage_error(fmt::format("dimension {}: no index {} of {}", d, at[d], l.dimensions[d].extent),
                          MPI_ERR_ARG);
    const taquin::layout::place found = of.find(at);
    *rank = found.rank;
    *offset = found.offset;
  });
}

int TAQUIN_Layout_coordinates(TAQUIN_Layout layout, int rank, int coordinates[]) {
  return with(layout, [&](const TAQUIN_Layout_state& l) {
    need(coordinates != nullptr, "null address for the coordinates");
    std::ranges::copy(l.made().coordinates(rank), coordinates);
  });
}

int TAQUIN_Layout_relabel(TAQUIN_Layout layout, TAQUIN_Layout from, const int axes[], int nranks) {
  return with(layout, [&](TAQUIN_Layout_state& l) {
    need(from != nullptr, "null layout");
    const taquin::layout source = from->made();
    const taquin::layout better = l.made().relabelled(source, nranks, options_of_move(*from, l, axes));
    const std::span<const int> ranks = taquin::detail::layout_access::ranks(better);
    l.ranks.assign(ranks.begin(), ranks.end());
  });
}

int TAQUIN_Layout_elements_moved(TAQUIN_Layout from, TAQUIN_Layout to, const int axes[], MPI_Count* elements) {
  return with(from, [&](const TAQUIN_Layout_state& l) {
    need(to != nullptr, "null layout");
    need(elements != nullptr, "null address for the elements");
    *elements = taquin::elements_moved(l.made(), to->made(), options_of_move(l, *to, axes));
  });
}

int TAQUIN_Layout_free(TAQUIN_Layout* layout) {
  if (layout == nullptr || *layout == nullptr) return taquin::detail::refuse(__func__, "null layout", MPI_ERR_ARG);
  delete *layout;
  *layout = nullptr;
  return MPI_SUCCESS;
}

int TAQUIN_Redistribute_layout(const void* from_array, TAQUIN_Layout from, void* to_array, TAQUIN_Layout to,
                               const int axes[], MPI_Datatype type, MPI_Comm comm) {
  return guarded(comm, [&] { call_arguments(from_array, from, to_array, to, axes, type, comm).make()(); });
}

int TAQUIN_Redistribute_layout_in_place(void* array, TAQUIN_Layout from, TAQUIN_Layout to, const int axes[],
                                        MPI_Datatype type, MPI_Comm comm) {
  return guarded(comm, [&] {
    call_arguments all(array, from, array, to, axes, type, comm);
    all.set_in_one_array();
    all.make()();
  });
}

int TAQUIN_Redistribute_layout_part(const void* from_array, TAQUIN_Layout from, const MPI_Count from_begin[],
                                    void* to_array, TAQUIN_Layout to, const MPI_Count to_begin[],
                                    const MPI_Count extents[], const int axes[], MPI_Datatype type, MPI_Comm comm) {
  return guarded(comm, [&] {
    call_arguments all(from_array, from, to_array, to, axes, type, comm);
    const std::size_t n = all.from.dimensions().size();
    if (all.x.invalid_text == nullptr) {  // otherwise Fortran's arrays may be shorter
      all.options.from_begin = list_of(from_begin, n);
      all.options.to_begin = list_of(to_begin, n);
      all.options.extents = list_of(extents, n);
    }
    all.make()();
  });
}

int TAQUIN_Redistribute_layout_init(const void* from_array, TAQUIN_Layout from, void* to_array, TAQUIN_Layout to,
                                    const int axes[], MPI_Datatype type, MPI_Comm comm, TAQUIN_Layout_plan* plan) {
  return guarded(comm, [&] {
    call_arguments all(from_array, from, to_array, to, axes, type, comm);
    keep_plan(all, comm, plan);
  });
}

int TAQUIN_Redistribute_layout_in_place_init(void* array, TAQUIN_Layout from, TAQUIN_Layout to, const int axes[],
                                             MPI_Datatype type, MPI_Comm comm, TAQUIN_Layout_plan* plan) {
  return guarded(comm, [&] {
    call_arguments all(array, from, array, to, axes, type, comm);
    all.set_in_one_array();
    keep_plan(all, comm, plan);
  });
}

int TAQUIN_Redistribute_layout_start(TAQUIN_Layout_plan plan) {
  return with_plan(plan, [](taquin::layout_redistribution& r) { r.start(); });
}

int TAQUIN_Redistribute_layout_test(TAQUIN_Layout_plan plan, int* flag) {
  return with_plan(plan, [&](taquin::layout_redistribution& r) {
    need(flag != nullptr, "null address for the flag");
    *flag = r.test() ? 1 : 0;
  });
}

int TAQUIN_Redistribute_layout_wait(TAQUIN_Layout_plan plan) {
  return with_plan(plan, [](taquin::layout_redistribution& r) { r.wait(); });
}

int TAQUIN_Redistribute_layout_free(TAQUIN_Layout_plan* plan) {
  if (plan == nullptr || *plan == nullptr) return taquin::detail::refuse(__func__, "null plan", MPI_ERR_ARG);
  delete *plan;
  *plan = nullptr;
  return MPI_SUCCESS;
}

}  // extern "C"
