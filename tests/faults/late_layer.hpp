// A rank that is late at a message, other ranks that give up meanwhile, and the sends that these give up before they
// are received. The layer stands between taquin and the MPI library: sends are synchronous, so that one is complete
// only when its message is received.
#pragma once

namespace taquin::test {

/// Calls `what` once in this process, before the n-th message from now on is posted, counted from 0.
void at_message(int n, void (*what)()) noexcept;
/// Whether that has happened; afterwards it does not happen any more.
bool was_late() noexcept;

/// A poll of the MPI library fails once in this process, some polls after `is_time()` has become true; null: none.
void fail_a_poll_when(bool (*is_time)()) noexcept;

/// Sends of this process that were given up since the last look.
struct given_up {
  int sends = 0;
  int spoiled = 0;  ///< of these, those whose memory is gone or has changed meanwhile
};
given_up poll_given_up();

}  // namespace taquin::test
