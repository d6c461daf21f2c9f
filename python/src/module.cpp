// The extension module taquin._core: the library for the Python layer on top, which checks and explains arguments.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "call/elements.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "layouts.hpp"
#include "options.hpp"
#include "pages.hpp"
#include "redistribute/access.hpp"
#include "sparse.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/failure.hpp"
#include "taquin/migrate.hpp"
#include "taquin/plan.hpp"
#include "taquin/redistribute.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

using int_array = py::array_t<std::int32_t, py::array::c_style>;

// NOLINTNEXTLINE(performance-no-int-to-ptr): Python gives addresses as numbers
std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

/// An exchange that runs once: its statistics, where they are `counted`. Otherwise Python needs no memory afterwards.
py::object run_once(const std::string& form, const py::object& send, const py::object& recv, const py::object& comm,
                    const py::dict& keywords, bool counted) {
  choices c;
  read(c, keywords);
  const description d(form, send, recv, comm, c);
  {
    const py::gil_scoped_release released;
    call_guard::await({});
    run(d.get(c), c.for_exchange());
  }
  return counted ? to_python(c.stats) : py::object(py::none());
}

class plan_object {
 public:
  plan_object(const std::string& form, const py::object& send, const py::object& recv, const py::object& comm,
              const py::dict& keywords) {
    read(choices_, keywords);
    const description d(form, send, recv, comm, choices_);
    const py::gil_scoped_release released;
    call_guard::await({});
    plan_ = std::make_unique<plan>(d.get(choices_), choices_.for_exchange());
  }
  plan_object(const plan_object&) = delete;
  plan_object& operator=(const plan_object&) = delete;
  // A started plan must not be freed: arriving data would be written to freed memory.
  ~plan_object() {
    if (started_) (void)plan_.release();
  }

  void start() {
    call([&] { plan_->start(); });
    started_ = true;
  }
  bool test() {
    bool complete = false;
    call([&] { complete = plan_->test(); });
    if (complete) started_ = false;
    return complete;
  }
  void wait() {
    call([&] { plan_->wait(); });
    started_ = false;
  }
  void free() {
    const in_use guard(busy_);
    if (started_) throw usage_error("the plan is started: wait for it first", MPI_ERR_REQUEST);
    plan_.reset();
  }
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] std::string algorithm() const { return std::string(alive().algorithm()); }
  [[nodiscard]] std::size_t memory() const { return alive().memory(); }
  [[nodiscard]] std::size_t peak_memory() const { return alive().peak_memory(); }
  [[nodiscard]] py::dict stats() const { return to_python(choices_.stats); }

 private:
  [[nodiscard]] const plan& alive() const {
    if (plan_ == nullptr) throw usage_error("the plan was freed", MPI_ERR_REQUEST);
    return *plan_;
  }
  template <class Call>
  void call(Call&& body) {
    (void)alive();
    const in_use guard(busy_);
    check_running();
    const py::gil_scoped_release released;
    body();
  }

  choices choices_;
  std::unique_ptr<plan> plan_;
  std::atomic<bool> busy_ = false;
  bool started_ = false;
};

/// Parts as rows of five numbers.
py::array_t<std::int64_t> rows_of(const std::vector<failure::part>& parts) {
  py::array_t<std::int64_t> rows({static_cast<py::ssize_t>(parts.size()), py::ssize_t{5}});
  auto to = rows.mutable_unchecked<2>();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const failure::part& p = parts[k];
    const auto row = static_cast<py::ssize_t>(k);
    to(row, 0) = static_cast<std::int64_t>(p.what);
    to(row, 1) = p.peer;
    to(row, 2) = p.offset;
    to(row, 3) = p.length;
    to(row, 4) = p.at;
  }
  return rows;
}

/// Known, unit bytes, outgoing, incoming, staged.
py::tuple map_to_python(const failure::block_map& map) {
  return py::make_tuple(map.known, map.unit_bytes, rows_of(map.outgoing), rows_of(map.incoming),
                        py::bytes(reinterpret_cast<const char*>(map.staged.data()), map.staged.size()));
}

// Destinations of blocks. A length below zero is an error of all ranks.
struct destinations {
  destinations(const std::optional<int_array>& r, const std::optional<count_array>& p)
      : length(r && p ? r->size() : -1), ranks(r && p ? r->data() : nullptr), places(r && p ? p->data() : nullptr) {}
  count_t length;
  count_view ranks;
  count_view places;
};

class redistribution_object {
 public:
  redistribution_object(std::uintptr_t address, count_t blocks, count_t block_bytes, const py::object& comm,
                        const py::dict& keywords) {
    read(choices_, keywords);
    const MPI_Comm handle = comm_of(comm);
    const py::gil_scoped_release released;
    call_guard::await({});
    const detail::known_elements known(choices_.elements);
    object_ = std::make_unique<redistribution>(
        detail::redistribution_access::make(at(address), blocks, block_bytes, MPI_BYTE, handle,
                                            choices_.for_redistribution(), choices_.invalid_text_or_null()));
    blocks_ = blocks;
  }
  redistribution_object(const redistribution_object&) = delete;
  redistribution_object& operator=(const redistribution_object&) = delete;

