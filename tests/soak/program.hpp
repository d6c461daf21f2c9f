// The actions of the program around an exchange: it is late, has messages and collective operations of its own, and
// reports where it is in case it never returns.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "soak/recipe.hpp"
#include "taquin/error.hpp"

namespace taquin::soak {

/// Where a thread is. Read by the watchdog.
struct progress {
  std::atomic<std::uint64_t> problem{0};
  std::atomic<const char*> doing{"begin"};
  std::atomic<bool> ended{false};
};

/// The actions so far.
struct tally {
  enum kind : std::uint8_t {
    alltoall,
    alltoallv,
    alltoallw,
    same_alltoall,
    same_alltoallv,
    same_alltoallw,
    any_in_place,
    checked,
    redistribution,
    migration,
    sparse,
    kinds
  };
  static const char* name(int kind);
  static int kind_of(const recipe& r);

  std::array<std::array<std::uint64_t, most_ranks + 1>, kinds> problems{};  ///< by kind and ranks; at rank 0 of each
  std::uint64_t exchanges = 0;    ///< compared, each with data of its own; at rank 0 of each communicator
  std::uint64_t in_flight = 0;    ///< of them, started while others were pending
  std::uint64_t kept = 0;         ///< of them, by plans that are kept
  std::uint64_t by_library = 0;   ///< of them, done by the MPI library as well
  std::uint64_t refused = 0;      ///< problems that the algorithm does not serve
  std::uint64_t limited = 0;      ///< refused limits
  std::uint64_t wrong_bytes = 0;  ///< on this rank

  void add(const tally& other);
};

/// One rank's turn at a problem.
struct turn {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  progress* at = nullptr;
  tally* sum = nullptr;

  void doing(const char* what) const { at->doing.store(what, std::memory_order_relaxed); }
};

/// This rank may lose some time here.
void delay(std::uint64_t seed, int rank, int point);

/// Operations of the program that begin before an exchange and end after it.
class companion {
 public:
  companion(company what, std::uint64_t seed, const turn& t);
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  ~companion() { end(); }
  /// Their error; empty when there is none.
  std::string end();

 private:
  MPI_Comm comm_;
  int left_ = 0;
  std::uint64_t expected_ = 0, sent_ = 0, received_ = 0;
  std::array<MPI_Request, 2> open_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::string fault_;
};

/// Calls f(limit) with the memory limits that the recipe is about until it succeeds; `untouched` says whether a call
/// that failed has written anything. The limit that worked.
template <class F, class Untouched>
std::size_t with_limit(limit kind, std::uint64_t seed, std::string& fault, tally& sum, F f, Untouched untouched) {
  std::size_t bytes = kind == limit::none ? unlimited : 0;
  bool learned = false;
  for (int attempt = 0; attempt < 16; ++attempt) {
    try {
      f(bytes);
      return bytes;
    } catch (const budget_exceeded& e) {
      ++sum.limited;
      const std::size_t outside = bytes - std::min(bytes, e.limit());  // taken before, and no part of that limit
      const std::size_t needed = e.used() + e.requested() + outside;
      if (e.limit() == unlimited || needed <= bytes) fault = e.what();
      if (!untouched()) fault = "a refused limit has written to the buffers";
      if (kind == limit::too_small) bytes = learned ? unlimited : needed - 1;
      if (kind == limit::above_least) bytes = needed + hash(seed, 77) % (2 * needed + 1);
      if (kind == limit::least) bytes = needed;
      learned = true;
    }
  }
  fault = "no limit serves";
  return bytes;
}

}  // namespace taquin::soak
