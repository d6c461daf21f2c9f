// An intracommunicator with processes of two worlds is made by MPI_Intercomm_merge, or from one that was. All its ranks
// have called it then; until a process does, nothing is looked up.
#include "interpose/serve/worlds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <span>

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

// In chunks on the stack: a rank that has no memory left finds the same as the others.
bool poll(MPI_Comm comm) {
  constexpr int at_once = 64;
  std::array<int, at_once> places{};
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  for (int begin = 0; begin < ranks; begin += at_once) {
    const auto part = std::span(places).first(detail::as_size(std::min(at_once, ranks - begin)));
    mpi::translate_ranks(comm, begin, MPI_COMM_WORLD, part);
    if (std::ranges::find(part, MPI_UNDEFINED) != part.end()) return false;
  }
  return true;
}

const mpi::attribute<worlds>& known_worlds() {
  static const mpi::attribute<worlds> one(MPI_COMM_NULL_DELETE_FN);
  return one;
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
  try {
    if (const worlds* const known = known_worlds().find(comm); known != nullptr) return known == &one_world;
  } catch (const std::exception&) {  // nothing can be kept: it is looked up in every call
  }
  const bool one = poll(comm);
  try {
    known_worlds().set(comm, one ? &one_world : &several_worlds);
  } catch (const std::exception&) {
  }
  return one;
}

}  // namespace taquin::interpose

using namespace taquin::interpose;

TAQUIN_BOTH_NAMES(Intercomm_merge, (handle inter, int high, MPI_Comm* made), (inter, high, made))
