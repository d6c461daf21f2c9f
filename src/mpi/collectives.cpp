#include "mpi/collectives.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>

#include "base/in_flight.hpp"
#include "base/lasting_chunk.hpp"
#include "mpi/backoff.hpp"
#include "mpi/deadline.hpp"
#include "mpi/request_set.hpp"

namespace taquin::mpi {

namespace collectives {

namespace {

void run_in(const collective& c, const void* from, void* to, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(c.begin(from, to, &request), call);
  complete(request, call);
}

// A rank must take part in a collective even without memory for copies of its arguments. It then cannot abort the
// collective.
void run_to_its_end(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(c.begin(from.data(), to.data(), &request), call);
  check(PMPI_Wait(&request, MPI_STATUS_IGNORE), call);
}

// Memory for a collective's own copies of its arguments.
using copies = detail::lasting_chunk<most_at_once + alignof(std::max_align_t), chunks>;

}  // namespace

void run(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, const char* call) {
  if (!may_give_up()) return run_in(c, from.data(), to.data(), call);
  constexpr std::size_t unit = alignof(std::max_align_t);
  const std::size_t from_at = (to.size() + unit - 1) / unit * unit;
  if (from_at + from.size() > most_at_once + unit) throw std::bad_alloc();
  copies own;
  if (own.data() == nullptr) return run_to_its_end(c, from, to, call);
  std::byte* const own_to = own.data();
  std::byte* const own_from = own_to + from_at;
  std::ranges::copy(to, own_to);
  std::ranges::copy(from, own_from);
  try {
    run_in(c, own_from, own_to, call);
  } catch (...) {
    own.keep();
    throw;
  }
  std::copy_n(own_to, to.size(), to.data());
}

bool floods(std::size_t ranks) noexcept {
#ifdef TAQUIN_SMPI
  static_cast<void>(ranks);
  return false;
#else
  return ranks > static_cast<std::size_t>(detail::in_flight_bound(0)) + 1;
#endif
}

void join_bits(std::span<std::byte> all, std::size_t each, MPI_Comm comm) {
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  const std::size_t mine = each * static_cast<std::size_t>(rank);
  std::ranges::fill(all.first(mine), std::byte{0});
  std::ranges::fill(all.subspan(mine + each), std::byte{0});
  in_chunks(all, [&](std::span<std::byte> part) {
    run({}, part, "MPI_Iallreduce", [&](const void*, void* to, MPI_Request* request) {
      return begin_one(PMPI_Allreduce, PMPI_Iallreduce, comm, request, MPI_IN_PLACE, to, static_cast<int>(part.size()),
                       MPI_UNSIGNED_CHAR, MPI_BOR);
    });
  });
}

namespace {

// Some messages to and from consecutive ranks.
class window {
 public:
  /// Messages are sent from `memory`.
  explicit window(std::pmr::memory_resource* memory) noexcept : memory_(memory) {}
  window(const window&) = delete;
  window& operator=(const window&) = delete;
  ~window() {
    bool pending = false;
    for (std::size_t i = 0; i < n_; ++i) pending = abandon(requests_[i], kinds_[i]) || pending;
    if (pending) detail::outlive(memory_);
  }
  void receive(std::span<std::byte> into, int from, int tag, MPI_Comm comm) {
    if (into.empty()) return;
    TAQUIN_MPI(PMPI_Irecv(into.data(), bytes_of(into), MPI_BYTE, from, tag, comm, add(request_kind::receive)));
  }
  void send(std::span<const std::byte> what, int to, int tag, MPI_Comm comm) {
    if (what.empty()) return;
    TAQUIN_MPI(PMPI_Isend(what.data(), bytes_of(what), MPI_BYTE, to, tag, comm, add(request_kind::send)));
  }
  void complete_all() { complete(std::span(requests_).first(n_), "MPI_Wait"); }

  static constexpr int ranks = 16;

 private:
  MPI_Request* add(request_kind kind) noexcept {
    requests_[n_] = MPI_REQUEST_NULL;
    kinds_[n_] = kind;
    return &requests_[n_++];
  }
  std::pmr::memory_resource* memory_;
  std::array<MPI_Request, std::size_t{2} * ranks> requests_{};
  std::array<request_kind, std::size_t{2} * ranks> kinds_{};
  std::size_t n_ = 0;
};

}  // namespace

void exchange(communicator& comm, const peer_blocks& blocks, std::pmr::memory_resource* memory) {
  const int p = comm.size();
  const int tag = comm.next_tag() + communicator::agreement_tag;
  std::ranges::copy(blocks.to(comm.rank()), blocks.from(comm.rank()).begin());
  for (int first = 1; first < p; first += window::ranks) {
    window w(memory);
    const int last = std::min(first + window::ranks, p);
    for (int k = first; k < last; ++k) {
      const int from = (comm.rank() + p - k) % p;
      w.receive(blocks.from(from), from, tag, comm.get());
    }
    for (int k = first; k < last; ++k) {
      const int to = (comm.rank() + k) % p;
      w.send(blocks.to(to), to, tag, comm.get());
    }
    w.complete_all();
  }
}

}  // namespace collectives

void barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(collectives::begin_one(PMPI_Barrier, PMPI_Ibarrier, comm, &request), "MPI_Ibarrier");
  complete(request, "MPI_Ibarrier");
}

bool holds_everywhere(bool mine, MPI_Comm comm) {
  std::int32_t all = mine ? 1 : 0;
  allreduce(all, MPI_MIN, comm);
  return all != 0;
}

}  // namespace taquin::mpi
