// Collectives whose ranks wait as backoff does, and whose scratch memory does not grow with the data. A pending
// collective of the MPI library cannot be cancelled, and may still access its arguments after a rank has aborted. Where
// a rank may abort, the arguments are copied chunk by chunk to separate memory, which is never freed after an abort.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "base/collective_error.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"

namespace taquin::mpi {

namespace collectives {

/// Starts a collective that reads `from` and writes `to`, or with MPI_IN_PLACE reads and writes `to`.
class collective {
 public:
  virtual int begin(const void* from, void* to, MPI_Request* request) const = 0;

 protected:
  ~collective() = default;
};

/// The most bytes of arguments that a collective copies at a time; longer ones go in chunks.
inline constexpr std::size_t most_at_once = std::size_t{32} << 10U;
/// So many collectives have memory of the process for that, outside every budget. Further ones, of more concurrent
/// threads or after that many aborts, take a chunk of the heap.
inline constexpr std::size_t chunks = 3;

/// `from` and `to` have at most most_at_once bytes together.
void run(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, const char* call);

/// Starts a collective in the form that a rank can abort. SMPI's nonblocking ones send a message from each rank to
/// each. On more than a few simulated ranks it is therefore the blocking form, which progresses nothing else; on all of
/// them, because the two forms do not match each other.
template <class Blocking, class Nonblocking, class... Arguments>
int begin_one([[maybe_unused]] Blocking blocking, Nonblocking nonblocking, MPI_Comm comm, MPI_Request* request,
              Arguments... arguments) {
#ifdef TAQUIN_SMPI
  constexpr int few = 16;
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  if (ranks > few) {
    *request = MPI_REQUEST_NULL;
    return blocking(arguments..., comm);
  }
#endif
  return nonblocking(arguments..., comm, request);
}

/// Runs it to its end: `begin(from, to, request)`.
template <class Begin>
void run(std::span<const std::byte> from, std::span<std::byte> to, const char* call, Begin begin) {
  class with final : public collective {
   public:
    explicit with(Begin& b) : begin_(b) {}
    int begin(const void* in, void* out, MPI_Request* request) const override { return begin_(in, out, request); }

   private:
    Begin& begin_;
  };
  run(with(begin), from, to, call);
}

/// The values from this rank for each other rank, and where to put the values from each.
class peer_blocks {
 public:
  virtual std::span<const std::byte> to(int rank) const = 0;
  virtual std::span<std::byte> from(int rank) const = 0;

 protected:
  ~peer_blocks() = default;
};

/// By messages, which an aborting rank can cancel: nothing is copied. Both sides know the sizes. The values to send lie
/// in `memory`.
void exchange(communicator& comm, const peer_blocks& blocks, std::pmr::memory_resource* memory);

template <class T>
MPI_Datatype number() noexcept {
  static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>);
  if (std::is_same_v<T, std::int32_t>) return MPI_INT32_T;
  return std::is_same_v<T, std::int64_t> ? MPI_INT64_T : MPI_UINT64_T;
}

template <class T>
int bytes_of(std::span<T> values) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  return static_cast<int>(values.size_bytes());
}

/// `chunk(part)` for the parts of the values that one collective transfers, in order.
template <class T, class Chunk>
void in_chunks(std::span<T> values, Chunk chunk) {
  static_assert(sizeof(T) <= most_at_once);
  constexpr std::size_t most = most_at_once / sizeof(T);
  for (std::size_t at = 0; at == 0 || at < values.size(); at += most)
    chunk(values.subspan(at, std::min(most, values.size() - at)));
}

/// More ranks than may each have a message pending at a late one.
bool floods(std::size_t ranks) noexcept;

/// Of `all`, each rank has set `each` bytes in its place. Afterwards all ranks have all.
void join_bits(std::span<std::byte> all, std::size_t each, MPI_Comm comm);

}  // namespace collectives

/// Each value becomes the result over all ranks.
template <class T>
void allreduce(std::span<T> values, MPI_Op op, MPI_Comm comm) {
  collectives::in_chunks(values, [&](std::span<T> part) {
    collectives::run({}, std::as_writable_bytes(part), "MPI_Iallreduce",
                     [&](const void*, void* all, MPI_Request* request) {
                       return collectives::begin_one(PMPI_Allreduce, PMPI_Iallreduce, comm, request, MPI_IN_PLACE, all,
                                                     static_cast<int>(part.size()), collectives::number<T>(), op);
                     });
  });
}
template <class T>
void allreduce(T& value, MPI_Op op, MPI_Comm comm) {
  allreduce(std::span<T>(&value, 1), op, comm);
}

/// The values of `root`, to all ranks.
template <class T>
void broadcast(std::span<T> values, int root, MPI_Comm comm) {
  collectives::in_chunks(values, [&](std::span<T> part) {
    collectives::run({}, std::as_writable_bytes(part), "MPI_Ibcast", [&](const void*, void* all, MPI_Request* request) {
      return collectives::begin_one(PMPI_Bcast, PMPI_Ibcast, comm, request, all, collectives::bytes_of(part), MPI_BYTE,
                                    root);
    });
  });
}