  void redistribute(const std::optional<int_array>& ranks, const std::optional<count_array>& places) {
    const in_use guard(busy_);
    check_running();
    const destinations to(ranks, places);
    const py::gil_scoped_release released;
    (*object_)(to.length, to.ranks, to.places);
  }
  void sort(int_array ranks, int_array places) {
    const in_use guard(busy_);
    check_running();
    const std::span<int> r(ranks.mutable_data(), static_cast<std::size_t>(ranks.size()));
    const std::span<int> p(places.mutable_data(), static_cast<std::size_t>(places.size()));
    const py::gil_scoped_release released;
    object_->sort(r, p);
  }
  py::tuple repair(const py::object& survivors) {
    const in_use guard(busy_);
    check_running();
    const MPI_Comm handle = comm_of(survivors);
    return map_after([&] { return object_->repair(handle); });
  }
  py::tuple roll_back(const py::object& survivors, const std::optional<int_array>& ranks,
                      const std::optional<count_array>& places) {
    const in_use guard(busy_);
    check_running();
    const MPI_Comm handle = comm_of(survivors);
    const destinations to(ranks, places);
    return map_after([&] { return object_->roll_back(handle, to.length, to.ranks, to.places); });
  }
  void set_data(std::uintptr_t address) {
    const in_use guard(busy_);
    object_->set_data(at(address));
  }
  [[nodiscard]] std::string algorithm() const { return std::string(object_->algorithm()); }
  [[nodiscard]] std::size_t memory() const { return object_->memory(); }
  [[nodiscard]] std::size_t peak_memory() const { return object_->peak_memory(); }
  [[nodiscard]] py::dict stats() const { return to_python(choices_.stats); }

 private:
  // The map that `repair` makes.
  template <class Repair>
  py::tuple map_after(Repair repair) {
    failure::block_map map;
    {
      const py::gil_scoped_release released;
      map = repair();
    }
    return map_to_python(map);
  }

  choices choices_;
  std::unique_ptr<redistribution> object_;
  count_t blocks_ = 0;
  std::atomic<bool> busy_ = false;
};

class migration_object {
 public:
  /// `bytes`: of a row of each array.
  migration_object(std::size_t elements, const std::vector<count_t>& bytes, const py::object& comm,
                   const py::dict& keywords) {
    read(kept_->choices, keywords);
    const MPI_Comm handle = comm_of(comm);
    std::vector<detail::migrated_array> arrays;
    arrays.reserve(bytes.size());
    for (const count_t row : bytes) arrays.push_back({row, MPI_BYTE});
    const py::gil_scoped_release released;
    call_guard::await({});
    kept_->object.emplace(elements, arrays, true, handle, kept_->choices.for_redistribution());
    call_guard::await([kept = kept_](const char* text) { kept->object->plan(text, 0, 0); });
  }
  migration_object(const migration_object&) = delete;
  migration_object& operator=(const migration_object&) = delete;

  /// A view, to be filled in.
  static int_array destinations(const py::object& self) {
    const auto to = self.cast<migration_object&>().kept_->object->destinations();
    return int_array(static_cast<py::ssize_t>(to.size()), to.data(), self);
  }
  std::size_t plan(const std::optional<std::string>& invalid_text, std::size_t capacity,
                   std::optional<std::size_t> storage) {
    const py::gil_scoped_release released;
    call_guard::await({});
    const detail::known_elements known(kept_->choices.elements);
    const std::size_t arriving = kept_->object->plan(invalid_text ? invalid_text->c_str() : nullptr, capacity, storage);
    call_guard::await([kept = kept_](const char* text) { kept->object->ready(text, MPI_ERR_NO_MEM); });
    return arriving;
  }
  /// The address and bytes of the old memory, the address of the new, pages that move there.
  using place = std::tuple<std::uintptr_t, std::size_t, std::uintptr_t, py::object>;
  /// Moves the data of each array, after ranks have agreed that all of them can.
  void run(const std::optional<std::string>& invalid_text, const std::vector<place>& places) {
    std::vector<storage> arrays;
    arrays.reserve(places.size());
    for (const auto& [old, used, address, into] : places) arrays.emplace_back(old, used, address, into);
    std::vector<void*> data(arrays.size());
    const py::gil_scoped_release released;
    call_guard::await({});
    kept_->object->ready(invalid_text ? invalid_text->c_str() : nullptr, MPI_ERR_NO_MEM);
    for (std::size_t a = 0; a < arrays.size(); ++a) data[a] = arrays[a].take();
    kept_->object->run(data);
  }
  [[nodiscard]] py::dict stats() const { return to_python(kept_->choices.stats); }

