// The MPI library that runs, compared with the one that this library was built for.
#pragma once

namespace taquin::interpose {

/// False, and one line on standard error, when handles of the library that runs would mean something else here.
bool is_the_library_built_for() noexcept;

}  // namespace taquin::interpose
