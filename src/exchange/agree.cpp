#include "exchange/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Numbers that are maximised over the ranks; a minimum is the maximum of the negative.
enum slot : std::uint8_t {
  culprit,  // 1 + a rank with a defect; 0: none
  choices_max,
  choices_min,
  memory_min,
  block_max,
  block_min,
  rank_max,
  large_any,
  slots
};

std::int64_t narrow(std::uint64_t v) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(v, most));
}

// The culprit tells the others what is wrong. Texts are cut to what fits.
[[noreturn]] void report(mpi::communicator& comm, int rank, const std::optional<defect>& bad) {
  struct {
    std::array<char, 448> text{};
    int mpi_class = MPI_ERR_ARG;
    int peer = -1;
  } news;
  if (comm.rank() == rank && bad) {
    const std::size_t n = std::min(bad->what.size(), news.text.size() - 1);
    std::memcpy(news.text.data(), bad->what.data(), n);
    news.mpi_class = bad->mpi_class;
    news.peer = bad->peer;
  }
  TAQUIN_MPI(MPI_Bcast(&news, sizeof news, MPI_BYTE, rank, comm.get()));
  throw usage_error(fmt::format("rank {}: {}", rank, news.text.data()), news.mpi_class, rank, news.peer);
}

}  // namespace

agreed agree(mpi::communicator& comm, const proposal& mine) {
  std::array<std::int64_t, slots> v{};
  v[culprit] = mine.bad ? comm.rank() + 1 : 0;
  v[choices_max] = narrow(mine.choices >> 1U);
  v[choices_min] = -v[choices_max];
  v[memory_min] = -narrow(mine.memory);
  v[block_max] = narrow(mine.max_block_bytes);
  v[block_min] = -narrow(mine.min_block_bytes);
  v[rank_max] = narrow(mine.rank_bytes);
  v[large_any] = mine.large ? 1 : 0;
  if (comm.size() > 1)
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), slots, MPI_INT64_T, MPI_MAX, comm.get()));
  if (v[culprit] != 0) report(comm, static_cast<int>(v[culprit]) - 1, mine.bad);
  if (v[choices_max] != -v[choices_min])
    throw usage_error("ranks disagree on the algorithm, on an option, or on MPI_IN_PLACE", MPI_ERR_ARG);
  agreed a;
  a.memory = -v[memory_min] == std::numeric_limits<std::int64_t>::max() ? unlimited
                                                                       : static_cast<std::size_t>(-v[memory_min]);
  a.max_block_bytes = static_cast<std::uint64_t>(v[block_max]);
  a.max_rank_bytes = static_cast<std::uint64_t>(v[rank_max]);
  a.uniform = v[block_max] == -v[block_min];
  a.large = v[large_any] != 0;
  return a;
}

void agree_on_defect(mpi::communicator& comm, const std::optional<defect>& bad) {
  int culprit_rank = bad ? comm.rank() : -1;
  if (comm.size() > 1)
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &culprit_rank, 1, MPI_INT, MPI_MAX, comm.get()));
  if (culprit_rank >= 0) report(comm, culprit_rank, bad);
}

void check_sizes(mpi::communicator& comm, const exchange& x, std::pmr::memory_resource* memory) {
  const auto p = static_cast<std::size_t>(comm.size());
  std::pmr::vector<std::int64_t> mine(p, memory);
  std::pmr::vector<std::int64_t> theirs(p, memory);
  for (int peer = 0; peer < comm.size(); ++peer) mine[static_cast<std::size_t>(peer)] = x.send[peer].bytes();
  TAQUIN_MPI(PMPI_Alltoall(mine.data(), 1, MPI_INT64_T, theirs.data(), 1, MPI_INT64_T, comm.get()));
  std::optional<defect> bad;
  for (int peer = 0; !bad && peer < comm.size(); ++peer) {
    const count_t sent = theirs[static_cast<std::size_t>(peer)];
    const count_t expected = x.recv[peer].bytes();
    if (sent != expected)
      bad = defect{fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", peer, sent, comm.rank(),
                               expected),
                   MPI_ERR_TRUNCATE, peer};
  }
  agree_on_defect(comm, bad);
}

}  // namespace taquin::detail
