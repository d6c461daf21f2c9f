# Other tools above and below, regions, devices, ranks that are not alike.
foreach(name above below)
  add_library(profiler_${name} MODULE profiler.c)
  target_compile_definitions(profiler_${name} PRIVATE PROFILER="${name}")
  target_link_libraries(profiler_${name} PRIVATE MPI::MPI_C)
endforeach()
foreach(runtime CUDA HIP)
  add_library(device_runtime_${runtime} MODULE device_runtime.c)
  target_compile_definitions(device_runtime_${runtime} PRIVATE AS_${runtime})
endforeach()
add_executable(interpose_regions regions.c)
target_link_libraries(interpose_regions PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
set(regions $<TARGET_FILE:interpose_regions>)
set(library $<TARGET_FILE:taquin_interpose>)
set(above $<TARGET_FILE:profiler_above>)
set(below $<TARGET_FILE:profiler_below>)

# neighbour_test(NAME MESSAGE COMMAND [FILTER]): what it says, standard error included, has MESSAGE. FILTER is a command
# that its lines go through, such as sort where ranks write them in no order.
function(neighbour_test name message command)
  list(JOIN ARGN " " filter)
  if(NOT filter)
    set(filter cat)
  endif()
  add_test(NAME interpose.${name} COMMAND ${expect} "${message}" sh -c "{ (${command}) 2>&1; echo status $?; } | ${filter}")
  set_tests_properties(interpose.${name} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2 LABELS "mpi;interpose"
    ENVIRONMENT "${mpi_environment}")
endfunction()
set(np2 "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 env")

# 9 exchanges, 3 of them where taquin is switched off; taquin's messages are its own.
neighbour_test(tool_above_sees_all_exchanges "above: 9 exchanges, 0 messages, 0 collectives.*status 0"
  "${np2} LD_PRELOAD=${above}:${library} TAQUIN_ALGORITHM=pairwise ${regions}")
neighbour_test(tool_below_sees_what_is_passed_through "below: 3 exchanges, 0 messages, 0 collectives.*status 0"
  "${np2} LD_PRELOAD=${library}:${below} TAQUIN_ALGORITHM=pairwise ${regions}")
neighbour_test(tool_below_sees_all_exchanges_of_a_recording "below: 9 exchanges, 0 messages, 0 collectives.*status 0"
  "${np2} LD_PRELOAD=${library}:${below} TAQUIN_RECORD=/dev/null ${regions}")
neighbour_test(tools_see_each_communicator_freed_once
  "above: 24 exchanges, 0 messages, 0 collectives, 0 completions, 48 frees.*below: [^\n]*, 48 frees.*status 0"
  "${np2} LD_PRELOAD=${above}:${library}:${below} ${regions} come_and_go")
neighbour_test(disabled_passes_all_on "below: 9 exchanges, 0 messages, 0 collectives.*status 0"
  "${np2} LD_PRELOAD=${library}:${below} TAQUIN_DISABLE=1 TAQUIN_ALGORITHM=pairwise ${regions}")
foreach(runtime CUDA HIP)
  neighbour_test(memory_of_a_device_is_the_mpi_librarys_${runtime} "below: 3 exchanges, 0 messages, 0 collectives.*status 0"
    "${np2} LD_PRELOAD=${library}:${below}:$<TARGET_FILE:device_runtime_${runtime}> TAQUIN_ALGORITHM=pairwise ${regions} device")
endforeach()

# Ranks that are not alike: taquin stands aside on all, and says so once.
set(job "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${by_rank} env")
neighbour_test(settings_that_differ_make_taquin_stand_aside
  "^below: 9 exchanges[^\n]*[\n]status 0[\n]taquin: rank 1 has TAQUIN_MEMORY '4K', rank 0 has '8K'; taquin stands aside on all ranks[\n]$"
  "${job} LD_PRELOAD=${library}:${below} TAQUIN_MEMORY=8K ${regions} :: env LD_PRELOAD=${library}:${below} TAQUIN_MEMORY=4K ${regions}"
  LC_ALL=C sort)
neighbour_test(rank_without_the_library_makes_taquin_stand_aside
  "^below: 9 exchanges[^\n]*[\n]status 0[\n]taquin: rank 1 is without the preloaded library [^\n]*; taquin stands aside on all ranks[\n]$"
  "${job} LD_PRELOAD=${library}:${below} TAQUIN_INIT_TIMEOUT=0.5 ${regions} :: env ${regions}" LC_ALL=C sort)
neighbour_test(rank_0_without_the_library_makes_taquin_stand_aside
  "^status 0[\n]taquin: rank 0 is without the preloaded library [^\n]*; taquin stands aside on all ranks[\n]$"
  "${job} ${regions} :: env LD_PRELOAD=${library} TAQUIN_INIT_TIMEOUT=0.5 ${regions}" LC_ALL=C sort)

# A program of the other MPI library.
if(MPIEXEC_EXECUTABLE MATCHES openmpi)
  set(other mpich)
else()
  set(other openmpi)
endif()
find_program(other_compiler mpicc.${other})
find_program(other_launcher mpirun.${other})
if(other_compiler AND other_launcher)
  set(foreign ${CMAKE_CURRENT_BINARY_DIR}/foreign_regions)
  add_custom_command(OUTPUT ${foreign} DEPENDS regions.c VERBATIM
    COMMAND ${other_compiler} ${CMAKE_CURRENT_SOURCE_DIR}/regions.c -o ${foreign} -ldl)
  add_custom_target(foreign_program ALL DEPENDS ${foreign})
  neighbour_test(another_mpi_library_makes_taquin_stand_aside
    "^taquin: this preloaded library was built for [^,]*, the program runs [^\n]*; taquin stands aside [^\n]*[\n]status 0"
    "${other_launcher} -n 2 env LD_PRELOAD=${library} ${foreign}")

  # And one of MPI's standard ABI, which another build is for.
  if(TAQUIN_MPI_ABI_INCLUDE AND TAQUIN_MPI_ABI_LIBRARY AND NOT TAQUIN_MPI STREQUAL "abi")
    add_executable(interpose_regions_abi regions.c)
    target_include_directories(interpose_regions_abi SYSTEM PRIVATE ${TAQUIN_MPI_ABI_INCLUDE})
    target_link_libraries(interpose_regions_abi PRIVATE ${TAQUIN_MPI_ABI_LIBRARY} ${CMAKE_DL_LIBS})
    neighbour_test(a_program_of_the_standard_abi_makes_taquin_stand_aside
      "^taquin: this preloaded library was built for [^,]*, the program runs [^\n]* by MPI's standard ABI; taquin stands aside [^\n]*[\n]status 0"
      "${PROJECT_SOURCE_DIR}/testbed/with-abi ${TAQUIN_MPI} ${np2} LD_PRELOAD=${library} $<TARGET_FILE:interpose_regions_abi>")
  endif()

  # A program of Open MPI without mpirun starts a daemon, which says it too.
  # wrap chooses the build for the program's MPI library from one installation that holds several.
  add_library(stand_in MODULE stand_in.c)
  set(tree ${CMAKE_CURRENT_BINARY_DIR}/tree)
  set(install "mkdir -p ${tree}/bin ${tree}/lib/taquin/${other} && cp $<TARGET_FILE:taquin_command> ${tree}/bin && cp $<TARGET_FILE:taquin_interpose> ${tree}/lib")
  neighbour_test(wrap_tells_that_a_build_is_missing
    "^taquin wrap: the program uses ${other}, and this installation has no build of [^\n]*[\n]status 1"
    "$<TARGET_FILE:taquin_command> wrap ${foreign}")
  neighbour_test(wrap_chooses_the_build_for_the_programs_mpi "^own[\n](stand-in[\n])+status 0"
    "${install} && cp $<TARGET_FILE:stand_in> ${tree}/lib/taquin/${other}/libtaquin_interpose.so && ${tree}/bin/taquin wrap ${regions} && echo own && ${tree}/bin/taquin wrap ${foreign}")
  neighbour_test(wrap_is_told_the_mpi_of_a_script "^stand-in[\n]hello[\n]status 0"
    "${install} && cp $<TARGET_FILE:stand_in> ${tree}/lib/taquin/${other}/libtaquin_interpose.so && ${tree}/bin/taquin wrap --mpi ${other} echo hello")
  if(TAQUIN_MPI STREQUAL "openmpi")
    add_library(mpich_outside_debian SHARED stand_in.c)
    set_target_properties(mpich_outside_debian PROPERTIES OUTPUT_NAME mpi SOVERSION 12
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/outside_debian)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/outside_debian.c "int main(void) { return 0; }\n")
    add_executable(interpose_outside_debian ${CMAKE_CURRENT_BINARY_DIR}/outside_debian.c)
    target_link_libraries(interpose_outside_debian PRIVATE -Wl,--no-as-needed mpich_outside_debian)
    neighbour_test(wrap_knows_mpich_outside_debian
      "^taquin wrap: the program uses mpich, and this installation has no build of [^\n]*[\n]status 1"
      "$<TARGET_FILE:taquin_command> wrap $<TARGET_FILE:interpose_outside_debian>")
  endif()
  set_tests_properties(interpose.wrap_chooses_the_build_for_the_programs_mpi interpose.wrap_is_told_the_mpi_of_a_script
    PROPERTIES RESOURCE_LOCK interpose_tree)
