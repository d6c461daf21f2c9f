#include "exchange/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <vector>

#include "exchange/raw_buffer.hpp"
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
  sent_max,
  received_max,
  large_any,
  peers_max,
  unit_size_max,
  unit_size_min,
  unit_span_max,
  lost_any,  // what some rank told did not reach another
  slots
};
using record = std::array<std::int64_t, slots>;
constexpr int most_radix = 8;
constexpr std::size_t most_messages = 2 * std::size_t{most_radix - 1};  // of one rank in one round
constexpr const char* disagreement = "ranks disagree on the algorithm, on an option, or on MPI_IN_PLACE";

/// The reduction's rounds. A message is a record and what the carrier adds.
class dissemination {
 public:
  dissemination(mpi::communicator& comm, int tag, carrier* cargo, std::pmr::memory_resource* memory)
      : comm_(comm),
        tag_(tag),
        cargo_(cargo),
        size_(sizeof(record) + (cargo == nullptr ? 0 : cargo->capacity())),
        buffer_(cargo == nullptr ? 0 : agreement_bytes(comm.size(), cargo->capacity()), memory) {}

  /// Makes `v` the maximum over all ranks. A rank with another carrier, or with none, may be sent more than it takes:
  /// every rank then has either what was told or the note that something was lost.
  void run(record& v) {
    const int p = comm_.size();
    const int radix = agreement_radix(p);
    int k = 0;
    for (int width = 1; width < p; width *= radix, ++k) {
      const int digits = std::min(radix - 1, (p - 1) / width);
      round(v, k, width, digits);
    }
  }

 private:
  std::byte* out(int digit) { return at(2 * (digit - 1)); }
  std::byte* in(int digit) { return at(2 * (digit - 1) + 1); }
  std::byte* at(int i) {
    std::byte* base = cargo_ == nullptr ? small_.data() : buffer_.data();
    return base + static_cast<std::size_t>(i) * size_;
  }

