#include "layouts.hpp"

#include <pybind11/stl.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "call/elements.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "options.hpp"
#include "pages.hpp"
#include "taquin/layout.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

using counts = std::vector<count_t>;
/// Extent, processes, block, first process, where given blocks begin.
using given_dimension = std::tuple<count_t, int, count_t, int, counts>;
/// Dimensions, stored in C order, grid in C order, ranks, order of storage, allocated, halo before and after.
using given_layout =
    std::tuple<std::vector<given_dimension>, bool, bool, std::vector<int>, std::vector<int>, counts, counts, counts>;

storage_order order_of(bool c) { return c ? storage_order::c : storage_order::fortran; }

layout layout_of(const given_layout& given) {
  const auto& [dimensions, c, grid_c, ranks, stored, allocated, before, after] = given;
  std::vector<dimension> all;
  for (const auto& [extent, processes, block, first, bounds] : dimensions)
    all.push_back({extent, processes, block, first, bounds});
  layout l(std::move(all), order_of(c), order_of(grid_c));
  return l.on_ranks(ranks).stored(stored).allocated(allocated).halo(before, after);
}

/// The extents that a rank owns, and the elements that its array needs.
std::pair<counts, count_t> local_part(const given_layout& given, int rank) {
  const layout l = layout_of(given);
  return {l.local_extents(rank), l.local_size(rank)};
}

/// The rank of an element, and its place there.
std::pair<int, count_t> find(const given_layout& given, const counts& index) {
  const layout::place p = layout_of(given).find(index);
  return {p.rank, p.offset};
}

std::vector<int> coordinates(const given_layout& given, int rank) { return layout_of(given).coordinates(rank); }

/// The moved part: dimension by dimension of the source, where it goes, and the part.
using given_part = std::tuple<std::vector<int>, counts, counts, counts>;

layout_options options_of(const given_part& part) {
  layout_options o;
  std::tie(o.axes, o.from_begin, o.to_begin, o.extents) = part;
  return o;
}

/// The ranks of the target's positions that keep the most elements where they are.
std::vector<int> relabelled(const given_layout& from, const given_layout& to, const given_part& part, int ranks) {
  const layout better = layout_of(to).relabelled(layout_of(from), ranks, options_of(part));
  const std::span<const int> list = detail::layout_access::ranks(better);
  return {list.begin(), list.end()};
}

count_t moved(const given_layout& from, const given_layout& to, const given_part& part) {
  return elements_moved(layout_of(from), layout_of(to), options_of(part));
}

std::string invalid(const given_layout& given) { return layout_of(given).invalid_on(std::numeric_limits<int>::max()); }

// MPI's type of numbers as NumPy writes them: their kind and bytes.
MPI_Datatype type_of_numbers(const std::string& numbers) {
  const std::pair<std::string_view, MPI_Datatype> known[] = {{"i1", MPI_INT8_T},
                                                             {"i2", MPI_INT16_T},
                                                             {"i4", MPI_INT32_T},
                                                             {"i8", MPI_INT64_T},
                                                             {"u1", MPI_UINT8_T},
                                                             {"u2", MPI_UINT16_T},
                                                             {"u4", MPI_UINT32_T},
                                                             {"u8", MPI_UINT64_T},
                                                             {"f4", MPI_FLOAT},
                                                             {"f8", MPI_DOUBLE},
                                                             {"f16", MPI_LONG_DOUBLE},
                                                             {"c8", MPI_C_FLOAT_COMPLEX},
                                                             {"c16", MPI_C_DOUBLE_COMPLEX},
                                                             {"c32", MPI_C_LONG_DOUBLE_COMPLEX}};
  for (const auto& [name, type] : known)
    if (name == numbers) return type;
  return MPI_DATATYPE_NULL;
}

