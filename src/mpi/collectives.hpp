// Collectives of the MPI library whose ranks wait for each other as backoff does. One that a timeout leaves in the
// middle cannot be cancelled, and may still read and write its arguments: where a rank may leave they are in
// memory of their own, which is then kept for ever.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "mpi/check.hpp"
#include "mpi/watch.hpp"

namespace taquin::mpi {

namespace collectives {

/// Begins a collective that reads `from` and writes `to`, or with MPI_IN_PLACE reads and writes `to`.
class collective {
 public:
  virtual int begin(const void* from, void* to, const int* layout, MPI_Request* request) const = 0;

 protected:
  ~collective() = default;
};

/// Bytes of the process for copies of arguments. Where they do not suffice, or another collective has them, the heap
/// gives memory, outside every budget.
inline constexpr std::size_t most_reserved = std::size_t{64} << 10U;

void run(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, std::span<const int> layout,
         const char* call);

/// Begins a collective in the form that a rank can leave. SMPI's nonblocking ones send a message from each rank to
/// each. On more than a few simulated ranks it is therefore the blocking form, which makes no progress with anything
/// else; on all of them, for the two forms do not match each other.
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

/// Runs it to its end: `begin(from, to, layout, request)`.
template <class Begin>
void run(std::span<const std::byte> from, std::span<std::byte> to, const char* call, Begin begin,
         std::span<const int> layout = {}) {
  class with final : public collective {
   public:
    explicit with(Begin& b) : begin_(b) {}
    int begin(const void* in, void* out, const int* l, MPI_Request* request) const override {
      return begin_(in, out, l, request);
    }

   private:
    Begin& begin_;
  };
  run(with(begin), from, to, layout, call);
}

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

}  // namespace collectives

/// Each value becomes the result over all ranks.
template <class T>
void allreduce(std::span<T> values, MPI_Op op, MPI_Comm comm) {
  collectives::run({}, std::as_writable_bytes(values), "MPI_Iallreduce",
                   [&](const void*, void* all, const int*, MPI_Request* request) {
                     return collectives::begin_one(PMPI_Allreduce, PMPI_Iallreduce, comm, request, MPI_IN_PLACE, all,
                                                   static_cast<int>(values.size()), collectives::number<T>(), op);
                   });
}
template <class T>
void allreduce(T& value, MPI_Op op, MPI_Comm comm) {
  allreduce(std::span<T>(&value, 1), op, comm);
}

/// The values of `root`, to all ranks.
template <class T>
void broadcast(std::span<T> values, int root, MPI_Comm comm) {
  collectives::run({}, std::as_writable_bytes(values), "MPI_Ibcast",
                   [&](const void*, void* all, const int*, MPI_Request* request) {
                     return collectives::begin_one(PMPI_Bcast, PMPI_Ibcast, comm, request, all,
                                                   collectives::bytes_of(values), MPI_BYTE, root);
                   });
}

/// The values of each rank behind those of the rank before it, to all ranks.
template <class T>
void allgather(std::span<const T> mine, std::span<T> all, MPI_Comm comm) {
  collectives::run(std::as_bytes(mine), std::as_writable_bytes(all), "MPI_Iallgather",
                   [&](const void* from, void* to, const int*, MPI_Request* request) {
                     const int bytes = collectives::bytes_of(mine);
                     return collectives::begin_one(PMPI_Allgather, PMPI_Iallgather, comm, request, from, bytes,
                                                   MPI_BYTE, to, bytes, MPI_BYTE);
                   });
}
template <class T>
void allgather(const T& mine, std::span<T> all, MPI_Comm comm) {
  allgather(std::span<const T>(&mine, 1), all, comm);
}
/// The same where a rank's own `each` values stand in their place.
template <class T>
void allgather_in_place(std::span<T> all, std::size_t each, MPI_Comm comm) {
  collectives::run({}, std::as_writable_bytes(all), "MPI_Iallgather",
                   [&](const void*, void* to, const int*, MPI_Request* request) {
                     return collectives::begin_one(PMPI_Allgather, PMPI_Iallgather, comm, request, MPI_IN_PLACE, 0,
                                                   MPI_DATATYPE_NULL, to, static_cast<int>(each * sizeof(T)), MPI_BYTE);
                   });
}

/// One value from each rank to each.
template <class T>
void alltoall(std::span<const T> out, std::span<T> in, MPI_Comm comm) {
  constexpr auto bytes = static_cast<int>(sizeof(T));
  static_assert(std::is_trivially_copyable_v<T>);
  collectives::run(std::as_bytes(out), std::as_writable_bytes(in), "MPI_Ialltoall",
                   [&](const void* from, void* to, const int*, MPI_Request* request) {
                     return collectives::begin_one(PMPI_Alltoall, PMPI_Ialltoall, comm, request, from, bytes, MPI_BYTE,
                                                   to, bytes, MPI_BYTE);
                   });
}

/// Several values from each rank to each. `layout`: how many to each rank, where in `out` they begin, how many from
/// each rank, where in `in` they are put.
template <class T>
void alltoallv(std::span<const T> out, std::span<T> in, std::span<const int> layout, MPI_Comm comm) {
  const std::size_t ranks = layout.size() / 4;
  collectives::run(
      std::as_bytes(out), std::as_writable_bytes(in), "MPI_Ialltoallv",
      [&](const void* from, void* to, const int* l, MPI_Request* request) {
        const MPI_Datatype type = collectives::number<T>();
        return collectives::begin_one(PMPI_Alltoallv, PMPI_Ialltoallv, comm, request, from, l, l + ranks, type, to,
                                      l + 2 * ranks, l + 3 * ranks, type);
      },
      layout);
}

/// Waits until all ranks have come. Before a call of the MPI library that only blocks: a rank that has left before it
/// would not be noticed in it.
void barrier(MPI_Comm comm);

/// What `make` makes by calls that wait inside the MPI library, where nobody learns that another rank has left. So all
/// ranks have come before, and all are through before one of them can leave: `make` must not fail on one rank alone.
template <class Make>
auto together(MPI_Comm comm, Make make) {
  barrier(comm);
  auto made = make();
  barrier(comm);
  return made;
}

/// True on all ranks where `mine` is true on all.
bool holds_everywhere(bool mine, MPI_Comm comm);

}  // namespace taquin::mpi
