#include "protocol/store.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"

namespace taquin::detail {

namespace {

// Elements of bytes are rows of them, also if they have gaps behind and no MPI library runs.
void copy_rows(const std::byte* from, count_t from_stride, std::byte* to, count_t to_stride, count_t n,
               const element& e) {
  for (count_t i = 0; i < n; ++i, from += from_stride, to += to_stride) copy_bytes(to, from, as_size(e.size));
}

void pack_units(const std::byte* from, count_t n, const element& e, std::byte* to) {
  e.type == MPI_BYTE ? copy_rows(from, e.extent, to, e.size, n, e) : pack(from, n, e, to);
}

void unpack_units(const std::byte* from, std::byte* to, count_t n, const element& e) {
  e.type == MPI_BYTE ? copy_rows(from, e.size, to, e.extent, n, e) : unpack(from, to, n, e);
}

void copy_units(const std::byte* from, std::byte* to, count_t n, const element& e) {
  e.type == MPI_BYTE ? copy_rows(from, e.extent, to, e.extent, n, e) : typed_copy(from, n, e, to, n, e);
}

}  // namespace

store::store(void* data, count_t border, count_t length, const taquin::element& e, count_t staging,
             std::pmr::memory_resource* memory, bool counts_only, std::span<const unit_column> columns)
    : data_(static_cast<std::byte*>(data)),
      border_(border),
      end_(border + staging),
      length_(length),
      element_(e),
      plain_(e.contiguous()),
      counts_only_(counts_only),
      bytes_(as_size(length * e.size)),
      stride_(length * e.extent),
      extra_(counts_only ? 0 : as_size(staging) * bytes_, memory),
      columns_(columns) {}

void store::move_columns(const unit_move& m) {
  copied_ += bytes_ * as_size(m.length);
  if (counts_only_ || m.length == 0) return;
  for (const unit_column& c : columns_) std::memmove(at(m.to, c), at(m.from, c), c.bytes * as_size(m.length));
}

void store::copy(count_t from, count_t to, count_t length) {
  if (!columns_.empty()) return move_columns({from, to, length});
  const std::size_t n = bytes_ * as_size(length);
  copied_ += n;
  if (counts_only_) return;
  if (plain_ || (from >= border_ && to >= border_)) {
    copy_bytes(at(to), at(from), n);
    return;
  }
  const count_t elements = length_ * length;
  if (from >= border_) return unpack_units(at(from), at(to), elements, element_);
  if (to >= border_) return pack_units(at(from), elements, element_, at(to));
  copy_units(at(from), at(to), elements, element_);
}

void store::move(const unit_move& m) {
  if (!columns_.empty()) return move_columns(m);
  const auto [from, to, length] = m;
  const bool same_side = (from < border_) == (to < border_);
  const count_t distance = to - from;
  const count_t apart = same_side ? std::min(distance < 0 ? -distance : distance, length) : length;
  if (apart == length && (!plain_ || same_side)) return copy(from, to, length);
  if (!plain_ && from < border_) {
    // Moves parts no longer than the distance, beginning at the end that is overwritten first.
    for (count_t done = 0; done < length && apart > 0; done += apart) {
      const count_t n = std::min(apart, length - done);
      const count_t part = distance > 0 ? length - done - n : done;
      copy(from + part, to + part, n);
    }
    return;
  }
  const std::size_t bytes = bytes_ * as_size(length);
  copied_ += bytes;
  if (counts_only_) return;
  if (same_side) {
    if (bytes > 0) std::memmove(at(to), at(from), bytes);
    return;
  }
  copy_bytes(at(to), at(from), bytes);
}

// Begins at the end that is overwritten first.
bool store::move_some(unit_move& left, std::size_t bytes) {
  const auto most = std::max(static_cast<count_t>(bytes / std::max<std::size_t>(bytes_, 1)), count_t{1});
  const count_t n = std::min(left.length, most);
  const bool up = left.to > left.from;
  const count_t first = up ? left.length - n : 0;
  move({left.from + first, left.to + first, n});
  left.length -= n;
  if (!up) left = {left.from + n, left.to + n, left.length};
  return left.length == 0;
}

void store::pack_run(const unit_run& r, std::byte* to) {
  for (const unit_column& c : columns_) {
    copy_bytes(to, at(r.at, c), c.bytes * as_size(r.length));
    to += c.bytes * as_size(r.length);
  }
  if (!columns_.empty()) return;
  if (plain_ || r.at >= border_) {
    copy_bytes(to, at(r.at), bytes_ * as_size(r.length));
  } else {
    pack_units(at(r.at), length_ * r.length, element_, to);
  }
}

void store::read(std::span<const unit_run> from, std::byte* to) {
  constexpr std::size_t ahead = 12;  // small units are scattered: prefetched, many at a time
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i + ahead < from.size() && columns_.empty()) __builtin_prefetch(at(from[i + ahead].at));
    pack_run(from[i], to);
    to += bytes_ * as_size(from[i].length);
  }
}

bool store::try_move(const unit_move& left) noexcept {
  try {
    move(left);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void store::gather(std::span<const unit_run> from, std::byte* to) {
  read(from, to);
  copied_ += bytes_ * as_size(units_of(from));
}

void store::write(const std::byte* from, const unit_run& to) {
  for (const unit_column& c : columns_) {
    copy_bytes(at(to.at, c), from, c.bytes * as_size(to.length));
    from += c.bytes * as_size(to.length);
  }
  if (!columns_.empty()) return;
  if (plain_ || to.at >= border_) {
    copy_bytes(at(to.at), from, bytes_ * as_size(to.length));
  } else {
    unpack_units(from, at(to.at), length_ * to.length, element_);
  }
}

}  // namespace taquin::detail
