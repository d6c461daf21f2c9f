# What is installed: libraries, headers, the command, the preloaded library, and what finds them (CMake, pkg-config).
include(CMakePackageConfigHelpers)

set(taquin_installed taquin_shared taquin_static)
if(TARGET taquin_interpose)
  set_target_properties(taquin_interpose PROPERTIES EXPORT_NAME interpose)
  list(APPEND taquin_installed taquin_interpose)
endif()
install(TARGETS ${taquin_installed} EXPORT taquinTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/taquin DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/taquin)
install(EXPORT taquinTargets NAMESPACE taquin:: DESTINATION ${package_dir})
configure_package_config_file(cmake/taquinConfig.cmake.in ${CMAKE_BINARY_DIR}/taquinConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/taquinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/taquinConfig.cmake ${CMAKE_BINARY_DIR}/taquinConfigVersion.cmake
  DESTINATION ${package_dir})

# Paths relative to the .pc file, so that the tree can be installed under any prefix.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /${pc_dir} /)
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_cflags)
list(JOIN pc_mpi_cflags " " pc_mpi_cflags)
list(JOIN MPI_C_LIBRARIES " " pc_mpi_libs)
if(TAQUIN_HWLOC AND TAQUIN_HWLOC_INCLUDE)
  set(pc_hwloc -lhwloc)
endif()
configure_file(cmake/taquin.pc.in ${CMAKE_BINARY_DIR}/taquin.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/taquin.pc DESTINATION ${pc_dir})
