#include "errors.hpp"

#include <mpi.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>

#include "taquin/error.hpp"
#include "taquin/failure.hpp"
#include "taquin/types.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

template <class... Arguments>
void set(const char* name, Arguments&&... arguments) {
  try {
    const py::object type = py::module_::import("taquin._errors").attr(name);
    const py::object value = type(std::forward<Arguments>(arguments)...);
    PyErr_SetObject(type.ptr(), value.ptr());
  } catch (py::error_already_set& e) {
    e.restore();
  }
}

}  // namespace

void set_error(std::exception_ptr thrown) {  // NOLINT(performance-unnecessary-value-param): so pybind11 calls it
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const budget_exceeded& e) {
    set("BudgetExceeded", e.what(), e.requested(), e.used(), e.limit());
  } catch (const usage_error& e) {
    set("UsageError", e.what(), e.rank(), e.peer(), e.mpi_class());
  } catch (const timed_out& e) {
    set("TimedOut", e.what(), e.mpi_class());
  } catch (const peer_aborted& e) {
    set("PeerAborted", e.what(), e.mpi_class(), e.rank());
  } catch (const peer_failed& e) {
    set("PeerFailed", e.what(), e.mpi_class(), py::tuple(py::cast(e.ranks())));
  } catch (const error& e) {
    set("Error", e.what(), e.mpi_class());
  }
}

void register_errors() { py::register_exception_translator(&set_error); }

}  // namespace taquin::python
