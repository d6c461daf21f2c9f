// Sparse exchanges for Python.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "exchange.hpp"

namespace taquin::python {

using rank_array = pybind11::array_t<std::int32_t, pybind11::array::c_style>;

/// Sends what lies at `address` in blocks of so many bytes: the statistics, where they are `counted`.
/// `room(bytes, sources, counts, elements)` gives the address where the incoming blocks are put; where it throws, that
/// rank has the exception. Otherwise Python needs no memory afterwards. `elements`: as the keyword of that name; those
/// of the other ranks where this rank has none and some come.
pybind11::object sparse_exchange_once(std::uintptr_t address, const rank_array& destinations, const count_array& counts,
                                      const pybind11::object& comm, const pybind11::dict& keywords,
                                      const pybind11::function& space, bool counted);

}  // namespace taquin::python
