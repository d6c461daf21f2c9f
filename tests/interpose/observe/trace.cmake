# Traces, read back with protobuf.
find_package(Protobuf)
if(Protobuf_FOUND)
  protobuf_generate_cpp(sources headers ${CMAKE_CURRENT_LIST_DIR}/perfetto.proto)
  add_custom_target(generated_protobuf DEPENDS ${sources} ${headers})
  add_dependencies(generated generated_protobuf)
  add_executable(check_trace ${CMAKE_CURRENT_LIST_DIR}/check_trace.cpp ${sources} ${headers})
  target_include_directories(check_trace SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(check_trace PRIVATE protobuf::libprotobuf)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-w")

  # trace_test(NAME RANKS MESSAGE SETTINGS PROGRAM EXPECTED…): what the run and check_trace say has MESSAGE.
  function(trace_test name ranks message settings program)
    set(trace ${CMAKE_CURRENT_BINARY_DIR}/${name}_np${ranks}.pftrace)
    list(JOIN ARGN " " expected)
    neighbour_test(${name}_np${ranks} "${message}"
      "rm -f ${trace}; ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} TAQUIN_TRACE=${trace} ${settings} ${program} && $<TARGET_FILE:check_trace> ${trace} ${ranks} ${expected}")
    set_tests_properties(interpose.${name}_np${ranks} PROPERTIES FAIL_REGULAR_EXPRESSION "wrong:")
  endfunction()

  taquin_rank_counts(rank_counts 2 4)
  foreach(ranks ${rank_counts})
    math(EXPR calls "6 * ${ranks}")
    math(EXPR half "${ranks} / 2")
    math(EXPR pairs "${calls} * (${ranks} - 1)")
    trace_test(trace_has_calls_and_flows ${ranks} "status 0" "" ${regions} calls=${calls} waiting=${calls}
      flows=${pairs})
    trace_test(trace_has_rounds_and_messages ${ranks} "status 0" "TAQUIN_ALGORITHM=pairwise" ${regions}
      calls=${calls} rounds=${pairs} memory=${calls} flows=${pairs} messages=${pairs})
    trace_test(trace_of_the_mpi_librarys_calls ${ranks} "status 0" "TAQUIN_ALGORITHM=native" ${regions}
      calls=${calls} flows=${pairs} messages=0 events=${calls})
    trace_test(trace_of_a_whole_program ${ranks} "status 0" "TAQUIN_REPORT=summary TAQUIN_NODES=${half},${half}" ${program})
    trace_test(trace_of_communicators_that_come_and_go ${ranks} "status 0" "TAQUIN_ALGORITHM=spread_out"
      "${regions} come_and_go")
  endforeach()
  # What is in flight, on tracks of its own; persistent calls in any order.
  trace_test(trace_of_nonblocking_calls 2 "status 0" "" ${surface} calls=18)
  trace_test(trace_of_persistent_calls 2 "status 0" "TAQUIN_PERSISTENT=always" "${persistent} any_order")
  # Limits: of 6,000 calls what fits is kept, and the others are counted; a limit below a file's least leaves no event.
  trace_test(trace_keeps_its_limit 2 "the trace lacks [0-9]+ later events: 102400 bytes are its limit.*status 0"
    "TAQUIN_TRACE_LIMIT=100K" "${regions} many" events=6000 most=102400)
  set(trace ${CMAKE_CURRENT_BINARY_DIR}/no_room.pftrace)
  neighbour_test(trace_within_no_room "the trace lacks 12 later events.*bytes=0[\n]status 0"
    "${np2} LD_PRELOAD=${library} TAQUIN_TRACE=${trace} TAQUIN_TRACE_LIMIT=0 ${regions} && $<TARGET_FILE:check_trace> ${trace} 0 events=0 most=0")
  if(TAQUIN_REPORT_PAGE)
    neighbour_test(report_of_a_trace_says_where_it_opens "^taquin report: [^\n]*: is a trace: open it at ui.perfetto.dev"
      "${np2} LD_PRELOAD=${library} TAQUIN_TRACE=${trace}.whole ${regions} 2>/dev/null && $<TARGET_FILE:taquin_command> report ${trace}.whole -o page.html")
    neighbour_test(report_of_a_damaged_trace_says_where "^taquin report: [^\n]*: is a trace, damaged at byte [0-9]+[\n]"
      "${np2} LD_PRELOAD=${library} TAQUIN_TRACE=${trace}.all ${regions} 2>/dev/null && head -c 700 ${trace}.all > ${trace}.cut && $<TARGET_FILE:taquin_command> report ${trace}.cut -o page.html")
  endif()
endif()
neighbour_test(trace_with_a_wrong_limit_is_told
  "TAQUIN_TRACE_LIMIT='much' is ignored: not a size such as 64, 4K, 50M, 2G[\n].*trace of 12 events.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_TRACE=/dev/null TAQUIN_TRACE_LIMIT=much ${regions}")
neighbour_test(trace_that_cannot_be_written_leaves_the_program_alone
  "taquin: no trace is written: cannot write /nowhere/at/all: No such file or directory[\n].*algorithms.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_TRACE=/nowhere/at/all TAQUIN_REPORT=summary ${regions}")
# A call's trace takes less than 100 ns: 450 instructions, at 3 GHz and 1.5 of them a cycle; what is off runs no code.
find_program(valgrind valgrind)
find_program(compiler_of_mpi NAMES mpicc.${TAQUIN_MPI} mpicc)
if(valgrind AND compiler_of_mpi AND TAQUIN_MPI STREQUAL "openmpi" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  neighbour_test(trace_takes_few_instructions_a_call_and_none_when_off
    "TAQUIN_REPORT=none [0-9]+ instructions a call[\n].*TAQUIN_TRACE=/dev/null [0-9]+ instructions a call[\n]MPI_Finalize [^\n]*[\n]status 0"
    "MPICC=${compiler_of_mpi} MPIRUN=${MPIEXEC_EXECUTABLE} sh ${PROJECT_SOURCE_DIR}/bench/report/run.sh ${library} 450")
endif()
# Metrics: 6 calls a rank of 2 · 4 bytes.
set(metrics ${CMAKE_CURRENT_BINARY_DIR}/metrics.txt)
neighbour_test(metrics_count_calls
  "taquin_calls_total.rank=.0.,call=.alltoall.,[^\n]*algorithm=.pairwise.. 6[\n].*taquin_sent_bytes_total.rank=.1.,[^\n]* 48[\n].*# EOF[\n]status 0"
  "rm -f ${metrics}; ${np2} LD_PRELOAD=${library} TAQUIN_METRICS=${metrics} TAQUIN_ALGORITHM=pairwise ${regions} && cat ${metrics}")
if(TAQUIN_REPORT_PAGE)
  neighbour_test(report_of_metrics_says_what_they_are "^taquin report: [^\n]*: is a file of metrics, for what reads OpenMetrics"
    "${np2} LD_PRELOAD=${library} TAQUIN_METRICS=${metrics}.seen ${regions} 2>/dev/null && $<TARGET_FILE:taquin_command> report ${metrics}.seen -o page.html")
endif()
neighbour_test(metrics_that_cannot_be_written_leave_the_program_alone
  "taquin: no metrics are written: cannot write /nowhere/at/all: No such file or directory[\n]status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_METRICS=/nowhere/at/all ${regions}")
