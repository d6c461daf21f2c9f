#include "arrays.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

#include "exchange.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

// A lack of memory for the number stays a MemoryError.
py::object address_of(const py::array& array) {
  PyObject* const number = PyLong_FromVoidPtr(const_cast<void*>(array.data()));
  if (number == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(number);
}

count_array packed(const count_array& counts) {
  count_array displs(counts.size());
  std::exclusive_scan(counts.data(), counts.data() + counts.size(), displs.mutable_data(), std::int64_t{0});
  return displs;
}

template <class Integer>
py::tuple range_of_kind(const py::array& numbers) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t low = most;
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  const auto* at = static_cast<const std::byte*>(numbers.data());
  for (py::ssize_t k = 0; k < numbers.size(); ++k, at += numbers.strides(0)) {
    Integer number;
    std::memcpy(&number, at, sizeof number);
    const auto wide = std::cmp_greater(number, most) ? most : static_cast<std::int64_t>(number);
    low = std::min(low, wide);
    high = std::max(high, wide);
  }
  return py::make_tuple(low, high);
}

// The least and the greatest of integers along one axis, in the machine's order of bytes; at most 2^63 - 1.
py::tuple range_of(const py::array& numbers) {
  if (numbers.ndim() != 1) throw py::value_error("one axis is wanted");
  const bool has_sign = numbers.dtype().kind() == 'i';
  switch (numbers.itemsize()) {
    case 1:
      return has_sign ? range_of_kind<std::int8_t>(numbers) : range_of_kind<std::uint8_t>(numbers);
    case 2:
      return has_sign ? range_of_kind<std::int16_t>(numbers) : range_of_kind<std::uint16_t>(numbers);
    case 4:
      return has_sign ? range_of_kind<std::int32_t>(numbers) : range_of_kind<std::uint32_t>(numbers);
    default:
      return has_sign ? range_of_kind<std::int64_t>(numbers) : range_of_kind<std::uint64_t>(numbers);
  }
}

// As pybind11's, which does not check whether there was memory.
PyObject* checked_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const made = type->tp_alloc(type, 0);
  if (made != nullptr) reinterpret_cast<py::detail::instance*>(made)->allocate_layout();
  return made;
}

}  // namespace

void register_arrays(py::module_& m) {
  m.def("address_of", &address_of, py::arg("array"), "Where the items of an array begin.");
  m.def("packed", &packed, py::arg("counts"), "Displacements of contiguous blocks.");
  m.def("range_of", &range_of, py::arg("numbers"), "The least and the greatest of integers along one axis.");
}

void check_allocation(const py::handle& type) { reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = checked_new; }

}  // namespace taquin::python
