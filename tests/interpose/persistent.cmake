# Persistent exchanges: served always, where that measures better, or never.
find_package(Threads REQUIRED)
add_executable(interpose_persistent persistent.c)
target_link_libraries(interpose_persistent PRIVATE MPI::MPI_C Threads::Threads)
set(persistent $<TARGET_FILE:interpose_persistent>)

# persistent_test(NAME RANKS PART WHO MESSAGE [SETTINGS…])
function(persistent_test name ranks part who message)
  list(JOIN ARGN " " settings)
  neighbour_test(${name}_np${ranks} "${message}"
    "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_PERSISTENT=${who} ${settings} ${persistent} ${part}")
endfunction()

set(own "(spread_out|shared_memory)")
taquin_rank_counts(rank_counts 2 3)
if(TAQUIN_MPI MATCHES "^(mpich|abi)$")
  set(rank_counts 2)
endif()
set(neighbours "native 4")
if(TAQUIN_MPI MATCHES "^(openmpi|mpich)$")
  set(neighbours "native 1, neighbour_slots 3")  # and a communicator's first call
endif()
foreach(ranks ${rank_counts})
  foreach(part one_by_one arrays any_order halves errors threads)
    persistent_test(persistent_${part} ${ranks} ${part} always "algorithms +${own} [0-9]+(, ${own} [0-9]+)?[\n].*status 0")
  endforeach()
  foreach(part one_by_one any_order threads)
    persistent_test(measured_${part} ${ranks} ${part} measured "algorithms +native [0-9]+, ${own} [0-9]+[\n].*status 0")
  endforeach()
  persistent_test(measured_by_seven_starts ${ranks} seven_starts measured "algorithms +native 3, ${own} 4[\n].*status 0")
  persistent_test(persistent_passed_on ${ranks} one_by_one never "algorithms +native 54[\n].*status 0")
  persistent_test(persistent_between_neighbours ${ranks} neighbours always "algorithms +${neighbours}[\n].*status 0")
endforeach()
persistent_test(persistent_by_a_named_algorithm 3 any_order measured "algorithms +spread_out 36[\n].*status 0"
  TAQUIN_ALGORITHM=spread_out)
persistent_test(persistent_leaves_several_rounds_to_mpi 3 any_order always
  "taquin: algorithm 'pairwise' needs its rank between the start .*such calls go to the MPI library[\n].*algorithms +native 36[\n].*status 0"
  TAQUIN_ALGORITHM=pairwise)
persistent_test(persistent_by_the_progress_thread 3 any_order always "algorithms +pairwise 36[\n].*status 0"
  TAQUIN_ALGORITHM=pairwise TAQUIN_PROGRESS_THREAD=1)
foreach(ranks ${rank_counts})
  foreach(shared 0 1)
    persistent_test(starts_around_empty_calls_shared_memory_${shared} ${ranks} between_empty_calls measured "status 0"
      TAQUIN_SHARED_MEMORY=${shared})
  endforeach()
endforeach()
# The thread's calls are taquin's own.
neighbour_test(tool_below_does_not_see_the_progress_thread
  "below: 0 exchanges, 0 messages, 0 collectives, 0 completions, 0 frees[\n].*status 0"
  "${np2} LD_PRELOAD=${library}:${below} TAQUIN_PERSISTENT=always TAQUIN_ALGORITHM=pairwise TAQUIN_PROGRESS_THREAD=1 ${persistent} any_order")
persistent_test(persistent_beyond_the_memory 2 one_by_one always "algorithms +native 54[\n].*left to MPI +[0-9]+ persistent: no algorithm fits.*status 0"
  TAQUIN_MEMORY=10)
persistent_test(persistent_by_a_wrong_word 2 seven_starts sometimes
  "taquin: TAQUIN_PERSISTENT='sometimes' is ignored: not measured, always or never[\n].*status 0")
if(TAQUIN_MPI STREQUAL openmpi)  # MPICH 4.0 may wait for ever for a request that was never started
  neighbour_test(persistent_without_a_tool "^status 0"
    "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 ${persistent} one_by_one")
endif()
# MPI 4.1's functions that look at several requests.
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
include(CheckCSourceCompiles)
check_c_source_compiles("#include <mpi.h>
#if 100 * MPI_VERSION + MPI_SUBVERSION < 401
#error no such functions
#endif
int main(void) { return 0; }" TAQUIN_MPI_4_1)
unset(CMAKE_REQUIRED_LIBRARIES)
if(TAQUIN_MPI_4_1)
  add_executable(interpose_looks looks.c)
  target_link_libraries(interpose_looks PRIVATE MPI::MPI_C)
  neighbour_test(persistent_looks_np2 "algorithms +${own} [0-9]+(, ${own} [0-9]+)?[\n].*status 0"
    "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_PERSISTENT=always $<TARGET_FILE:interpose_looks>")
endif()

add_executable(interpose_scarce_memory scarce_memory.c)
target_link_libraries(interpose_scarce_memory PRIVATE MPI::MPI_C)
neighbour_test(memory_that_runs_out_in_a_completion_is_an_error "status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_PERSISTENT=always $<TARGET_FILE:interpose_scarce_memory>")
