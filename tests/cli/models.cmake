# calibrate, tune, explain and simulate: what they print and write, and what they say about wrong words.
function(model_command name message)
  cmake_parse_arguments(T "" "" "UNLIKE" ${ARGN})
  list(JOIN T_UNPARSED_ARGUMENTS " " command)
  add_test(NAME cli.${name} COMMAND ${expect} "${message}" sh -c "${command}; echo status $?")
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT ${timeout} PROCESSORS 2 LABELS cli
    ENVIRONMENT "${mpi_environment}")
endfunction()
set(taquin $<TARGET_FILE:taquin_command>)
set(run "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}")
set(here ${CMAKE_CURRENT_BINARY_DIR})

model_command(calibrate_fits_all_models_and_writes_a_profile
  "hockney .*%.*logp .*loggp .*plogp .*copy.*\"format\": \"taquin machine profile\".*status 0"
  "${run} 2 ${taquin} calibrate -o ${here}/machine.json --most 64K && cat ${here}/machine.json")
model_command(calibrate_writes_how_well_models_fit_and_the_machine
  "\"fit\": .*\"median_error\": .*\"poor\": .*\"hardware\": .*\"memory\": [1-9].*\"mpi\": \".*, MPI [1-9].*\"processor\": .*\"sockets\": .*status 0"
  "${run} 2 ${taquin} calibrate -o ${here}/fits.json --most 4K && cat ${here}/fits.json")
model_command(calibrate_of_one_rank_is_refused "needs at least 2 ranks.*status 2" "${taquin} calibrate 2>&1")
model_command(calibrate_tells_of_a_file_that_cannot_be_written "cannot write /nowhere/at/all: No such file.*status 1"
  "${run} 2 ${taquin} calibrate -o /nowhere/at/all 2>&1")
model_command(calibrate_refuses_an_absurd_size "--most 1T is not within.*status 2" "${taquin} calibrate --most 1T 2>&1")
model_command(calibrate_without_gnuplot_says_so "needs gnuplot, which is not installed.*status 1"
  "mkdir -p ${here}/bin && ln -sf /bin/sh ${here}/bin/sh && ${run} 2 env PATH=${here}/bin ${taquin} calibrate --plot ${here}/x.svg 2>&1")
# One that only warns, as some do of fonts that they do not find: nobody is to read that.
model_command(what_gnuplot_warns_of_is_not_shown "^[^!]*written to ${here}/warned.json[^!]*status 0"
  "mkdir -p ${here}/warns && printf '#!/bin/sh\\ncat >/dev/null\\necho a warning! >&2\\necho a warning!\\n' > ${here}/warns/gnuplot && chmod +x ${here}/warns/gnuplot && ${run} 2 env PATH=${here}/warns:$PATH ${taquin} calibrate --most 64 -o ${here}/warned.json --plot ${here}/warned.svg 2>&1")
find_program(gnuplot gnuplot)
if(gnuplot)
  model_command(calibrate_draws_measured_against_fitted
    "drawing written to ${here}/machine.svg.*<svg.*measured within a node.*loggp within a node.*status 0"
    "${run} 2 ${taquin} calibrate --most 64K --plot ${here}/machine.svg 2>&1 && cat ${here}/machine.svg")
  model_command(simulate_draws_time_against_ranks
    "drawing written to ${here}/ranks.svg.*<svg.*(ranks.*pairwise|pairwise.*ranks).*status 0"
    "${taquin} simulate -n 2..64 -a pairwise,bruck_v --plot ${here}/ranks.svg 2>&1 && cat ${here}/ranks.svg")
  set_tests_properties(cli.calibrate_draws_measured_against_fitted cli.simulate_draws_time_against_ranks PROPERTIES
    LABELS "cli;extra")  # of make test-all, which installs gnuplot
endif()

model_command(explain_shows_every_algorithm_and_the_winner
  "native .*in_place .*needs --in-place.*shared_memory .*<- chosen.*spread_out .*status 0" "${taquin} explain -n 64 --per-pair -b 8")
model_command(explain_measures_what_it_predicts "\"chosen\": true.*\"measured_s\": [0-9].*status 0"
  "${run} 2 ${taquin} explain -b 1K --measure --json")
model_command(explain_shows_what_a_limit_excludes "needs more than the 4 KiB that are allowed.*status 0"
  "${taquin} explain -n 64 -b 64K -m 4K")
model_command(explain_goes_by_measured_points "predicted +in profile.*spread_out .*<- chosen: least time of the profile.*status 0"
  "${taquin} explain -n 4 -b 4000 --model ${CMAKE_CURRENT_SOURCE_DIR}/measured.json")
