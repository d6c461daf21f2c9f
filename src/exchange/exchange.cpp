// Normalisation: MPI's argument forms become one value.
#include "taquin/exchange.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/invalid_argument.hpp"
#include "datatypes/envelope.hpp"
#include "datatypes/type_map.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin {

namespace {

using handle_bits = std::conditional_t<sizeof(MPI_Datatype) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;

// Elements of predefined types, which never change, by their handle's bits.
element& known_element(MPI_Datatype type) {
  constexpr std::size_t places = 16;
  thread_local std::array<element, places> known;
  const auto bits = std::bit_cast<handle_bits>(type);
  return known[(bits ^ (bits >> 8U) ^ (bits >> 4U)) % places];
}

element describe_type(MPI_Datatype type) {
  element e;
  e.type = type;
  e.size = mpi::size_of(type);
  const auto [lb, extent] = mpi::extent_of(type);
  const detail::envelope made(type);
  e.extent = extent;
  if (made.combiner == MPI_COMBINER_NAMED && e.size == extent && lb == 0) {  // contiguous
    e.true_extent = extent;
    return known_element(type) = e;
  }
  const auto exact = mpi::true_extent_of(type);
  e.true_lb = exact.lb;
  e.true_extent = exact.extent;
  // A long type with gaps is decoded only when taquin packs its data; many algorithms leave that to the MPI library.
  constexpr int is_long = 1 << 12;
  if (!e.contiguous() && std::max<count_t>({made.ints, made.places, made.counts, made.types}) > is_long) return e;
  const detail::type_map* map = detail::type_map::of(type);
  const bool in_order = map != nullptr && map->vector_like() && map->loops()[0].count == 1;
  if (!in_order || !e.contiguous()) e.map = map;  // bytes may fill the extent but be in another order
  return e;
}

// A missing array that MPI requires becomes an invalid argument of the exchange, which all ranks then report.
void find_arrays(exchange& x) {
  if (x.recv.counts.missing() || x.recv.displs.missing())
    detail::invalid_exchange::set(x, "null receive counts or displacements");
  if (x.send.counts.missing() || x.send.displs.missing())
    detail::invalid_exchange::set(x, "null send counts or displacements");
  if (x.kind == exchange::form::alltoallw && (x.recv.types == nullptr || x.send.types == nullptr))
    detail::invalid_exchange::set(x, "null array of datatypes");
}

// MPI_IN_PLACE: MPI ignores the send arguments and takes the receive side's for both.
void finish(exchange& x) {
  x.in_place = x.send.base == MPI_IN_PLACE;
  if (x.in_place) x.send = x.recv;
  if (x.recv.base == MPI_IN_PLACE) detail::invalid_exchange::set(x, detail::in_place_receive_text);
  find_arrays(x);
}

// `known` is compared before the type's size and extent are requested from the MPI library: most calls have one type
// for both sides. If the MPI library fails here, this rank has no exchange, and all report that.
void fill(exchange& x, blocks& b, const void* base, const count_view& counts, const count_view& displs,
          MPI_Datatype type, const element& known = {}) {
  b.base = const_cast<void*>(base);
  b.counts = counts;
  b.displs = displs;
  if (base == MPI_IN_PLACE) return;
  try {
    b.element = type == known.type ? known : element::of(type);
  } catch (const error&) {
    detail::invalid_exchange::set(x, "a datatype whose size the MPI library cannot determine");
  }
  b.displ_unit = b.element.extent;
}

}  // namespace

element element::of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return {};
  const element& known = known_element(type);
  return known.type == type ? known : describe_type(type);
}

exchange exchange::alltoall(const void* sendbuf, count_t sendcount, MPI_Datatype sendtype, void* recvbuf,
                            count_t recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  exchange x;
  x.comm = comm;
  x.kind = form::alltoall;
  fill(x, x.send, sendbuf, {sendcount, 0}, {0, sendcount}, sendtype);
  fill(x, x.recv, recvbuf, {recvcount, 0}, {0, recvcount}, recvtype, x.send.element);
  finish(x);
  return x;
}

exchange exchange::alltoallv(const void* sendbuf, count_view sendcounts, count_view sdispls, MPI_Datatype sendtype,
                             void* recvbuf, count_view recvcounts, count_view rdispls, MPI_Datatype recvtype,
                             MPI_Comm comm) {
  exchange x;
  x.comm = comm;
  x.kind = form::alltoallv;
  fill(x, x.send, sendbuf, sendcounts, sdispls, sendtype);
  fill(x, x.recv, recvbuf, recvcounts, rdispls, recvtype, x.send.element);
  finish(x);
  return x;
}

exchange exchange::alltoallw(const void* sendbuf, count_view sendcounts, count_view sdispls,
                             const MPI_Datatype* sendtypes, void* recvbuf, count_view recvcounts, count_view rdispls,
                             const MPI_Datatype* recvtypes, MPI_Comm comm) {
  exchange x;
  x.comm = comm;
  x.kind = form::alltoallw;
  x.send = {const_cast<void*>(sendbuf), sendcounts, sdispls, 1, {}, sendtypes, nullptr};
  x.recv = {recvbuf, recvcounts, rdispls, 1, {}, recvtypes, nullptr};
  finish(x);
  return x;
}

exchange exchange::alltoallv_in_place(void* buffer, count_view sendcounts, count_view sdispls, count_view recvcounts,
                                      count_view rdispls, MPI_Datatype type, MPI_Comm comm) {
  exchange x = alltoallv(buffer, sendcounts, sdispls, type, buffer, recvcounts, rdispls, type, comm);
  x.in_place = true;
  x.symmetric = false;
  return x;
}

}  // namespace taquin
