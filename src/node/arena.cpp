#include "node/arena.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace taquin::detail {

namespace {

using counter = std::atomic<std::int64_t>;
static_assert(sizeof(counter) <= arena::header && counter::is_always_lock_free);

// The other processes that have not left a block.
counter& others_of(std::byte* data) noexcept { return *reinterpret_cast<counter*>(data - arena::header); }

bool contains(const mapping& memory, const std::byte* data) noexcept {
  return data >= memory.data() && data < memory.data() + memory.size();
}

}  // namespace

// Not destroyed: communicators may be freed after static objects. Not from the heap: a rank without memory could not
// report it to the others here.
arena& arena::of_process() noexcept {
  alignas(arena) static std::array<std::byte, sizeof(arena)> place;
  static auto* const all = new (place.data()) arena;
  return *all;
}

std::byte* arena::allocate(std::size_t bytes, int others, arena_place& where) noexcept {
  where = {};
  const std::size_t all = up_to_page(header + bytes);
  const std::scoped_lock lock(mutex_);
  for (own_segment& s : own_) collect(s);
  const auto find = [&](state from) -> std::byte* {
    for (own_segment& s : own_) {
      std::byte* const begin = take(s, all, from);
      if (begin == nullptr) continue;
      std::byte* const data = begin + header;
      new (begin) counter(others);
      where = {s.key, static_cast<std::uint64_t>(data - s.memory.data())};
      return data;
    }
    return nullptr;
  };
  try {
    std::byte* found = find(state::kept);
    if (found == nullptr) found = find(state::empty);
    if (found == nullptr && grow(all)) found = find(state::empty);
    return found;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The first free block that is long enough; its rest stays free.
std::byte* arena::take(own_segment& s, std::size_t bytes, state from) {
  s.blocks.reserve(s.blocks.size() + 1);
  const auto b = std::ranges::find_if(s.blocks, [&](const block& f) { return f.is == from && f.bytes >= bytes; });
  if (b == s.blocks.end()) return nullptr;
  if (from == state::empty && !mapping::take(s.key, b->at, bytes)) return nullptr;
  if (from == state::kept) kept_ -= bytes;
  const block rest{b->at + bytes, b->bytes - bytes, from};
  b->bytes = bytes;
  b->is = state::used;
  std::byte* const begin = s.memory.data() + b->at;
  if (rest.bytes > 0) s.blocks.insert(b + 1, rest);
  return begin;
}

// Where the process may not have so long a segment it gets one for this block.
bool arena::grow(std::size_t bytes) {
  own_.reserve(own_.size() + 1);
  own_segment s;
  s.blocks.reserve(2);
  const std::size_t long_one =
      std::max(bytes, std::min(least_segment << std::min<std::size_t>(own_.size(), 8), most_segment));
  for (const std::size_t size : {long_one, bytes}) {
    s.memory = mapping::create(size, s.key, mapping::pages::as_written);
    if (s.memory.empty()) continue;
    s.blocks.push_back({0, size, state::empty});
    own_.push_back(std::move(s));
    return true;
  }
  return false;
}

// Frees the blocks that all other processes have left.
void arena::collect(own_segment& s) noexcept {
  for (std::size_t i = s.blocks.size(); i-- > 0;)
    if (s.blocks[i].is == state::left &&
        others_of(s.memory.data() + s.blocks[i].at + header).load(std::memory_order_acquire) == 0)
      free(s, i);
}

// Free neighbours become one block if both or none have their pages.
void arena::free(own_segment& s, std::size_t i) noexcept {
  block& b = s.blocks[i];
  const bool keep = kept_ + b.bytes <= most_kept;
  b.is = keep ? state::kept : state::empty;
  if (keep)
    kept_ += b.bytes;
  else
    mapping::give_back(s.key, b.at, b.bytes);
  for (const std::size_t first : {i, i - 1}) {  // i − 1 of the first block is out of range
    if (first >= s.blocks.size() || first + 1 >= s.blocks.size() || s.blocks[first].is != s.blocks[first + 1].is ||
        s.blocks[first].is != b.is)
      continue;
    s.blocks[first].bytes += s.blocks[first + 1].bytes;
    s.blocks.erase(s.blocks.begin() + static_cast<std::ptrdiff_t>(first + 1));
  }
}

std::byte* arena::attach(const arena_place& where) noexcept {
  if (where.empty()) return nullptr;
  const std::scoped_lock lock(mutex_);
  others_segment* const s = reach(where.segment);
  if (s == nullptr) return nullptr;
  ++s->attached;
  return s->memory.data() + where.offset;
}

// Another process's segment, mapped if it is not yet; null where it cannot be.
arena::others_segment* arena::reach(const mapping_key& key) noexcept {
  for (others_segment& s : others_)
    if (s.key.token == key.token) return &s;
  forget_ended();
  try {
    others_.reserve(others_.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  mapping memory = mapping::attach(key);
  if (memory.empty()) return nullptr;
  return &others_.emplace_back(others_segment{std::move(memory), key});
}

// Segments of processes that have ended, of which this process uses nothing.
void arena::forget_ended() noexcept {
  std::erase_if(others_, [](const others_segment& s) {
    return s.attached == 0 && kill(s.key.process, 0) != 0 && errno == ESRCH;
  });
}

arena::others_segment& arena::segment_of(const std::byte* data) noexcept {
  return *std::ranges::find_if(others_, [&](const others_segment& s) { return contains(s.memory, data); });
}

// Whether the block is this process's; it is free then if it is `unused`, or as soon as the others have left it.
bool arena::of_own(const std::byte* data, bool unused) noexcept {
  const auto s = std::ranges::find_if(own_, [&](const own_segment& o) { return contains(o.memory, data); });
  if (s == own_.end()) return false;
  const auto at = static_cast<std::size_t>(data - header - s->memory.data());
  const auto b = std::ranges::find(s->blocks, at, &block::at);
  b->is = state::left;
  if (unused)
    free(*s, static_cast<std::size_t>(b - s->blocks.begin()));
  else
    collect(*s);
  return true;
}

void arena::leave(std::byte* data) noexcept {
  const std::scoped_lock lock(mutex_);
  if (of_own(data, false)) return;
  --segment_of(data).attached;
  others_of(data).fetch_sub(1, std::memory_order_release);
}

void arena::take_back(std::byte* data) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!of_own(data, true)) --segment_of(data).attached;
}

arena_parts arena_parts::make(int rank, int ranks, std::size_t bytes, arena_place& where) noexcept {
  arena_parts p;
  const std::size_t table = table_bytes(as_size(ranks));
  p.own_ = arena_block::make(table + bytes, ranks - 1, where);
  if (p.empty()) return p;
  p.rank_ = rank;
  p.ranks_ = ranks;
  std::fill_n(p.table(), ranks, nullptr);
  p.table()[rank] = p.own_.data() + table;
  return p;
}

bool arena_parts::attach(int rank, const arena_place& where) noexcept {
  std::byte* const data = arena::of_process().attach(where);
  if (data != nullptr) table()[rank] = data + table_bytes(as_size(ranks_));
  return data != nullptr;
}

template <class Each>
void arena_parts::each_of_others(Each f) noexcept {
  if (empty()) return;
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != rank_ && table()[rank] != nullptr) f(table()[rank] - table_bytes(as_size(ranks_)));
}

arena_parts& arena_parts::operator=(arena_parts&& other) noexcept {
  std::swap(own_, other.own_);
  std::swap(rank_, other.rank_);
  std::swap(ranks_, other.ranks_);
  return *this;
}

arena_parts::~arena_parts() {
  each_of_others([](std::byte* data) { arena::of_process().leave(data); });
}

void arena_parts::take_back() noexcept {
  each_of_others([](std::byte* data) { arena::of_process().take_back(data); });
  own_.take_back();
}

}  // namespace taquin::detail