endif()

# The report at the end.
set(file ${CMAKE_CURRENT_BINARY_DIR}/report.json)
set(program $<TARGET_FILE:interpose_program>)
neighbour_test(report_summary_tells_calls_and_algorithms
  "^taquin: report of 2 ranks.*all-to-all calls +6, 96 B sent.*waiting, transfer.*algorithms +pairwise 6.*peak scratch memory.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_ALGORITHM=pairwise ${regions}")
neighbour_test(report_summary_says_nothing_of_the_mpi_library_that_was_not_measured "^status 0"
  "! ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_ALGORITHM=pairwise ${regions} 2>&1 | grep MPI.library.s.own")
neighbour_test(report_in_full_measures_the_mpi_library "MPI library's own +[0-9.]+ s instead of [0-9.]+ s, measured.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:/dev/null TAQUIN_PERSISTENT=always $<TARGET_FILE:interpose_persistent> one_by_one")
neighbour_test(report_names_fallbacks "left to MPI +4 blocking: no algorithm fits within the 10 bytes.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_MEMORY=10 TAQUIN_SHARED_MEMORY=0 ${regions}")
# Every call that the MPI library does has a reason, by form.
neighbour_test(report_counts_calls_while_taquin_is_switched_off "left to MPI +3 blocking: off: by MPI_Pcontrol.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary ${regions}")
neighbour_test(metrics_count_calls_while_taquin_is_switched_off
  "taquin_left_to_mpi_total.rank=.1.,call=.blocking.,reason=.off: by MPI_Pcontrol.. 3[\n].*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_METRICS=switched_off.txt ${regions} && cat switched_off.txt")
