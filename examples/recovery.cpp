// Particles go on without a checkpoint. They move in a periodic line that ranks share; those that leave a rank's part
// go to another rank, in place, as blocks of one array. Where a step fails, because a rank has died or others have
// given it up, the ranks that are left say what they have, and go on with it: nothing is read from a file.
//
//   recovery [STEPS [PARTICLES_PER_RANK [SLOW [DEAD]]]]
//
// SLOW: in that step the last rank sleeps, and the others give up after a second; then all go on together. DEAD: in
// that step the last rank kills itself. To go on after that takes an MPI library that does: mpirun --with-ft ulfm.
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "taquin/taquin.hpp"

namespace {

using namespace std::chrono_literals;
using taquin::failure::state;

struct particle {
  std::uint64_t id;
  double x, v;  // of a line from 0 to 1
};

std::size_t at(taquin::count_t i) { return static_cast<std::size_t>(i); }

// A communicator of the ranks that are left.
MPI_Comm those_left(MPI_Comm comm) {
  MPI_Comm left = MPI_COMM_NULL;
#if defined(OPEN_MPI) && defined(MPIX_ERR_PROC_FAILED)
  MPIX_Comm_revoke(comm);  // ends the waits of others
  MPIX_Comm_shrink(comm, &left);
#else
  MPI_Comm_dup(comm, &left);
#endif
  MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
  return left;
}

class line {
 public:
  line(std::uint64_t per_rank, MPI_Comm comm)
      : all_(at(8 * static_cast<taquin::count_t>(per_rank))),
        comm_(those_left(comm)),
        move_(all_.data(), static_cast<taquin::count_t>(all_.size()), sizeof(particle), MPI_BYTE, comm_,
              {.on_timeout = taquin::after_timeout::fail, .timeout = 1s}) {
    look();
    here_ = per_rank;
    for (std::uint64_t k = 0; k < per_rank; ++k) {
      const std::uint64_t id = static_cast<std::uint64_t>(rank_) * per_rank + k;
      all_[k] = {id, std::fmod(static_cast<double>(id) * 0.618034, 1.0), static_cast<double>(id % 17) / 40 - 0.2};
    }
  }

  // False where a rank has failed in this step, or before; then all of those that are left have gone on without it.
  // `trouble`: what happens to this rank before it moves its particles.
  bool step(void (*trouble)()) {
    bool moved = false;
    std::uint64_t coming = 0;
    begun_ = false;
    try {
      coming = send_to_owners(trouble);
      moved = true;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %d: %s\n", rank_, e.what());
    }
    // A rank whose part was complete must learn the state of the others.
    int all_moved = moved ? 1 : 0;
    if (MPI_Allreduce(MPI_IN_PLACE, &all_moved, 1, MPI_INT, MPI_MIN, comm_) != MPI_SUCCESS) all_moved = 0;
    if (all_moved == 0) return go_on(begun_ && !moved, moved ? coming : here_), false;
    here_ = coming;
    return true;
  }

  [[nodiscard]] bool last() const { return rank_ + 1 == ranks_; }

  // How many of `particles` are on no rank; throws where one is on two.
  [[nodiscard]] int lost(std::size_t particles) const {
    std::vector<int> seen(particles, 0);
    for (std::uint64_t k = 0; k < here_; ++k) ++seen.at(all_[k].id);
    MPI_Allreduce(MPI_IN_PLACE, seen.data(), static_cast<int>(particles), MPI_INT, MPI_SUM, comm_);
    if (std::ranges::any_of(seen, [](int n) { return n > 1; })) throw std::runtime_error("a particle is doubled");
    return static_cast<int>(std::ranges::count(seen, 0));
  }

 private:
  void look() {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }

  // How many are here then. Throws where a rank has failed.
  std::uint64_t send_to_owners(void (*trouble)()) {
    const std::size_t p = at(ranks_);
    std::vector<int> to(all_.size(), -1), place(all_.size(), 0), out(p, 0), in(p), first(p), mine(p);
    for (std::uint64_t k = 0; k < here_; ++k) {
      particle& one = all_[k];
      const double x = one.x + one.v;
      one.x = x - std::floor(x) < 1 ? x - std::floor(x) : 0;
      to[k] = std::min(static_cast<int>(one.x * ranks_), ranks_ - 1);
      place[k] = out[at(to[k])]++;
    }
    if (MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm_) != MPI_SUCCESS)
      throw std::runtime_error("counts");
    std::exclusive_scan(in.begin(), in.end(), first.begin(), 0);
    if (MPI_Alltoall(first.data(), 1, MPI_INT, mine.data(), 1, MPI_INT, comm_) != MPI_SUCCESS)
      throw std::runtime_error("places");
    for (std::uint64_t k = 0; k < here_; ++k) place[k] += mine[at(to[k])];
    if (trouble != nullptr) trouble();
    begun_ = true;
    move_(to, place);
    return static_cast<std::uint64_t>(std::reduce(in.begin(), in.end()));
  }

  // With what the ranks that are left have: where the map says, or else the first `whole`.
  void go_on(bool by_map, std::uint64_t whole) {
    MPI_Comm before = comm_;
    comm_ = those_left(before);
    const taquin::failure::block_map map = move_.repair(comm_);
    std::vector<particle> have;
    if (!by_map) have.assign(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(whole));
    const auto* staged = reinterpret_cast<const particle*>(map.staged.data());
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const taquin::failure::part& part : *list)
        for (taquin::count_t k = 0; by_map && part.what != state::missing && k < part.length; ++k)
          have.push_back((part.what == state::staged ? staged : all_.data())[part.at + k]);
    std::ranges::copy(have, all_.begin());
    here_ = have.size();
    MPI_Comm_free(&before);  // with all that taquin had for it
    look();
  }

  std::vector<particle> all_;  // with room for what may come
  std::uint64_t here_ = 0;
  bool begun_ = false;  // this step's redistribution
  MPI_Comm comm_;
  taquin::redistribution move_;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto number = [&](int k, int otherwise) { return argc > k ? std::stoi(argv[k]) : otherwise; };
  const int steps = number(1, 20);
  const int per_rank = number(2, 500);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int failures = 0;
  int lost = 0;
  {
    line all(static_cast<std::uint64_t>(per_rank), MPI_COMM_WORLD);
    for (int step = 0; step < steps; ++step) {
      void (*trouble)() = nullptr;
      if (step == number(3, -1) && all.last()) trouble = [] { std::this_thread::sleep_for(2s); };
      if (step == number(4, -1) && all.last()) trouble = [] { static_cast<void>(std::raise(SIGKILL)); };
      if (!all.step(trouble)) ++failures;
    }
    lost = all.lost(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(per_rank));
    if (!all.last()) failures = -1;
  }
  if (failures >= 0)
    std::printf("%d steps, %d of them failed; %d of %d particles lost\n", steps, failures, lost, ranks * per_rank);
  MPI_Finalize();
  return 0;
}