/// The `each` values of each rank, which stand in its place there, to all ranks. Open MPI's MPI_Iallgather sends a
/// message from each rank to each: on more ranks than may have messages in flight, and if the values do not fit into a
/// chunk, bits are joined instead, in as many messages as the number of ranks has digits.
template <class T>
void allgather_in_place(std::span<T> all, std::size_t each, MPI_Comm comm) {
  const std::size_t ranks = each == 0 ? 0 : all.size() / each;
  if (all.size_bytes() > collectives::most_at_once || collectives::floods(ranks))
    return collectives::join_bits(std::as_writable_bytes(all), each * sizeof(T), comm);
  collectives::run({}, std::as_writable_bytes(all), "MPI_Iallgather", [&](const void*, void* to, MPI_Request* request) {
    return collectives::begin_one(PMPI_Allgather, PMPI_Iallgather, comm, request, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
                                  to, static_cast<int>(each * sizeof(T)), MPI_BYTE);
  });
}
/// The values of each rank after those of the rank before it, to all ranks.
template <class T>
void allgather(std::span<const T> mine, std::span<T> all, MPI_Comm comm) {
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * rank);
  allgather_in_place(all, mine.size(), comm);
}
template <class T>
void allgather(const T& mine, std::span<T> all, MPI_Comm comm) {
  allgather(std::span<const T>(&mine, 1), all, comm);
}

/// Several values from each rank to each. `layout`: how many to each rank, where in `out` they begin, how many from
/// each rank, where in `in` they are put.
template <class T>
void alltoallv(const std::pmr::vector<T>& out, std::span<T> in, std::span<const int> layout, communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  class parts final : public collectives::peer_blocks {
   public:
    parts(std::span<const T> o, std::span<T> i, std::span<const int> l, int ranks)
        : out_(o), in_(i), layout_(l), ranks_(static_cast<std::size_t>(ranks)) {}
    std::span<const std::byte> to(int rank) const override {
      return std::as_bytes(out_.subspan(number(1, rank), number(0, rank)));
    }
    std::span<std::byte> from(int rank) const override {
      return std::as_writable_bytes(in_.subspan(number(3, rank), number(2, rank)));
    }

   private:
    [[nodiscard]] std::size_t number(std::size_t row, int rank) const {
      return static_cast<std::size_t>(layout_[row * ranks_ + static_cast<std::size_t>(rank)]);
    }
    std::span<const T> out_;
    std::span<T> in_;
    std::span<const int> layout_;
    std::size_t ranks_;
  };
  collectives::exchange(comm, parts(out, in, layout, comm.size()), out.get_allocator().resource());
}

/// One value from each rank to each.
template <class T>
void alltoall(const std::pmr::vector<T>& out, std::span<T> in, communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  class parts final : public collectives::peer_blocks {
   public:
    parts(std::span<const T> o, std::span<T> i) : out_(o), in_(i) {}
    std::span<const std::byte> to(int rank) const override {
      return std::as_bytes(out_.subspan(static_cast<std::size_t>(rank), 1));
    }
    std::span<std::byte> from(int rank) const override {
      return std::as_writable_bytes(in_.subspan(static_cast<std::size_t>(rank), 1));
    }

   private:
    std::span<const T> out_;
    std::span<T> in_;
  };
  collectives::exchange(comm, parts(out, in), out.get_allocator().resource());
}

/// Waits until all ranks have arrived.
void barrier(MPI_Comm comm);

/// True on all ranks where `mine` is true on all.
bool holds_everywhere(bool mine, MPI_Comm comm);

/// Runs `make()`, which is local. Where a rank has no memory for it, all ranks throw (MPI_ERR_NO_MEM). Collective.
template <class Make>
void make_everywhere(MPI_Comm comm, Make make) {
  bool made = true;
  try {
    make();
  } catch (const std::bad_alloc&) {
    made = false;
  }
  if (!holds_everywhere(made, comm)) detail::throw_lack_of_memory();
}

/// Returns the result of `make()`, whose calls wait inside the MPI library, where a rank cannot poll for failure
/// notifications. So all ranks synchronize before and after it, and `make` must not fail on one rank alone. A rank with
/// a timeout may abort the first collective after all ranks have entered it and others have seen its end. If a rank has
/// a timeout, all synchronize once more: a rank that completes this knows that all have arrived.
template <class Make>
auto together(MPI_Comm comm, Make make) {
  const bool nobody_has_a_clock = holds_everywhere(!deadline::on(), comm);
  const deadline::all_are_here unhurried;
  if (!nobody_has_a_clock) barrier(comm);
  auto made = make();
  barrier(comm);
  return made;
}

}  // namespace taquin::mpi
