// Rules for a program's calls, made of measured times.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "select/selection.hpp"

namespace taquin::cli {

/// Seconds: a median and its 95% interval.
struct timing {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// With fewer samples no two times are taken to differ.
inline constexpr std::size_t least_samples = 4;

/// An algorithm that takes more than this multiple of the fastest one's time is measured no further.
inline constexpr double not_worth_measuring = 2;

/// The time that a measurement may take.
class time_limit_of_all {
 public:
  explicit time_limit_of_all(double seconds) noexcept : seconds_(seconds) {}
  /// Whether it is over, by the clock of rank 0. Collective over the world.
  [[nodiscard]] bool done() const;

 private:
  double seconds_;
  double start_ = MPI_Wtime();
};

/// From the seconds of at least one repetition; of fewer than least_samples the interval is unbounded.
timing timing_of(const std::vector<double>& seconds);

/// "3 WHAT were not measured within 300 s: ..."; empty for none.
std::string left_over(const std::string& what, std::size_t number, double seconds);

/// A kind of call, and how long it took by each algorithm.
struct measured_call {
  exchange::form kind = exchange::form::alltoallv;
  bool in_place = false;
  bool reused = false;  ///< by a plan
  int ranks = 1;
  int nodes = 1;
  double bytes = 0;         ///< of the rank that sends or receives most
  std::uint64_t calls = 1;  ///< that the program made
  std::map<std::string, timing> seconds{};
};

/// Calls of a size for which no rule is written, because their best algorithm is not told apart from another way.
struct doubt {
  measured_call of{};   ///< without its times; `calls` are all of the size
  std::string best;     ///< the least median
  std::string other;    ///< auto, the MPI library, or the next best: whose interval overlaps the best one's
  timing best_takes{};  ///< of all these calls
  timing other_takes{};
};

struct ruling {
  std::vector<detail::rule> rules;
  std::vector<doubt> doubts;
};

/// For each size that occurs the algorithm that takes least over all its calls, where its 95% interval is below that of
/// what the calls go by without a rule, `auto`, and that of the MPI library's own call; where neither was measured,
/// below all others'. A rule reaches half way to the sizes that it is not for, by factors, and to half of the smallest
/// and twice the largest size.
ruling rules_of(const std::vector<measured_call>& calls);

/// "1.20 ms (1.10 ms .. 1.30 ms)"
std::string show_timing(const timing& t);
/// "spread_out 1.20 ms (1.10 ms .. 1.30 ms) and auto 1.25 ms (...) are not told apart"
std::string words_of(const doubt& d);
/// A line for each kind of call, which counts its sizes without a rule; the one with most bytes is the example.
std::string words_of(const std::vector<doubt>& all);

}  // namespace taquin::cli
