// A rank's part of an array, as runs of elements that one position of another layout's process grid owns.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// One axis: `mine` cuts it for this rank, which is at `coordinate`; `theirs` for the others, whose position in the
/// grid has `stride` for each coordinate.
struct distributed_axis {
  const dimension* mine = nullptr;
  int coordinate = 0;
  const dimension* theirs = nullptr;
  std::size_t stride = 0;
};

class owner_runs {
 public:
  /// `axes` from the one that changes slowest in memory to the one that changes fastest. Allocates nothing else.
  owner_runs(std::span<const distributed_axis> axes, std::size_t element);

  /// Calls f(position, bytes) for each run, in the order of memory, or backwards.
  template <class F>
  void forward(F&& f) const {
    merged(f, false);
  }
  template <class F>
  void backward(F&& f) const {
    merged(f, true);
  }

 private:
  struct segment {
    std::size_t owner;  // its contribution to the position
    count_t length;
  };
  // The longest stretch of one owner that begins at a local index, or ends before it.
  [[nodiscard]] static segment ahead(const distributed_axis& a, count_t local) noexcept;
  [[nodiscard]] static segment behind(const distributed_axis& a, count_t local) noexcept;
  [[nodiscard]] static bool one_owner(const distributed_axis& a) noexcept;

  template <class F>
  void merged(F& f, bool reverse) const {
    if (empty_) return;
    std::size_t last = 0;
    std::size_t bytes = 0;
    const auto run = [&](std::size_t owner, std::size_t n) {
      if (owner != last && bytes > 0) {
        f(last, bytes);
        bytes = 0;
      }
      last = owner;
      bytes += n;
    };
    walk(0, within_, reverse, run);
    if (bytes > 0) f(last, bytes);
  }

  template <class F>
  void walk(std::size_t k, std::size_t owner, bool reverse, F& f) const {
    if (k == used_) return f(owner, inner_);
    const distributed_axis& a = axes_[k];
    const count_t owned = owned_[k];
    for (count_t done = 0; done < owned;) {
      const segment s = reverse ? behind(a, owned - done) : ahead(a, done);
      if (k + 1 == used_) {
        f(owner + s.owner, static_cast<std::size_t>(s.length) * inner_);
      } else {
        for (count_t i = 0; i < s.length; ++i) walk(k + 1, owner + s.owner, reverse, f);
      }
      done += s.length;
    }
  }

  std::array<distributed_axis, most_dimensions> axes_{};
  std::array<count_t, most_dimensions> owned_{};
  std::size_t used_ = 0;    // axes; those after it lie with one owner each
  std::size_t inner_ = 0;   // bytes of one index of the last of them
  std::size_t within_ = 0;  // the contribution of the axes after it to the position
  bool empty_ = false;
};

}  // namespace taquin::detail
