// Whether a thread is inside taquin: its MPI calls then are not the program's.
#pragma once

namespace taquin::interpose {

/// This thread is inside taquin.
extern constinit thread_local bool inside;

}  // namespace taquin::interpose
