// How ranks begin a measured exchange: together, by a barrier or by their clocks, or one after the other as it is
// asked.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace taquin::harness {

enum class sync_by : std::uint8_t { barrier, window };
sync_by parse_sync(const std::string& text);

/// How much later than the first each rank enters.
struct arrival {
  enum class pattern : std::uint8_t { together, random, last, sorted };
  pattern how = pattern::together;
  int rank = 0;      ///< that comes last
  double delay = 0;  ///< seconds of the rank that is last

  /// "together", "random:50us", "last:3", "last:3:1ms", "sorted", "sorted:1ms"; without a time 100 us. Throws usage.
  static arrival parse(const std::string& text);
  /// Of a rank in a repetition; the same for all that are measured in it. Pure.
  [[nodiscard]] double of(int rank, int ranks, int repetition, std::uint64_t seed) const;
  /// The largest of all ranks. Pure.
  [[nodiscard]] double latest(int ranks, int repetition, std::uint64_t seed) const;
};

/// The offset of another clock from one's own, from the shortest of several round trips: the time of the question, the
/// other clock's value, the time of the answer. Pure.
struct round_trip {
  double left = 0;
  double there = 0;
  double back = 0;
};
double offset_of(const round_trip* trips, int count);

/// Lets ranks of the world begin. By a window: rank 0 says when on its clock, whose offset from each rank's was
/// estimated, and each rank waits for that moment; no message is on its way then, and no rank leaves a barrier before
/// another.
class starter {
 public:
  /// Collective: by a window, the offsets are estimated.
  starter(sync_by by, const arrival& when, std::uint64_t seed);

  /// Waits, and returns the time on this rank's clock from which the exchange counts: when the last rank enters.
  /// Collective.
  double start();
  /// A rank started too late since the last call: all wait longer from now on. Collective.
  bool missed();
  void next_repetition() noexcept { ++repetition_; }
  [[nodiscard]] bool together() const noexcept { return when_.how == arrival::pattern::together; }

 private:
  sync_by by_;
  arrival when_;
  std::uint64_t seed_;
  int rank_ = 0;
  int ranks_ = 1;
  int repetition_ = 0;
  double offset_ = 0;  // this rank's clock less rank 0's
  double ahead_ = 2e-4;
  int late_ = 0;
};

}  // namespace taquin::harness
