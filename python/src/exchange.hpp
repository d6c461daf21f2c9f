// An exchange as Python describes it: owns the counts, displacements and types that the library reads.
#pragma once

#include <mpi.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "taquin/exchange.hpp"

namespace taquin::python {

using count_array = pybind11::array_t<std::int64_t, pybind11::array::c_style>;

/// An exchange without data, made invalid by `text`, which must live as long.
exchange invalid_exchange_of(std::string_view form, bool in_place, MPI_Comm comm, const char* text);

/// One side: where its buffer is and how long, and the blocks in it.
struct side {
  std::uintptr_t address = 0;
  count_t bytes = 0;
  std::vector<count_t> counts{};
  std::vector<count_t> displs{};      ///< elements; alltoallw: bytes
  std::vector<MPI_Datatype> types{};  ///< one; alltoallw: one per rank

  static side of(const pybind11::handle& given);
  [[nodiscard]] void* base() const noexcept;
};

/// `form`: "alltoall", "alltoallv", "alltoallw", "alltoallv_in_place". `send` is None in place; then the receive side
/// serves for both. An error in the sides becomes `c.invalid_text`, which all ranks throw when the exchange is
/// run.
struct description {
  description(std::string form, const pybind11::object& send, const pybind11::object& recv,
              const pybind11::handle& comm, choices& c);
  /// Refers to this object and to `c.invalid_text`.
  [[nodiscard]] exchange get(const choices& c) const;

  std::string form;
  bool in_place = false;
  MPI_Comm comm = MPI_COMM_NULL;
  side send{};
  side recv{};

 private:
  void take(const pybind11::object& given_send, const pybind11::object& given_recv, choices& c);
};

}  // namespace taquin::python
