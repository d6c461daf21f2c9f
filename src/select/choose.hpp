// `auto`: the choice of an algorithm for a communicator, the same on all its ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "mpi/communicator.hpp"
#include "select/selection.hpp"

namespace taquin::detail {

/// What a communicator remembers of its choices.
class chooser {
 public:
  /// The communicator's chooser. Collective when asked for the first time: rank 0 reads TAQUIN_PROFILE and tells the
  /// others, so that no rank decides by figures that another has not. A profile that cannot be read, or that was made
  /// on another machine, is a warning on rank 0 and the built-in model serves.
  static chooser& of(mpi::communicator& comm);

  /// The algorithm for an agreed shape. Remembered by the shape, its sizes to a quarter of an octave. Collective; where
  /// processors differ, rank 0 chooses what is not remembered.
  const algorithm* choose(const shape& s, const options& o, bool reused, std::size_t limit);

  /// All that serve a plan's agreed shape within `limit`, best first. Collective in the same way.
  [[nodiscard]] std::vector<const algorithm*> ranked(const shape& s, const options& o, std::size_t limit);

  /// Whether the next agreement of a call of this form should carry small blocks: it does when it would have served
  /// the last one. The same on all ranks, because they choose alike.
  [[nodiscard]] const algorithm* piggyback_choice(exchange::form kind) const noexcept {
    return piggybacks_[static_cast<std::size_t>(kind)];
  }
  /// The same before ranks have agreed that all of them choose: none where nothing was chosen yet. Local.
  static const algorithm* piggyback_choice(const mpi::communicator& comm, exchange::form kind) noexcept {
    return comm.choices == nullptr ? nullptr : comm.choices->piggyback_choice(kind);
  }

  [[nodiscard]] const profile& known() const noexcept { return profile_; }
  /// Whether all ranks compute the same times: otherwise rank 0 tells what it chooses.
  [[nodiscard]] bool computes_alike() const noexcept { return alike_; }
  /// For tests: figures of this rank alone.
  void believe(profile p) noexcept {
    profile_ = std::move(p);
    alike_ = false;
  }

 private:
  explicit chooser(mpi::communicator& comm);
  std::vector<const algorithm*> told(std::span<const algorithm* const> mine);
  mpi::communicator& comm_;  // whose attribute this is
  profile profile_;
  bool alike_ = true;
  std::unordered_map<std::uint64_t, const algorithm*> remembered_;
  std::array<const algorithm*, 3> piggybacks_{};
};

}  // namespace taquin::detail
