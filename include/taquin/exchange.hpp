// The problem: senders, receivers and bytes, as one value for every form of MPI's all-to-all calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "taquin/types.hpp"

namespace taquin {

/// Counts or displacements, one per peer, as the caller has them: an array of 32-bit or 64-bit integers, or an
/// arithmetic sequence. A view: the array must outlive it.
class count_view {
 public:
  /// The other 64-bit integer type: MPI_Count is long long in some MPI libraries, where int64_t is long.
  using other_int64 = std::conditional_t<std::is_same_v<std::int64_t, long>, long long, long>;

  constexpr count_view() noexcept = default;
  /// first, first + step, first + 2·step, …
  constexpr count_view(count_t first, count_t step) noexcept : first_(first), step_(step) {}
  /// The caller's array of 32-bit integers.
  constexpr explicit count_view(const std::int32_t* array) noexcept : narrow_(array), missing_(array == nullptr) {}
  /// The caller's array of 64-bit integers.
  constexpr explicit count_view(const std::int64_t* array) noexcept : wide_(array), missing_(array == nullptr) {}
  /// The caller's array of the other 64-bit integers.
  constexpr explicit count_view(const other_int64* array) noexcept : other_(array), missing_(array == nullptr) {}

  /// The value of one peer.
  [[nodiscard]] constexpr count_t operator[](int peer) const noexcept {
    if (narrow_ != nullptr) return narrow_[peer];
    if (wide_ != nullptr) return wide_[peer];
    if (other_ != nullptr) return other_[peer];
    return first_ + step_ * peer;
  }
  /// True when no array stands behind it: the values are the same on all ranks by MPI's rules.
  [[nodiscard]] constexpr bool is_sequence() const noexcept {
    return narrow_ == nullptr && wide_ == nullptr && other_ == nullptr;
  }
  /// True when it was made from a null pointer.
  [[nodiscard]] constexpr bool missing() const noexcept { return missing_; }
  /// True when the same array of the caller's stands behind both.
  [[nodiscard]] constexpr bool same_array(const count_view& v) const noexcept {
    return !is_sequence() && narrow_ == v.narrow_ && wide_ == v.wide_ && other_ == v.other_;
  }
  /// The array of 32-bit integers, or null.
  [[nodiscard]] constexpr const std::int32_t* narrow() const noexcept { return narrow_; }
  /// The array of 64-bit integers, or null.
  [[nodiscard]] constexpr const std::int64_t* wide() const noexcept { return wide_; }

 private:
  const std::int32_t* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
  const other_int64* other_ = nullptr;
  count_t first_ = 0;
  count_t step_ = 0;
  bool missing_ = false;
};

namespace detail {
class type_map;
struct invalid_exchange;
}  // namespace detail

/// A datatype with the figures that taquin needs of it, in bytes.
struct element {
  MPI_Datatype type = MPI_DATATYPE_NULL;  ///< the caller's
  count_t size = 0;                       ///< data bytes of one element
  count_t extent = 0;                     ///< bytes from one element to the next
  count_t true_lb = 0;                    ///< first data byte, from the element's origin
  count_t true_extent = 0;                ///< from the first data byte to the last
  /// The layout of a derived type that is not contiguous; null where it could not be decoded. Lives as long as the
  /// type.
  const detail::type_map* map = nullptr;

  /// Data without gaps and in order: n elements are n·size consecutive bytes from the origin.
  [[nodiscard]] constexpr bool contiguous() const noexcept {
    return map == nullptr && size == extent && size == true_extent && true_lb == 0;
  }
  /// Queries the MPI library. The type may be MPI_DATATYPE_NULL: all figures are then zero.
  static element of(MPI_Datatype type);
  /// n bytes as one element, for schedules that run without MPI.
  static element bytes(count_t n) noexcept { return {MPI_BYTE, n, n, 0, n}; }
};

/// One peer's part of one side.
struct block {
  count_t offset = 0;         ///< bytes from the side's base to the first element's origin
  count_t count = 0;          ///< elements
  taquin::element element{};  ///< of all of them
  /// Data bytes of the block.
  [[nodiscard]] constexpr count_t bytes() const noexcept { return count * element.size; }
};

/// One side of an exchange: a block per peer.
struct blocks {
  void* base = nullptr;                 ///< the unit of displacements
  count_view counts;                    ///< elements
  count_view displs;                    ///< multiples of `displ_unit` from `base`
  count_t displ_unit = 1;               ///< bytes: the type's extent, or 1 where MPI counts displacements in bytes
  taquin::element element{};            ///< of all peers, unless `types` is set
  const MPI_Datatype* types = nullptr;  ///< alltoallw: one per peer
  const taquin::element* elements = nullptr;  ///< alltoallw: the same with their figures, once they are known

