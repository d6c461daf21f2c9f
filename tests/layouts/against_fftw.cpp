// The example's 3-D transform against FFTW's own over MPI: slabs and pencils, even and uneven sizes.
#include <fftw3-mpi.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "examples/fourier.hpp"

namespace taquin::test {
namespace {

using number = fourier_3d::number;
using sizes = std::array<count_t, 3>;

number value_at(const sizes& index) {
  const auto k = static_cast<double>((index[0] * 131 + index[1]) * 137 + index[2]);
  return {std::sin(k * 12.9898), std::cos(k * 78.233)};
}

// FFTW's part of the spectrum, and how it lies: planes along the first axis.
struct reference {
  std::vector<number> spectrum;
  layout slabs;
};

reference transform_by_fftw(const sizes& n, int ranks) {
  std::ptrdiff_t planes = 0;
  std::ptrdiff_t first = 0;
  const std::ptrdiff_t room = fftw_mpi_local_size_3d(n[0], n[1], n[2], MPI_COMM_WORLD, &planes, &first);
  std::vector<number> array(static_cast<std::size_t>(room));
  auto* const data = reinterpret_cast<fftw_complex*>(array.data());
  fftw_plan_s* const plan =
      fftw_mpi_plan_dft_3d(n[0], n[1], n[2], data, data, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
  for (count_t x = 0; x < planes; ++x)
    for (count_t y = 0; y < n[1]; ++y)
      for (count_t z = 0; z < n[2]; ++z)
        array[static_cast<std::size_t>((x * n[1] + y) * n[2] + z)] = value_at({x + first, y, z});
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  std::vector<count_t> lengths(static_cast<std::size_t>(ranks));
  const count_t mine = planes;
  MPI_Allgather(&mine, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  layout slabs({dimension::given(lengths), dimension::whole(n[1]), dimension::whole(n[2])});
  array.resize(static_cast<std::size_t>(planes * n[1] * n[2]));
  return {std::move(array), std::move(slabs)};
}

void compare(const sizes& n, int rows, int columns, std::size_t memory) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const reference right = transform_by_fftw(n, rows * columns);
  const fourier_stages stages(n, rows, columns);
  std::vector<number> array(stages.local_size(rank));
  fourier_3d transform(stages, array, MPI_COMM_WORLD, memory);
  const double scale = std::sqrt(static_cast<double>(n[0] * n[1] * n[2]));
  for (int run = 0; run < 2; ++run) {
    for (count_t x = 0; x < n[0]; ++x)
      for (count_t y = 0; y < n[1]; ++y)
        for (count_t z = 0; z < n[2]; ++z)
          if (const auto at = stages.layout().find(sizes{x, y, z}); at.rank == rank)
            array[static_cast<std::size_t>(at.offset)] = value_at({x, y, z});
    transform(FFTW_FORWARD);
    std::vector<number> mine(right.spectrum.size());
    redistribute(array.data(), stages.layout(), mine.data(), right.slabs, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    for (std::size_t k = 0; k < mine.size(); ++k)
      ASSERT_LT(std::abs(mine[k] - right.spectrum[k]), 1e-11 * scale)
          << n[0] << " x " << n[1] << " x " << n[2] << " on " << rows << " x " << columns << ", element " << k
          << ", run " << run;
  }
}

TEST(fft, has_the_spectrum_of_fftw) {
  fftw_mpi_init();
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const sizes& n : {sizes{16, 12, 8}, sizes{7, 5, 9}, sizes{3, 11, 1}, sizes{1, 2, 13}})
    for (int columns = 1; columns <= ranks; ++columns)
      for (const std::size_t memory : {std::size_t{1} << 20U, std::size_t{240} << 10U})
        if (ranks % columns == 0) compare(n, ranks / columns, columns, memory);
  fftw_mpi_cleanup();
}

}  // namespace
}  // namespace taquin::test
