# Finds the MPI library that TAQUIN_MPI names, through its own compiler wrappers and launcher.
if(TAQUIN_MPI)
  find_program(MPI_C_COMPILER mpicc.${TAQUIN_MPI} REQUIRED)
  find_program(MPI_CXX_COMPILER mpicxx.${TAQUIN_MPI} REQUIRED)
  find_program(MPIEXEC_EXECUTABLE mpirun.${TAQUIN_MPI} REQUIRED)
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS C CXX)
# System headers: their warnings are not ours.
foreach(target MPI::MPI_C MPI::MPI_CXX)
  get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${dirs}")
endforeach()