 private:
  // Lives as long as other ranks may wait for it.
  struct kept {
    python::choices choices{};
    std::optional<detail::migration> object{};
  };
  std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

/// The sum of all ranks' rows.
std::int64_t total_rows(std::int64_t rows, const py::object& comm) {
  const MPI_Comm handle = comm_of(comm);
  const py::gil_scoped_release released;
  call_guard::await({});
  PMPI_Allreduce(MPI_IN_PLACE, &rows, 1, MPI_INT64_T, MPI_SUM, handle);
  call_guard::await([handle](const char* text) { refuse_layouts(handle, text); });
  return rows;
}

/// The interface that NumPy requires of memory for an array.
py::dict array_interface(const pages& memory) {
  py::dict d;
  d["version"] = 3;
  d["typestr"] = "|u1";
  d["shape"] = py::make_tuple(memory.size());
  d["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(memory.data()), false);
  return d;
}

}  // namespace

}  // namespace taquin::python

PYBIND11_MODULE(_core, m) {
  using namespace taquin::python;
  m.doc() = "The library behind the package taquin. Use the package.";
  load_mpi4py();
  register_errors();

  m.attr("options") = table();
  m.def("run", &run_once, py::arg("form"), py::arg("send"), py::arg("recv"), py::arg("comm"), py::arg("keywords"),
        py::arg("counted"), "Runs an exchange once.");
  register_guard(m);
  register_arrays(m);

  m.def("sparse_exchange", &sparse_exchange_once, py::arg("address"), py::arg("destinations"), py::arg("counts"),
        py::arg("comm"), py::arg("keywords"), py::arg("capacity"), py::arg("counted"), "Runs a sparse exchange.");

  m.def(
      "failure_blocks", [] { return map_to_python(taquin::failure::blocks()); },
      "The map of what is whole: known, unit bytes, outgoing, incoming, staged.");

  py::class_<plan_object>(m, "Plan", "A prepared exchange.")
      .def(py::init<const std::string&, const py::object&, const py::object&, const py::object&, const py::dict&>(),
           py::arg("form"), py::arg("send"), py::arg("recv"), py::arg("comm"), py::arg("keywords"))
      .def("start", &plan_object::start)
      .def("test", &plan_object::test)
      .def("wait", &plan_object::wait)
      .def("free", &plan_object::free)
      .def_property_readonly("started", &plan_object::started)
      .def_property_readonly("algorithm", &plan_object::algorithm)
      .def_property_readonly("memory", &plan_object::memory)
      .def_property_readonly("peak_memory", &plan_object::peak_memory)
      .def_property_readonly("statistics", &plan_object::stats);

  py::class_<redistribution_object>(m, "Redistribution", "An array of equal blocks that can be redistributed.")
      .def(py::init<std::uintptr_t, taquin::count_t, taquin::count_t, const py::object&, const py::dict&>(),
           py::arg("address"), py::arg("blocks"), py::arg("block_bytes"), py::arg("comm"), py::arg("keywords"))
      .def("redistribute", &redistribution_object::redistribute, py::arg("ranks"), py::arg("places"))
      .def("sort", &redistribution_object::sort, py::arg("ranks"), py::arg("places"))
      .def("repair", &redistribution_object::repair, py::arg("survivors"))
      .def("roll_back", &redistribution_object::roll_back, py::arg("survivors"), py::arg("ranks"), py::arg("places"))
      .def("set_data", &redistribution_object::set_data, py::arg("address"))
      .def_property_readonly("algorithm", &redistribution_object::algorithm)
      .def_property_readonly("memory", &redistribution_object::memory)
      .def_property_readonly("peak_memory", &redistribution_object::peak_memory)
      .def_property_readonly("statistics", &redistribution_object::stats);

  py::class_<migration_object>(m, "Migration", "One migration of rows to ranks.")
      .def(py::init<std::size_t, const std::vector<taquin::count_t>&, const py::object&, const py::dict&>(),
           py::arg("elements"), py::arg("row_bytes"), py::arg("comm"), py::arg("keywords"))
      .def("destinations", [](const py::object& self) { return migration_object::destinations(self); })
      .def("plan", &migration_object::plan, py::arg("invalid"), py::arg("capacity"), py::arg("storage"))
      .def("run", &migration_object::run, py::arg("invalid"), py::arg("places"))
      .def_property_readonly("statistics", &migration_object::stats);

  register_layouts(m);
  m.def("total_rows", &total_rows, py::arg("rows"), py::arg("comm"), "The sum of all ranks' rows.");

  py::class_<pages>(m, "Pages", "Memory into which the pages of an array move.")
      .def(py::init<std::size_t, std::uintptr_t>(), py::arg("nbytes"), py::arg("old"))
      .def(
          "take", [](pages& to, std::uintptr_t old, std::size_t bytes) { to.take(at(old), bytes); }, py::arg("old"),
          py::arg("nbytes"))
      .def_static("can_take", &pages::can_take)
      .def_property_readonly("address", [](const pages& p) { return reinterpret_cast<std::uintptr_t>(p.data()); })
      .def_property_readonly("nbytes", &pages::size)
      .def_property_readonly("__array_interface__", &array_interface);
  for (const char* name : {"Plan", "Redistribution", "Migration", "LayoutPlan", "Pages"})
    check_allocation(m.attr(name));
}
