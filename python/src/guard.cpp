#include "guard.hpp"

#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "errors.hpp"
#include "exchange.hpp"
#include "handles.hpp"
#include "layouts.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/migrate.hpp"
#include "taquin/plan.hpp"
#include "taquin/sparse.hpp"

namespace py = pybind11;

namespace taquin::python {

constinit thread_local call_guard* call_guard::innermost_ = nullptr;

namespace {

// The first operation of the ranks in a call of this kind.
void enter(std::string_view kind, MPI_Comm comm, const char* text) {
  if (kind == "sparse") {
    detail::sparse_access::make({nullptr, {}, {}, MPI_BYTE}, comm, {}, text,
                                [](const sparse_call&) { return nullptr; });
  } else if (kind == "migration") {
    const detail::migrated_array none{0, MPI_BYTE};
    detail::migration(0, std::span(&none, 1), true, comm, {}).plan(text, 0, 0);
  } else if (kind == "redistribution" || kind == "transposition") {
    if (kind == "transposition") {
      std::int64_t rows = 0;
      PMPI_Allreduce(MPI_IN_PLACE, &rows, 1, MPI_INT64_T, MPI_SUM, comm);
    }
    refuse_layouts(comm, text);
  } else if (kind == "plan") {
    const plan made(invalid_exchange_of("alltoall", false, comm, text), {});
  } else {
    run(invalid_exchange_of(kind, false, comm, text), {});
  }
}

// The Python error that is set, without memory of Python's.
struct kept_error {
  kept_error() { PyErr_Fetch(&type, &value, &trace); }
  kept_error(const kept_error&) = delete;
  kept_error& operator=(const kept_error&) = delete;
  ~kept_error() {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
  void restore() {
    PyErr_Clear();
    PyErr_Restore(std::exchange(type, nullptr), std::exchange(value, nullptr), std::exchange(trace, nullptr));
  }
  // The error that is set now has this one as its cause.
  void become_cause() {
    kept_error now;
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_NormalizeException(&now.type, &now.value, &now.trace);
    if (now.value != nullptr && value != nullptr && PyExceptionInstance_Check(value))
      PyException_SetCause(now.value, std::exchange(value, nullptr));
    now.restore();
  }
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
};

}  // namespace

void call_guard::enter_with_error() noexcept {
  if (!awaited_) return;
  kept_error own;
  const bool lacks_memory = PyErr_GivenExceptionMatches(own.type, PyExc_MemoryError) != 0;
  std::array<char, 128> text{};
  if (!lacks_memory && own.type != nullptr && PyType_Check(own.type))
    std::snprintf(text.data(), text.size(), "Python raised %s", reinterpret_cast<PyTypeObject*>(own.type)->tp_name);
  const entry awaited = std::exchange(awaited_, nullptr);
  std::exception_ptr of_all;
  PyThreadState* const released = PyEval_SaveThread();
  try {
    awaited(lacks_memory ? "out of memory" : text.data());
  } catch (...) {
    of_all = std::current_exception();
  }
  PyEval_RestoreThread(released);
  // A program that is interrupted, or that exits, does so.
  const bool is_error = PyErr_GivenExceptionMatches(own.type, PyExc_Exception) != 0;
  if (of_all == nullptr || !is_error) return own.restore();
  set_error(of_all);
  if (PyErr_Occurred() == nullptr || PyErr_ExceptionMatches(PyExc_MemoryError) != 0) return own.restore();
  own.become_cause();
}

namespace {

struct guarded_function {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject* function;
  PyObject* kind;
  PyObject* dict;
  Py_ssize_t position;
  const char* kind_text;
};

PyObject* communicator_of(const guarded_function& f, PyObject* const* arguments, std::size_t n, PyObject* names) {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t k = 0; k < named; ++k)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "comm") == 0) return arguments[n + std::size_t(k)];
  const auto given = static_cast<Py_ssize_t>(n);
  const Py_ssize_t at = f.position < 0 ? given + f.position : f.position;
  return at >= 0 && at < given ? arguments[at] : nullptr;
}

PyObject* call_guarded(PyObject* self, PyObject* const* arguments, std::size_t flagged, PyObject* names) {
  const auto& f = *reinterpret_cast<guarded_function*>(self);
  const MPI_Comm comm =
      usable_comm(communicator_of(f, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flagged)), names));
  call_guard::entry awaited;
  if (comm != MPI_COMM_NULL) awaited = [kind = f.kind_text, comm](const char* text) { enter(kind, comm, text); };
  call_guard guard(std::move(awaited));
  PyObject* const result = PyObject_Vectorcall(f.function, arguments, flagged, names);
  if (result == nullptr) guard.enter_with_error();
  return result;
}

void release(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto& f = *reinterpret_cast<guarded_function*>(self);
  Py_CLEAR(f.function);
  Py_CLEAR(f.kind);
  Py_CLEAR(f.dict);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto& f = *reinterpret_cast<guarded_function*>(self);
  Py_VISIT(f.function);
  Py_VISIT(f.dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* represented(PyObject* self) { return PyObject_Repr(reinterpret_cast<guarded_function*>(self)->function); }

PyTypeObject* guarded_type() {
  static std::array<PyMemberDef, 4> members{{
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(guarded_function, call), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(guarded_function, dict), READONLY, nullptr},
      {"__wrapped__", T_OBJECT, offsetof(guarded_function, function), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  }};
  static std::array<PyGetSetDef, 2> properties{{
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  }};
  static std::array<PyType_Slot, 10> slots{{
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(release)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bound)},
      {Py_tp_repr, reinterpret_cast<void*>(represented)},
      {Py_tp_members, members.data()},
      {Py_tp_getset, properties.data()},
      {0, nullptr},
  }};
  static PyType_Spec spec{
      "taquin._core.guarded_function", static_cast<int>(sizeof(guarded_function)), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
      slots.data()};
  static PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return reinterpret_cast<PyTypeObject*>(type);
}

py::object guarded(const py::object& function, const py::str& kind, py::ssize_t position) {
  PyTypeObject* const type = guarded_type();
  const auto made = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!made) throw py::error_already_set();
  auto& f = *reinterpret_cast<guarded_function*>(made.ptr());
  f.call = call_guarded;
  f.function = Py_NewRef(function.ptr());
  f.kind = Py_NewRef(kind.ptr());
  f.kind_text = PyUnicode_AsUTF8(f.kind);
  f.position = position;
  for (const char* name : {"__name__", "__qualname__", "__module__", "__doc__", "__annotations__"})
    made.attr(name) = function.attr(name);
  return made;
}

}  // namespace

void register_guard(py::module_& m) {
  m.def("guarded", &guarded, py::arg("function"), py::arg("kind"), py::arg("position"),
        "A collective function whose failure before ranks agree is the error of all ranks.");
}

}  // namespace taquin::python