neighbour_test(report_counts_calls_on_communicators_that_come_and_go
  "all-to-all calls +24, 384 B sent.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary ${regions} come_and_go")
# 2,000 calls of 4 bytes a pair and 1,000 of 8, on two ranks.
neighbour_test(report_says_its_file_and_names_it_after_program_and_job
  "taquin: report written to taquin-report-interpose_[a-z_]+-7\\.a\\.json.*expected"
  "rm -rf named; mkdir named; cd named && ${np2} SLURM_JOB_ID=7.a LD_PRELOAD=${library} TAQUIN_REPORT=full ${program} && $<TARGET_FILE:expected_report> taquin-report-*-7.a.json && echo expected")
# Bytes that are no UTF-8, which JSON is.
neighbour_test(report_names_a_program_in_any_bytes "report written to [^\n]*odd.json.*expected[\n]status 0"
  "cp ${program} odd_$(printf '\\377') && ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:odd.json ./odd_$(printf '\\377') && $<TARGET_FILE:expected_report> odd.json && echo expected")
foreach(kind summary full:/dev/null)
  string(SUBSTRING ${kind} 0 4 of)
  neighbour_test(report_counts_every_one_of_many_calls_${of} "all-to-all calls +3000, 62.5 KiB sent.*status 0"
    "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=${kind} ${regions} many")
