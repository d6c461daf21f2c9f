// Whether a thread is inside taquin: what it calls then is no call of the program's.
#pragma once

namespace taquin::interpose {

/// This thread is inside taquin.
extern constinit thread_local bool inside;

}  // namespace taquin::interpose
