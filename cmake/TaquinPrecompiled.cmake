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

# taquin_compile_together(TARGET MOST): up to MOST sources of a folder are compiled as one, which takes two fifths of
# the time. Names in unnamed namespaces therefore differ within a folder. Not where each source is to stand alone, as
# above.
option(TAQUIN_COMPILE_TOGETHER "Compile several sources of a folder as one" ON)
function(taquin_compile_together target most)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT TAQUIN_COMPILE_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
    string(MAKE_C_IDENTIFIER ${group} group)
    math(EXPR part "0${${group}_count} / ${most}")
    math(EXPR ${group}_count "0${${group}_count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes an unnamed namespace of what is included for that of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
