#include "datatypes/typed_copy.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/strided_copy.hpp"
#include "datatypes/type_map.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"

namespace taquin::detail {

namespace {

// Null where the MPI library must pack.
const type_map* map_of(const element& e) {
  const type_map* const map = e.map != nullptr ? e.map : type_map::of(e.type);
  return map->opaque() ? nullptr : map;
}

// The MPI library packs types that cannot be decoded. It counts in ints, so long ranges are packed in chunks.
template <class Step>
void in_chunks(count_t count, const element& e, Step step) {
  const count_t chunk =
      std::clamp<count_t>(std::numeric_limits<int>::max() / std::max<count_t>(e.size, 1), 1, mpi::count_limit());
  for (count_t done = 0; done < count; done += chunk) step(done, static_cast<int>(std::min(chunk, count - done)));
}

void mpi_pack(const std::byte* from, count_t count, const element& e, std::byte* to) {
  in_chunks(count, e, [&](count_t done, int n) {
    int position = 0;
    TAQUIN_MPI(PMPI_Pack(from + done * e.extent, n, e.type, to + done * e.size, static_cast<int>(n * e.size), &position,
                         MPI_COMM_SELF));
  });
}

void mpi_unpack(const std::byte* from, std::byte* to, count_t count, const element& e) {
  in_chunks(count, e, [&](count_t done, int n) {
    int position = 0;
    TAQUIN_MPI(PMPI_Unpack(from + done * e.size, static_cast<int>(n * e.size), &position, to + done * e.extent, n,
                           e.type, MPI_COMM_SELF));
  });
}

// A leaf repeated, if it is one loop in all.
struct strided {
  count_t offset, stride, length, runs;
};
std::optional<strided> as_one_loop(const type_map& map, count_t count, const element& e) {
  if (!map.vector_like()) return std::nullopt;
  const loop& l = map.loops()[0];
  if (l.count == 1) return strided{l.offset, e.extent, l.length, count};
  if (count == 1 || e.extent == l.count * l.stride) return strided{l.offset, l.stride, l.length, l.count * count};
  return std::nullopt;
}

void copy_runs(run_cursor& source, const std::byte* from, run_cursor& target, std::byte* to) {
  run_cursor::run a = source.next();
  run_cursor::run b = target.next();
  while (a.length > 0 && b.length > 0) {
    const count_t n = std::min(a.length, b.length);
    copy_bytes(to + b.offset, from + a.offset, as_size(n));
    a = a.length > n ? run_cursor::run{a.offset + n, a.length - n} : source.next();
    b = b.length > n ? run_cursor::run{b.offset + n, b.length - n} : target.next();
  }
}

// Calls f(place in the elements, place in the packed bytes, length) for each run of the packed range.
template <class F>
void for_runs(count_t count, const element& e, count_t skip, count_t bytes, F f) {
  const count_t first = skip / e.size;
  run_cursor runs(*map_of(e), count - first, e.extent);
  count_t before = skip % e.size;
  for (count_t done = 0; done < bytes;) {
    run_cursor::run r = runs.next();
    if (r.length == 0) return;
    const count_t passed = std::min(before, r.length);
    before -= passed;
    const count_t n = std::min(r.length - passed, bytes - done);
    if (n > 0) f(first * e.extent + r.offset + passed, done, as_size(n));
    done += n;
  }
}

// Divides the packed range of a type that is decoded into units, which are the runs of one loop or else elements.
// run(place in the elements, bytes of the range before it, length) takes what is less than a unit at the range's ends;
// whole(the loop or null, first unit, units, bytes of the range before them) takes the units between.
template <class Run, class Whole>
void for_units(count_t count, const element& e, count_t skip, count_t bytes, Run run, Whole whole) {
  const auto s = as_one_loop(*map_of(e), count, e);
  const count_t unit = s ? s->length : e.size;
  const auto part = [&](count_t begin, count_t n) {
    if (n == 0) return;
    if (s) return run(s->offset + begin / unit * s->stride + begin % unit, begin - skip, as_size(n));
    for_runs(count, e, begin, n,
             [&](count_t at, count_t packed, std::size_t length) { run(at, begin - skip + packed, length); });
  };
  const count_t into = skip % unit;
  const count_t head = into == 0 ? 0 : std::min(unit - into, bytes);
  const count_t n = (bytes - head) / unit;
  const count_t tail = bytes - head - n * unit;
  part(skip, head);
  if (n > 0) whole(s ? &*s : nullptr, (skip + head) / unit, n, head);
  part(skip + bytes - tail, tail);
}

// Where runs are not known: calls f(element, bytes of it before the range, bytes of the range before it, bytes in both,
// room for its data) for each element that has a part in the packed range.
template <class F>
void for_elements(const element& e, count_t skip, count_t bytes, F f) {
  std::vector<std::byte> one(as_size(e.size));
  for (count_t done = 0; done < bytes;) {
    const count_t skipped = (skip + done) % e.size;
    const count_t n = std::min(e.size - skipped, bytes - done);
    f((skip + done) / e.size, skipped, done, as_size(n), one.data());
    done += n;
  }
}

}  // namespace

bool in_ranges(const element& e) {
  if (e.contiguous()) return true;
  const type_map* map = map_of(e);
  return map != nullptr && run_cursor(*map, 1, e.extent).fits();
}

void pack_range(const std::byte* from, count_t count, const element& e, count_t skip, count_t bytes, std::byte* to) {
  if (bytes == 0) return;
  if (e.contiguous()) {
    copy_bytes(to, from + skip, as_size(bytes));
    return;
  }
  if (!in_ranges(e))
    return for_elements(e, skip, bytes, [&](count_t i, count_t skipped, count_t done, std::size_t n, std::byte* all) {
      pack(from + i * e.extent, 1, e, all);
      copy_bytes(to + done, all + skipped, n);
    });
  const auto run = [&](count_t at, count_t done, std::size_t n) { copy_bytes(to + done, from + at, n); };
  for_units(count, e, skip, bytes, run, [&](const strided* s, count_t first, count_t n, count_t done) {
    if (s == nullptr) return pack(from + first * e.extent, n, e, to + done);
    strided_copy(from + s->offset + first * s->stride, s->stride, to + done, s->length, s->length, n);
  });
}

void unpack_first(const std::byte* from, count_t bytes, std::byte* to, count_t count, const element& e) {
  if (!e.contiguous() && bytes == count * e.size) return unpack(from, to, count, e);
  unpack_range(from, to, count, e, 0, bytes);
}

void unpack_range(const std::byte* from, std::byte* to, count_t count, const element& e, count_t skip, count_t bytes) {
  if (bytes == 0) return;
  if (e.contiguous()) {
    copy_bytes(to + skip, from, as_size(bytes));
    return;
  }
  if (!in_ranges(e))
    return for_elements(e, skip, bytes, [&](count_t i, count_t skipped, count_t done, std::size_t n, std::byte* all) {
      pack(to + i * e.extent, 1, e, all);
      copy_bytes(all + skipped, from + done, n);
      unpack(all, to + i * e.extent, 1, e);
    });
  const auto run = [&](count_t at, count_t done, std::size_t n) { copy_bytes(to + at, from + done, n); };
  for_units(count, e, skip, bytes, run, [&](const strided* s, count_t first, count_t n, count_t done) {
    if (s == nullptr) return unpack(from + done, to + first * e.extent, n, e);
    strided_copy(from + done, s->length, to + s->offset + first * s->stride, s->stride, s->length, n);
  });
}

void pack(const std::byte* from, count_t count, const element& e, std::byte* to) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) {
    copy_bytes(to, from, as_size(count * e.size));
    return;
  }
  const type_map* map = map_of(e);
  if (map == nullptr) return mpi_pack(from, count, e, to);
  if (const auto s = as_one_loop(*map, count, e))
    return strided_copy(from + s->offset, s->stride, to, s->length, s->length, s->runs);
  for (count_t i = 0; i < count; ++i) to = map->pack(from + i * e.extent, to);
}