endforeach()
neighbour_test(report_none_is_silent "^status 0" "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=none ${regions}")
neighbour_test(report_of_an_unknown_kind_is_told
  "^taquin: TAQUIN_REPORT='all' is ignored: not none, summary or full.:FILE.[\n]status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=all ${regions}")
neighbour_test(report_that_cannot_be_written_leaves_the_program_alone
  "taquin: no report is written: cannot write /nowhere/at/all[^\n]*[\n]status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:/nowhere/at/all ${regions}")
# Another user may have put a link, or a pipe, where the files are to be; and one named after the program.
neighbour_test(files_do_not_go_where_links_lead "victim[\n]status 0"
  "rm -rf links && mkdir links && cd links && echo victim >victim && for f in r t m n; do ln -s victim $f; done && ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:r TAQUIN_TRACE=t TAQUIN_METRICS=m TAQUIN_RECORD=n ${regions} && for f in r t m n; do test -s $f -a ! -L $f || exit 1; done && cat victim")
neighbour_test(a_pipe_without_a_reader_does_not_hold_the_program
  "no report is written: cannot write [^\n]*: the pipe has no reader[\n].*status 0"
  "rm -f unread && mkfifo unread && ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:unread ${regions}")
neighbour_test(report_of_a_name_that_is_taken_has_another "report written to taquin-report-[^\n]*-7-1.json[\n].*status 0"
  "rm -rf taken && mkdir taken && cd taken && ln -s ../nowhere taquin-report-$(basename ${regions})-7.json && ${np2} JOB_ID=7 LD_PRELOAD=${library} TAQUIN_REPORT=full ${regions}")
neighbour_test(report_in_full_has_call_sites "in full[\n]status 0"
  "rm -f ${file}; ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:${file} ${program} && $<TARGET_FILE:expected_report> ${file} && echo in full")
set_tests_properties(interpose.report_in_full_has_call_sites PROPERTIES FAIL_REGULAR_EXPRESSION "wrong:")
neighbour_test(recording_of_messages_alone_says_so
  "^taquin: the program made no all-to-all calls: the recording is empty. On all ranks it sent 10 messages point to point, 10 of them by MPI_Sendrecv, which taquin cannot serve[\n]taquin: recording written to /dev/null[\n]status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_RECORD=/dev/null ${regions} messages")
neighbour_test(report_of_an_exchange_by_sendrecv_says_so
  "from MPI_Init to MPI_Finalize[\n]taquin:   this program exchanges by MPI_Sendrecv: 10 calls, which taquin cannot serve, and no all-to-all call[\n]taquin:   peak.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary ${regions} messages")
neighbour_test(recording_without_mpi_says_so
  "^a[\n]taquin: the program ended without a call of MPI_Init: nothing is recorded[\n]status 0"
  "rm -f ${file}.none; $<TARGET_FILE:taquin_command> record -o ${file}.none echo a")

# What is passed on is observed all the same: the recording says the form, and neighbours' blocks lie on their graph.
add_executable(interpose_surface surface.c)
target_link_libraries(interpose_surface PRIVATE MPI::MPI_C)
set(surface $<TARGET_FILE:interpose_surface>)
set(recording ${CMAKE_CURRENT_BINARY_DIR}/surface.json)
neighbour_test(forms_are_recorded
  "^taquin: recording written to [^\n]*surface.json[\n]alltoall nonblocking 2[\n]alltoallv nonblocking 3[\n]neighbor_alltoallv blocking 1[\n]neighbor_alltoallv nonblocking 1[\n]neighbor_alltoallv blocking 1[\n]neighbor_alltoallv nonblocking 1[\n]flows 3[\n]status 0"
  "rm -f ${recording}; ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env LD_PRELOAD=${library} TAQUIN_RECORD=${recording} ${surface} && /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/forms.py ${recording}")
