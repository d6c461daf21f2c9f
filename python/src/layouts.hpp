// Layouts, and redistributions between them, as Python gives them.
#pragma once

#include <mpi.h>
#include <pybind11/pybind11.h>

namespace taquin::python {

/// Adds the functions that python/taquin/_layout.py calls.
void register_layouts(pybind11::module_& m);
/// Enters a redistribution between layouts with the text of this rank's error, which all ranks throw. Collective.
void refuse_layouts(MPI_Comm comm, const char* text);

}  // namespace taquin::python
