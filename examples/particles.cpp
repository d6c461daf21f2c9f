// A particle code in small. Particles move in a periodic box that ranks share as slabs; close ones push each other.
//
//   move       those that left their slab go to its rank, in one buffer           taquin::alltoallv_in_place
//   balance    slabs change so that each has as many particles, which follow      taquin::migrate
//   ghosts     ranks send others the particles within their reach                taquin::sparse_exchange
//   errors     all ranks have them before anything has moved, so that they can correct the cause and continue
//
// No particle is ever lost, doubled or changed: checked by count, sum and identity.
//
//   particles [STEPS [PARTICLES_PER_RANK [MEMORY [FAULT [alltoallv]]]]]
//
// MEMORY: extra bytes that moving may take, doubled where they are too few. FAULT: in that step one particle of rank 0
// gets a position that is not a number. "alltoallv": MPI_Alltoallv moves instead of taquin, to compare peak memory.
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "taquin/taquin.hpp"

namespace {

using taquin::count_t;

struct particle {
  std::uint64_t id;
  double x, y, z;  // 0 to 1
  double vx, vy, vz;
};

struct place {
  double x, y, z;
};

struct settings {
  int steps = 1000;
  std::uint64_t per_rank = 1000;
  std::size_t memory = std::size_t{1} << 16;
  int fault = -1;
  bool by_taquin = true;
};

double wrapped(double x) {
  x -= std::floor(x);
  return x >= 1 ? 0 : x;  // a tiny negative number wraps to 1 exactly
}

// The box in slabs along x: rank i has what lies from edge i to edge i + 1.
class slabs {
 public:
  explicit slabs(int ranks) : edges_(static_cast<std::size_t>(ranks) + 1) {
    for (std::size_t i = 0; i < edges_.size(); ++i) edges_[i] = static_cast<double>(i) / ranks;
  }
  [[nodiscard]] int owner(double x) const {
    const auto behind = std::upper_bound(edges_.begin() + 1, edges_.end() - 1, x);
    return static_cast<int>(behind - edges_.begin()) - 1;
  }
  // Edges between which there are as many of all ranks' particles, by a histogram.
  void even_out(const std::vector<particle>& mine) {
    constexpr std::size_t bins = 4096;
    std::vector<std::int64_t> histogram(bins);
    for (const particle& p : mine)
      if (p.x >= 0 && p.x < 1) ++histogram[static_cast<std::size_t>(p.x * bins)];
    MPI_Allreduce(MPI_IN_PLACE, histogram.data(), static_cast<int>(bins), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    const double total = static_cast<double>(std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0}));
    double before = 0;
    for (std::size_t bin = 0, edge = 1; bin < bins; before += static_cast<double>(histogram[bin++]))
      for (; edge + 1 < edges_.size() &&
             before + static_cast<double>(histogram[bin]) > total * static_cast<double>(edge) / ranks();
           ++edge)
        edges_[edge] = static_cast<double>(bin + 1) / bins;
  }

 private:
  [[nodiscard]] double ranks() const { return static_cast<double>(edges_.size() - 1); }
  std::vector<double> edges_;
};

class simulation {
 public:
  explicit simulation(const settings& s) : settings_(s), slabs_(world_size()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    std::mt19937_64 random(static_cast<std::uint64_t>(rank_));
    std::uniform_real_distribution<double> uniform(0, 1);
    std::normal_distribution<double> speed(0, 0.002);
    mine_.reserve(s.per_rank + s.per_rank / 4 + 64);  // so that the vector seldom grows, which takes a second copy
    for (std::uint64_t i = 0; i < s.per_rank; ++i)
      mine_.push_back({static_cast<std::uint64_t>(rank_) * s.per_rank + i, uniform(random) * uniform(random),
                       uniform(random), uniform(random), speed(random), speed(random), speed(random)});
    balance();
  }

