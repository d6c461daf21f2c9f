# Installs the build, builds programs against what was installed (CMake in C++, in C alone and in Fortran alone, pkg-config,
# the snippets of the documents), runs them, and removes what was installed.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(ENV{LD_LIBRARY_PATH} ${WORK}/prefix/${LIBDIR}:$ENV{LD_LIBRARY_PATH})

set(languages cpp c)
if(FORTRAN)
  list(APPEND languages fortran)
endif()
foreach(language ${languages})
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/${language} -B ${WORK}/${language}
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_C_COMPILER=${C} -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_Fortran_COMPILER=${Fortran} -D EXAMPLES=${EXAMPLES}
    -D INTERPOSE=${INTERPOSE})
  run(${CMAKE_COMMAND} --build ${WORK}/${language})
  file(GLOB programs ${WORK}/${language}/bin/*)
  foreach(program ${programs})
    run(${MPIEXEC} ${MPIEXEC_N} 2 ${program})
  endforeach()
endforeach()

# CMake's Makefiles find modules in another way than Ninja's files.
find_program(MAKE make)
if(FORTRAN AND MAKE)
  run(${CMAKE_COMMAND} -G "Unix Makefiles" -S ${CMAKE_CURRENT_LIST_DIR}/fortran -B ${WORK}/fortran_by_make
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_C_COMPILER=${C} -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_Fortran_COMPILER=${Fortran} -D EXAMPLES=${EXAMPLES})
  run(${CMAKE_COMMAND} --build ${WORK}/fortran_by_make)
endif()

# Who wants another MPI library is not given this one.
if(MPI)
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/cpp -B ${WORK}/other_mpi
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -D TAQUIN_MPI=another
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE message)
  if(result EQUAL 0 OR NOT message MATCHES "\\(for ${MPI}\\)")
    message(FATAL_ERROR "taquin for ${MPI} was taken for another MPI library: ${message}")
  endif()
endif()

# A component that does not exist is named.
file(WRITE ${WORK}/misspelt/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(misspelt LANGUAGES CXX)
find_package(taquin REQUIRED COMPONENTS shraed)
")
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${WORK}/misspelt -B ${WORK}/misspelt/build
  -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${CXX}
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE message)
if(result EQUAL 0 OR NOT message MATCHES "there is no component 'shraed'")
  message(FATAL_ERROR "the component 'shraed' is not refused with the reason: ${message}")
endif()

find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs taquin OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${C} -std=c99 ${EXAMPLES}/quick_start.c ${flags} -o ${WORK}/with_pkg_config)
run(${MPIEXEC} ${MPIEXEC_N} 2 ${WORK}/with_pkg_config)
run(${CXX} -std=c++20 ${EXAMPLES}/quick_start.cpp ${flags} -o ${WORK}/with_pkg_config)
run(${MPIEXEC} ${MPIEXEC_N} 2 ${WORK}/with_pkg_config)

if(FORTRAN)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs taquin-fortran OUTPUT_VARIABLE fortran_flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(fortran_flags UNIX_COMMAND "${fortran_flags}")
  run(${Fortran} ${EXAMPLES}/transpose.f90 ${fortran_flags} -o ${WORK}/fortran_with_pkg_config)
  run(${MPIEXEC} ${MPIEXEC_N} 2 ${WORK}/fortran_with_pkg_config)
endif()

# Every snippet of the documents does what it says.
if(PYTHON)
  set(ENV{CXX} ${CXX})
  set(ENV{CC} ${C})
  set(ENV{FC} "")
  if(FORTRAN)
    set(ENV{FC} ${Fortran})
  endif()
  set(ENV{MPIEXEC} "${MPIEXEC} ${MPIEXEC_N}")
  set(ENV{TAQUIN_MPI} "${MPI}")
  run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/snippets/snippets.py ${CMAKE_CURRENT_LIST_DIR}/../.. ${WORK}/snippets
    ${WORK}/prefix)
endif()

# Every public name links from the shared library, for programs that hide their own names, by GCC and by Clang.
find_program(CLANG NAMES clang clang-19 clang-16)
find_program(CLANGXX NAMES clang++ clang++-19 clang++-16)
set(compilers "${C}" "${CXX}")
if(CLANG AND CLANGXX)
  list(APPEND compilers "${CLANG}" "${CLANGXX}")
endif()
while(compilers)
  list(POP_FRONT compilers c cxx)
  run(${c} -std=c99 -fvisibility=hidden -c ${CMAKE_CURRENT_LIST_DIR}/names/names.c ${flags} -o ${WORK}/names.c.o)
  run(${cxx} -std=c++20 -fvisibility=hidden -c ${CMAKE_CURRENT_LIST_DIR}/names/names.cpp ${flags} -o ${WORK}/names.o)
  run(${cxx} ${WORK}/names.c.o ${flags} -o ${WORK}/names_c)
  run(${cxx} ${WORK}/names.o ${flags} -o ${WORK}/names)
  run(${MPIEXEC} ${MPIEXEC_N} 1 ${WORK}/names_c)
  run(${MPIEXEC} ${MPIEXEC_N} 2 ${WORK}/names)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/names/names.sh ${WORK}/prefix/${LIBDIR}/libtaquin.so
    ${WORK}/names.o ${WORK}/names.c.o WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
endwhile()

run(${CMAKE_CURRENT_LIST_DIR}/../../scripts/uninstall ${BUILD}/install_manifest.txt)
file(GLOB_RECURSE left LIST_DIRECTORIES true RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
list(FILTER left INCLUDE REGEX "taquin")
list(FILTER left EXCLUDE REGEX "__pycache__|/python[0-9.]*/(dist|site)-packages/taquin$")
if(left)
  message(FATAL_ERROR "these are left where taquin was installed: ${left}")
endif()