foreach(case "surface|7 nonblocking: ranks have not agreed" "persistent|persistent: a trial|any_order" "neighbourhoods|blocking: a trial"
    "started|nonblocking: a trial" "regions|blocking: one of the first calls")
  string(REPLACE "|" ";" case "${case}")
  list(POP_FRONT case of reason)  # what is left is the program's argument
  set(left ${CMAKE_CURRENT_BINARY_DIR}/left_by_${of}.json)
  neighbour_test(every_call_of_the_mpi_library_has_a_reason_${of} "${reason}.*status 0"
    "rm -f ${left}; ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=full:${left} $<TARGET_FILE:interpose_${of}> ${case} && $<TARGET_FILE:expected_report> passed_on ${left}")
  set_tests_properties(interpose.every_call_of_the_mpi_library_has_a_reason_${of} PROPERTIES FAIL_REGULAR_EXPRESSION
    "wrong:")
endforeach()
neighbour_test(forms_are_reported "all-to-all calls +9, 112 B sent.*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary ${surface}")

# A rank that is killed, or a program that aborts.
add_executable(interpose_killed killed.c)
target_link_libraries(interpose_killed PRIVATE MPI::MPI_C)
foreach(how kill abort)
  neighbour_test(nothing_is_left_after_${how} "^nothing is left[\n]status 0"
    "sh ${CMAKE_CURRENT_SOURCE_DIR}/killed.sh ${how} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env LD_PRELOAD=${library} TAQUIN_REPORT=full:/dev/null TAQUIN_RECORD=/dev/null $<TARGET_FILE:interpose_killed>")
endforeach()

# Exchanges among neighbours: natively, served, left to the MPI library by name, and where ranks share no memory.
add_executable(interpose_neighbourhoods neighbourhoods.c)
target_link_libraries(interpose_neighbourhoods PRIVATE MPI::MPI_C)
taquin_rank_counts(rank_counts 1 2 5)
foreach(ranks ${rank_counts})
  foreach(way "plain" "served LD_PRELOAD=${library}" "by_the_library LD_PRELOAD=${library} TAQUIN_ALGORITHM=native"
      "without_shared_memory LD_PRELOAD=${library} TAQUIN_SHARED_MEMORY=0" "recorded LD_PRELOAD=${library} TAQUIN_RECORD=/dev/null")
    string(REPLACE " " ";" settings "${way}")
    list(POP_FRONT settings name)
    if(name STREQUAL "plain" AND NOT ranks EQUAL 2)
      continue()
    endif()
    interpose_test(neighbourhoods_${name} ${ranks} PROGRAM interpose_neighbourhoods SETTINGS ${settings})
    if(ranks GREATER 2)
      set_tests_properties(interpose.neighbourhoods_${name}_np${ranks} PROPERTIES LABELS "mpi;interpose;yielding")
    endif()
  endforeach()
