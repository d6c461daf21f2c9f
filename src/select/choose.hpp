// `auto`: the choice of an algorithm for a communicator, the same on all its ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/level_choice.hpp"
#include "base/sizes.hpp"
#include "mpi/communicator.hpp"
#include "select/algorithm_trial.hpp"
#include "select/selection.hpp"

namespace taquin::detail {

/// The choices that a communicator remembers.
class chooser {
 public:
  /// The communicator's chooser. The first call is collective: rank 0 reads TAQUIN_PROFILE and broadcasts it, so that
  /// no rank decides by figures that another has not. A profile that cannot be read, or that was made on another
  /// machine, is a warning on rank 0 and the built-in model serves.
  static chooser& get_or_create(mpi::communicator& comm);
  chooser(const chooser&) = delete;
  chooser& operator=(const chooser&) = delete;
  /// The result of an earlier `of`, or null. Local.
  static chooser* find(const mpi::communicator& comm) noexcept { return comm.kept.get(kept_as); }

  /// The algorithm for an agreed shape. Remembered by the shape, its sizes to a quarter of an octave. Collective; where
  /// cores differ, rank 0 makes choices that are not remembered.
  const algorithm* choose(const shape& s, const options& o, bool reused, std::size_t limit);

  /// The last choice was a rule's. Local.
  [[nodiscard]] bool followed_rule() const noexcept { return followed_rule_; }

  /// The last choice allocated memory, on all ranks. Local.
  [[nodiscard]] bool took_heap() const noexcept { return took_heap_; }

  /// All that serve a plan's agreed shape within `limit`, best first. Collective in the same way.
  [[nodiscard]] std::vector<const algorithm*> ranked(const shape& s, const options& o, std::size_t limit);

  /// The levels of a multilevel exchange, if the options leave any of them to taquin. Collective in the same way.
  [[nodiscard]] level_names levels(const shape& s, const options& o);

  /// Whether the profile leaves a blocking exchange of this rank's sizes to the step of that algorithm; without a
  /// profile it does. A rank where it does not brings a header without blocks to the step. Local.
  [[nodiscard]] bool uses_step(const algorithm& step, const shape& mine, const options& o);

  /// Without measurements, blocking calls between nodes are tuned online (`algorithm_trial`): this rank's time of the
  /// last call with a chosen algorithm. Local.
  void took(seconds time) noexcept { last_time_ = time; }
  /// The same in nanoseconds for the agreement; unlimited if none is requested.
  [[nodiscard]] std::uint64_t last_time() const noexcept;
  /// The agreed time. Local.
  void record_time(std::uint64_t nanoseconds) noexcept;

  [[nodiscard]] const profile& known() const noexcept { return profile_; }
  /// Whether all ranks compute the same times: otherwise rank 0 broadcasts its choice.
  [[nodiscard]] bool computes_identical() const noexcept { return identical_; }
  /// For tests: figures of this rank alone.
  void believe(profile p) noexcept {
    profile_ = std::move(p);
    profile_.given = true;
    last_.known = false;
    identical_ = false;
  }

 private:
  inline static const mpi::slot<chooser> kept_as;
  explicit chooser(mpi::communicator& comm);
  std::vector<const algorithm*> reported(std::span<const algorithm* const> mine);
  mpi::communicator& comm_;  // whose attribute this is
  profile profile_;
  bool identical_ = true;
  bool followed_rule_ = false;
  bool took_heap_ = false;
  std::unordered_map<std::uint64_t, const algorithm*> remembered_;
  std::unordered_map<std::uint64_t, bool> uses_step_;  // to a step, by this rank's shape
  struct last_answer {
    std::array<std::uint64_t, 6> sizes{};
    bool known = false;
    bool uses_step = false;
  } last_{};  // of a call of a microsecond, that has no time to be looked up

  bool looks_up_step(const algorithm& step, const shape& mine, const options& o);
  const algorithm* predicted(const shape& s, const options& o, bool reused, std::size_t limit);
  const algorithm* measure(const shape& s, const options& o, std::size_t limit);
  std::unordered_map<std::uint64_t, algorithm_trial> trials_;
  algorithm_trial* running_ = nullptr;  // whose call was last, by `turn_`
  std::size_t turn_ = 0;
  std::optional<seconds> last_time_;
};

}  // namespace taquin::detail
