// An error that makes a rank abort a call is published to the other ranks.
#pragma once

#include <exception>
#include <stdexcept>

#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

/// Runs `call()`, stages that all ranks go through together, and returns its result. An error that not all ranks have
/// makes this rank abort the call, while the others continue or wait for it: `abort` is called with the error before it
/// is rethrown.
template <class Abort, class Call>
auto or_abort(Abort abort, Call call) {
  try {
    return call();
  } catch (const error& e) {
    if (!e.collective()) abort(e);
    throw;
  } catch (const std::exception& e) {
    abort(e);
    throw;
  } catch (...) {  // thrown by an allocator of the user's
    abort(std::runtime_error("an exception that is no std::exception"));
    throw;
  }
}

template <class Call>
auto or_abort(communicator& comm, Call call) {
  return or_abort([&](const std::exception& why) { comm.abort(why); }, call);
}

}  // namespace taquin::mpi
