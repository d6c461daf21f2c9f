// The common part of the functions that complete requests and of those that inspect them.
#pragma once

#include <mpi.h>

#include "interpose/serve/next.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "mpi/communicator.hpp"

namespace taquin::interpose {

/// A guard in which the MPI library may free a persistent collective, and with it a communicator.
class completing {
  guard inside_;
  mpi::communicator::late_frees late_;  // ends first
};

/// The status of an inactive request.
inline void empty(MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Request none = MPI_REQUEST_NULL;
  PMPI_Wait(&none, status);
}

inline MPI_Status* nth(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// Progresses the MPI library in a call that does not enter it, although the program also waits for its requests.
inline void let_mpi_progress() noexcept {
  int arrived = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &arrived, MPI_STATUS_IGNORE);
}

template <class F>
struct ways_on {
  F* chained;
  F* own;
};

template <class F>
ways_on<F> look_up(const char* top, const char* own) noexcept {
  return {next<F>(top), next<F>(own)};
}

/// `work()`, called by a C function, which throws nothing: an exception becomes MPI's error. Memory runs out before
/// anything is done.
template <class Work>
int without_exceptions(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return fail(MPI_COMM_SELF);
  }
}

}  // namespace taquin::interpose

/// Defines both names of a function; `intercepted_X` does the work. While no request is served, a call costs one read
/// of their number, and one that late_frees counts. With no tool below both names are one function, which needs no
/// guard against recursion.
#define TAQUIN_COMPLETES(X, PARAMETERS, ARGUMENTS)                  \
  TAQUIN_COMPLETES_BY(MPI_##X, "MPI_" #X, X, PARAMETERS, ARGUMENTS) \
  TAQUIN_COMPLETES_BY(PMPI_##X, "PMPI_" #X, X, PARAMETERS, ARGUMENTS)
#define TAQUIN_COMPLETES_BY(NAME, SYMBOL, X, PARAMETERS, ARGUMENTS)                          \
  extern "C" int exported_##NAME PARAMETERS __asm__(SYMBOL);                                 \
  extern "C" int exported_##NAME PARAMETERS {                                                \
    static const auto on = look_up<decltype(exported_##NAME)>("MPI_" #X, "PMPI_" #X);        \
    if (tracked_requests.load(std::memory_order_relaxed) == 0) [[likely]] {                  \
      const taquin::mpi::communicator::late_frees late;                                      \
      if (on.chained == on.own || inside) return on.own ARGUMENTS;                           \
      const guard g;                                                                         \
      return on.chained ARGUMENTS;                                                           \
    }                                                                                        \
    if (inside) return on.own ARGUMENTS;                                                     \
    return taquin::interpose::without_exceptions([&] { return intercepted_##X ARGUMENTS; }); \
  }
