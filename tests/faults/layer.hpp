// Faults on request, in this process: in calls of the MPI library, made by taquin under their PMPI names, and in
// requests for memory by operator new. Or faults at a step: a call, a request, or a poll after which this rank yields
// its core, because the awaited data in shared memory are not there.
#pragma once

#include "support/instruments.hpp"

namespace taquin::test {

enum class fault {
  mpi_call,   ///< the n-th call from now on is not made, and MPI_ERR_OTHER returned
  datatype,   ///< the same, of calls that make datatypes or look into them
  memory,     ///< the n-th request from now on throws std::bad_alloc
  no_memory,  ///< the n-th request from now on, and all that follow, throw std::bad_alloc
  delay,      ///< every call is made late, by a random time that begins with n
  death       ///< the process ends in the n-th call
};

// The implementation (layer.cpp); tests call the functions below, which count the effects.
namespace layer {
void arm(fault what, int n) noexcept;
bool disarm() noexcept;
}  // namespace layer

/// On this thread, until disarm(), which says whether it has happened.
inline void arm(fault what, int n) noexcept {
  instruments::used(instruments::kind::fault_layer);
  layer::arm(what, n);
}
inline bool disarm() noexcept {
  const bool happened = layer::disarm();
  if (happened) instruments::fired(instruments::kind::fault_layer);
  return happened;
}
/// Calls `what` once, before the n-th step from now on, counted from 0.
void at_step(int n, void (*what)()) noexcept;

}  // namespace taquin::test
