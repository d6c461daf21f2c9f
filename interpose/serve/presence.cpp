// A rank without the library takes part in nothing, so the first question cannot be a collective operation. Rank 0
// collects an empty message from each rank of MPI_COMM_WORLD, on the highest tag, through receives posted for each; it
// answers each immediately, and each publishes that it waits for the verdict, or has given up. A late message finds a
// receive that is still posted: a rank with the library never sees these messages. Where rank 0 itself is without the
// library, two empty messages from each other rank stay there.
#include "interpose/serve/presence.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/say.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"

namespace taquin::interpose {

namespace {

using clock = std::chrono::steady_clock;

enum answer : int { stands_aside = 0, serves = 1 };

struct world {
  int rank = 0;
  int ranks = 1;
  int tag = 0;
};

// Messages that were not received, kept until MPI is finalised.
struct leftovers {
  std::vector<MPI_Request> requests;
  std::vector<int> values;
};

// Never destroyed: the program may end while messages are in flight. Its place is there from the beginning, because
// MPI_Finalize must not run out of memory here.
leftovers& kept_leftovers() noexcept {
  alignas(leftovers) static std::array<std::byte, sizeof(leftovers)> place;
  static auto* const l = new (place.data()) leftovers;
  return *l;
}

world query_world() {
  world w;
  TAQUIN_MPI(PMPI_Comm_rank(MPI_COMM_WORLD, &w.rank));
  TAQUIN_MPI(PMPI_Comm_size(MPI_COMM_WORLD, &w.ranks));
  int* bound = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found));
  constexpr int least_bound = 32767;
  w.tag = found != 0 ? *bound : least_bound;
  return w;
}

