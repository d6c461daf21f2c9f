#include "mpi/collectives.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "mpi/backoff.hpp"
#include "mpi/watch.hpp"

namespace taquin::mpi {

namespace collectives {

namespace {

void run_in(const collective& c, const void* from, void* to, const int* layout, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(c.begin(from, to, layout, &request), call);
  complete(request, call);
}

}  // namespace

void run(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, std::span<const int> layout,
         const char* call) {
  if (!may_give_up()) return run_in(c, from.data(), to.data(), layout.data(), call);
  struct arguments {
    std::vector<std::byte> from, to;
    std::vector<int> layout;
  };
  auto own = std::make_unique<arguments>(
      arguments{{from.begin(), from.end()}, {to.begin(), to.end()}, {layout.begin(), layout.end()}});
  try {
    run_in(c, own->from.data(), own->to.data(), own->layout.data(), call);
  } catch (...) {
    static_cast<void>(own.release());  // the MPI library may still use it
    throw;
  }
  std::ranges::copy(own->to, to.data());
}

}  // namespace collectives

void barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(collectives::begin_one(PMPI_Barrier, PMPI_Ibarrier, comm, &request), "MPI_Ibarrier");
  complete(request, "MPI_Ibarrier");
}

bool holds_everywhere(bool mine, MPI_Comm comm) {
  std::int32_t all = mine ? 1 : 0;
  allreduce(all, MPI_MIN, comm);
  return all != 0;
}

}  // namespace taquin::mpi
