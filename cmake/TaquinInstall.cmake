# What is installed: libraries, headers, the command, the preloaded library, the sources of the Fortran modules, and what
# finds them (CMake, pkg-config). TAQUIN_SUFFIX is part of every name that depends on the MPI library.
include(CMakePackageConfigHelpers)

install(TARGETS taquin_shared taquin_static EXPORT taquinTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/taquin${TAQUIN_SUFFIX})
if(TARGET taquin_interpose)
  set_target_properties(taquin_interpose PROPERTIES EXPORT_NAME interpose)
  install(TARGETS taquin_interpose EXPORT taquinToolsTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT taquinToolsTargets NAMESPACE taquin:: DESTINATION ${package_dir})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/taquin DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(fortran_dir ${CMAKE_INSTALL_DATADIR}/taquin/fortran)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/fortran/ DESTINATION ${fortran_dir})

install(EXPORT taquinTargets NAMESPACE taquin:: DESTINATION ${package_dir})
configure_package_config_file(cmake/taquinConfig.cmake.in ${CMAKE_BINARY_DIR}/taquinConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS fortran_dir NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/taquinBasicVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/taquinConfigVersion.cmake.in ${CMAKE_BINARY_DIR}/taquinConfigVersion.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/taquinConfig.cmake ${CMAKE_BINARY_DIR}/taquinConfigVersion.cmake
  ${CMAKE_BINARY_DIR}/taquinBasicVersion.cmake DESTINATION ${package_dir})

# Paths relative to the .pc file, so that the tree can be installed under any prefix.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /${pc_dir} /)
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_cflags)
list(JOIN pc_mpi_cflags " " pc_mpi_cflags)
list(JOIN MPI_C_LIBRARIES " " pc_mpi_libs)
if(TAQUIN_HWLOC AND TAQUIN_HWLOC_INCLUDE)
  set(pc_hwloc -lhwloc)
endif()
configure_file(cmake/taquin.pc.in ${CMAKE_BINARY_DIR}/taquin${TAQUIN_SUFFIX}.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/taquin${TAQUIN_SUFFIX}.pc DESTINATION ${pc_dir})

# The modules as this build's compiler has made them; others compile them from source.
if(TAQUIN_FORTRAN_BUILT)
  string(TOLOWER ${CMAKE_Fortran_COMPILER_ID}-${CMAKE_Fortran_COMPILER_VERSION} compiler)
  set(TAQUIN_FORTRAN_MODULES ${CMAKE_INSTALL_LIBDIR}/fortran/${compiler}/taquin${TAQUIN_SUFFIX} CACHE STRING
    "Where Fortran's module files are installed")
  install(TARGETS taquin_fortran ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${CMAKE_BINARY_DIR}/fortran/modules/taquin.mod ${CMAKE_BINARY_DIR}/fortran/modules/taquin_mpi.mod
    DESTINATION ${TAQUIN_FORTRAN_MODULES})
  set(pc_module_dir ${TAQUIN_FORTRAN_MODULES})
  if(NOT IS_ABSOLUTE ${TAQUIN_FORTRAN_MODULES})
    set(pc_module_dir "\${prefix}/${TAQUIN_FORTRAN_MODULES}")
  endif()
  list(TRANSFORM MPI_Fortran_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_fortran_flags)
  list(JOIN pc_mpi_fortran_flags " " pc_mpi_fortran_flags)
  list(JOIN MPI_Fortran_LIBRARIES " " pc_mpi_fortran_libs)
  configure_file(cmake/taquin-fortran.pc.in ${CMAKE_BINARY_DIR}/taquin-fortran${TAQUIN_SUFFIX}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/taquin-fortran${TAQUIN_SUFFIX}.pc DESTINATION ${pc_dir})
endif()
