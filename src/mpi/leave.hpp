// An error that takes a rank out of the middle of a call is told to the other ranks.
#pragma once

#include <exception>

#include "mpi/check.hpp"
#include "mpi/communicator.hpp"

namespace taquin::mpi {

/// The result of `call()`, or its error, which `leave` gets first where it takes this rank out of the middle of a call.
template <class Leave, class Call>
auto or_leave(Leave leave, Call call) {
  try {
    return call();
  } catch (const std::exception& e) {
    if (is_left_in_the_middle(e)) leave(e);
    throw;
  }
}

template <class Call>
auto or_leave(communicator& comm, Call call) {
  return or_leave([&](const std::exception& why) { comm.leave(why); }, call);
}

}  // namespace taquin::mpi
