// A 3-D Fourier transform on any process grid, in place: serial FFTW along the axes that are whole, taquin for the
// redistributions between them. There is no second array: scratch memory is what `memory` allows.
#pragma once

#include <fftw3.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "taquin/taquin.hpp"

/// How the array lies while FFTW transforms it, one stage after the other. It has `extents` elements, the last index
/// changes fastest, and lies on a grid of rows × columns ranks: pencils; with one column, slabs. Axis 0 is cut over the
/// rows, axis 1 over the columns, as by 2DECOMP&FFT and mpi4py-fft.
class fourier_stages {
 public:
  struct stage {
    taquin::layout lies;
    std::vector<std::size_t> axes;  // whole here, and not in an earlier stage
  };

  fourier_stages(std::array<taquin::count_t, 3> extents, int rows, int columns) {
    using cut = taquin::dimension;
    const auto [x, y, z] = extents;
    add({cut::even(x, rows), cut::even(y, columns), cut::whole(z)});
    add({cut::even(x, rows), cut::whole(y), cut::even(z, columns)});
    add({cut::whole(x), cut::even(y, rows), cut::even(z, columns)});
  }

  [[nodiscard]] const std::vector<stage>& all() const { return stages_; }
  /// As the array lies before and after a transform.
  [[nodiscard]] const taquin::layout& layout() const { return stages_.front().lies; }
  /// Elements that the array of a rank must have room for: those of the stage that has most there.
  [[nodiscard]] std::size_t local_size(int rank) const {
    taquin::count_t most = 0;
    for (const stage& s : stages_) most = std::max(most, s.lies.local_size(rank));
    return static_cast<std::size_t>(most);
  }

 private:
  void add(std::vector<taquin::dimension> dimensions) {
    stage s;
    for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
      if (dimensions[axis].processes > 1 || done_[axis]) continue;
      done_[axis] = true;
      s.axes.push_back(axis);
    }
    if (s.axes.empty()) return;  // of slabs, two axes are whole in one stage
    s.lies = taquin::layout(std::move(dimensions));
    stages_.push_back(std::move(s));
  }

  std::vector<stage> stages_;
  std::array<bool, 3> done_{};
};

/// The transform of one array, made once and run often: it keeps FFTW's plans and taquin's redistributions.
class fourier_3d {
 public:
  using number = std::complex<double>;

  /// `array` has room for stages.local_size() elements, which FFTW overwrites while it measures plans. With
  /// FFTW_ESTIMATE for `flags` it does not, but lines that are a power of two apart are slow then. All redistributions
  /// together take at most `memory` bytes. Collective over `comm`, which has rows · columns ranks.
  fourier_3d(const fourier_stages& stages, std::span<number> array, MPI_Comm comm, std::size_t memory,
             unsigned flags = FFTW_MEASURE) {
    const auto& all = stages.all();
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (std::size_t k = 0; k < all.size(); ++k) {
      lines_.push_back(
          {plan_of(all[k], rank, array, FFTW_FORWARD, flags), plan_of(all[k], rank, array, FFTW_BACKWARD, flags)});
      if (all.size() > 1)
        moves_.emplace_back(array.data(), all[k].lies, all[(k + 1) % all.size()].lies, MPI_C_DOUBLE_COMPLEX, comm,
                            taquin::layout_options{.memory = memory / all.size()});
    }
  }

  /// Transforms the array in its own memory; `sign` is FFTW_FORWARD or FFTW_BACKWARD, which does not scale. Collective.
  void operator()(int sign) {
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      if (const fftw_plan lines = lines_[k][sign == FFTW_FORWARD ? 0 : 1].get(); lines != nullptr) fftw_execute(lines);
      if (!moves_.empty()) moves_[k]();
    }
  }

 private:
  struct destroy {
    void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
  };
  using owned_plan = std::unique_ptr<fftw_plan_s, destroy>;

  // All lines of this rank, in place, along the axes of a stage; null where it has none.
  static owned_plan plan_of(const fourier_stages::stage& s, int rank, std::span<number> array, int sign,
                            unsigned flags) {
    const std::vector<taquin::count_t> extents = s.lies.local_extents(rank);
    std::vector<fftw_iodim64> transformed;
    std::vector<fftw_iodim64> repeated;
    std::ptrdiff_t stride = 1;
    for (std::size_t axis = extents.size(); axis-- > 0; stride *= extents[axis]) {
      const bool here = std::ranges::find(s.axes, axis) != s.axes.end();
      (here ? transformed : repeated).push_back({static_cast<std::ptrdiff_t>(extents[axis]), stride, stride});
    }
    if (stride == 0) return {};
    std::ranges::reverse(transformed);  // the first one changes slowest
    std::ranges::reverse(repeated);
    auto* const data = reinterpret_cast<fftw_complex*>(array.data());
    owned_plan plan(fftw_plan_guru64_dft(static_cast<int>(transformed.size()), transformed.data(),
                                         static_cast<int>(repeated.size()), repeated.data(), data, data, sign, flags));
    if (plan == nullptr) throw std::runtime_error("FFTW has no plan for these lines");
    return plan;
  }

  std::vector<std::array<owned_plan, 2>> lines_;      // by stage: forward, backward
  std::vector<taquin::layout_redistribution> moves_;  // from each stage to the next, and from the last to the first
};