  void step(int number) {
    push();
    for (particle& p : mine_) {
      p.x = wrapped(p.x + p.vx);
      p.y = wrapped(p.y + p.vy);
      p.z = wrapped(p.z + p.vz);
    }
    if (number == settings_.fault && rank_ == 0 && !mine_.empty()) mine_.front().x = std::nan("");
    settings_.by_taquin ? move_in_place() : move_by_copies();
    if (number % 10 == 0 || number == settings_.fault) balance();
  }

  [[nodiscard]] const std::vector<particle>& particles() const { return mine_; }
  [[nodiscard]] int owner(const particle& p) const { return slabs_.owner(p.x); }
  [[nodiscard]] int mended() const { return mended_; }
  [[nodiscard]] std::size_t memory() const { return settings_.memory; }

 private:
  static int world_size() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
  }

  // How many particles go to each rank, which are then in the order of their ranks, and how many come.
  struct flows {
    std::vector<count_t> to, to_at, from, from_at;
    [[nodiscard]] count_t sent() const { return to_at.back() + to.back(); }
    [[nodiscard]] count_t received() const { return from_at.back() + from.back(); }
  };
  flows sort_by_owner() {
    const auto ranks = static_cast<std::size_t>(world_size());
    flows f{std::vector<count_t>(ranks), std::vector<count_t>(ranks), {}, std::vector<count_t>(ranks)};
    // A particle without a place stays here: balance() reports it to all ranks.
    const auto target = [this](const particle& p) { return std::isnan(p.x) ? rank_ : owner(p); };
    std::ranges::sort(mine_, {}, target);
    for (const particle& p : mine_) ++f.to[static_cast<std::size_t>(target(p))];
    f.from = taquin::alltoall(f.to, MPI_COMM_WORLD);
    std::exclusive_scan(f.to.begin(), f.to.end(), f.to_at.begin(), count_t{0});
    std::exclusive_scan(f.from.begin(), f.from.end(), f.from_at.begin(), count_t{0});
    return f;
  }

  void move_in_place() {
    const flows f = sort_by_owner();
    mine_.resize(static_cast<std::size_t>(std::max(f.sent(), f.received())));
    for (;; settings_.memory *= 2) try {
        taquin::alltoallv_in_place<particle>(mine_, f.to, f.to_at, f.from, f.from_at, MPI_COMM_WORLD,
                                             {.memory = settings_.memory});
        break;
      } catch (const taquin::budget_exceeded&) {  // on all ranks, before anything has moved: all allow more
        ++mended_;
      }
    mine_.resize(static_cast<std::size_t>(f.received()));
  }

  // The same by the MPI library, which needs a second buffer.
  void move_by_copies() {
    const flows f = sort_by_owner();
    std::vector<particle> arriving(static_cast<std::size_t>(f.received()));
    const auto bytes = [](const std::vector<count_t>& elements) {
      std::vector<int> b;
      for (const count_t n : elements) b.push_back(static_cast<int>(n * static_cast<count_t>(sizeof(particle))));
      return b;
    };
    MPI_Alltoallv(mine_.data(), bytes(f.to).data(), bytes(f.to_at).data(), MPI_BYTE, arriving.data(),
                  bytes(f.from).data(), bytes(f.from_at).data(), MPI_BYTE, MPI_COMM_WORLD);
    mine_.swap(arriving);
  }

  void balance() {
    slabs_.even_out(mine_);
    const auto checked = [this](const particle& p) {
      if (!(p.x >= 0 && p.x < 1)) throw std::domain_error("particle " + std::to_string(p.id) + " is nowhere");
      return owner(p);
    };
    if (!settings_.by_taquin) {
      std::ranges::for_each(mine_, mend);
      return move_by_copies();
    }
    try {
      taquin::migrate(mine_, checked, MPI_COMM_WORLD);
    } catch (const taquin::usage_error& e) {  // on all ranks, with the rank named and the particles kept
      if (rank_ == 0) std::printf("going on after: %s\n", e.what());
      std::ranges::for_each(mine_, mend);
      ++mended_;
      taquin::migrate(mine_, checked, MPI_COMM_WORLD);
    }
  }
  static void mend(particle& p) {
    if (std::isnan(p.x)) p.x = 0.5;
  }

  // Close particles push each other: also those of other slabs that are within reach of this one, the ghosts. Slabs may
  // be narrower than that, and the box goes on behind its end.
  void push() {
    const double all = static_cast<double>(settings_.per_rank) * world_size();
    const double reach = std::min(0.5 / std::cbrt(all), 100 / all);
    std::map<int, std::vector<place>> for_others;
    for (const particle& p : mine_)
      for (const double x : {p.x - 1, p.x, p.x + 1})
        if (x > -reach && x < 1 + reach)
          for (int other = slabs_.owner(x - reach); other <= slabs_.owner(x + reach); ++other)
            if (other != rank_ || x != p.x) for_others[other].push_back({x, p.y, p.z});
    std::vector<place> ghosts;
    for (const auto& [source, places] : taquin::sparse_exchange(for_others, MPI_COMM_WORLD))
      ghosts.insert(ghosts.end(), places.begin(), places.end());
    std::ranges::sort(mine_, {}, &particle::x);
    std::ranges::sort(ghosts, {}, &place::x);
    push_apart(std::span<const particle>(mine_), reach);
    push_apart(std::span<const place>(ghosts), reach);
  }
  // Both are in the order of x, so that a window of the others goes along.
  template <class Others>
  void push_apart(Others others, double reach) {
    std::size_t begin = 0;
    for (particle& p : mine_) {
      while (begin < others.size() && others[begin].x < p.x - reach) ++begin;
      for (std::size_t i = begin; i < others.size() && others[i].x <= p.x + reach; ++i) {
        const double dx = p.x - others[i].x, dy = p.y - others[i].y, dz = p.z - others[i].z;
        const double apart = dx * dx + dy * dy + dz * dz;
        if (apart == 0 || apart > reach * reach) continue;
        p.vx += 1e-3 * dx;
        p.vy += 1e-3 * dy;
        p.vz += 1e-3 * dz;
      }
    }
  }

  settings settings_;
  slabs slabs_;
  int rank_ = 0;
  int mended_ = 0;
  std::vector<particle> mine_;
};