endforeach()
if(TAQUIN_MPI MATCHES "^(openmpi|mpich)$")
  add_executable(interpose_random_neighbours random_neighbours.c)
  target_link_libraries(interpose_random_neighbours PRIVATE MPI::MPI_C)
  foreach(ranks 2 3 5)
    set(steps 6000)
    if(TAQUIN_MPI STREQUAL "mpich" AND ranks GREATER 2)
      set(steps 1000)
    endif()
    neighbour_test(random_neighbours_np${ranks} "neighbour_slots.*status 0"
      "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_random_neighbours> ${ranks} ${steps}")
  endforeach()
  foreach(nodes 1,1 1,2,2)
    string(REPLACE "," "+" ranks ${nodes})
    math(EXPR ranks "${ranks}")
    string(REPLACE "," "_" name ${nodes})
    neighbour_test(random_neighbours_between_nodes_${name} "native [0-9]+.*status 0"
      "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} TAQUIN_NODES=${nodes} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_random_neighbours> 3 6000")
  endforeach()
  add_executable(interpose_missing_neighbour missing_neighbour.c)
  target_link_libraries(interpose_missing_neighbour PRIVATE MPI::MPI_C)
  set(missing "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 env LD_PRELOAD=${library} TAQUIN_TIMEOUT=0.5,fail")
  neighbour_test(a_missing_neighbour_is_an_error_of_all
    "rank 0: error.*rank 1: error.*rank 2: error.*rank 3: error.*status 0"
    "${missing} $<TARGET_FILE:interpose_missing_neighbour>" LC_ALL=C sort)
  add_executable(interpose_missing_pair missing_pair.c)
  target_link_libraries(interpose_missing_pair PRIVATE MPI::MPI_C)
  neighbour_test(a_pair_that_is_missing_while_ranks_agree_stops_no_start
    "rank 0: no error.*rank 1: no error.*rank 2: no error.*rank 3: no error.*status 0"
    "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 env LD_PRELOAD=${library} TAQUIN_TIMEOUT=0.5,fail $<TARGET_FILE:interpose_missing_pair>"
    LC_ALL=C sort)
  neighbour_test(neighbourhoods_are_reported "neighbour_slots.*status 0"
    "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_neighbourhoods>")
  set(np5 "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 5 env")
  set(all_nodes 2,3 1,4 1,2,2)
  if(TAQUIN_MPI STREQUAL "mpich")
    set(all_nodes 1,2,2)  # its ranks wait for the processor of others
  endif()
  foreach(nodes ${all_nodes})
    string(REPLACE "," "_" name ${nodes})
    neighbour_test(neighbourhoods_between_nodes_${name} "neighbour_step.*status 0"
      "${np5} LD_PRELOAD=${library} TAQUIN_NODES=${nodes} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_neighbourhoods>")
  endforeach()
endif()

# Calls in which one rank does harm, on a node, between nodes, and by messages. A call that waits so long fails.
add_executable(interpose_hostile hostile.c)
target_link_libraries(interpose_hostile PRIVATE MPI::MPI_C)
function(hostile_program name ranks problems)
  add_test(NAME interpose.hostile_${name}_np${ranks} COMMAND ${expect} "hostile: ${problems} problems, 0 failures"
    ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} $<TARGET_FILE:interpose_hostile> 0 ${problems})
  set_tests_properties(interpose.hostile_${name}_np${ranks} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2
    LABELS "mpi;interpose"
    ENVIRONMENT "${mpi_environment};TAQUIN_TIMEOUT=10,fail;TAQUIN_COMMUNICATOR_LIMIT=20000;${ARGN}")
endfunction()
hostile_program(on_a_node 2 60)
hostile_program(on_nodes_of_one 2 60 TAQUIN_NODES=1,1)
if(TAQUIN_MPI STREQUAL "openmpi")
  hostile_program(on_a_node 4 60)
  hostile_program(on_nodes 4 60 TAQUIN_NODES=2,2)
  hostile_program(by_messages 3 40 TAQUIN_SHARED_MEMORY=0)
else()
  hostile_program(by_messages 3 15 TAQUIN_SHARED_MEMORY=0)
endif()

# Nonblocking exchanges among all ranks: 3 by the MPI library and at least 19 by slots of each kind that has begun.
add_executable(interpose_started started.c)
target_link_libraries(interpose_started PRIVATE MPI::MPI_C)
set(by_whom "native [0-9]+, neighbour_slots [0-9]+")
if(NOT TAQUIN_MPI MATCHES "^(openmpi|mpich)$")
  set(by_whom "native 1789")
endif()
taquin_rank_counts(rank_counts 2 3 4)
foreach(ranks ${rank_counts})
  set(started "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library}")
  neighbour_test(started_exchanges_np${ranks} "algorithms +${by_whom}[\n].*status 0"
    "${started} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_started>")
  neighbour_test(started_exchanges_unobserved_np${ranks} "^status 0" "${started} $<TARGET_FILE:interpose_started>")
  neighbour_test(started_exchanges_without_shared_memory_np${ranks} "algorithms +native 1789[\n].*status 0"
    "${started} TAQUIN_REPORT=summary TAQUIN_SHARED_MEMORY=0 $<TARGET_FILE:interpose_started>")
endforeach()
neighbour_test(started_exchanges_on_communicators_that_come_and_go "^status 0"
  "${np2} LD_PRELOAD=${library} $<TARGET_FILE:interpose_started> come_and_go")
