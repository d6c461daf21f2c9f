// Datatypes that MPI lacks: bounded vector, circular vector, bucket; the signature type; datatyped copies.
//
// Source: Träff, Rougier, Hunold, Implementing a Classic: Zero-copy All-to-all Communication with MPI Datatypes, §3.
// Each of the three layouts is a description that taquin packs and unpacks itself, and can be made an MPI datatype of
// standard constructors. Nothing here communicates.
#pragma once

#include <mpi.h>

#include <span>
#include <utility>

#include "taquin/types.hpp"

namespace taquin {

/// A strided vector with a bound on the elements that it spans: elements 0 … bound−1 whose place within each `stride`
/// is below `block`. The last block is cut off at the bound.
struct bounded_vector {
  count_t bound = 0;   ///< elements spanned
  count_t block = 1;   ///< elements per block, at most `stride`
  count_t stride = 1;  ///< elements from one block to the next
};

/// A bounded vector on a circle: starts at element `start` of `extent` and continues at 0 after the last one.
struct circular_vector {
  count_t extent = 0;  ///< elements of the circle
  count_t bound = 0;   ///< elements spanned from `start` on, at most `extent`
  count_t start = 0;   ///< 0 … extent−1
  count_t block = 1;   ///< elements per block, at most `stride`
  count_t stride = 1;  ///< elements from one block to the next
};

/// Equal-size buckets side by side, each holding a number of elements of its own at its front.
struct bucket {
  count_t size = 0;                   ///< elements that a bucket can hold
  std::span<const count_t> counts{};  ///< elements in each bucket, at most `size`
};

/// Elements that the layout holds.
[[nodiscard]] count_t elements(const bounded_vector& v);
/// The same of a circular vector.
[[nodiscard]] count_t elements(const circular_vector& v);
/// The same of buckets.
[[nodiscard]] count_t elements(const bucket& b);

/// Owns a committed derived datatype. Move-only.
class datatype {
 public:
  /// None.
  datatype() noexcept = default;
  /// Adopts a derived datatype; a predefined one must not be given.
  static datatype from_native(MPI_Datatype type) noexcept {
    datatype d;
    d.type_ = type;
    return d;
  }
  /// Takes the other's, which has none afterwards.
  datatype(datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  /// Exchanges the two.
  datatype& operator=(datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  /// Frees it.
  ~datatype();

  /// The handle, still owned.
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
  /// Gives the datatype away: the caller frees it.
  [[nodiscard]] MPI_Datatype release() noexcept { return std::exchange(type_, MPI_DATATYPE_NULL); }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The layout as a committed MPI datatype, of elements of `base`. Its extent is that of `bound` elements (circular:
/// `extent` elements, bucket: all buckets). Local. Throws usage_error for impossible figures.
[[nodiscard]] datatype make_datatype(const bounded_vector& v, MPI_Datatype base);
/// The same of a circular vector.
[[nodiscard]] datatype make_datatype(const circular_vector& v, MPI_Datatype base);
/// The same of buckets.
[[nodiscard]] datatype make_datatype(const bucket& b, MPI_Datatype base);

/// Packs the elements of the layout at `from` into consecutive bytes at `to`; unpack is the reverse. The bytes are
/// those of MPI_Pack in a homogeneous system, without headers. Local. Throws usage_error for impossible figures.
void pack(const bounded_vector& v, const void* from, MPI_Datatype base, void* to);
/// The same of a circular vector.
void pack(const circular_vector& v, const void* from, MPI_Datatype base, void* to);
/// The same of buckets.
void pack(const bucket& b, const void* from, MPI_Datatype base, void* to);
/// From consecutive bytes at `from` to the elements of the layout at `to`.
void unpack(const bounded_vector& v, const void* from, void* to, MPI_Datatype base);
/// The same of a circular vector.
void unpack(const circular_vector& v, const void* from, void* to, MPI_Datatype base);
/// The same of buckets.
void unpack(const bucket& b, const void* from, void* to, MPI_Datatype base);

/// The same for `count` elements of any datatype; `to` and `from` hold count × MPI_Type_size bytes.
void pack(const void* from, count_t count, MPI_Datatype type, void* to);
/// The reverse.
void unpack(const void* from, void* to, count_t count, MPI_Datatype type);

/// The signature of a datatype: its basic types, in order, without gaps and as a committed datatype of its own. Memory
/// that holds elements of `type` between two messages has this type. Local. Throws usage_error (MPI_ERR_TYPE) when the
/// MPI library cannot decode the datatype.
[[nodiscard]] datatype signature_type(MPI_Datatype type);

/// Copies `count` elements of `type` at `from` to `to_count` elements of `to_type` at `to`. Both are the same number of
/// bytes, and their signatures must match; the buffers must not overlap. Local. Throws usage_error when sizes differ.
void typed_copy(const void* from, count_t count, MPI_Datatype type, void* to, count_t to_count, MPI_Datatype to_type);

}  // namespace taquin