// Completes it when its message arrives, unless that is after the timeout.
bool is_within(MPI_Request& request, clock::time_point end) {
  while (true) {
    int done = 0;
    TAQUIN_MPI(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return true;
    if (clock::now() >= end) return false;
    sched_yield();
  }
}

// The rank that is missing, or -1. On rank 0: collects, answers, reports.
int gather_presence(const world& w, clock::time_point end) {
  const auto others = static_cast<std::size_t>(w.ranks - 1);
  std::vector<MPI_Request> hello(others);
  std::vector<MPI_Request> stays(others);
  leftovers& late = kept_leftovers();
  late.values.assign(2 * others, 0);
  for (std::size_t i = 0; i < others; ++i) {
    const int from = static_cast<int>(i) + 1;
    TAQUIN_MPI(PMPI_Irecv(nullptr, 0, MPI_INT, from, w.tag, MPI_COMM_WORLD, &hello[i]));
    TAQUIN_MPI(PMPI_Irecv(&late.values[i], 1, MPI_INT, from, w.tag, MPI_COMM_WORLD, &stays[i]));
  }
  std::vector<bool> answered(others, false);
  std::size_t here = 0;
  while (here < others && clock::now() < end) {
    for (std::size_t i = 0; i < others; ++i) {
      int done = 0;
      if (answered[i]) continue;
      TAQUIN_MPI(PMPI_Test(&hello[i], &done, MPI_STATUS_IGNORE));
      if (done == 0) continue;
      answered[i] = true;
      ++here;
      TAQUIN_MPI(PMPI_Send(nullptr, 0, MPI_INT, static_cast<int>(i) + 1, w.tag, MPI_COMM_WORLD));
    }
    sched_yield();
  }
  int missing = -1;
  for (std::size_t i = 0; i < others; ++i) {
    if (answered[i]) TAQUIN_MPI(PMPI_Wait(&stays[i], MPI_STATUS_IGNORE));  // it has said it, or will
    if (missing < 0 && (!answered[i] || late.values[i] != serves)) missing = static_cast<int>(i) + 1;
  }
  const int verdict = missing < 0 ? serves : stands_aside;
  for (std::size_t i = 0; i < others; ++i) {
    if (answered[i] && late.values[i] == serves)
      TAQUIN_MPI(PMPI_Send(&verdict, 1, MPI_INT, static_cast<int>(i) + 1, w.tag, MPI_COMM_WORLD));
    if (!answered[i]) late.requests.insert(late.requests.end(), {hello[i], stays[i]});
  }
  return missing;
}

// On the other ranks: 0 when rank 0 is missing, -1 when none is, -2 when rank 0 knows which.
int report_presence(const world& w, clock::time_point end) {
  MPI_Request answer = MPI_REQUEST_NULL;
  TAQUIN_MPI(PMPI_Irecv(nullptr, 0, MPI_INT, 0, w.tag, MPI_COMM_WORLD, &answer));
  TAQUIN_MPI(PMPI_Send(nullptr, 0, MPI_INT, 0, w.tag, MPI_COMM_WORLD));
  const bool heard = is_within(answer, end);
  const int waits = heard ? serves : stands_aside;
  TAQUIN_MPI(PMPI_Send(&waits, 1, MPI_INT, 0, w.tag, MPI_COMM_WORLD));
  if (!heard) {
    kept_leftovers().requests.push_back(answer);
    return 0;
  }
  int verdict = stands_aside;
  TAQUIN_MPI(PMPI_Recv(&verdict, 1, MPI_INT, 0, w.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return verdict == serves ? -1 : -2;
}

using variables = std::map<std::string, std::string>;

// All settings as they were given, each ended by a zero byte.
std::string text_of(const variables& all) {
  std::string text;
  for (const auto& [name, value] : all) text.append(name).append(1, '=').append(value).append(1, '\0');
  return text;
}

variables settings_in(std::string_view text) {
  variables all;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    const auto equals = text.find('=', at);
    all.emplace(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1));
    at = end + 1;
  }
  return all;
}

std::string shown(const variables& all, const std::string& name) {
  const auto found = all.find(name);
  return found == all.end() ? "none" : "'" + found->second + "'";
}

// The same on all ranks; the first rank that differs from rank 0 reports it. Collective.
bool all_settings_agree(const world& w) {
  const variables& own = settings::get().as_given;
  std::string mine;
  std::string first;
  int size = 0;
  mpi::make_everywhere(MPI_COMM_WORLD, [&] { mine = text_of(own); });
  if (w.rank == 0) size = static_cast<int>(mine.size());
  TAQUIN_MPI(PMPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD));
  mpi::make_everywhere(MPI_COMM_WORLD, [&] { first.resize(static_cast<std::size_t>(size)); });
  if (w.rank == 0) std::ranges::copy(mine, first.begin());
  TAQUIN_MPI(PMPI_Bcast(first.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD));
  int differs = mine == first ? w.ranks : w.rank;
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (differs == w.ranks) return true;
  if (differs == w.rank) {
    const variables of_first = settings_in(first);
    variables all = own;
    all.insert(of_first.begin(), of_first.end());
    const auto name =
        std::ranges::find_if(all, [&](const auto& v) { return shown(own, v.first) != shown(of_first, v.first); });
    print_message("rank " + std::to_string(w.rank) + " has " + name->first + " " + shown(own, name->first) +
                  ", rank 0 has " + shown(of_first, name->first) + "; taquin stands aside on all ranks");
  }
  return false;
}

}  // namespace

bool agree_to_serve() noexcept {
  try {
    const settings& s = settings::get();
    const world w = query_world();
    if (w.ranks == 1) return !s.disabled;
    const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(s.init_timeout);
    const int missing = w.rank == 0 ? gather_presence(w, end) : report_presence(w, end);
    if (missing >= 0 && w.rank == (missing == 0 ? 1 : 0))
      print_message("rank " + std::to_string(missing) +
                    " is without the preloaded library (LD_PRELOAD), or entered MPI_Init more than " +
                    std::to_string(static_cast<int>(s.init_timeout.count())) +
                    " s later (TAQUIN_INIT_TIMEOUT); taquin stands aside on all ranks");
    return missing == -1 && all_settings_agree(w) && !s.disabled;
  } catch (const std::exception& e) {
    print_message("taquin stands aside: ", e.what());
    return false;
  }
}

void forget_absent_ranks() noexcept {
  for (MPI_Request& r : kept_leftovers().requests) {
    int done = 0;
    if (PMPI_Test(&r, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0) continue;
    PMPI_Cancel(&r);
    PMPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  kept_leftovers().requests.clear();
}

}  // namespace taquin::interpose
