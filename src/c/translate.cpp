#include "c/translate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// A fixed array, because reporting a lack of memory must take none.
thread_local std::array<char, 1024> text{};

// MPI must not be called for more than this before MPI_Init and after MPI_Finalize.
bool is_running() noexcept {
  static std::atomic<bool> started{false};
  if (!started.load(std::memory_order_relaxed)) {
    int initialized = 0;
    if (PMPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return false;
    started.store(true, std::memory_order_relaxed);
  }
  int over = 0;
  return PMPI_Finalized(&over) == MPI_SUCCESS && over == 0;
}

int keep(const char* what, int code) noexcept {
  const std::size_t n = std::min(std::strlen(what), text.size() - 1);
  std::memcpy(text.data(), what, n);
  text[n] = '\0';
  return code;
}

// MPI_ERRORS_ARE_FATAL and MPI_ERRORS_ABORT end the program with a text of the MPI library's.
bool is_fatal(MPI_Comm comm) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS || handler == MPI_ERRHANDLER_NULL) return false;
  bool fatal = handler == MPI_ERRORS_ARE_FATAL;
#if MPI_VERSION >= 4
  fatal = fatal || handler == MPI_ERRORS_ABORT;
#endif
  PMPI_Errhandler_free(&handler);
  return fatal;
}

MPI_Comm or_world(MPI_Comm comm) noexcept { return comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm; }

}  // namespace

int code_of_current_exception() noexcept {
  try {
    throw;
  } catch (const mpi_error& e) {
    return keep(e.what(), e.code());
  } catch (const error& e) {
    return keep(e.what(), e.mpi_class());
  } catch (const std::bad_alloc&) {
    return keep("out of memory", MPI_ERR_NO_MEM);
  } catch (const std::exception& e) {
    return keep(e.what(), MPI_ERR_INTERN);
  } catch (...) {
    return keep("unknown exception", MPI_ERR_INTERN);
  }
}

void print_if_fatal(MPI_Comm comm) noexcept {
  if (!is_running() || !is_fatal(or_world(comm))) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "taquin: %s (on rank %d of MPI_COMM_WORLD)\n", text.data(), rank);
}

int call_errhandler(MPI_Comm comm, int code) noexcept {
  if (is_running()) PMPI_Comm_call_errhandler(or_world(comm), code);
  return code;
}

int raise(MPI_Comm comm, int code) noexcept {
  print_if_fatal(comm);
  return call_errhandler(comm, code);
}

int refuse(const char* function, const char* what, int code) noexcept {
  std::snprintf(text.data(), text.size(), "%s: %s", function, what);
  return code;
}

int refuse_without_mpi(const char* function) noexcept {
  if (is_running()) return MPI_SUCCESS;
  return refuse(function, mpi::finalized() ? "called after MPI_Finalize" : "called before MPI_Init", MPI_ERR_OTHER);
}

handle_comm::~handle_comm() {
  if (handler_ != MPI_ERRHANDLER_NULL && is_running()) PMPI_Errhandler_free(&handler_);
}

void handle_comm::keep() noexcept {
  try {
    if (mpi::communicator* const known = mpi::communicator::find(comm_)) state_ = known->keep();
    if (state_ != nullptr) TAQUIN_MPI(PMPI_Comm_get_errhandler(comm_, &handler_));
  } catch (const std::exception&) {  // no private communicator: errors are the program's communicator's
    state_.reset();
  }
}

int handle_comm::raise(int code) const noexcept {
  if (state_ == nullptr || state_->has_user() || !is_running()) return detail::raise(comm_, code);
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(state_->get(), &own);
  PMPI_Comm_set_errhandler(state_->get(), handler_);
  detail::raise(state_->get(), code);
  PMPI_Comm_set_errhandler(state_->get(), own);
  if (own != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&own);
  return code;
}

const char* last_error() noexcept { return text.data(); }

}  // namespace taquin::detail
