// An error that makes a rank abort a call is published to the other ranks.
#pragma once

#include <exception>
#include <stdexcept>

#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

/// Runs `call()`, stages that all ranks go through together, and returns its result. An error that not all ranks have
/// makes this rank abort the call, while the others continue or wait for it: `leave` is called with the error before it
/// is rethrown.
template <class Leave, class Call>
auto or_abort(Leave leave, Call call) {
  try {
    return call();
  } catch (const error& e) {
    if (!e.collective()) leave(e);
    throw;
  } catch (const std::exception& e) {
    leave(e);
    throw;
  } catch (...) {  // thrown by an allocator of the user's
    leave(std::runtime_error("an exception that is no std::exception"));
    throw;
  }
}

template <class Call>
auto or_abort(communicator& comm, Call call) {
  return or_abort([&](const std::exception& why) { comm.leave(why); }, call);
}

}  // namespace taquin::mpi
