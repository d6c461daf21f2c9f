#include "harness/problem.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>

#include "base/sizes.hpp"
#include "harness/pattern.hpp"
#include "mpi/check.hpp"
#include "node/blocking_channel.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/plan.hpp"

namespace taquin::harness {

namespace {

constexpr count_t guard = 16;  // bytes around blocks; keeps blocks aligned as an allocator would

std::size_t index(auto n) { return detail::as_size(n); }

template <class Byte>
std::span<Byte> part(Byte* base, count_t begin, count_t size) {
  return {base + begin, index(size)};
}

bool fits_int(const std::vector<count_t>& values) {
  return std::ranges::all_of(values, [](count_t v) { return v <= std::numeric_limits<int>::max(); });
}

std::vector<int> narrow(const std::vector<count_t>& values) {
  std::vector<int> ints(values.size());
  std::ranges::transform(values, ints.begin(), [](count_t v) { return static_cast<int>(v); });
  return ints;
}

}  // namespace

problem::problem(MPI_Comm comm, exchange::form kind, buffering how, std::vector<count_t> sent,
                 std::vector<count_t> received, std::uint64_t repeats, how_called called)
    : comm_(comm), kind_(kind), how_(how), repeats_(repeats), called_(called) {
  if (!takes_part()) return;
  TAQUIN_MPI(MPI_Comm_rank(comm, &rank_));
  TAQUIN_MPI(MPI_Comm_size(comm, &ranks_));
  send_.counts = std::move(sent);
  recv_.counts = std::move(received);
  lay_out(send_);
  lay_out(recv_);
  types_.assign(send_.counts.size(), MPI_BYTE);
}

// MPI_Alltoall has no room for guards between blocks, and in one buffer both sides must start at one place.
bool problem::in_rows() const noexcept { return kind_ == exchange::form::alltoall || how_ == buffering::one_buffer; }

void problem::lay_out(side& s) const {
  const count_t gap = in_rows() ? 0 : guard;
  count_t at = guard;
  for (const count_t bytes : s.counts) {
    s.displs.push_back(at);
    s.total += bytes;
    at += bytes;
    if (gap > 0) at = (at + gap + guard - 1) / guard * guard;
  }
  s.size = at + guard;
}

count_t problem::recv_size() const noexcept {
  return how_ == buffering::separate ? recv_.size : std::max(send_.size, recv_.size);
}

void problem::reserve(arena& memory) const {
  memory.send.resize(std::max(memory.send.size(), index(send_.size)));
  memory.recv.resize(std::max(memory.recv.size(), index(recv_size())));
  memory.sender = nullptr;
}

void problem::fill(arena& memory) const {
  if (!takes_part()) return;
  if (memory.sender != this) {
    std::memset(memory.send.data(), static_cast<int>(poison), index(send_.size));
    for (int to = 0; to < ranks_; ++to)
      write_pattern(part(memory.send.data(), send_.displs[index(to)], send_.counts[index(to)]), rank_, to);
    memory.sender = this;
  }
  std::memset(memory.recv.data(), static_cast<int>(poison), index(recv_size()));
  if (how_ != buffering::separate)
    std::memcpy(memory.recv.data() + guard, memory.send.data() + guard, index(send_.size - 2 * guard));
}

count_t problem::wrong_bytes(const arena& memory) const {
  if (!takes_part()) return 0;
  count_t wrong = 0;
  count_t end = 0;  // of the bytes compared so far
  for (int from = 0; from < ranks_; ++from) {
    const count_t begin = recv_.displs[index(from)];
    const count_t bytes = recv_.counts[index(from)];
    wrong += wrong_in_guard(part(memory.recv.data(), end, begin - end));
    wrong += wrong_in_pattern(part(memory.recv.data(), begin, bytes), from, rank_);
    end = begin + bytes;
  }
  // In one buffer, bytes after the receive blocks but inside the send blocks may be anything.
  if (how_ == buffering::one_buffer) end = std::max(end, send_.size - guard);
  wrong += wrong_in_guard(part(memory.recv.data(), end, recv_size() - end));
  for (int to = 0; to < ranks_; ++to)
    wrong += wrong_in_pattern(part(memory.send.data(), send_.displs[index(to)], send_.counts[index(to)]), rank_, to);
  return wrong;
}

void problem::account(statistics& s) const {
  s.rounds += repeats_;
  for (int to = 0; to < ranks_; ++to) {
    if (to == rank_ || send_.counts[index(to)] == 0) continue;
    s.messages += repeats_;
    s.bytes_sent += repeats_ * static_cast<std::uint64_t>(send_.counts[index(to)]);
  }
}

detail::shape problem::shape() const {
  const auto [least, most] = std::ranges::minmax(send_.counts);
  const auto peers = [](const side& s) { return std::ranges::count_if(s.counts, [](count_t n) { return n > 0; }); };
  std::array<count_t, 6> v{most,
                           -least,
                           send_.total,
                           recv_.total,
                           fits_int({send_.size, recv_.size}) ? 0 : 1,
                           std::max(peers(send_), peers(recv_))};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), static_cast<int>(v.size()), MPI_INT64_T, MPI_MAX, comm_));
  const bool one_buffer = how_ != buffering::separate;
  return {.ranks = ranks_,
          .kind = kind_,
          .in_place = one_buffer,
          .symmetric = how_ != buffering::one_buffer,
          .shared = ranks_ == 1 || detail::blocking_channel(comm_) != nullptr,
          .uniform = v[0] == -v[1],
          .large = v[4] != 0,
          .max_peers = static_cast<int>(v[5]),
          .one_unit = one_buffer,
          .unit_size = one_buffer ? 1U : 0U,
          .max_block_bytes = static_cast<std::uint64_t>(v[0]),
          .min_block_bytes = static_cast<std::uint64_t>(-v[1]),
          .max_rank_bytes = static_cast<std::uint64_t>(v[2]),
          .max_received_bytes = static_cast<std::uint64_t>(v[3])};
}

