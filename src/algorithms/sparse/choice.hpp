// Which way `auto` finds sources by, where it goes by messages: the same on all ranks of a communicator.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "model/contest.hpp"
#include "mpi/communicator.hpp"

namespace taquin::detail {

/// The two ways of the least predicted time, best first; the second is null where it is not worth a measurement.
std::pair<const sparse_algorithm*, const sparse_algorithm*> best_sparse(const sparse_shape& s) noexcept;

/// The way that rank 0's profile (TAQUIN_PROFILE) knows to be the fastest for such calls, or null: profiles are read by
/// src/select/, where this is. Collective; the same on all ranks.
const sparse_algorithm* measured_sparse(mpi::communicator& comm, const sparse_shape& s);

/// What a communicator remembers of its calls. All of it follows from what ranks have agreed on.
class sparse_choices {
 public:
  using contest = contest_of<sparse_algorithm>;

  /// Of the communicator; made when it is asked for the first time. Local.
  static sparse_choices& of(mpi::communicator& comm);

  /// This rank's nanoseconds of the last call that was chosen for, once, for the agreement; contest::unknown: none.
  [[nodiscard]] std::uint64_t tell() noexcept { return std::exchange(took_, contest::unknown); }
  /// What the agreement says of it: the time of the rank that came last.
  void learn(std::uint64_t nanoseconds) noexcept;
  /// Whether no call of this kind was chosen for before: only then a profile is asked.
  [[nodiscard]] bool is_new(const sparse_shape& s) const noexcept { return contests_[kind_of(s)].who(0) == nullptr; }
  /// `measured`: what a profile says, or null.
  const sparse_algorithm* choose(const sparse_shape& s, const sparse_algorithm* measured = nullptr) noexcept;
  /// This rank's time of the call that was chosen for. Local.
  void took(std::uint64_t nanoseconds) noexcept { took_ = nanoseconds; }

 private:
  static std::size_t kind_of(const sparse_shape& s) noexcept {
    return static_cast<std::size_t>(std::bit_width(s.blocks)) % kinds;
  }
  inline static const mpi::slot<sparse_choices> kept_as;
  static constexpr std::size_t kinds = 64;  // by the blocks of the rank that has most, to an octave

  std::array<contest, kinds> contests_{};
  std::uint64_t took_ = contest::unknown;
  std::size_t kind_ = 0;
  std::size_t turn_ = 0;
  bool running_ = false;
};

}  // namespace taquin::detail
