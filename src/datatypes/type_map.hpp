// The structure of a datatype, decoded once with MPI_Type_get_contents and packed by taquin's own loops.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/owned.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A tree of loops. A leaf is `count` runs of `length` bytes, the first at `offset`, each `stride` bytes after the one
/// before; an inner loop runs its children that often.
struct loop {
  count_t offset = 0;
  count_t count = 1;
  count_t stride = 0;
  count_t length = 0;  ///< 0: an inner loop
  std::uint32_t first_child = 0;
  std::uint32_t children = 0;
};

/// The data bytes of one element, in the order of its type map, and its signature.
class type_map {
 public:
  /// The map of a datatype, kept as an attribute of it and its duplicates and freed with the last of them. Opaque when
  /// it cannot be decoded. Thread safe.
  static const type_map* of(MPI_Datatype type);
  /// Decodes without keeping. Null when it cannot be decoded; the caller deletes it.
  static const type_map* decode(MPI_Datatype type);

  /// Copies the data of one element to consecutive bytes; returns the place after them.
  std::byte* pack(const std::byte* from, std::byte* to) const { return pack(0, from, to); }
  /// The reverse.
  const std::byte* unpack(const std::byte* from, std::byte* to) const { return unpack(0, from, to); }

  /// The type could not be decoded and is not contiguous: the MPI library packs it.
  [[nodiscard]] bool opaque() const noexcept { return opaque_; }
  /// A single leaf: an element of equally spaced runs.
  [[nodiscard]] bool vector_like() const noexcept { return loops_.size() == 1 && loops_[0].length > 0; }
  [[nodiscard]] const std::vector<loop>& loops() const noexcept { return loops_; }

  /// `signature_count()` consecutive elements of this type are the signature of one element.
  [[nodiscard]] MPI_Datatype signature() const noexcept { return signature_; }
  [[nodiscard]] count_t signature_count() const noexcept { return signature_count_; }

  /// Counts the datatypes that have this map.
  void share() const noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void drop() const noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  type_map() = default;
  std::byte* pack(std::uint32_t i, const std::byte* from, std::byte* to) const;
  const std::byte* unpack(std::uint32_t i, const std::byte* from, std::byte* to) const;

  std::vector<loop> loops_;  // the root first; empty for no data
  MPI_Datatype signature_ = MPI_DATATYPE_NULL;
  count_t signature_count_ = 0;
  bool opaque_ = false;
  mpi::datatype owned_;  // the signature, where it is no basic type
  mutable std::atomic<int> users_{1};
};

/// Yields the runs of `count` elements one after the other.
class run_cursor {
 public:
  run_cursor(const type_map& map, count_t count, count_t extent) noexcept;
  /// False where the tree is deeper than the cursor.
  [[nodiscard]] bool fits() const noexcept { return depth_ >= 0; }
  /// The next run: its offset from the first element's origin, and its length; length 0 at the end.
  struct run {
    count_t offset = 0;
    count_t length = 0;
  };
  run next() noexcept;

 private:
  struct frame {
    const loop* node = nullptr;
    count_t base = 0;  // of the current iteration
    count_t iteration = 0;
    std::uint32_t child = 0;
  };
  static constexpr int most = 16;
  [[nodiscard]] int height(std::uint32_t i) const noexcept;
  void push(const loop& node, count_t base) noexcept;

  const type_map& map_;
  count_t count_;
  count_t extent_;
  count_t element_ = 0;
  int depth_ = 0;
  std::array<frame, most> frames_{};
};

}  // namespace taquin::detail
