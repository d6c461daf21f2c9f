# Memory that the program asks MPI for. The program says how many blocks the kernel has copied in a call, in which all
# ranks do the same; where the kernel permits no such copies there is nothing to count.
add_executable(interpose_memory memory.c)
target_link_libraries(interpose_memory PRIVATE MPI::MPI_C)
set_target_properties(interpose_memory PROPERTIES ENABLE_EXPORTS ON)

# memory_test(NAME RANKS PART SETTINGS EACH RANK SAYS)
function(memory_test name ranks part settings says)
  add_test(NAME interpose.${name}_np${ranks} COMMAND ${expect} "${says}" ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
    env LD_PRELOAD=$<TARGET_FILE:taquin_interpose> ${settings} $<TARGET_FILE:interpose_memory> ${part})
  set_tests_properties(interpose.${name}_np${ranks} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2 LABELS "mpi;interpose"
    ENVIRONMENT "${mpi_environment}")
endfunction()
memory_test(blocks_of_shared_windows_are_copied_without_the_kernel 2 windows ""
  "window of all: 0 by.*no window: 1 of 1 by.*no window: 1 of 1 by")
memory_test(blocks_of_shared_windows_of_some_ranks 3 windows "" "window of some: [12] of 2 by.*window of some: [12] of 2 by")
memory_test(blocks_of_allocated_memory_are_copied_without_the_kernel 2 allocated TAQUIN_ALLOC_MEM=shared
  "MPI_Alloc_mem: 0 of 1 by.*MPI_Alloc_mem again: 0 of 1 by")
memory_test(allocated_memory_is_the_librarys_unless_asked_for 2 allocated ""
  "MPI_Alloc_mem: 1 of 1 by.*MPI_Alloc_mem again: 1 of 1 by")
interpose_message(wrong_memory_for_the_program_is_ignored
  "taquin: TAQUIN_ALLOC_MEM='mine' is ignored: not library or shared.*fine" 2 SETTINGS ${preload} TAQUIN_ALLOC_MEM=mine
  THEN echo fine)
