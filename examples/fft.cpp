// A 3-D Fourier transform with FFTW on one node or many, without a second array: see fourier.hpp. The array holds one
// wave; its spectrum is a single number, and the transform back gives the wave again.
//
//   fft [X Y Z [COLUMNS [MEMORY]]]
//
// COLUMNS of the process grid: 1, the default, makes slabs, others make pencils. MEMORY: scratch bytes of a rank.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <span>
#include <vector>

#include "fourier.hpp"

namespace {

using number = fourier_3d::number;
using taquin::count_t;

constexpr std::array<count_t, 3> wave{3, 1, 2};  // periods along each axis

// Calls visit(index, element) for each element of this rank.
template <class Visit>
void for_each(const taquin::layout& on, std::array<count_t, 3> extents, int rank, std::span<number> array,
              Visit visit) {
  for (count_t x = 0; x < extents[0]; ++x)
    for (count_t y = 0; y < extents[1]; ++y) {
      const std::array<count_t, 3> first{x, y, 0};  // the last axis is whole
      const auto at = on.find(first);
      if (at.rank != rank) continue;
      for (count_t z = 0; z < extents[2]; ++z)
        visit(std::array{x, y, z}, array[static_cast<std::size_t>(at.offset + z)]);
    }
}

number wave_at(std::array<count_t, 3> index, std::array<count_t, 3> extents) {
  double turns = 0;
  for (std::size_t a = 0; a < 3; ++a)
    turns += static_cast<double>(wave[a] * index[a]) / static_cast<double>(extents[a]);
  return std::polar(1.0, 2 * std::numbers::pi * turns);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto argument = [&](int k, count_t otherwise) { return argc > k ? std::atoll(argv[k]) : otherwise; };
  const std::array<count_t, 3> extents{argument(1, 48), argument(2, 40), argument(3, 36)};
  const int columns = static_cast<int>(argument(4, 1));
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  const fourier_stages stages(extents, ranks / columns, columns);
  std::vector<number> array(stages.local_size(rank));
  fourier_3d transform(stages, array, MPI_COMM_WORLD, static_cast<std::size_t>(argument(5, 1 << 20)));
  for_each(stages.layout(), extents, rank, array, [&](auto index, number& v) { v = wave_at(index, extents); });

  const auto all = static_cast<double>(extents[0] * extents[1] * extents[2]);
  std::array<double, 2> error{};
  transform(FFTW_FORWARD);
  for_each(stages.layout(), extents, rank, array, [&](auto index, number& v) {
    const bool peak = index == std::array{wave[0] % extents[0], wave[1] % extents[1], wave[2] % extents[2]};
    error[0] = std::max(error[0], std::abs(v / all - (peak ? 1.0 : 0.0)));
  });
  transform(FFTW_BACKWARD);
  for_each(stages.layout(), extents, rank, array,
           [&](auto index, number& v) { error[1] = std::max(error[1], std::abs(v / all - wave_at(index, extents))); });

  MPI_Allreduce(MPI_IN_PLACE, error.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const bool right = error[0] < 1e-12 && error[1] < 1e-12;
  if (rank == 0)
    std::printf("%d x %d ranks: largest error of the spectrum %.1e, of the wave %.1e: %s\n", ranks / columns, columns,
                error[0], error[1], right ? "right" : "WRONG");
  MPI_Finalize();
  return right ? 0 : 1;
}
