#include "sparse.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>

#include "handles.hpp"
#include "options.hpp"
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

}  // namespace

py::tuple sparse_exchange_once(std::uintptr_t address, const rank_array& destinations, const count_array& counts,
                               const py::object& type, const py::object& comm, const py::dict& keywords,
                               const py::function& room) {
  choices c;
  read(c, keywords);
  const MPI_Comm handle = comm_of(comm);
  const MPI_Datatype element = datatype_of(type);
  const sparse_blocks mine{at(address),
                           {destinations.data(), static_cast<std::size_t>(destinations.size())},
                           count_view(counts.data()),
                           element};
  std::exception_ptr thrown;
  const auto make_room = [&](const sparse_call& call) -> void* {
    const py::gil_scoped_acquire held;
    try {
      return at(room(call.total()).cast<std::uintptr_t>());
    } catch (...) {  // the other ranks hear of it
      thrown = std::current_exception();
      return nullptr;
    }
  };
  std::optional<sparse_call> done;
  try {
    const py::gil_scoped_release released;
    done.emplace(detail::sparse_access::make(mine, handle, c.for_exchange(), c.invalid_text_or_null(), make_room));
  } catch (const error&) {
    if (thrown != nullptr) std::rethrow_exception(thrown);
    throw;
  }
  return py::make_tuple(copied(done->sources()), copied(done->counts()), to_python(c.stats));
}

}  // namespace taquin::python