model_command(explain_shows_no_measured_time_as_predicted
  "\"algorithm\": \"spread_out\",[^}]*\"predicted_s\": [3-9][0-9.]*e-06,[^}]*\"profile_s\": [12][.0-9]*e-06.*status 0"
  "${taquin} explain -n 4 -b 4000 --json --model ${CMAKE_CURRENT_SOURCE_DIR}/measured.json")
model_command(explain_refuses_ranks_that_do_not_run "--measure runs 5 ranks.*status 2"
  "${run} 2 ${taquin} explain -n 5 --measure 2>&1")
model_command(explain_refuses_a_damaged_profile "damaged.*status 2" "${taquin} explain --model ${here}/../../CMakeCache.txt 2>&1")
foreach(what IN ITEMS "nothing=>empty file" "{}=>not a machine profile" "[1]=>not a machine profile"
    "{\"format\":=>damaged at byte 11")
  string(REPLACE "=>" ";" what "${what}")
  list(GET what 0 text)
  list(GET what 1 words)
  string(REPLACE "nothing" "" text "${text}")
  string(MAKE_C_IDENTIFIER "${words}_${text}" name)
  file(WRITE ${here}/${name}.json "${text}")
  model_command(a_profile_with_wrong_text_is_told_${name}
    "^taquin explain: ${here}/${name}.json: ${words}[\n]status 2" "${taquin} explain --model ${here}/${name}.json 2>&1")
endforeach()
model_command(explain_refuses_an_unknown_workload "unknown workload.*status 2" "${taquin} explain -w magic 2>&1")

model_command(simulate_costs_a_million_ranks "1048576 +zero_copy_bruck +- +[0-9].*status 0"
  "${taquin} simulate -n 512K..1M -a zero_copy_bruck,spread_out --per-pair -b 8")
model_command(simulate_evaluates_the_schedules_of_all_ranks "\"schedule_s\": [0-9].*status 0"
  "${taquin} simulate -n 300 -a pairwise -w random -b 64K --per-node 7 --json")
model_command(simulate_by_hockney_is_the_papers_formula "pairwise +47[.]25 µs.*status 0" # 7 (τ + 1000 μ) by the profile's 5 us, 1.75 ns
  "${taquin} simulate -n 8 -a pairwise -b 8000 --by hockney --model ${CMAKE_CURRENT_SOURCE_DIR}/measured.json")
model_command(simulate_costs_the_memory_of_one_node "64 +shared_memory +- +[0-9].*status 0"
  "${taquin} simulate -n 64 --formula --per-pair -b 8")
model_command(simulate_refuses_an_unknown_algorithm "unknown algorithm 'magic'; known are.*status 2"
  "${taquin} simulate -n 8 -a magic 2>&1")
model_command(simulate_refuses_an_unknown_model "unknown model 'magic'; known are.*status 2"
  "${taquin} simulate -n 8 --by magic 2>&1")
model_command(simulate_refuses_too_many_ranks "are not within 1 and.*status 2" "${taquin} simulate -n 1G 2>&1")
model_command(simulate_refuses_a_profile_that_is_not_there "cannot read.*status 2"
  "${taquin} simulate -n 8 --model /nowhere 2>&1")

model_command(tune_writes_what_auto_goes_by "times of 4 exchanges.*\"profile_s\": [0-9].*status 0"
  "${run} 2 ${taquin} tune -o ${here}/tuned.json -w uniform -b 64 --reps 2 && ${run} 2 env TAQUIN_PROFILE=${here}/tuned.json ${taquin} explain --per-pair -b 64 --json")
model_command(tune_ends_in_time_and_says_what_is_left
  "times of [0-9]+ exchanges written.*[0-9]+ exchanges of sizes between were not measured within 1 s.*status 0"
  "${run} 2 ${taquin} tune -o ${here}/within.json --step 1 -b 8..64K --within 1 2>&1")
model_command(run_says_which_file_it_has_written "[2-9] records written to ${here}/said.json.*status 0"
  "${run} 1 ${taquin} run -b 8 -a spread_out --reps 2 --json ${here}/said.json 2>&1")
model_command(plan_says_which_file_it_has_written "plan written to ${here}/said_plan.json.*status 0"
  "${taquin} plan -n 2 -a pairwise --json ${here}/said_plan.json 2>&1")
model_command(tune_of_one_rank_is_refused "needs at least 2 ranks.*status 2" "${taquin} tune -o ${here}/one.json 2>&1")
model_command(tune_tells_of_a_file_that_cannot_be_written "cannot write /nowhere/at/all: No such file.*status 1"
  "${run} 2 ${taquin} tune -o /nowhere/at/all 2>&1")
model_command(tune_refuses_an_unknown_workload "unknown workload.*status 2" "${taquin} tune -o x -w magic 2>&1")
