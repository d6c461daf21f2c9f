// notify_counts: a reduction counts the messages of notices for each rank; then all are sent.
//
// Source: MPI_Reduce_scatter_block over one count for each rank, as PETSc and many programs have it.
// Rounds: 1, and a reduction.
// Bytes: 4 for each rank in the reduction; 24 for each notice, and its data where they are small.
// Memory: 4 bytes for each rank, and a message for each of `in_flight`.
// Limits: linear in the ranks. As many messages as a rank has sources may wait there, one of each.
// Wins: few ranks.
#include <mpi.h>

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/sparse/direct.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

namespace {

class counted final : private mpi::awaited {
 public:
  explicit counted(finding& f) : f_(f), counts_(as_size(f.comm.size()), 0, f.memory), notices_(f) {}
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

  void run() {
    direct_notices::each_message(f_.mine, f_.comm.rank(), f_.message_bytes, [this](int to) { ++counts_[as_size(to)]; });
    const std::size_t coming = messages_for_this_rank();
    for (mpi::backoff waiting(this); notices_.taken() < coming || !notices_.sent();) {
      bool news = notices_.send();
      news = (notices_.taken() < coming && notices_.take()) || news;
      if (news)
        waiting.reset();
      else
        waiting.pause();
    }
  }

 private:
  std::size_t messages_for_this_rank() {
    std::int32_t sum = 0;
    const std::span<const std::int32_t> counts(counts_);
    if (counts.size_bytes() + sizeof sum > mpi::collectives::most_at_once) {  // which goes in pieces
      mpi::allreduce(std::span<std::int32_t>(counts_), MPI_SUM, f_.comm.get());
      return as_size(counts_[as_size(f_.comm.rank())]);
    }
    mpi::collectives::run(std::as_bytes(counts), std::as_writable_bytes(std::span(&sum, 1)),
                          "MPI_Ireduce_scatter_block", [this](const void* from, void* to, MPI_Request* request) {
                            return mpi::collectives::begin_one(PMPI_Reduce_scatter_block, PMPI_Ireduce_scatter_block,
                                                               f_.comm.get(), request, from, to, 1, MPI_INT32_T,
                                                               MPI_SUM);
                          });
    return as_size(sum);
  }

  void describe(mpi::wait_note& note) const override {
    note.what = "notices of a sparse exchange";
    note.comm = f_.comm.get();
  }

  finding& f_;
  std::pmr::vector<std::int32_t> counts_;
  direct_notices notices_;
};

void find(finding& f) {
  f.rounds = 2;
  counted(f).run();
}

std::size_t memory(int ranks, std::size_t in_flight, std::size_t message_bytes) noexcept {
  return as_size(ranks) * sizeof(std::int32_t) + direct_notices::footprint(in_flight, message_bytes);
}

// A reduction in log rounds, of which each halves the counts, and then the notices.
std::uint64_t nanoseconds(const sparse_shape& s) noexcept {
  std::uint64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < s.ranks) ++rounds;
  return direct_notices::nanoseconds(s) + rounds * (sparse_latency + 2 * sparse_overhead) +
         4 * static_cast<std::uint64_t>(s.ranks);
}

}  // namespace

extern const sparse_algorithm notify_counts;
const sparse_algorithm notify_counts{
    .name = "notify_counts",
    .summary = "a reduction counts the messages of headers and small data that arrive; other data on request",
    .source = "MPI_Reduce_scatter_block",
    .rounds = "1 and a reduction, + 2",
    .find = find,
    .memory = memory,
    .nanoseconds = nanoseconds,
    .most_ranks = direct_notices::most_ranks};

}  // namespace taquin::detail
