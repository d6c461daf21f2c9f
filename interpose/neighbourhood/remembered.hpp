// Outcomes of trials on earlier communicators. The ranks of a later one can agree on them: they use those that all of
// them remember.
#pragma once

#include <cstddef>
#include <cstdint>

namespace taquin::interpose {

/// Outcomes of the trials of some kinds of calls, which have numbers below 32.
struct remembered {
  std::uint32_t taquin = 0;   ///< kinds that taquin has won
  std::uint32_t library = 0;  ///< kinds that the MPI library has won
  std::uint32_t early = 0;    ///< 1: the last communicator was used so long that an earlier set-up would have paid

  [[nodiscard]] bool taquin_won(std::size_t kind) const noexcept { return (taquin >> kind & 1U) != 0; }
  [[nodiscard]] bool library_won(std::size_t kind) const noexcept { return (library >> kind & 1U) != 0; }
  void won(std::size_t kind, bool by_taquin) noexcept {
    forget(kind);
    (by_taquin ? taquin : library) |= std::uint32_t{1} << kind;
  }
  void forget(std::size_t kind) noexcept {
    taquin &= ~(std::uint32_t{1} << kind);
    library &= ~(std::uint32_t{1} << kind);
  }
  /// The outcomes that both remember.
  [[nodiscard]] remembered operator&(const remembered& other) const noexcept {
    return {taquin & other.taquin, library & other.library, early & other.early};
  }
};

}  // namespace taquin::interpose
