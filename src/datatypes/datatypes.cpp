// The three layouts, as datatypes and as loops, and the public functions of signatures and copies.
#include "taquin/datatypes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <memory_resource>
#include <vector>

#include "datatypes/bucket_type.hpp"
#include "datatypes/decode.hpp"
#include "datatypes/type_map.hpp"
#include "datatypes/typed_copy.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/owned.hpp"
#include "taquin/error.hpp"

namespace taquin {

namespace {

// Runs of elements: `count` blocks of `block` elements, the first at `first`, each `stride` after the one before.
struct rows {
  count_t first = 0;
  count_t block = 0;
  count_t stride = 0;
  count_t count = 0;
};

[[noreturn]] void refuse(const std::string& what) { throw usage_error(what, MPI_ERR_ARG); }

void check(count_t bound, count_t block, count_t stride) {
  if (bound < 0) refuse(fmt::format("vector: bound must be ≥ 0, got {}", bound));
  if (block < 1 || stride < block)
    refuse(fmt::format("vector: stride ≥ block ≥ 1 is required, got stride {} and block {}", stride, block));
}

// Elements [from, from + bound) of a line, starting with a block.
template <class F>
void for_each_rows(count_t from, count_t bound, count_t block, count_t stride, F f) {
  const count_t full = bound / stride + (bound % stride >= block ? 1 : 0);
  if (full > 0) f(rows{from, block, stride, full});
  const count_t rest = bound - full * stride;
  if (rest > 0) f(rows{from + full * stride, rest, stride, 1});
}

template <class F>
void for_each_rows(const bounded_vector& v, F f) {
  check(v.bound, v.block, v.stride);
  for_each_rows(0, v.bound, v.block, v.stride, f);
}

template <class F>
void for_each_rows(const circular_vector& v, F f) {
  check(v.bound, v.block, v.stride);
  if (v.bound > v.extent)
    refuse(fmt::format("circular vector: bound must be at most extent {}, got {}", v.extent, v.bound));
  if (v.bound == 0) return;
  if (v.start < 0 || v.start >= v.extent)
    refuse(fmt::format("circular vector: start must be at least 0 and below extent {}, got {}", v.extent, v.start));
  const count_t straight = std::min(v.bound, v.extent - v.start);
  for_each_rows(v.start, straight, v.block, v.stride, f);
  if (straight == v.bound) return;
  // The part that wraps around: first the rest of a block that is cut at the end.
  const count_t phase = straight % v.stride;
  const count_t left = v.bound - straight;
  if (phase < v.block && phase > 0) f(rows{0, std::min(v.block - phase, left), v.stride, 1});
  const count_t next = phase == 0 ? 0 : v.stride - phase;
  if (next < left) for_each_rows(next, left - next, v.block, v.stride, f);
}

template <class F>
void for_each_rows(const bucket& b, F f) {
  count_t first = 0;
  for (const count_t n : b.counts) {
    if (n < 0 || n > b.size) refuse(fmt::format("bucket: count must be between 0 and size {}, got {}", b.size, n));
    if (n > 0) f(rows{first, n, b.size, 1});
    first += b.size;
  }
}

template <class Layout>
count_t count_elements(const Layout& layout) {
  count_t n = 0;
  for_each_rows(layout, [&](const rows& r) { n += r.block * r.count; });
  return n;
}

// A struct with one member per row of blocks, of which there are `most`.
template <class Layout>
datatype make(const Layout& layout, count_t spanned, MPI_Datatype base, std::size_t most,
              std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (base == MPI_DATATYPE_NULL) throw usage_error("null base datatype", MPI_ERR_TYPE);
  const element e = element::of(base);
  std::pmr::vector<mpi::datatype> owners(memory);
  std::pmr::vector<int> lengths(memory);
  std::pmr::vector<MPI_Aint> places(memory);
  std::pmr::vector<MPI_Datatype> types(memory);
  owners.reserve(most);
  lengths.reserve(most);
  places.reserve(most);
  types.reserve(most);
  for_each_rows(layout, [&](const rows& r) {
    auto block = mpi::make_counted(r.block, base);
    places.push_back(r.first * e.extent);
    lengths.push_back(r.count == 1 ? block.count : 1);
    types.push_back(block.type);
    if (r.count > 1) {
      if (r.count > mpi::count_limit())
        refuse(fmt::format("vector: at most {} blocks are possible, got {}", mpi::count_limit(), r.count));
      MPI_Datatype vector = MPI_DATATYPE_NULL;
      TAQUIN_MPI(
          PMPI_Type_create_hvector(static_cast<int>(r.count), block.count, r.stride * e.extent, block.type, &vector));
      types.back() = vector;
      owners.emplace_back(vector);
    }
    if (block.owner) owners.push_back(std::move(block.owner));
  });
  MPI_Datatype all = MPI_DATATYPE_NULL;
  TAQUIN_MPI(
      PMPI_Type_create_struct(static_cast<int>(types.size()), lengths.data(), places.data(), types.data(), &all));
  const mpi::datatype parts(all);
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_create_resized(parts.get(), 0, spanned * e.extent, &resized));
  datatype made = datatype::from_native(resized);
  TAQUIN_MPI(PMPI_Type_commit(&resized));
  return made;
}

template <class Layout>
void pack_layout(const Layout& layout, const void* from, MPI_Datatype base, void* to) {
  const element e = element::of(base);
  const auto* source = static_cast<const std::byte*>(from);
  auto* out = static_cast<std::byte*>(to);
  for_each_rows(layout, [&](const rows& r) {
    detail::pack_rows(source + r.first * e.extent, r.stride * e.extent, r.block, r.count, e, out);
    out += r.block * r.count * e.size;
  });
}

template <class Layout>
void unpack_layout(const Layout& layout, const void* from, void* to, MPI_Datatype base) {
  const element e = element::of(base);
  const auto* in = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  for_each_rows(layout, [&](const rows& r) {
    detail::unpack_rows(in, target + r.first * e.extent, r.stride * e.extent, r.block, r.count, e);
    in += r.block * r.count * e.size;
  });
}

}  // namespace

