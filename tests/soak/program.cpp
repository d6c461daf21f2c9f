#include "soak/program.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

namespace taquin::soak {

const char* tally::name(int kind) {
  static constexpr std::array<const char*, kinds> names{"alltoall",
                                                        "alltoallv",
                                                        "alltoallw",
                                                        "alltoall in place",
                                                        "alltoallv in place",
                                                        "alltoallw in place",
                                                        "in place, any counts",
                                                        "mismatch, checked",
                                                        "redistribution",
                                                        "migration",
                                                        "sparse exchange"};
  return names.at(static_cast<std::size_t>(kind));
}

int tally::kind_of(const recipe& r) {
  if (r.in_place && !r.symmetric) return any_in_place;
  return static_cast<int>(r.form) + (r.in_place ? static_cast<int>(same_alltoall) : 0);
}

void tally::add(const tally& other) {
  for (std::size_t k = 0; k < problems.size(); ++k)
    for (std::size_t p = 0; p < problems[k].size(); ++p) problems[k][p] += other.problems[k][p];
  exchanges += other.exchanges;
  in_flight += other.in_flight;
  kept += other.kept;
  by_library += other.by_library;
  refused += other.refused;
  limited += other.limited;
  wrong_bytes += other.wrong_bytes;
}

void delay(std::uint64_t seed, int rank, int point) {
  const std::uint64_t h = hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(point) + 1000);
  if (h % 3 != 0) return;
  const std::uint64_t kind = (h >> 8U) % 512;
  if (kind == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds((h >> 20U) % 2000));
  } else if (kind < 128) {
    sched_yield();
  } else {
    volatile std::uint64_t work = 0;
    for (std::uint64_t i = (h >> 20U) % 4000; i > 0; --i) work = work + i;
  }
}

companion::companion(company what, std::uint64_t seed, const turn& t) : comm_(t.comm) {
  const int right = (t.rank + 1) % t.size;
  left_ = (t.rank + t.size - 1) % t.size;
  constexpr int tag = 1;
  switch (what) {
    case company::nothing:
      break;
    case company::barrier:
      MPI_Barrier(comm_);
      break;
    case company::reduction: {
      int sum = t.rank + 1;
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm_);
      if (sum != t.size * (t.size + 1) / 2) fault_ = "a reduction of the program is wrong";
      break;
    }
    case company::messages:
      expected_ = hash(seed, static_cast<std::uint64_t>(left_), 5);
      sent_ = hash(seed, static_cast<std::uint64_t>(t.rank), 5);
      MPI_Irecv(&received_, 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, open_.data());
      MPI_Isend(&sent_, 1, MPI_UINT64_T, right, tag, comm_, &open_[1]);
      break;
    case company::open_barrier:
      MPI_Ibarrier(comm_, open_.data());
      break;
    case company::alltoall: {
      std::array<int, most_ranks> to{};
      std::array<int, most_ranks> from{};
      for (int i = 0; i < t.size; ++i) to[static_cast<std::size_t>(i)] = t.rank * most_ranks + i;
      MPI_Alltoall(to.data(), 1, MPI_INT, from.data(), 1, MPI_INT, comm_);
      for (int i = 0; i < t.size; ++i)
        if (from[static_cast<std::size_t>(i)] != i * most_ranks + t.rank)
          fault_ = "an alltoall of the program is wrong";
      break;
    }
  }
}

std::string companion::end() {
  MPI_Waitall(2, open_.data(), MPI_STATUSES_IGNORE);
  if (received_ != expected_) fault_ = "a message of the program is wrong";
  return fault_;
}

}  // namespace taquin::soak