  void round(record& v, int k, int width, int digits) {
    const int p = comm_.size();
    std::array<MPI_Request, most_messages> requests;
    std::array<MPI_Status, most_messages> statuses;
    for (int j = 1; j <= digits; ++j) {
      const int from = static_cast<int>((comm_.rank() - std::int64_t{j} * width % p + p) % p);
      TAQUIN_MPI(MPI_Irecv(in(j), static_cast<int>(size_), MPI_BYTE, from, tag_, comm_.get(), &requests[index(j - 1)]));
    }
    for (int j = 1; j <= digits; ++j) {
      const int to = static_cast<int>((comm_.rank() + std::int64_t{j} * width) % p);
      std::memcpy(out(j), v.data(), sizeof v);
      std::size_t bytes = sizeof v;
      if (cargo_ != nullptr) bytes += cargo_->load(k, j, {out(j) + sizeof v, size_ - sizeof v});
      TAQUIN_MPI(MPI_Isend(out(j), static_cast<int>(bytes), MPI_BYTE, to, tag_, comm_.get(),
                           &requests[index(digits + j - 1)]));
    }
    // One by one: Open MPI's MPI_Waitall does not return when one of several messages was too long (4.1.4). The rounds
    // go on after such a message, so that no rank waits for this one, and tell that something was lost.
    std::array<bool, most_messages> fits{};
    for (int i = 0; i < 2 * digits; ++i) {
      const int code = MPI_Wait(&requests[index(i)], &statuses[index(i)]);
      fits[index(i)] = code == MPI_SUCCESS;
      if (code != MPI_SUCCESS && mpi::class_of(code) != MPI_ERR_TRUNCATE) mpi::check(code, "MPI_Wait");
      if (code != MPI_SUCCESS) v[lost_any] = 1;
    }
    for (int j = 1; j <= digits; ++j) {
      if (!fits[index(j - 1)]) continue;
      record theirs;
      std::memcpy(theirs.data(), in(j), sizeof theirs);
      for (std::size_t i = 0; i < slots; ++i) v[i] = std::max(v[i], theirs[i]);
      int bytes = 0;
      TAQUIN_MPI(MPI_Get_count(&statuses[index(j - 1)], MPI_BYTE, &bytes));
      const std::size_t payload = static_cast<std::size_t>(bytes) - sizeof theirs;
      if (cargo_ != nullptr) cargo_->unload(k, j, {in(j) + sizeof theirs, payload});
    }
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  mpi::communicator& comm_;
  int tag_;
  carrier* cargo_;
  std::size_t size_;
  raw_buffer buffer_;
  std::array<std::byte, most_messages * sizeof(record)> small_;
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

int agreement_radix(int ranks) noexcept {
  int radix = 2;
  while (radix < most_radix && radix * radix < ranks) ++radix;
  return radix;
}

std::size_t agreement_bytes(int ranks, std::size_t capacity) noexcept {
  return 2 * static_cast<std::size_t>(agreement_radix(ranks) - 1) * (sizeof(record) + capacity);
}

agreed agree(mpi::communicator& comm, int tag, const proposal& mine, carrier* cargo,
             std::pmr::memory_resource* memory) {
  record v{};
  v[culprit] = mine.bad ? comm.rank() + 1 : 0;
  v[choices_max] = narrow(mine.choices >> 1U);
  v[choices_min] = -v[choices_max];
  v[memory_min] = -narrow(mine.memory);
  v[block_max] = narrow(mine.max_block_bytes);
  v[block_min] = -narrow(mine.min_block_bytes);
  v[sent_max] = narrow(mine.sent_bytes);
  v[received_max] = narrow(mine.received_bytes);
  v[large_any] = mine.large ? 1 : 0;
  v[peers_max] = narrow(mine.peers);
  v[unit_size_max] = narrow(mine.unit_size);
  v[unit_size_min] = -v[unit_size_max];
  v[unit_span_max] = narrow(mine.unit_span);
  dissemination(comm, tag, cargo, memory).run(v);
  // Where something was lost, another rank's knowledge is not complete: all see that something is wrong, come here, and
  // learn everything.
  if (v[culprit] != 0 || v[choices_max] != -v[choices_min] || v[lost_any] != 0)
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), slots, MPI_INT64_T, MPI_MAX, comm.get()));
  if (v[culprit] != 0) report(comm, static_cast<int>(v[culprit]) - 1, mine.bad);
  if (v[choices_max] != -v[choices_min]) throw usage_error(disagreement, MPI_ERR_ARG);
  agreed a;
  a.memory =
      -v[memory_min] == std::numeric_limits<std::int64_t>::max() ? unlimited : static_cast<std::size_t>(-v[memory_min]);
  a.max_block_bytes = static_cast<std::uint64_t>(v[block_max]);
  a.min_block_bytes = static_cast<std::uint64_t>(-v[block_min]);
  a.max_rank_bytes = static_cast<std::uint64_t>(v[sent_max]);
  a.max_received_bytes = static_cast<std::uint64_t>(v[received_max]);
  a.uniform = v[block_max] == -v[block_min];
  a.large = v[large_any] != 0;
  a.max_peers = static_cast<std::uint64_t>(v[peers_max]);
  a.unit_size = v[unit_size_max] == -v[unit_size_min] ? static_cast<std::uint64_t>(v[unit_size_max]) : 0;
  a.unit_span = static_cast<std::uint64_t>(v[unit_span_max]);
  return a;
}

void agree_on_defect(mpi::communicator& comm, const std::optional<defect>& bad) {
  int culprit_rank = bad ? comm.rank() : -1;
  if (comm.size() > 1) TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &culprit_rank, 1, MPI_INT, MPI_MAX, comm.get()));
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
      bad = defect{
          fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", peer, sent, comm.rank(), expected),
          MPI_ERR_TRUNCATE, peer};
  }
  agree_on_defect(comm, bad);
}

}  // namespace taquin::detail
