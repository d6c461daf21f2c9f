#include "mpi/backoff.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include "mpi/check.hpp"

namespace taquin::mpi {

namespace {

// Ranks of this job on this machine: launchers tell. Where they do not, all ranks might be here.
long local_ranks() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* text = std::getenv(name); text != nullptr)
      if (const long n = std::strtol(text, nullptr, 10); n > 0) return n;
  int all = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  return all;
}

}  // namespace

int looks_before_yielding() noexcept {
  constexpr int looks = 32;
  static const bool crowded = local_ranks() > sysconf(_SC_NPROCESSORS_ONLN);
  return crowded ? 0 : looks;
}

void backoff::yield() noexcept { sched_yield(); }

void backoff::progress() const {
  int any = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &any, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

}  // namespace taquin::mpi