exchange problem::make(arena& memory) const {
  const count_view scounts(send_.counts.data());
  const count_view sdispls(send_.displs.data());
  const count_view rcounts(recv_.counts.data());
  const count_view rdispls(recv_.displs.data());
  std::byte* recv = memory.recv.data();
  if (how_ == buffering::one_buffer)
    return exchange::alltoallv_in_place(recv, scounts, sdispls, rcounts, rdispls, MPI_BYTE, comm_);
  const void* send = how_ == buffering::in_place ? MPI_IN_PLACE : memory.send.data();
  switch (kind_) {
    case exchange::form::alltoall:
      return exchange::alltoall(how_ == buffering::in_place ? MPI_IN_PLACE : memory.send.data() + guard,
                                send_.counts[0], MPI_BYTE, recv + guard, recv_.counts[0], MPI_BYTE, comm_);
    case exchange::form::alltoallv:
      return exchange::alltoallv(send, scounts, sdispls, MPI_BYTE, recv, rcounts, rdispls, MPI_BYTE, comm_);
    case exchange::form::alltoallw:
      break;
  }
  return exchange::alltoallw(send, scounts, sdispls, types_.data(), recv, rcounts, rdispls, types_.data(), comm_);
}

operation problem::blocking(arena& memory, const options& o) const {
  if (!takes_part()) return {[] {}, {}};
  return {[this, &memory, o] { run(make(memory), o); }, {}};
}

operation problem::persistent(arena& memory, const options& o) const {
  if (!takes_part()) return {[] {}, {}};
  auto p = std::make_shared<plan>(make(memory), o);
  return {[p] { p->start(); }, [p] { p->wait(); }};
}

namespace {

// The arguments of the MPI library's calls, and the request of one that does not block.
struct native_arguments {
  std::vector<int> scounts, sdispls, rcounts, rdispls;
  std::vector<MPI_Datatype> types;
  MPI_Request request = MPI_REQUEST_NULL;
};

// `begin` gets a request, or null for the blocking call.
template <class Begin>
operation as_called(bool blocking, std::shared_ptr<native_arguments> a, Begin begin) {
  if (blocking) return {[begin, a = std::move(a)] { begin(*a, nullptr); }, {}};
  return {[begin, a] { begin(*a, &a->request); },
          [a = std::move(a)] { TAQUIN_MPI(MPI_Wait(&a->request, MPI_STATUS_IGNORE)); }};
}

}  // namespace

