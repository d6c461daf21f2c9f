#include "c/translate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>

#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// A fixed array, because reporting a lack of memory must take none.
thread_local std::array<char, 1024> text{};

int keep(const char* what, int code) noexcept {
  const std::size_t n = std::min(std::strlen(what), text.size() - 1);
  std::memcpy(text.data(), what, n);
  text[n] = '\0';
  return code;
}

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

int call_errhandler(MPI_Comm comm, int code) noexcept {
  PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
  return code;
}

const char* last_error() noexcept { return text.data(); }

}  // namespace taquin::detail
