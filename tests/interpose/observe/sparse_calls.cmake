# Sparse exchanges, which the program's own libtaquin tells of.
add_executable(sparse_calls ${CMAKE_CURRENT_LIST_DIR}/sparse_calls.cpp)
target_link_libraries(sparse_calls PRIVATE taquin_shared taquin_workloads fmt::fmt nlohmann_json::nlohmann_json)
taquin_rank_counts(rank_counts 1 2 4)
foreach(ranks ${rank_counts})
  foreach(memory 1 0)  # on a node, and by messages
    set(file ${CMAKE_CURRENT_BINARY_DIR}/sparse_calls_${memory}_np${ranks})
    interpose_test(sparse_calls_are_recorded_with_memory_${memory} ${ranks} PROGRAM sparse_calls
      SETTINGS ${preload} TAQUIN_SHARED_MEMORY=${memory} TAQUIN_RECORD=${file}.json TAQUIN_REPORT=full:${file}.report
      THEN $<TARGET_FILE:sparse_calls> ${file}.json ${file}.report ${ranks})
  endforeach()
endforeach()
interpose_test(sparse_calls_without_a_recorder 2 PROGRAM sparse_calls)
interpose_test(sparse_calls_under_a_preload_that_records_nothing 2 PROGRAM sparse_calls SETTINGS ${preload})
if(Protobuf_FOUND)
  trace_test(trace_of_sparse_calls 2 "status 0" "" $<TARGET_FILE:sparse_calls> calls=20 waiting=10)
endif()