void unpack(const std::byte* from, std::byte* to, count_t count, const element& e) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) {
    copy_bytes(to, from, as_size(count * e.size));
    return;
  }
  const type_map* map = map_of(e);
  if (map == nullptr) return mpi_unpack(from, to, count, e);
  if (const auto s = as_one_loop(*map, count, e))
    return strided_copy(from, s->length, to + s->offset, s->stride, s->length, s->runs);
  for (count_t i = 0; i < count; ++i) from = map->unpack(from, to + i * e.extent);
}

void pack_rows(const std::byte* from, count_t stride, count_t count, count_t rows, const element& e, std::byte* to) {
  const count_t bytes = count * e.size;
  if (e.contiguous()) return strided_copy(from, stride, to, bytes, bytes, rows);
  for (count_t i = 0; i < rows; ++i) pack(from + i * stride, count, e, to + i * bytes);
}

void unpack_rows(const std::byte* from, std::byte* to, count_t stride, count_t count, count_t rows, const element& e) {
  const count_t bytes = count * e.size;
  if (e.contiguous()) return strided_copy(from, bytes, to, stride, bytes, rows);
  for (count_t i = 0; i < rows; ++i) unpack(from + i * bytes, to + i * stride, count, e);
}

void typed_copy(const std::byte* from, count_t count, const element& e, std::byte* to, count_t to_count,
                const element& f) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) return unpack(from, to, to_count, f);
  if (f.contiguous()) return pack(from, count, e, to);
  const type_map* a = map_of(e);
  const type_map* b = map_of(f);
  if (a != nullptr && b != nullptr) {
    const auto s = as_one_loop(*a, count, e);
    const auto t = as_one_loop(*b, to_count, f);
    if (s && t && s->length == t->length)
      return strided_copy(from + s->offset, s->stride, to + t->offset, t->stride, s->length,
                          std::min(s->runs, t->runs));
    run_cursor source(*a, count, e.extent);
    run_cursor target(*b, to_count, f.extent);
    if (source.fits() && target.fits()) return copy_runs(source, from, target, to);
  }
  const auto source = mpi::make_counted(count, e.type);
  const auto target = mpi::make_counted(to_count, f.type);
  // Several threads may copy concurrently, and their messages must not match each other's.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const MPI_Comm self = mpi::communicator::get_or_create(MPI_COMM_SELF).get();
  TAQUIN_MPI(PMPI_Sendrecv(from, source.count, source.type, 0, 0, to, target.count, target.type, 0, 0, self,
                           MPI_STATUS_IGNORE));
}

}  // namespace taquin::detail
