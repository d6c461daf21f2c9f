// Sparse exchanges by some ways, each timed and verified, for bench/sparse/scale. Simulated time is exact: nothing
// has to be repeated, and beginning costs the simulator more than most exchanges. Of three calls of a way the first
// makes what later ones use; the last is timed. A JSON object in a line for each, as soon as it is known.
//   one_sparse WAYS WORKLOAD SIZES [CALLS]: a way is of src/algorithms/sparse/sparse.def, auto, hand-written as in
//   harness/sparse_methods.cpp, or counts_by_taquin: an alltoall of counts and an alltoallv, both by taquin
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "harness/counts_exchanged.hpp"
#include "harness/names.hpp"
#include "harness/pattern.hpp"
#include "harness/session.hpp"
#include "harness/sparse_methods.hpp"
#include "mpi/check.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/sparse.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

namespace {

using detail::as_size;

// Simulated ranks share one address space: each shows the others what it sends.
class all_senders {
 public:
  all_senders(const sparse_sent& mine, int rank, int ranks) : rank_(rank) {
    if (rank == 0) made_.resize(as_size(ranks));
    auto at = reinterpret_cast<std::uintptr_t>(made_.data());
    TAQUIN_MPI(MPI_Bcast(&at, sizeof at, MPI_BYTE, 0, MPI_COMM_WORLD));
    reinterpret_cast<const sparse_sent**>(at)[rank] = &mine;  // NOLINT(performance-no-int-to-ptr)
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int from = 0; from < ranks; ++from) {
      const sparse_sent& theirs = *reinterpret_cast<const sparse_sent**>(at)[from];  // NOLINT
      const auto found = std::ranges::lower_bound(theirs.destinations, rank);
      if (found == theirs.destinations.end() || *found != rank) continue;
      sources_.push_back(from);
      counts_.push_back(theirs.counts[as_size(found - theirs.destinations.begin())]);
    }
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));  // what rank 0 has made may go now
  }

  // Bytes that are not what they should be, in any order of sources.
  [[nodiscard]] count_t wrong_bytes(const sparse_arrived& arrived) const {
    count_t wrong = 0;
    std::size_t at = 0;
    std::vector<bool> seen(sources_.size());
    for (std::size_t i = 0; i < arrived.sources.size(); ++i) {
      const auto n = as_size(arrived.counts[i]);
      const auto known = as_size(std::ranges::lower_bound(sources_, arrived.sources[i]) - sources_.begin());
      if (known == sources_.size() || sources_[known] != arrived.sources[i] || counts_[known] != arrived.counts[i] ||
          seen[known])
        wrong += std::max<count_t>(arrived.counts[i], 1);
      else
        wrong += wrong_in_pattern(std::span(arrived.data).subspan(at, n), arrived.sources[i], rank_);
      if (known < sources_.size()) seen[known] = true;
      at += n;
    }
    return wrong + std::ranges::count(seen, false);
  }

 private:
  int rank_;
  std::vector<const sparse_sent*> made_;
  std::vector<int> sources_;  // ascending
  std::vector<count_t> counts_;
};

sparse_sent blocks_of(const workloads::workload& w, count_t bytes, int rank, int ranks) {
  sparse_sent sent;
  // The workload determines the pairs of ranks: its own size is so large that no rank's part is empty.
  const auto row = w.row({.ranks = ranks, .bytes = count_t{ranks} << 20U}, rank);
  for (int to = 0; to < ranks; ++to) {
    if (row[as_size(to)] == 0) continue;
    sent.destinations.push_back(to);
    sent.counts.push_back(bytes);
    const std::size_t at = sent.data.size();
    sent.data.resize(at + as_size(bytes));
    write_pattern(std::span(sent.data).subspan(at), rank, to);
  }
  return sent;
}

struct of_taquin {
  using count = count_t;
  void alltoall(const count_t* out, count_t* in) const {
    taquin::alltoall(out, 1, MPI_INT64_T, in, 1, MPI_INT64_T, MPI_COMM_WORLD);
  }
  void alltoallv(const void* from, const count_t* out, const count_t* out_at, void* to, const count_t* in,
                 const count_t* in_at) const {
    taquin::alltoallv(from, out, out_at, MPI_BYTE, to, in, in_at, MPI_BYTE, MPI_COMM_WORLD);
  }
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(list, ',')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

struct run {
  const std::string& way;
  const sparse_sent& sent;
  const all_senders& all;
  int calls;

  // The record of the last call.
  [[nodiscard]] nlohmann::json operator()(int ranks) const {
    statistics s;
    const options o{.algorithm = way, .stats = &s};
    sparse_arrived arrived;
    std::unique_ptr<hand_written_sparse> by_hand;
    if (const auto* const known = find_sparse_method(way)) by_hand = known->make(MPI_COMM_WORLD);
    if (way == "counts_by_taquin") by_hand = std::make_unique<counts_exchanged_by<of_taquin>>(of_taquin{}, ranks);
    const auto exchange = [&] {
      if (by_hand) return by_hand->run(sent, arrived);
      static_cast<void>(
          detail::sparse_access::make({sent.data.data(), sent.destinations, count_view(sent.counts.data()), MPI_BYTE},
                                      MPI_COMM_WORLD, o, nullptr, [&](const sparse_call& call) -> void* {
                                        arrived.sources.assign(call.sources().begin(), call.sources().end());
                                        arrived.counts.assign(call.counts().begin(), call.counts().end());
                                        arrived.data.resize(as_size(call.total()));
                                        return arrived.data.data();
                                      }));
    };
    double took = 0;
    count_t wrong = 0;
    for (int i = 0; i < calls; ++i) {
      std::ranges::fill(arrived.data, std::byte{0xA5});
      TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
      took = MPI_Wtime();
      exchange();
      took = MPI_Wtime() - took;
      TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
      wrong += all.wrong_bytes(arrived);
    }
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    return {{"way", way},
            {"used", by_hand ? way : std::string(s.algorithm)},
            {"ranks", ranks},
            {"seconds", took},
            {"peak_memory", s.peak_memory},
            {"wrong_bytes", wrong}};
  }
};

int work(const std::vector<std::string>& words, int rank, int ranks) {
  count_t wrong = 0;
  for (const std::string& size : parts_of(words.at(3))) {
    const sparse_sent sent = blocks_of(parse_workload(words.at(2)), std::stoll(size), rank, ranks);
    const all_senders all(sent, rank, ranks);
    for (const std::string& way : parts_of(words.at(1))) {
      nlohmann::json record = run{way, sent, all, words.size() > 4 ? std::stoi(words[4]) : 3}(ranks);
      record["workload"] = words[2];
      record["bytes"] = std::stoll(size);
      wrong += record["wrong_bytes"].get<count_t>();
      if (rank != 0) continue;
      std::puts(record.dump().c_str());
      std::fflush(stdout);
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(words, rank, ranks); });
}
