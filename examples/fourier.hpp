// A 3-D Fourier transform on any process grid, in place: serial FFTW for the lines of one axis at a time, taquin for
// the redistributions between them. There is no second array: scratch memory is what `memory` allows.
#pragma once

#include <fftw3.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "taquin/taquin.hpp"

/// The array has `extents` elements, the last index changes fastest, and lies on a grid of rows × columns ranks:
/// pencils; with one column, slabs. Axis 0 is cut over the rows, axis 1 over the columns, as by 2DECOMP&FFT and
/// mpi4py-fft.
class fourier_3d {
 public:
  using number = std::complex<double>;

  /// Collective over `comm`, which has rows · columns ranks.
  fourier_3d(std::array<taquin::count_t, 3> extents, int rows, int columns, MPI_Comm comm, std::size_t memory)
      : comm_(comm), memory_(memory) {
    MPI_Comm_rank(comm, &rank_);
    using cut = taquin::dimension;
    const auto [x, y, z] = extents;
    // The axis whose lines are whole is the one that changes fastest.
    stages_.push_back(taquin::layout({cut::even(x, rows), cut::even(y, columns), cut::whole(z)}));
    stages_.push_back(
        taquin::layout({cut::even(x, rows), cut::whole(y), cut::even(z, columns)}).stored(std::array{0, 2, 1}));
    stages_.push_back(
        taquin::layout({cut::whole(x), cut::even(y, rows), cut::even(z, columns)}).stored(std::array{1, 2, 0}));
    lines_ = {z, y, x};
  }

  /// As an array of local_size() elements holds it, before and after.
  [[nodiscard]] const taquin::layout& layout() const { return stages_.front(); }
  /// Elements that the array must have room for: those of the stage that has most here.
  [[nodiscard]] std::size_t local_size() const {
    taquin::count_t most = 0;
    for (const taquin::layout& s : stages_) most = std::max(most, s.local_size(rank_));
    return static_cast<std::size_t>(most);
  }

  /// Transforms the array in its own memory; `sign` is FFTW_FORWARD or FFTW_BACKWARD, which does not scale. Collective.
  void operator()(std::span<number> array, int sign) const {
    for (std::size_t axis = 0; axis < stages_.size(); ++axis) {
      if (axis > 0) taquin::redistribute(array, stages_[axis - 1], stages_[axis], comm_, {.memory = memory_});
      transform_lines(array, axis, sign);
    }
    taquin::redistribute(array, stages_.back(), stages_.front(), comm_, {.memory = memory_});
  }

 private:
  void transform_lines(std::span<number> array, std::size_t axis, int sign) const {
    const int length = static_cast<int>(lines_[axis]);
    const auto count = static_cast<int>(stages_[axis].local_size(rank_) / lines_[axis]);
    if (count == 0) return;
    auto* const data = reinterpret_cast<fftw_complex*>(array.data());
    fftw_plan_s* const plan =
        fftw_plan_many_dft(1, &length, count, data, nullptr, 1, length, data, nullptr, 1, length, sign, FFTW_ESTIMATE);
    if (plan == nullptr) throw std::runtime_error("FFTW has no plan for these lines");
    fftw_execute(plan);
    fftw_destroy_plan(plan);
  }

  MPI_Comm comm_;
  std::size_t memory_;
  int rank_ = 0;
  std::vector<taquin::layout> stages_;      // by the axis that is whole: 2, 1, 0
  std::array<taquin::count_t, 3> lines_{};  // its extent
};
