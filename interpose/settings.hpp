// The settings of the preload library from the environment. Read once. docs/guide/13-environment.md lists the
// variables.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::interpose {

struct settings {
  bool disabled = false;                    ///< TAQUIN_DISABLE: every call is the MPI library's
  bool route = true;                        ///< calls go through taquin
  std::size_t memory = unlimited;           ///< TAQUIN_MEMORY
  std::string record;                       ///< TAQUIN_RECORD: the traffic file; empty: nothing is recorded
  std::string trace;                        ///< TAQUIN_TRACE: the file of a trace; empty: none
  std::size_t trace_limit = default_trace;  ///< TAQUIN_TRACE_LIMIT: the most bytes that it may have
  std::string metrics;                      ///< TAQUIN_METRICS: the file of metrics; empty: none
  std::chrono::duration<double> init_timeout{
      10};                                      ///< TAQUIN_INIT_TIMEOUT: seconds to wait for ranks without the library
  std::map<std::string, std::string> as_given;  ///< all of taquin's variables but those of one process
  enum class report { none, summary, full };
  report at_end = report::none;  ///< TAQUIN_REPORT
  std::string report_file;       ///< where the full one goes; empty: named after the program and the job
  enum class persistent_by { measured, plan, library };
  persistent_by persistent = persistent_by::measured;  ///< TAQUIN_PERSISTENT: which library serves persistent calls
  bool shared_memory_for_program = false;  ///< TAQUIN_ALLOC_MEM: MPI_Alloc_mem gives memory that ranks can map
  std::vector<std::string> warnings;       ///< the errors in variables that are ignored

  static const settings& get();
  /// Calls are observed.
  [[nodiscard]] bool observes() const noexcept {
    return at_end != report::none || !record.empty() || !trace.empty() || !metrics.empty();
  }
  static constexpr std::size_t default_trace = std::size_t{64} << 20U;
};

/// Taquin's variables as they are now, but for those that belong to one process.
std::map<std::string, std::string> taquin_variables();

/// Bytes: a whole number with an optional K, M, G or T for powers of 1024. Nothing when the text is not that.
std::optional<std::size_t> size_of(std::string_view text);

}  // namespace taquin::interpose
