#include "sparse.hpp"

#include <exception>
#include <new>
#include <span>
#include <string>

#include "guard.hpp"
#include "handles.hpp"
#include "options.hpp"
#include "taquin/error.hpp"
#include "taquin/patterns.hpp"
#include "taquin/sparse.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

template <class T>
py::array_t<T> copied(std::span<const T> values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): Python gives addresses as numbers
void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Where the result is put. A rank that has no memory for it is an error on all ranks, before data are received.
void* agreed_room(const sparse_call& call, const py::function& room, MPI_Comm comm) {
  void* into = nullptr;
  std::exception_ptr thrown;
  {
    const py::gil_scoped_acquire held;
    try {
      into = at(room(call.total(), copied(call.sources()), copied(call.counts())).cast<std::uintptr_t>());
    } catch (const py::cast_error&) {  // pybind11's error for a lack of memory
      thrown = std::make_exception_ptr(std::bad_alloc());
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  int rank = -1;
  int lacking = -1;
  if (thrown != nullptr) MPI_Comm_rank(comm, &rank);
  patterns::allreduce(&rank, &lacking, 1, MPI_INT, MPI_MAX, comm);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  if (lacking >= 0)
    throw usage_error("rank " + std::to_string(lacking) + ": no memory for the data that it receives", MPI_ERR_NO_MEM,
                      lacking);
  return into;
}

}  // namespace

py::object sparse_exchange_once(std::uintptr_t address, const rank_array& destinations, const count_array& counts,
                                const py::object& type, const py::object& comm, const py::dict& keywords,
                                const py::function& room, bool counted) {
  choices c;
  read(c, keywords);
  const MPI_Comm handle = comm_of(comm);
  const MPI_Datatype element = datatype_of(type);
  const sparse_blocks mine{at(address),
                           {destinations.data(), static_cast<std::size_t>(destinations.size())},
                           count_view(counts.data()),
                           element};
  {
    const py::gil_scoped_release released;
    call_guard::await({});
    sparse_call call = detail::sparse_access::make(mine, handle, c.for_exchange(), c.invalid_text_or_null(), nullptr);
    call.receive(agreed_room(call, room, handle));
  }
  return counted ? to_python(c.stats) : py::object(py::none());
}

}  // namespace taquin::python
