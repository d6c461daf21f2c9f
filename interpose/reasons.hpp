// Why a call is the MPI library's. Reports, their JSON and metrics count every such call under one of these texts, or
// under the text of an error that all ranks have agreed on.
#pragma once

namespace taquin::interpose::reasons {

inline constexpr const char* first_call = "one of the first calls on its communicator, for which nothing is made yet";
inline constexpr const char* only_recorded = "off: with TAQUIN_RECORD alone calls are only recorded";
inline constexpr const char* by_settings = "off: TAQUIN_ALGORITHM or TAQUIN_PERSISTENT leaves them to the MPI library";
inline constexpr const char* switched_off = "off: by MPI_Pcontrol";
inline constexpr const char* outside = "an intercommunicator, or processes of several worlds";
inline constexpr const char* chosen = "the MPI library's own call was chosen: by a rule, or as the fastest";
inline constexpr const char* sampled = "every 16th call, to be compared for a full report";
inline constexpr const char* trial = "a trial: some calls are timed with the MPI library";
inline constexpr const char* trial_lost = "the MPI library was faster in the trial";
inline constexpr const char* agreeing = "ranks have not agreed on memory yet: the communicator is too short-lived";
inline constexpr const char* memory = "memory: TAQUIN_MEMORY allows too little";
inline constexpr const char* no_memory = "memory: a rank cannot share it, or has none left";
inline constexpr const char* several_nodes = "ranks on several nodes";
inline constexpr const char* ranks = "one rank, or more ranks than are served";
inline constexpr const char* one_buffer = "MPI_IN_PLACE in a nonblocking call";
inline constexpr const char* long_blocks = "blocks that travel as messages either way";
inline constexpr const char* arguments = "arguments that the MPI library refuses";
inline constexpr const char* no_topology = "a communicator without neighbours";

}  // namespace taquin::interpose::reasons
