# Fortran, whose calls do not all pass the C names: what it exchanged is recorded.
find_program(fortran_compiler NAMES mpifort.${TAQUIN_MPI} mpifort REQUIRED)
foreach(module mpi mpi_f08)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/fortran_${module})
  add_custom_command(OUTPUT ${program} DEPENDS program.F90 stop_unless.inc VERBATIM
    COMMAND ${fortran_compiler} -w -Dmodule_name=${module} -Dmodule_${module} ${CMAKE_CURRENT_SOURCE_DIR}/program.F90 -o ${program})
  list(APPEND fortran_programs ${program})
  set(run "rm -f ${program}.json; ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env ${preload} TAQUIN_ALGORITHM=spread_out \
    TAQUIN_RECORD=${program}.json ${program} && grep -o '\"kind\":\"[a-z]*' ${program}.json | sed 's/.*\"//' | tr '\\n' ' ' | \
    grep '^alltoall alltoall alltoallv alltoallw $'")
  add_test(NAME interpose.fortran_module_${module}_np3 COMMAND sh -c "${run}")
  set_tests_properties(interpose.fortran_module_${module}_np3 PROPERTIES TIMEOUT ${timeout} PROCESSORS 2
    LABELS "mpi;interpose" ENVIRONMENT "${mpi_environment}")
endforeach()
# Nonblocking and persistent exchanges, and those between neighbours, by all three ways to MPI from Fortran. Open MPI 4 has
# names of its own for persistent ones.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_c_source_compiles("#include <mpi.h>
#if OMPI_MAJOR_VERSION != 4
#error other names
#endif
int main(void) { return 0; }" TAQUIN_OPEN_MPI_4)
check_c_source_compiles("#include <mpi.h>
#if MPI_VERSION < 4
#error no counts of 64 bits
#endif
int main(void) { return 0; }" TAQUIN_MPI_4)
unset(CMAKE_REQUIRED_LIBRARIES)
if(TAQUIN_OPEN_MPI_4)
  set(names -Dnames_of_open_mpi_4)
endif()
set(expected "alltoall nonblocking 1 alltoallv nonblocking 1 alltoallw nonblocking 1 alltoall persistent 8 alltoallv persistent 8 alltoallw persistent 8")
string(REPEAT " alltoall persistent 1" 16 together)
string(APPEND expected "${together} neighbor_alltoall blocking 1 neighbor_alltoallv blocking 1 neighbor_alltoallw blocking 1 neighbor_alltoallv nonblocking 1 neighbor_alltoallv persistent 1 flows 3")
# fortran_test(NAME SOURCE EXPECTED FLAGS…): the recording has the EXPECTED calls.
function(fortran_test name source expected)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_custom_command(OUTPUT ${program} DEPENDS ${source} stop_unless.inc VERBATIM
    COMMAND ${fortran_compiler} -w -fallow-argument-mismatch -ffree-line-length-none ${ARGN}
      ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${program})
  set(fortran_programs ${fortran_programs} ${program} PARENT_SCOPE)
  set(run "rm -f ${program}.json; ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env ${preload} TAQUIN_ALGORITHM=spread_out \
    TAQUIN_RECORD=${program}.json ${program} && /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/forms.py ${program}.json | \
    tr '\\n' ' ' | grep '^${expected} $'")
  add_test(NAME interpose.fortran_${name}_np3 COMMAND sh -c "${run}")
  set_tests_properties(interpose.fortran_${name}_np3 PROPERTIES TIMEOUT ${timeout} PROCESSORS 2
    LABELS "mpi;interpose" ENVIRONMENT "${mpi_environment}")
endfunction()
foreach(way mpif mpi mpi_f08)
  fortran_test(forms_${way} forms.F90 "${expected}" -Duse_${way} ${names})
endforeach()
# Counts of 64 bits, where the library has MPI 4.
if(TAQUIN_MPI_4)
  fortran_test(large_counts large.F90 "alltoall blocking 1 alltoallv blocking 1 alltoallw blocking 1 alltoallv nonblocking 1 alltoallv persistent 1 neighbor_alltoallv blocking 1 flows 3")
endif()
add_custom_target(fortran_programs ALL DEPENDS ${fortran_programs})
