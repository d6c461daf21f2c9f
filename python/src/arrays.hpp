// Functions of NumPy and pybind11 for arrays and objects that do not end the process for lack of memory.
#pragma once

#include <pybind11/pybind11.h>

namespace taquin::python {

/// Adds address_of(array), packed(counts) and range_of(integers).
void register_arrays(pybind11::module_& m);

/// For a class of pybind11's: an object for which there is no memory is a MemoryError.
void check_allocation(const pybind11::handle& type);

}  // namespace taquin::python
