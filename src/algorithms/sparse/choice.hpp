// The algorithm by which `auto` finds sources by messages: the same on all ranks of a communicator.
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

/// The two algorithms of the least predicted time, best first; the second is null if it is not worth a measurement.
std::pair<const sparse_algorithm*, const sparse_algorithm*> best_sparse(const sparse_shape& s) noexcept;

/// The fastest algorithm for such calls by rank 0's profile (TAQUIN_PROFILE), or null: profiles are read by
/// src/select/, where this is. Collective; the same on all ranks.
const sparse_algorithm* measured_sparse(mpi::communicator& comm, const sparse_shape& s);

/// The records that a communicator keeps of its calls. All of them follow from agreed values.
class sparse_choices {
 public:
  using contest = contest_of<sparse_algorithm>;

  /// Of the communicator; made by the first call. Local.
  static sparse_choices& of(mpi::communicator& comm);

  /// This rank's nanoseconds of the last call by a chosen algorithm, once, for the agreement; `contest::unknown`: none.
  [[nodiscard]] std::uint64_t tell() noexcept { return std::exchange(took_, contest::unknown); }
  /// The result of the agreement on it: the time of the rank that entered last.
  void learn(std::uint64_t nanoseconds) noexcept;
  /// Whether no algorithm was chosen for a call of this kind before: only then a profile is read.
  [[nodiscard]] bool is_new(const sparse_shape& s) const noexcept { return contests_[kind_of(s)].who(0) == nullptr; }
  /// `measured`: the profile's algorithm, or null.
  const sparse_algorithm* choose(const sparse_shape& s, const sparse_algorithm* measured = nullptr) noexcept;
  /// This rank's time of the call by a chosen algorithm. Local.
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
