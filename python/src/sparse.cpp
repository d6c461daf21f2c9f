#include "sparse.hpp"

#include <array>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "call/elements.hpp"
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
void* address_of(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Where a rank puts its result, or why it cannot.
struct place {
  void* into = nullptr;
  std::exception_ptr thrown{};
};

place make_place(const sparse_call& call, const py::function& space, const std::string& elements) {
  const py::gil_scoped_acquire held;
  try {
    return {address_of(
        space(call.total(), copied(call.sources()), copied(call.counts()), elements).cast<std::uintptr_t>())};
  } catch (const py::cast_error&) {  // pybind11's error for a lack of memory
    return {nullptr, std::make_exception_ptr(std::bad_alloc())};
  } catch (...) {
    return {nullptr, std::current_exception()};
  }
}

// Where the result is put. Ranks that give different elements, and a rank that has no memory for its result, are an
// error on all ranks, before data are received. A rank that knows no elements learns those of the others if some come.
void* agreed_space(const sparse_call& call, const py::function& space, const std::string& elements, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const bool adopts = elements.empty() && call.total() > 0;
  place mine;
  if (!adopts) mine = make_place(call, space, elements);
  const detail::known_elements known(elements);
  const std::uint64_t print = detail::known_elements::fingerprint();
  const auto lacking = [&] { return mine.thrown != nullptr ? static_cast<std::uint64_t>(rank) + 1 : 0; };
  std::array<std::uint64_t, 4> own{lacking(), print, elements.empty() ? 0 : ~print, adopts ? 1U : 0U};
  std::array<std::uint64_t, 4> all{};
  patterns::allreduce(own.data(), all.data(), own.size(), MPI_UINT64_T, MPI_MAX, comm);
  const bool any_known = all[1] != 0 || all[2] != 0;
  if (all[3] != 0 || (any_known && all[1] != ~all[2])) {
    const std::string agreed = detail::agree_on_elements(comm, elements);
    if (adopts) mine = make_place(call, space, agreed);
    own[0] = lacking();
    patterns::allreduce(own.data(), all.data(), 1, MPI_UINT64_T, MPI_MAX, comm);
  }
  if (mine.thrown != nullptr) std::rethrow_exception(mine.thrown);
  if (all[0] == 0) return mine.into;
  const int other = static_cast<int>(all[0]) - 1;
  throw usage_error("rank " + std::to_string(other) + ": no memory for the data that it receives", MPI_ERR_NO_MEM,
                    other);
}

}  // namespace

py::object sparse_exchange_once(std::uintptr_t address, const rank_array& destinations, const count_array& counts,
                                const py::object& comm, const py::dict& keywords, const py::function& space,
                                bool counted) {
  choices c;
  read(c, keywords);
  const MPI_Comm handle = comm_of(comm);
  const sparse_blocks mine{address_of(address),
                           {destinations.data(), static_cast<std::size_t>(destinations.size())},
                           count_view(counts.data()),
                           MPI_BYTE};
  {
    const py::gil_scoped_release released;
    call_guard::await({});
    sparse_call call = detail::sparse_access::make(mine, handle, c.for_exchange(), c.invalid_text_or_null(), nullptr);
    call.receive(agreed_space(call, space, c.elements, handle));
  }
  return counted ? to_python(c.stats) : py::object(py::none());
}

}  // namespace taquin::python
