// Interleaved measurement: native, A, native, B, …, every byte of every repetition verified.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/overlap.hpp"
#include "harness/problem.hpp"
#include "harness/start.hpp"
#include "taquin/options.hpp"

namespace taquin::harness {

/// One algorithm that is measured, and its results, which are the same on every rank.
struct contender {
  std::string requested;  ///< the requested name, maybe "auto"
  options opts{};         ///< `algorithm` is a view of `requested`
  bool raw = false;       ///< the MPI library's own call instead of taquin's

  bool default_for_others = false;  ///< calls that it does not serve go by auto

  std::optional<std::string> fault;  ///< why it could not run
  std::uint64_t by_default = 0;      ///< calls that went by auto in its stead
  std::string name;                  ///< what ran
  std::vector<double> seconds;       ///< per repetition: the slowest rank's, summed over the calls
  std::vector<double> ratios;        ///< to the native repetition just before
  count_t wrong = 0;                 ///< bytes, over all ranks and repetitions
  statistics stats{};                ///< largest over ranks, of one repetition
  std::uint64_t again = 0;           ///< exchanges of repetitions that were done again
  double own = 0;                    ///< this rank's seconds, over all repetitions
  double rank_mean = 0;              ///< of the ranks' mean seconds
  double rank_min = 0;
  double rank_max = 0;

  std::vector<std::function<void()>> calls;       // of a redistribution
  std::vector<std::vector<operation>> exchanges;  // by call, one for each of its memories
  bool several = false;                           ///< its calls ran by more than one algorithm
};

/// How often the calls of one repetition run back to back, so that it is long enough for the clock.
struct measured {
  int inner = 1;
  int repetitions = 0;
};

struct measure_settings {
  int repetitions = 0;  ///< 0: as many as time allows, 10 to 200
  int batch = 0;        ///< exchanges of a repetition; 0: as many as the clock needs
  bool persistent = false;
  double until = 0;  ///< repetitions until the interval's width is at most this part of each median; 0: as above
  double drop = 0;   ///< a contender above this multiple of the fastest is dropped after a few; 0: none is
  sync_by sync = sync_by::barrier;
  arrival when{};
  std::uint64_t seed = 1;
  /// Gets, after each second that was measured, what there is by then: for those who cannot wait for the end. Called on
  /// all ranks, outside of what is timed.
  std::function<void(const measured&, const std::vector<contender>&)> so_far{};
};

/// The race itself: native, A, native, B, … until there are enough repetitions. `repetition` runs one, verifies it, and
/// returns the slowest rank's seconds; contenders[0] must be raw. Collective over the world.
/// With `until`, a hundredfold of them at most, and as long as 30 s for each contender.
measured race(std::vector<contender>& contenders, int inner, const measure_settings& settings,
              const std::function<double(contender&)>& repetition, const std::function<void(double)>& progress);

/// From sums on this rank over `done` repetitions to figures of one, the largest of any rank. Collective.
void reduce(contender& c, std::uint64_t done);

/// Copies, without their exchanges, of those that have run.
std::vector<contender> results_of(std::vector<contender>& contenders);

/// Runs all of `calls`, in order, with each contender; contenders[0] must be raw. Collective over the world. `progress`
/// gets the current step ("NAME, first run:", or nothing for the race) and the part of that which is done.
measured measure(const std::vector<problem>& calls, arenas& memory, std::vector<contender>& contenders,
                 const measure_settings& settings, const std::function<void(const std::string&, double)>& progress);

}  // namespace taquin::harness
