# Rules of a profile, by place, form, ranks and bytes.
add_executable(interpose_make_profile make_profile.cpp)
target_link_libraries(interpose_make_profile PRIVATE taquin_internal nlohmann_json::nlohmann_json)

# rules_test(NAME RULES MESSAGE [PROGRAM])
function(rules_test name rules message)
  set(runs ${program})
  if(ARGN)
    set(runs "${ARGN}")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}.json)
  string(REPLACE "'" "\\\"" rules "${rules}")
  neighbour_test(${name} "${message}"
    "$<TARGET_FILE:interpose_make_profile> ${file} \"${rules}\" && ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_PROFILE=${file} ${runs}")
endfunction()

# Of the program's calls on two ranks 8 are in uniform() and not in place.
rules_test(rule_by_function "[{'site':'uniform','algorithm':'pairwise'}]" "algorithms .*pairwise 8.*status 0")
rules_test(rule_by_function_and_ranks "[{'site':'vector','ranks':1,'algorithm':'pairwise'}]"
  "algorithms .*pairwise [0-9]+.*status 0")
rules_test(rule_by_another_function "[{'site':'nowhere','algorithm':'pairwise'}]"
  "algorithms .*status 0")
rules_test(rule_by_form_and_bytes
  "[{'collective':'alltoall','ranks':2,'least_bytes':24,'most_bytes':24,'algorithm':'pairwise'}]"
  "algorithms .*pairwise 5.*status 0")
# Three calls of 12 bytes a rank there, and five of 24.
rules_test(rule_by_function_and_bytes
  "[{'site':'uniform','least_bytes':24,'most_bytes':24,'in_place':false,'algorithm':'pairwise'},{'site':'uniform','nodes':1,'least_bytes':25,'algorithm':'bruck_v'}]"
  "algorithms .*pairwise 5.*status 0")
# A file of rules alone, as reports advise it. It has no effect beside -a, so that the advice says to leave that out.
# Eight calls by the rule; four on communicators of one rank, where a copy by the MPI library is predicted as fastest.
set(rules_alone ${CMAKE_CURRENT_BINARY_DIR}/rules_alone.json)
neighbour_test(rules_alone_are_a_profile "algorithms +native 12,[^\n]*[\n].*left to MPI +12 blocking: the MPI library's own call was chosen.*status 0"
  "echo '{\"rules\":[{\"site\":\"uniform\",\"algorithm\":\"native\",\"in_place\":false}]}' > ${rules_alone} && ${np2} LD_PRELOAD=${library} TAQUIN_REPORT=summary TAQUIN_PROFILE=${rules_alone} ${program}")

# Of 36 starts a third is of each form.
rules_test(rule_of_persistent_calls_by_function
  "[{'site':'make','collective':'alltoallv','reused':true,'least_bytes':40,'most_bytes':40,'algorithm':'spread_out'},{'site':'make','algorithm':'native'}]"
  "algorithms +native 24, spread_out 12[\n].*status 0" "${persistent} any_order")
rules_test(rule_of_persistent_calls_without_a_place
  "[{'collective':'alltoallv','algorithm':'spread_out'},{'algorithm':'native'}]"
  "algorithms +native 24, spread_out 12[\n].*status 0" "${persistent} any_order")
set_tests_properties(interpose.rule_by_another_function PROPERTIES FAIL_REGULAR_EXPRESSION "pairwise")
