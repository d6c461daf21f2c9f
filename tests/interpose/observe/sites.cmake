# The report's call sites: lines of a program with debug information, offsets in functions without it, and offsets in
# the file of a program without symbols.
function(sites_test name message)
  add_executable(interpose_sites_${name} ${CMAKE_CURRENT_LIST_DIR}/../sites.c)
  target_link_libraries(interpose_sites_${name} PRIVATE MPI::MPI_C)
  target_compile_options(interpose_sites_${name} PRIVATE ${ARGN})
  add_test(NAME interpose.report_names_sites_${name} COMMAND ${expect} "${message}" sh -c
    "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 env ${preload} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_sites_${name}>")
  set_tests_properties(interpose.report_names_sites_${name} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2
    LABELS "mpi;interpose" ENVIRONMENT "${mpi_environment}")
endfunction()

if(TAQUIN_LIBDW_INCLUDE)
  sites_test(by_line "(?=.*  alltoall at sites.c:5 .exchange.\n)(?=.*  alltoall at sites.c:6 .exchange.\n)" -g)
  sites_test(by_function "  alltoall in exchange.0x([0-9a-f]+)\n.*  alltoall in exchange.0x(?!\\1\n)[0-9a-f]+\n" -g0)
endif()
sites_test(by_file "  alltoall at interpose_sites_by_file.0x([0-9a-f]+)\n.*  alltoall at interpose_sites_by_file.0x(?!\\1\n)[0-9a-f]+\n" -g0)
target_link_options(interpose_sites_by_file PRIVATE -s)
