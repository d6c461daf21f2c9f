# Headers that most sources of a target include are compiled once, which takes a third off the time of a build. What a
# source forgets to include does not show then; CMAKE_DISABLE_PRECOMPILE_HEADERS compiles without them. SimGrid's MPI,
# whose headers redefine what others declare, goes without.
if(TAQUIN_MPI STREQUAL "smpi")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(taquin_precompiled <algorithm> <array> <atomic> <cstddef> <cstdint> <cstring> <functional> <limits> <memory>
  <memory_resource> <numeric> <optional> <ranges> <span> <string> <string_view> <utility> <vector> <mpi.h>
  <fmt/format.h>)

# taquin_precompile(TARGET HEADERS…): those above, and HEADERS.
function(taquin_precompile target)
  target_precompile_headers(${target} PRIVATE ${taquin_precompiled} ${ARGN})
endfunction()

# taquin_compile_together(TARGET COUNT): COUNT sources of it as one. Not where each source is to stand alone, as above.
function(taquin_compile_together target count)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()
