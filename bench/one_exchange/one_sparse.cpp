// Sparse exchanges by one way, each timed and verified, for bench/sparse/scale: in a simulation time is exact, so that
// nothing has to be repeated. The first makes what later ones use; those of `auto` that measure come before the last.
//   one_sparse WAY WORKLOAD BYTES CALLS: WAY is of src/algorithms/sparse/sparse.def, auto, a way by hand of
//   harness/sparse_ways.cpp, or counts_by_taquin: an alltoall of counts and an alltoallv, both by taquin
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "harness/names.hpp"
#include "harness/output.hpp"
#include "harness/pattern.hpp"
#include "harness/session.hpp"
#include "harness/sparse_ways.hpp"
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
  [[nodiscard]] count_t wrong_bytes(const sparse_came& came) const {
    count_t wrong = 0;
    std::size_t at = 0;
    std::vector<bool> seen(sources_.size());
    for (std::size_t i = 0; i < came.sources.size(); ++i) {
      const auto n = as_size(came.counts[i]);
      const auto known = as_size(std::ranges::lower_bound(sources_, came.sources[i]) - sources_.begin());
      if (known == sources_.size() || sources_[known] != came.sources[i] || counts_[known] != came.counts[i] ||
          seen[known])
        wrong += std::max<count_t>(came.counts[i], 1);
      else
        wrong += wrong_in_pattern(std::span(came.data).subspan(at, n), came.sources[i], rank_);
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
  // The workload says who sends to whom: its own size is so large that no rank's part is empty.
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

// As counts_exchanged of harness/sparse_ways.cpp.
class counts_by_taquin final : public sparse_by_hand {
 public:
  explicit counts_by_taquin(int ranks) {
    for (auto* v : {&sends_, &places_, &receives_, &comes_to_}) v->resize(as_size(ranks));
  }
  void run(const sparse_sent& sent, sparse_came& came) override {
    came.clear();
    std::ranges::fill(sends_, 0);
    count_t at = 0;
    for (std::size_t i = 0; i < sent.destinations.size(); ++i) {
      const auto to = as_size(sent.destinations[i]);
      sends_[to] = sent.counts[i];
      places_[to] = at;
      at += sends_[to];
    }
    alltoall(sends_.data(), 1, MPI_INT64_T, receives_.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    std::exclusive_scan(receives_.begin(), receives_.end(), comes_to_.begin(), count_t{0});
    came.data.resize(as_size(comes_to_.back() + receives_.back()));
    alltoallv(sent.data.data(), sends_.data(), places_.data(), MPI_BYTE, came.data.data(), receives_.data(),
              comes_to_.data(), MPI_BYTE, MPI_COMM_WORLD);
    for (std::size_t from = 0; from < receives_.size(); ++from) {
      if (receives_[from] == 0) continue;
      came.sources.push_back(static_cast<int>(from));
      came.counts.push_back(receives_[from]);
    }
  }

 private:
  std::vector<count_t> sends_, places_, receives_, comes_to_;
};

int work(const std::vector<std::string>& words, int rank, int ranks) {
  const std::string& name = words.at(1);
  const sparse_sent sent = blocks_of(parse_workload(words.at(2)), std::stoll(words.at(3)), rank, ranks);
  const int calls = std::stoi(words.at(4));
  const all_senders all(sent, rank, ranks);
  statistics s;
  const options o{.algorithm = name, .stats = &s};
  sparse_came came;
  std::unique_ptr<sparse_by_hand> by_hand;
  if (const auto* const way = find_sparse_way(name)) by_hand = way->make(MPI_COMM_WORLD);
  if (name == "counts_by_taquin") by_hand = std::make_unique<counts_by_taquin>(ranks);
  const auto exchange = [&] {
    if (by_hand) return by_hand->run(sent, came);
    static_cast<void>(
        detail::sparse_access::make({sent.data.data(), sent.destinations, count_view(sent.counts.data()), MPI_BYTE},
                                    MPI_COMM_WORLD, o, nullptr, [&](const sparse_call& call) -> void* {
                                      came.sources.assign(call.sources().begin(), call.sources().end());
                                      came.counts.assign(call.counts().begin(), call.counts().end());
                                      came.data.resize(as_size(call.total()));
                                      return came.data.data();
                                    }));
  };
  std::vector<double> seconds;
  count_t wrong = 0;
  for (int i = 0; i < calls; ++i) {
    std::ranges::fill(came.data, std::byte{0xA5});
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    double took = MPI_Wtime();
    exchange();
    took = MPI_Wtime() - took;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    seconds.push_back(took);
    wrong += all.wrong_bytes(came);
  }
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  output out("-", rank);
  out.add({{{"way", name},
            {"used", by_hand ? name : std::string(s.algorithm)},
            {"workload", words[2]},
            {"bytes", std::stoll(words[3])},
            {"ranks", ranks},
            {"seconds", seconds.back()},
            {"each_seconds", seconds},
            {"peak_memory", s.peak_memory},
            {"wrong_bytes", wrong}}});
  out.finish();
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(words, rank, ranks); });
}