datatype::~datatype() {
  if (type_ != MPI_DATATYPE_NULL && !mpi::finalized()) PMPI_Type_free(&type_);
}

count_t elements(const bounded_vector& v) { return count_elements(v); }
count_t elements(const circular_vector& v) { return count_elements(v); }
count_t elements(const bucket& b) { return count_elements(b); }

datatype make_datatype(const bounded_vector& v, MPI_Datatype base) { return make(v, v.bound, base, 2); }
datatype make_datatype(const circular_vector& v, MPI_Datatype base) { return make(v, v.extent, base, 5); }
datatype make_datatype(const bucket& b, MPI_Datatype base) {
  return detail::make_bucket_type(b, base, std::pmr::get_default_resource());
}

datatype detail::make_bucket_type(const bucket& b, MPI_Datatype base, std::pmr::memory_resource* memory) {
  return make(b, b.size * static_cast<count_t>(b.counts.size()), base, b.counts.size(), memory);
}

void pack(const bounded_vector& v, const void* from, MPI_Datatype base, void* to) { pack_layout(v, from, base, to); }
void pack(const circular_vector& v, const void* from, MPI_Datatype base, void* to) { pack_layout(v, from, base, to); }
void pack(const bucket& b, const void* from, MPI_Datatype base, void* to) { pack_layout(b, from, base, to); }
void unpack(const bounded_vector& v, const void* from, void* to, MPI_Datatype base) {
  unpack_layout(v, from, to, base);
}
void unpack(const circular_vector& v, const void* from, void* to, MPI_Datatype base) {
  unpack_layout(v, from, to, base);
}
void unpack(const bucket& b, const void* from, void* to, MPI_Datatype base) { unpack_layout(b, from, to, base); }

void pack(const void* from, count_t count, MPI_Datatype type, void* to) {
  detail::pack(static_cast<const std::byte*>(from), count, element::of(type), static_cast<std::byte*>(to));
}

void unpack(const void* from, void* to, count_t count, MPI_Datatype type) {
  detail::unpack(static_cast<const std::byte*>(from), static_cast<std::byte*>(to), count, element::of(type));
}

datatype signature_type(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw usage_error("null datatype", MPI_ERR_TYPE);
  const std::unique_ptr<const detail::type_map> map(detail::type_map::decode(type));
  if (map == nullptr)
    throw usage_error(
        fmt::format("the datatype has more than {} parts, or the MPI library does not return its contents",
                    detail::most_loops),
        MPI_ERR_TYPE);
  const bool data = map->signature_count() > 0;
  return datatype::from_native(mpi::contiguous(map->signature_count(), data ? map->signature() : MPI_BYTE).release());
}

void typed_copy(const void* from, count_t count, MPI_Datatype type, void* to, count_t to_count, MPI_Datatype to_type) {
  const element e = element::of(type);
  const element f = element::of(to_type);
  if (count * e.size != to_count * f.size)
    throw usage_error(fmt::format("source and target of a copy must have the same bytes, got {} and {}", count * e.size,
                                  to_count * f.size),
                      MPI_ERR_ARG);
  detail::typed_copy(static_cast<const std::byte*>(from), count, e, static_cast<std::byte*>(to), to_count, f);
}

}  // namespace taquin
