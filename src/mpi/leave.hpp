// An error that takes a rank out of a call is told to the other ranks.
#pragma once

#include <exception>
#include <stdexcept>

#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

/// The stages of a call from the first that all ranks go through together: the result of `call()`, or its error. One
/// that is not everyone's takes this rank out of what the others go on with, or wait for: `leave` gets it first.
template <class Leave, class Call>
auto or_leave(Leave leave, Call call) {
  try {
    return call();
  } catch (const error& e) {
    if (!e.collective()) leave(e);
    throw;
  } catch (const std::exception& e) {
    leave(e);
    throw;
  } catch (...) {  // of an allocator of the user's
    leave(std::runtime_error("an exception that is no std::exception"));
    throw;
  }
}

template <class Call>
auto or_leave(communicator& comm, Call call) {
  return or_leave([&](const std::exception& why) { comm.leave(why); }, call);
}

}  // namespace taquin::mpi
