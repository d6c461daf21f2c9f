// An intracommunicator with processes of two worlds is made by MPI_Intercomm_merge, or from one that was. All its ranks
// have called it then; until a process does, nothing is looked up.
#include "interpose/serve/worlds.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "base/sizes.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/route.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "mpi/groups.hpp"

namespace taquin::interpose {

namespace {

std::atomic<bool> merged{false};  // this process has called MPI_Intercomm_merge

enum class worlds : char { one, several };
worlds one_world = worlds::one;  // the record kept with a communicator
worlds several_worlds = worlds::several;

bool look(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  std::vector<int> places(detail::as_size(ranks));
  mpi::translate_ranks(comm, 0, MPI_COMM_WORLD, places);
  return std::ranges::find(places, MPI_UNDEFINED) == places.end();
}

int intercepted_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm* made) {
  const guard g;
  merged = true;
  return TAQUIN_NEXT(Intercomm_merge)(inter, high, made);
}

}  // namespace

bool in_one_world(MPI_Comm comm) {
  if (!merged.load(std::memory_order_relaxed)) [[likely]]
    return true;
  static const mpi::attribute<worlds> kept(MPI_COMM_NULL_DELETE_FN);
  worlds* known = kept.find(comm);
  if (known == nullptr) {
    known = look(comm) ? &one_world : &several_worlds;
    kept.set(comm, known);
  }
  return known == &one_world;
}

}  // namespace taquin::interpose

using namespace taquin::interpose;

TAQUIN_BOTH_NAMES(Intercomm_merge, (handle inter, int high, MPI_Comm* made), (inter, high, made))
