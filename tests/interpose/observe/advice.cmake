# Advice and figures, in the terminal and on the page, of runs whose truth is known.
if(TAQUIN_NODE AND TARGET taquin_report_page)
  add_executable(report_of ${CMAKE_CURRENT_LIST_DIR}/report_of.cpp ${PROJECT_SOURCE_DIR}/interpose/observe/report.cpp
    ${PROJECT_SOURCE_DIR}/interpose/observe/merged_sites.cpp ${PROJECT_SOURCE_DIR}/interpose/observe/metrics.cpp
    ${PROJECT_SOURCE_DIR}/interpose/observe/log.cpp ${PROJECT_SOURCE_DIR}/interpose/settings.cpp
    ${PROJECT_SOURCE_DIR}/interpose/call_site.cpp)
  target_link_libraries(report_of PRIVATE taquin_internal taquin_workloads nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
  target_include_directories(report_of PRIVATE ${PROJECT_SOURCE_DIR})
  taquin_compile_together(report_of 8)
  set_target_properties(report_of PROPERTIES ENABLE_EXPORTS ON)
  add_test(NAME interpose.advice_and_figures_are_true COMMAND ${TAQUIN_NODE} --test
    ${CMAKE_CURRENT_LIST_DIR}/advice.mjs)
  set_tests_properties(interpose.advice_and_figures_are_true PROPERTIES TIMEOUT 300 PROCESSORS 2
    LABELS "mpi;interpose;report"
    ENVIRONMENT "${mpi_environment};REPORT_OF=$<TARGET_FILE:report_of>;TAQUIN_PROGRAM=$<TARGET_FILE:taquin_command>;PAGE_SOURCES=${PROJECT_SOURCE_DIR}/report/src/data;MPIRUN=${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}")
endif()
taquin_unit_test(wait_samples ${CMAKE_CURRENT_LIST_DIR}/wait_samples.cpp ${PROJECT_SOURCE_DIR}/interpose/observe/log.cpp ALONE
  LINK taquin_workloads nlohmann_json::nlohmann_json)
target_include_directories(wait_samples PRIVATE ${PROJECT_SOURCE_DIR})
