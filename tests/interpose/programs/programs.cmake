# Programs on libraries of others that exchange by MPI, where these are installed (scripts/packages-programs.txt). Debian
# builds them with its Open MPI.
if(NOT TAQUIN_MPI STREQUAL "openmpi" OR NOT "${MPI_C_LIBRARIES}" MATCHES "^/usr/lib/")
  return()
endif()

# alike_test(NAME TARGET EXPECTED ARGUMENT…): the program prints the same alone and with taquin underneath.
function(alike_test name target expected)
  taquin_rank_counts(rank_counts 2 4)
  foreach(ranks ${rank_counts})
    add_test(NAME interpose.${name}_np${ranks} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/programs/alike.sh ${MPIEXEC_EXECUTABLE}
      ${ranks} ${library} ${expected} $<TARGET_FILE:${target}> ${ARGN})
    set_tests_properties(interpose.${name}_np${ranks} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2 LABELS "mpi;interpose"
      ENVIRONMENT "${mpi_environment}")
  endforeach()
endfunction()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc)
endif()
if(PETSC_FOUND)
  add_executable(interpose_star_forest programs/star_forest.c)
  target_link_libraries(interpose_star_forest PRIVATE PkgConfig::PETSC MPI::MPI_C)
  # Of 90 broadcasts and 90 reductions among neighbours, each on a graph of its own, those after the 51st are served; of 90
  # MPI_Ialltoall three, to be compared, and those after them where that is faster. A PETSc on an MPI library without
  # persistent exchanges takes MPI_Ineighbor_alltoallv where it is asked for them.
  alike_test(petsc_by_messages interpose_star_forest "algorithms +native 20$")
  foreach(persistent "" _persistent)
    string(REPLACE _ -sf_neighbor_ option "${persistent}")
    alike_test(petsc_among_neighbours${persistent} interpose_star_forest
      "algorithms +native [0-9]+, neighbour_slots (8[1-9]|9[0-9]|1[0-9][0-9])$" -sf_type neighbor ${option} -steps 90)
  endforeach()
endif()

find_package(Boost QUIET COMPONENTS mpi serialization)
if(Boost_FOUND)
  add_executable(interpose_boost_mpi programs/boost_mpi.cpp)
  target_link_libraries(interpose_boost_mpi PRIVATE Boost::mpi Boost::serialization MPI::MPI_CXX)
  alike_test(boost_mpi interpose_boost_mpi "algorithms +native 2, shared_memory 58$")
endif()