// Of the lists for all ranks those of the neighbours, in the order of ranks.
operation problem::native_among_neighbours(arena& memory) const {
  auto a = std::make_shared<native_arguments>();
  for (int i = 0; i < ranks_; ++i) {
    if (send_.counts[index(i)] > 0) {
      a->scounts.push_back(static_cast<int>(send_.counts[index(i)]));
      a->sdispls.push_back(static_cast<int>(send_.displs[index(i)]));
    }
    if (recv_.counts[index(i)] > 0) {
      a->rcounts.push_back(static_cast<int>(recv_.counts[index(i)]));
      a->rdispls.push_back(static_cast<int>(recv_.displs[index(i)]));
    }
  }
  return as_called(
      called_.form == workloads::call_form::blocking, std::move(a),
      [send = memory.send.data(), recv = memory.recv.data(), comm = called_.neighbours](native_arguments& n,
                                                                                        MPI_Request* request) {
        if (request == nullptr)
          TAQUIN_MPI(PMPI_Neighbor_alltoallv(send, n.scounts.data(), n.sdispls.data(), MPI_BYTE, recv, n.rcounts.data(),
                                             n.rdispls.data(), MPI_BYTE, comm));
        else
          TAQUIN_MPI(PMPI_Ineighbor_alltoallv(send, n.scounts.data(), n.sdispls.data(), MPI_BYTE, recv,
                                              n.rcounts.data(), n.rdispls.data(), MPI_BYTE, comm, request));
      });
}

operation problem::native(arena& memory) const {
  if (!takes_part()) return {[] {}, {}};
  if (shape().large) return persistent(memory, {.algorithm = "native"});  // beyond the range of the raw call
  if (called_.neighbours != MPI_COMM_NULL) return native_among_neighbours(memory);
  const bool in_place = how_ == buffering::in_place;
  // Open MPI's nonblocking MPI_Alltoallv and w wait for ever in place where some counts are zero (4.1.4).
  const bool blocking =
      called_.form == workloads::call_form::blocking || (in_place && kind_ != exchange::form::alltoall);
  const void* send = in_place ? MPI_IN_PLACE : memory.send.data();
  std::byte* recv = memory.recv.data();
  auto a = std::make_shared<native_arguments>();
  if (kind_ == exchange::form::alltoall) {
    const void* first = in_place ? MPI_IN_PLACE : memory.send.data() + guard;
    return as_called(blocking, std::move(a),
                     [first, to = recv + guard, n = static_cast<int>(send_.counts[0]), comm = comm_](
                         native_arguments&, MPI_Request* request) {
                       if (request == nullptr)
                         TAQUIN_MPI(PMPI_Alltoall(first, n, MPI_BYTE, to, n, MPI_BYTE, comm));
                       else
                         TAQUIN_MPI(PMPI_Ialltoall(first, n, MPI_BYTE, to, n, MPI_BYTE, comm, request));
                     });
  }
  *a = {narrow(send_.counts), narrow(send_.displs), narrow(recv_.counts), narrow(recv_.displs), types_};
  if (kind_ == exchange::form::alltoallv)
    return as_called(blocking, std::move(a), [send, recv, comm = comm_](native_arguments& n, MPI_Request* request) {
      if (request == nullptr)
        TAQUIN_MPI(PMPI_Alltoallv(send, n.scounts.data(), n.sdispls.data(), MPI_BYTE, recv, n.rcounts.data(),
                                  n.rdispls.data(), MPI_BYTE, comm));
      else
        TAQUIN_MPI(PMPI_Ialltoallv(send, n.scounts.data(), n.sdispls.data(), MPI_BYTE, recv, n.rcounts.data(),
                                   n.rdispls.data(), MPI_BYTE, comm, request));
    });
  return as_called(blocking, std::move(a), [send, recv, comm = comm_](native_arguments& n, MPI_Request* request) {
    if (request == nullptr)
      TAQUIN_MPI(PMPI_Alltoallw(send, n.scounts.data(), n.sdispls.data(), n.types.data(), recv, n.rcounts.data(),
                                n.rdispls.data(), n.types.data(), comm));
    else
      TAQUIN_MPI(PMPI_Ialltoallw(send, n.scounts.data(), n.sdispls.data(), n.types.data(), recv, n.rcounts.data(),
                                 n.rdispls.data(), n.types.data(), comm, request));
  });
}

}  // namespace taquin::harness