// Invariants of all steps: the number of particles, and two sums over their identities.
using census = std::array<std::uint64_t, 3>;
census take_census(const std::vector<particle>& mine) {
  census c{mine.size(), 0, 0};
  for (const particle& p : mine) {
    c[1] += p.id;
    const std::uint64_t h = (p.id + 1) * 0x9e3779b97f4a7c15ULL;
    c[2] += (h ^ (h >> 31U)) * 0xbf58476d1ce4e5b9ULL;
  }
  MPI_Allreduce(MPI_IN_PLACE, c.data(), 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return c;
}

double most(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  settings s;
  if (argc > 1) s.steps = std::atoi(argv[1]);
  if (argc > 2) s.per_rank = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) s.memory = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) s.fault = std::atoi(argv[4]);
  s.by_taquin = argc <= 5;
  int good = 1;
  {
    simulation box(s);
    const census before = take_census(box.particles());
    const double begin = MPI_Wtime();
    for (int step = 1; step <= s.steps && good != 0; ++step) {
      box.step(step);
      good = take_census(box.particles()) == before ? 1 : 0;
    }
    const double seconds = most(MPI_Wtime() - begin);

    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const particle& p : box.particles())
      if (box.owner(p) != rank) good = 0;  // each is where it must be
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double peak = most(static_cast<double>(used.ru_maxrss) / 1024);
    const double data = most(static_cast<double>(box.particles().capacity() * sizeof(particle)) / (1 << 20));
    if (rank == 0) {
      std::printf("%llu particles, %d steps: %s\n", static_cast<unsigned long long>(before[0]), s.steps,
                  good != 0 ? "all there" : "PARTICLES LOST OR CHANGED");
      std::printf("%.2f s; peak of a rank %.1f MiB, particles %.1f MiB; %d errors mended\n", seconds, peak, data,
                  box.mended());
    }
  }
  MPI_Finalize();
  return good != 0 ? 0 : 1;
}
