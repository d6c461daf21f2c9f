#include "node/first_call.hpp"

#include <exception>

#include "base/sizes.hpp"
#include "mpi/collectives.hpp"
#include "mpi/observer.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t words = sizeof(first_words) / sizeof(std::uint64_t);

void add(first_words& sum, const first_words& one) noexcept {
  sum.cannot += one.cannot;
  sum.differs += one.differs;
  sum.other_memory += one.other_memory;
  sum.goes_on += one.goes_on;
  sum.long_blocks += one.long_blocks;
}

}  // namespace

first_words first_agreement::sum(first_words mine, const first_call* call, int ranks, bool with_blocks, MPI_Comm comm) {
  const bool fits = call != nullptr && call->longest() <= static_cast<count_t>(sizeof(record::block));
  mine.long_blocks = fits ? 0 : 1;
  if (as_size(ranks) > most_ranks || !with_blocks) {
    static_assert(sizeof(first_words) == words * sizeof(std::uint64_t));
    mpi::allreduce(std::span(reinterpret_cast<std::uint64_t*>(&mine), words), MPI_SUM, comm);
    return mine;
  }
  static_assert(2 * most_ranks * sizeof(record) <= mpi::collectives::most_at_once);
  std::array<record, most_ranks> to{};
  try {
    for (int peer = 0; fits && peer < ranks; ++peer) call->write(peer, to[as_size(peer)].block);
  } catch (const std::exception&) {  // the others must not wait for this rank; the agreement that follows reports it
    mine.cannot = mine.long_blocks = 1;
  }
  for (int peer = 0; peer < ranks; ++peer) to[as_size(peer)].words = mine;
  const inside_taquin own_call;
  const auto bytes = as_size(ranks) * sizeof(record);
  mpi::collectives::run(std::as_bytes(std::span(to)).first(bytes),
                        std::as_writable_bytes(std::span(from_)).first(bytes), "MPI_Ialltoall",
                        [comm](const void* own, void* theirs, MPI_Request* request) {
                          constexpr int each = sizeof(record);
                          return mpi::collectives::begin_one(PMPI_Alltoall, PMPI_Ialltoall, comm, request, own, each,
                                                             MPI_BYTE, theirs, each, MPI_BYTE);
                        });
  first_words all{.cannot = 0, .goes_on = 0};
  for (int peer = 0; peer < ranks; ++peer) add(all, from_[as_size(peer)].words);
  came_ = all.long_blocks == 0;
  return all;
}

void first_agreement::deliver(first_call& call, int ranks) const {
  for (int peer = 0; came_ && peer < ranks; ++peer) call.read(peer, from_[as_size(peer)].block);
}

}  // namespace taquin::detail