neighbour_test(observed_exchanges_on_communicators_that_come_and_go "transfer +not known.*algorithms +native 10500[\n].* 10500 .*, 2100 communicators[\n].*status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary $<TARGET_FILE:interpose_started> come_and_go")

# What a rank alone knows differs on one rank, at each time, for every form; and processes that the job spawns are
# merged with it.
add_executable(interpose_unlike unlike.c)
target_link_libraries(interpose_unlike PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
set_target_properties(interpose_unlike PROPERTIES ENABLE_EXPORTS ON)  # stands between taquin and the MPI library
set(things runtime device descriptors files space permissions environment threads types addresses ahead)
if(TAQUIN_MPI STREQUAL "mpich")
  list(APPEND things null_types)  # other MPI libraries refuse them in nonblocking calls
endif()
if(TAQUIN_MPI STREQUAL "openmpi")  # Debian's MPICH 4.0 does not spawn, with a name server neither
  list(APPEND things spawned spawned_otherwise spawned_without)
endif()
foreach(thing ${things})
  set(times 1 10 45)
  if(thing MATCHES "^(runtime|device|space|types|addresses|null_types|permissions)$")
    list(PREPEND times 0)
  elseif(thing STREQUAL "threads")
    set(times 0)
  endif()
  foreach(time ${times})
    neighbour_test(a_rank_differs_in_${thing}_before_call_${time} "^status 0"
      "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env LD_PRELOAD=${library} $<TARGET_FILE:interpose_unlike> ${thing} ${time} $<TARGET_FILE:device_runtime_CUDA>")
  endforeach()
  list(GET times -1 time)
  if(thing STREQUAL "space")  # the first calls take most
    set(time 0)
    neighbour_test(a_rank_differs_in_space_alone_on_its_node "^status 0"
      "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env LD_PRELOAD=${library} TAQUIN_NODES=1,1,1 $<TARGET_FILE:interpose_unlike> space 0")
  endif()
  neighbour_test(a_rank_differs_in_${thing}_between_nodes "^status 0"
    "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 env LD_PRELOAD=${library} TAQUIN_NODES=2,1 $<TARGET_FILE:interpose_unlike> ${thing} ${time} $<TARGET_FILE:device_runtime_CUDA>")
endforeach()

# A rank without memory for a request of taquin's, in each call, at each request; and where communicators may hold
# processes of other jobs.
add_executable(interpose_lack_of_memory lack_of_memory.cpp ../faults/layer.cpp)
target_include_directories(interpose_lack_of_memory PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(interpose_lack_of_memory PRIVATE MPI::MPI_CXX ${CMAKE_DL_LIBS})
set_target_properties(interpose_lack_of_memory PROPERTIES ENABLE_EXPORTS ON)
foreach(ranks 2 3)
  if(TAQUIN_MPI STREQUAL "mpich" AND ranks GREATER 2)  # its ranks wait for the processor of others
    continue()
  endif()
  foreach(kind "" merged)
    string(REPLACE "merged" "_of_merged_communicators" suffix "${kind}")
    neighbour_test(a_rank_lacks_memory${suffix}_np${ranks} "lack of memory: [1-9][0-9]* requests failed.*status 0"
      "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} env LD_PRELOAD=${library} TAQUIN_COMMUNICATOR_LIMIT=20000 $<TARGET_FILE:interpose_lack_of_memory> ${kind}")
  endforeach()
endforeach()
neighbour_test(a_rank_lacks_memory_between_nodes "lack of memory: [1-9][0-9]* requests failed.*status 0"
  "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 env LD_PRELOAD=${library} TAQUIN_NODES=1,1 TAQUIN_COMMUNICATOR_LIMIT=20000 $<TARGET_FILE:interpose_lack_of_memory>")

# The end of a job.
add_executable(interpose_at_end at_end.c)
target_link_libraries(interpose_at_end PRIVATE MPI::MPI_C)
neighbour_test(a_request_is_completed_while_attributes_are_deleted "completed[\n]status 0"
  "${np2} LD_PRELOAD=${library} TAQUIN_PERSISTENT=always $<TARGET_FILE:interpose_at_end>")
