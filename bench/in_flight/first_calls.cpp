#include "first_calls.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <string_view>

#include "counter.hpp"
#include "origins.hpp"
#include "taquin/taquin.hpp"

namespace taquin::in_flight {

namespace {

MPI_Comm duplicate() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return copy;
}

void print(int rank, int ranks, std::string_view by, std::string_view origin, const peaks& most) {
  if (rank != 0) return;
  fmt::print("{:>5} {:<22} {:<22} {:>9} {:>10}\n", ranks, by, origin, most.messages, most.bytes);
  std::fflush(stdout);
}

// Some words from each rank to each.
class exchange_of_words {
 public:
  explicit exchange_of_words(int rank, int ranks)
      : out_(static_cast<std::size_t>(ranks), rank), in_(out_.size()), ones_(out_.size(), 1), places_(out_.size()) {
    std::iota(places_.begin(), places_.end(), 0);
  }
  bool call(MPI_Comm comm) {
    std::ranges::fill(in_, -1);
    const auto ones = count_view(ones_.data());
    const auto places = count_view(places_.data());
    run(exchange::alltoallv(out_.data(), ones, places, MPI_INT, in_.data(), ones, places, MPI_INT, comm));
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (in_[i] != static_cast<int>(i)) return false;
    return true;
  }

 private:
  std::vector<int> out_, in_, ones_, places_;
};

// The same function, with arguments like taquin's.
void by_hand(std::string_view name, MPI_Comm comm, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks) * 8);
  int one = 0;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_group(comm, &group);
  if (name == "MPI_Comm_create") PMPI_Comm_create(comm, group, &made);
  if (name == "MPI_Comm_create_group") PMPI_Comm_create_group(comm, group, 0, &made);
  if (name == "MPI_Comm_dup") PMPI_Comm_dup(comm, &made);
  if (name == "MPI_Iallgather")
    PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 8, MPI_INT, comm, &request);
  if (name == "MPI_Iallreduce") PMPI_Iallreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MIN, comm, &request);
  if (name == "MPI_Ibarrier") PMPI_Ibarrier(comm, &request);
  if (name == "MPI_Ibcast") PMPI_Ibcast(&one, 1, MPI_INT, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Group_free(&group);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

}  // namespace

bool first_calls(const settings& s, int rank, int ranks) {
  constexpr int calls = 4;
  constexpr int most_in_flight = 32;
  exchange_of_words x(rank, ranks);
  bool good = true;
  std::vector<std::string_view> origins{std::string_view(), own_messages};
  origins.insert(origins.end(), functions.begin(), functions.end());
  for (const std::string_view origin : origins) {
    MPI_Comm comm = duplicate();
    for (int k = 1; k <= calls; ++k) {
      begin(origin);
      if (rank == 0) be_late(s);
      good = x.call(comm) && good;
      const peaks most = end();
      good = good && most.messages <= most_in_flight;
      if (most.messages > 0)
        print(rank, ranks, fmt::format("taquin, call {}", k), origin.empty() ? "all" : origin, most);
    }
    MPI_Comm_free(&comm);
  }
  for (const std::string_view name : std::span(functions).first(by_hand_functions)) {
    MPI_Comm comm = duplicate();
    begin();
    if (rank == 0) be_late(s);
    by_hand(name, comm, ranks);
    print(rank, ranks, "this program", name, end());
    MPI_Comm_free(&comm);
  }
  int wrong = good ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return wrong == 0;
}

}  // namespace taquin::in_flight
