// measured_profile FILE: a profile of this machine with times that were not measured: at each size another algorithm is
// the fastest.
#include <mpi.h>

#include <array>

#include "select/profile.hpp"

int main(int argc, char** argv) {
  using namespace taquin;
  MPI_Init(&argc, &argv);
  detail::profile p;
  p.model.machine = detail::machine_name();
  const std::array<const char*, 3> names{"shared_memory", "pairwise", "spread_out"};
  for (const int ranks : {2, 3, 4})
    for (const bool reused : {false, true})
      for (const int skew : {0, 1, 2})
        for (std::size_t size = 0; size < 12; ++size)
          for (std::size_t i = 0; i < names.size(); ++i)
            p.points.push_back({.algorithm = names.at(i),
                                .ranks = ranks,
                                .kind = reused ? exchange::form::alltoall : exchange::form::alltoallv,
                                .reused = reused,
                                .skew = skew,
                                .bytes = static_cast<double>(1U << 2 * size),
                                .time = 1e-6 * static_cast<double>(1 + (size + i) % names.size())});
  if (argc == 2) detail::write_profile(argv[1], p);
  return argc == 2 ? MPI_Finalize() : 2;
}