// Elements of so many bytes: of numbers, or bytes.
class element_type {
 public:
  element_type(int bytes, const std::string& numbers) {
    const MPI_Datatype base = type_of_numbers(numbers);
    const int failed = base != MPI_DATATYPE_NULL ? PMPI_Type_contiguous(1, base, &type_)
                                                 : PMPI_Type_contiguous(bytes, MPI_BYTE, &type_);
    if (failed != MPI_SUCCESS) type_ = MPI_DATATYPE_NULL;
  }
  element_type(const element_type&) = delete;
  element_type& operator=(const element_type&) = delete;
  ~element_type() {
    if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The address and bytes of the old memory, the address of the new, pages that move there; items that it has room for.
using given_array = std::tuple<std::uintptr_t, std::size_t, std::uintptr_t, py::object, std::size_t>;

/// A redistribution of one call or of a plan.
struct prepared {
  choices options{};
  std::optional<element_type> type{};
  std::optional<layout_redistribution> redistribution{};

  /// Collective. Without `out` in one array. `held`: bytes of scratch memory that this rank has already.
  void make(const given_layout& from, const given_layout& to, const given_part& part, int item, std::size_t held,
            const py::object& comm, const py::dict& keywords, const given_array& array,
            const std::optional<given_array>& out) {
    read(options, keywords);
    layout_options o = options.for_layouts();
    std::tie(o.axes, o.from_begin, o.to_begin, o.extents) = part;
    const layout source = layout_of(from);
    const layout target = layout_of(to);
    type.emplace(item, options.numbers);
    const auto& [old, used, address, into, items] = array;
    const storage data(old, used, address, into);
    detail::layout_arguments x{.from_array = data.now,
                               .from_size = items,
                               .from = &source,
                               .to_array = data.now,
                               .to_size = items,
                               .to = &target,
                               .type = type->get(),
                               .comm = comm_of(comm),
                               .invalid_text = options.invalid_text_or_null(),
                               .in_one_array = !out,
                               .held = held};
    if (out) {
      x.to_array = storage(0, 0, std::get<2>(*out), py::none()).now;
      x.to_size = std::get<4>(*out);
    }
    const py::gil_scoped_release released;
    call_guard::await({});
    const detail::known_elements known(options.elements);
    redistribution.emplace(detail::layout_access::make(x, o));
    (void)data.take();
  }
};

/// A redistribution, once: its statistics, where they are `counted`. Arguments as above.
py::object redistribute_layout(const given_layout& from, const given_layout& to, const given_part& part, int item,
                               std::size_t held, const py::object& comm, const py::dict& keywords,
                               const given_array& array, const std::optional<given_array>& out, bool counted) {
  prepared once;
  once.make(from, to, part, item, held, comm, keywords, array, out);
  {
    const py::gil_scoped_release released;
    (*once.redistribution)();
  }
  return counted ? to_python(once.options.stats) : py::object(py::none());
}

class layout_plan {
 public:
  layout_plan(const given_layout& from, const given_layout& to, const given_part& part, int item,
              const py::object& comm, const py::dict& keywords, const given_array& array,
              const std::optional<given_array>& out)
      : made_(std::make_unique<prepared>()) {
    made_->make(from, to, part, item, 0, comm, keywords, array, out);
  }
  layout_plan(const layout_plan&) = delete;
  layout_plan& operator=(const layout_plan&) = delete;
  // A started plan must not be freed: arriving data would be written to freed memory.
  ~layout_plan() {
    if (started_) (void)made_.release();
  }

  void start() {
    call([](layout_redistribution& r) { r.start(); });
    started_ = true;
  }
  bool test() {
    bool complete = false;
    call([&](layout_redistribution& r) { complete = r.test(); });
    if (complete) started_ = false;
    return complete;
  }
  void wait() {
    call([](layout_redistribution& r) { r.wait(); });
    started_ = false;
  }
  void free() {
    const in_use guard(busy_);
    if (started_) throw usage_error("the plan is started: wait for it first", MPI_ERR_REQUEST);
    freed_ = true;
    made_->redistribution.reset();
  }
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] std::size_t peak_memory() const { return alive().peak_memory(); }
  [[nodiscard]] py::dict stats() const { return to_python(made_->options.stats); }

 private:
  [[nodiscard]] layout_redistribution& alive() const {
    if (freed_) throw usage_error("the plan was freed", MPI_ERR_REQUEST);
    return *made_->redistribution;
  }
  template <class Call>
  void call(Call body) {
    layout_redistribution& r = alive();
    const in_use guard(busy_);
    check_running();
    const py::gil_scoped_release released;
    body(r);
  }

  std::unique_ptr<prepared> made_;
  std::atomic<bool> busy_ = false;
  bool started_ = false;
  bool freed_ = false;
};

}  // namespace

void refuse_layouts(MPI_Comm comm, const char* text) {
  detail::layout_arguments x{.comm = comm, .invalid_text = text, .in_one_array = true};
  (void)detail::layout_access::make(x, {});
}

void register_layouts(py::module_& m) {
  m.def("local_part", &local_part, py::arg("layout"), py::arg("rank"),
        "The extents that a rank owns, and the elements that its array needs.");
  m.def("find", &find, py::arg("layout"), py::arg("index"), "The rank of an element, and its place there.");
  m.def("coordinates", &coordinates, py::arg("layout"), py::arg("rank"), "The coordinates of a rank in the grid.");
  m.def("relabelled", &relabelled, py::arg("source"), py::arg("target"), py::arg("part"), py::arg("ranks"),
        "The ranks of the target's positions that keep the most elements where they are.");
  m.def("elements_moved", &moved, py::arg("source"), py::arg("target"), py::arg("part"),
        "The elements that change ranks.");
  m.def("invalid_layout", &invalid, py::arg("layout"), "The reason why a layout is invalid; empty: it is valid.");
  m.def("redistribute_layout", &redistribute_layout, py::arg("source"), py::arg("target"), py::arg("part"),
        py::arg("item_bytes"), py::arg("held"), py::arg("comm"), py::arg("keywords"), py::arg("array"), py::arg("out"),
        py::arg("counted"), "Redistributes an array.");
  py::class_<layout_plan>(m, "LayoutPlan", "A prepared redistribution of an array.")
      .def(py::init<const given_layout&, const given_layout&, const given_part&, int, const py::object&,
                    const py::dict&, const given_array&, const std::optional<given_array>&>(),
           py::arg("source"), py::arg("target"), py::arg("part"), py::arg("item_bytes"), py::arg("comm"),
           py::arg("keywords"), py::arg("array"), py::arg("out"))
      .def("start", &layout_plan::start)
      .def("test", &layout_plan::test)
      .def("wait", &layout_plan::wait)
      .def("free", &layout_plan::free)
      .def_property_readonly("started", &layout_plan::started)
      .def_property_readonly("peak_memory", &layout_plan::peak_memory)
      .def_property_readonly("statistics", &layout_plan::stats);
}

}  // namespace taquin::python
