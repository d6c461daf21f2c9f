// Particles that move in a periodic box, each kept by the rank whose slab it is in. After every step those that left
// their slab migrate, in place. No particle is ever lost, doubled or changed: checked by count, sum and identity.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "taquin/migrate.hpp"

namespace {

struct particle {
  std::uint64_t id;
  double x, y, z;  // 0 to 1
  double vx, vy, vz;
};

double wrapped(double x) {
  x = x < 0 ? x + 1 : x >= 1 ? x - 1 : x;
  return x >= 1 ? 0 : x;  // a tiny negative number wraps to 1 exactly
}

// What no step may change: how many there are, and two sums over their identities.
struct census {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t hash = 0;
  bool operator==(const census&) const = default;
};

census take_census(const std::vector<particle>& mine) {
  census c;
  for (const particle& p : mine) {
    ++c.count;
    c.sum += p.id;
    std::uint64_t h = (p.id + 1) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 31U)) * 0xbf58476d1ce4e5b9ULL;
    c.hash += h ^ (h >> 29U);
  }
  MPI_Allreduce(MPI_IN_PLACE, &c, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::uint64_t per_rank = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> speed(0, 0.01);
  std::vector<particle> mine;
  for (std::uint64_t i = 0; i < per_rank; ++i) {
    const std::uint64_t id = static_cast<std::uint64_t>(rank) * per_rank + i;
    mine.push_back(
        {id, uniform(random), uniform(random), uniform(random), speed(random), speed(random), speed(random)});
  }
  const census before = take_census(mine);

  const auto slab = [ranks](const particle& p) { return std::min(static_cast<int>(p.x * ranks), ranks - 1); };
  bool good = true;
  for (int step = 0; step < steps && good; ++step) {
    for (particle& p : mine) {
      p.x = wrapped(p.x + p.vx);
      p.y = wrapped(p.y + p.vy);
      p.z = wrapped(p.z + p.vz);
    }
    taquin::migrate(mine, slab, MPI_COMM_WORLD);
    good = take_census(mine) == before;
  }

  // Every particle is where it must be, and no identity is there twice.
  std::vector<std::uint64_t> ids;
  for (const particle& p : mine) {
    good = good && slab(p) == rank;
    ids.push_back(p.id);
  }
  taquin::migrate(
      ids, [&](std::uint64_t id) { return static_cast<int>(id / per_rank); }, MPI_COMM_WORLD);
  std::ranges::sort(ids);
  good = good && ids.size() == per_rank;
  for (std::uint64_t i = 0; good && i < per_rank; ++i) good = ids[i] == static_cast<std::uint64_t>(rank) * per_rank + i;

  int all_good = good ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%llu particles, %d steps: %s\n", static_cast<unsigned long long>(before.count), steps,
                all_good != 0 ? "all there" : "PARTICLES LOST OR CHANGED");
  MPI_Finalize();
  return all_good != 0 ? 0 : 1;
}