  /// The element of one peer's block.
  [[nodiscard]] constexpr const taquin::element& element_of(int peer) const noexcept {
    return elements != nullptr ? elements[peer] : element;
  }
  /// Bytes from `base` to a peer's block. Without meaning for an empty block whose place is beyond 64 bits.
  [[nodiscard]] constexpr count_t offset(int peer) const noexcept {
    return static_cast<count_t>(static_cast<std::uint64_t>(displs[peer]) * static_cast<std::uint64_t>(displ_unit));
  }
  /// Data bytes of one peer's block.
  [[nodiscard]] constexpr count_t bytes(int peer) const noexcept { return counts[peer] * element_of(peer).size; }
  /// One peer's block.
  [[nodiscard]] constexpr block operator[](int peer) const noexcept {
    return {offset(peer), counts[peer], element_of(peer)};
  }
};

/// A whole exchange as one rank sees it. Build it with one of the functions below; arrays are not copied and must
/// live until the plan is made (and, as MPI demands of persistent collectives, data buffers until it is freed).
struct exchange {
  /// MPI's three calls.
  enum class form : std::uint8_t { alltoall, alltoallv, alltoallw };

  MPI_Comm comm = MPI_COMM_NULL;  ///< the caller's
  form kind = form::alltoall;     ///< which call
  bool in_place = false;          ///< both sides share one buffer
  bool symmetric = true;  ///< in place: each pair's two blocks lie at the same place with the same count and type
  blocks send{};          ///< the block for each peer
  blocks recv{};          ///< the block from each peer

  /// MPI_Alltoall's arguments; `sendbuf` may be MPI_IN_PLACE.
  static exchange alltoall(const void* sendbuf, count_t sendcount, MPI_Datatype sendtype, void* recvbuf,
                           count_t recvcount, MPI_Datatype recvtype, MPI_Comm comm);
  /// MPI_Alltoallv's arguments; `sendbuf` may be MPI_IN_PLACE.
  static exchange alltoallv(const void* sendbuf, count_view sendcounts, count_view sdispls, MPI_Datatype sendtype,
                            void* recvbuf, count_view recvcounts, count_view rdispls, MPI_Datatype recvtype,
                            MPI_Comm comm);
  /// MPI_Alltoallw's arguments: displacements in bytes; `sendbuf` may be MPI_IN_PLACE.
  static exchange alltoallw(const void* sendbuf, count_view sendcounts, count_view sdispls,
                            const MPI_Datatype* sendtypes, void* recvbuf, count_view recvcounts, count_view rdispls,
                            const MPI_Datatype* recvtypes, MPI_Comm comm);
  /// MPI_Alltoallv on one buffer, with any counts and displacements on either side.
  static exchange alltoallv_in_place(void* buffer, count_view sendcounts, count_view sdispls, count_view recvcounts,
                                     count_view rdispls, MPI_Datatype type, MPI_Comm comm);

 private:
  friend struct detail::invalid_exchange;
  const char* invalid_ = nullptr;
};

namespace detail {

/// For interfaces on top of the library: the error that they have found in this rank's arguments. All ranks throw it
/// when the exchange's plan is made; the text must live until then. Null: none.
struct invalid_exchange {
  static const char* of(const exchange& x) noexcept { return x.invalid_; }
  static void set(exchange& x, const char* what) noexcept { x.invalid_ = what; }
};

}  // namespace detail

}  // namespace taquin
