// The runs of a rank's block of an n-dimensional array, by the ranks that hold them in another distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace taquin::python {

/// An array cut into blocks, `grid[k]` along axis k: `bounds[k]` has their begins, with the end of the last;
/// if that is empty, the first (shape[k] mod grid[k]) are one longer. Blocks belong to ranks in row-major order.
struct distribution {
  std::vector<std::size_t> shape{};
  std::vector<std::size_t> grid{};
  std::vector<std::vector<std::size_t>> bounds{};  ///< empty, or one list for each axis

  [[nodiscard]] bool even(std::size_t k) const noexcept { return bounds.empty() || bounds[k].empty(); }
  /// First index of part `i` of axis k.
  [[nodiscard]] std::size_t begin(std::size_t k, std::size_t i) const noexcept {
    if (!even(k)) return bounds[k][i];
    const std::size_t least = shape[k] / grid[k];
    const std::size_t longer = shape[k] % grid[k];
    return i * least + (i < longer ? i : longer);
  }
  /// The part of axis k that a rank has.
  [[nodiscard]] std::size_t part(std::size_t k, std::size_t rank) const noexcept {
    for (std::size_t i = grid.size(); i-- > k + 1;) rank /= grid[i];
    return rank % grid[k];
  }
  /// Elements of a rank's block.
  [[nodiscard]] std::size_t volume(std::size_t rank) const noexcept {
    std::size_t v = 1;
    for (std::size_t k = 0; k < grid.size(); ++k) v *= begin(k, part(k, rank) + 1) - begin(k, part(k, rank));
    return v;
  }
};

/// The largest number of elements of which the length of every run is a multiple, and its place in the block, whatever
/// the rank and whichever of the two the block is in.
std::size_t common_run(const distribution& a, const distribution& b);

/// The block that `rank` has in `mine`, as runs of elements that one rank has in `theirs`. Its memory is proportional
/// to the sum of the block's sides.
class run_list {
 public:
  run_list(const distribution& mine, const distribution& theirs, std::size_t rank, std::size_t element);

  /// Calls f(rank, bytes) for each run, in the order of memory, or backwards.
  template <class F>
  void forward(F&& f) const {
    for_each(f, false);
  }
  template <class F>
  void backward(F&& f) const {
    for_each(f, true);
  }

 private:
  struct segment {
    std::size_t owner;
    std::size_t bytes;
  };

  template <class F>
  void for_each(F& f, bool reverse) const {
    if (segments_.empty()) return;
    std::vector<std::size_t> index(outer_.size());
    std::size_t owner = 0;
    std::size_t left = 1;
    for (std::size_t k = 0; k < outer_.size(); ++k) {
      left *= outer_[k].size();
      if (outer_[k].empty()) return;
      index[k] = reverse ? outer_[k].size() - 1 : 0;
      owner += outer_[k][index[k]];
    }
    for (; left > 0; --left) {
      if (reverse)
        for (std::size_t s = segments_.size(); s-- > 0;) f(owner + segments_[s].owner, segments_[s].bytes);
      else
        for (const segment& s : segments_) f(owner + s.owner, s.bytes);
      for (std::size_t k = outer_.size(); k-- > 0;) {  // the next index, last axis first
        owner -= outer_[k][index[k]];
        const bool over = reverse ? index[k] == 0 : index[k] + 1 == outer_[k].size();
        index[k] = over ? (reverse ? outer_[k].size() - 1 : 0) : (reverse ? index[k] - 1 : index[k] + 1);
        owner += outer_[k][index[k]];
        if (!over) break;
      }
    }
  }

  std::vector<std::vector<std::size_t>> outer_{};  ///< of each axis before the runs': what an index adds to the owner
  std::vector<segment> segments_{};                ///< along the axis that is cut last, with all axes after it
};

}  // namespace taquin::python
