// Call sites of all ranks as one, for a report.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "interpose/call_site.hpp"
#include "interpose/observe/log.hpp"
#include "workloads/traffic.hpp"

namespace taquin::interpose {

/// The comparison with the MPI library on one rank: some calls went to it, the others to taquin. Both as the time that
/// all calls would have taken, with 95% intervals of the means.
struct comparison {
  std::uint64_t sampled = 0;
  double native = 0;
  double own = 0;
  double native_spread = 0;
  double own_spread = 0;

  static comparison of(const site_log& s);
  // Enough calls, and intervals that do not meet.
  [[nodiscard]] bool native_is_faster() const {
    constexpr std::uint64_t enough = 4;
    return sampled >= enough && native + native_spread < own - own_spread;
  }
};

/// How long all ranks together waited for one that was last, and the standard deviation of that: ranks wait in the same
/// calls, so that their deviations add up.
struct lateness {
  double seconds = 0;
  double deviation = 0;

  // Significant at 95%: one long wait is no reason to act.
  [[nodiscard]] double certain() const { return seconds - 1.96 * deviation; }
};

/// One call site on one communicator, of all ranks.
struct merged {
  std::string form;  ///< MPI's name
  std::string use;   ///< blocking, nonblocking or persistent
  std::vector<int> world_ranks;
  call_site where;
  std::uint64_t calls = 0;
  count_t bytes = 0;
  double seconds = 0;             // of the rank with the most
  estimate waiting;               // the same rank's
  std::uint64_t waits_known = 0;  // calls of that rank in which the wait was measured
  std::uint64_t waits_of = 0;     // among so many
  std::size_t peak_memory = 0;
  comparison compared;  // the same rank's
  std::map<int, lateness> waited_for;
  std::map<int, std::uint64_t> sizes;
  std::map<std::string, std::uint64_t> algorithms;
  std::map<std::string, std::uint64_t> fallbacks;  ///< by reason; of all sites by form and reason
  trial_times trial;
  std::vector<count_t> sent;
  std::vector<count_t> received;
  std::vector<double> arrival;
  nlohmann::json flows = nlohmann::json::array();

  [[nodiscard]] double transfer() const { return seconds - waiting.value; }
  [[nodiscard]] double waiting_share() const { return seconds > 0 ? waiting.value / seconds : 0; }
  [[nodiscard]] std::string place() const;
  // All calls were the MPI library's, whether by a choice of taquin's or without: a rule that names it changes nothing.
  [[nodiscard]] bool is_native() const { return algorithms.size() == 1 && algorithms.contains("native"); }
  // How a rule of a profile names it.
  [[nodiscard]] std::string rule_site() const;
};

/// Calls of a form that were passed on before anything was known of them.
struct unobserved {
  std::string form;
  std::string reason;
  std::uint64_t calls = 0;
};
std::vector<unobserved> unobserved_of(const rank_log& log);

/// By the time that they take, most first.
std::vector<merged> merge(const std::vector<rank_log>& logs);

/// All call sites together; the time is that of the rank with the most.
merged sum_of(const std::vector<rank_log>& logs, const std::vector<merged>& sites);

}  // namespace taquin::interpose
