#include "node/shared_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::detail {

namespace {

// The program's memory begins at the second page of a mapping.
constexpr std::size_t front = page - mapping::header;

struct buffer {
  mapping_key key;
  mapping memory;               // empty: another library's
  std::byte* origin = nullptr;  // what offsets count from
  std::size_t before = 0;       // offset of the program's first byte
  std::size_t bytes = 0;
  std::uint32_t sent = 0;  // blocks

  [[nodiscard]] const std::byte* begin() const noexcept { return origin + before; }
  // Its owner has freed it.
  [[nodiscard]] bool given_back() const noexcept { return !memory.empty() && memory.word() != 0; }
};

buffer of_mapping(mapping memory, const mapping_key& key, std::size_t bytes) noexcept {
  std::byte* const origin = memory.data();
  return {key, std::move(memory), origin, front, bytes, 0};
}

struct buffers {
  std::shared_mutex guard;
  std::vector<buffer> all;
  std::atomic<std::size_t> count{0};  // read without the lock: most programs have none
};

// Never destroyed, because containers with static lifetime may free memory late; and not on the heap, because their
// first use is inside a call.
union kept_buffers {
  buffers value;
  kept_buffers() noexcept : value() {}
  kept_buffers(const kept_buffers&) = delete;
  kept_buffers& operator=(const kept_buffers&) = delete;
  ~kept_buffers() {}  // NOLINT
};
buffers& own() noexcept {
  static kept_buffers s;
  return s.value;
}
buffers& views() noexcept {
  static kept_buffers s;
  return s.value;
}

void drop_what_was_given_back(std::vector<buffer>& all) {
  std::erase_if(all, [](const buffer& s) { return s.given_back(); });
}

class resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return alignment <= page ? allocate_shared(bytes) : throw std::bad_alloc();
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { free_shared(memory); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::optional<buffer_place> find_shared(const void* data, std::size_t bytes) noexcept {
  buffers& s = own();
  if (s.count.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::shared_lock lock(s.guard);
  const auto* const begin = static_cast<const std::byte*>(data);
  for (const buffer& g : s.all)
    if (!std::less<>{}(begin, g.begin()) && !std::less<>{}(g.begin() + g.bytes, begin + bytes))
      return buffer_place{g.key, static_cast<std::uint64_t>(begin - g.origin)};
  return std::nullopt;
}

bool worth_mapping(const buffer_place& place, int readers) noexcept {
  constexpr std::uint32_t each = 2;
  if (!place.for_all()) return true;  // it is mapped already
  buffers& s = own();
  const std::shared_lock lock(s.guard);
  const auto g = std::ranges::find_if(s.all, [&](const buffer& b) { return b.key.token == place.key.token; });
  if (g == s.all.end()) return false;
  const std::atomic_ref<std::uint32_t> sent(g->sent);
  const auto enough = each * static_cast<std::uint32_t>(readers);
  if (sent.load(std::memory_order_relaxed) >= enough) return true;
  sent.fetch_add(1, std::memory_order_relaxed);
  return false;
}

std::byte* view_shared(const buffer_place& place, std::size_t bytes) noexcept {
  if (place.offset > place.key.bytes || bytes > place.key.bytes - place.offset) return nullptr;
  buffers& s = views();
  const auto find = [&] {
    return std::ranges::find_if(s.all, [&](const buffer& g) {
      return g.key.token == place.key.token && (g.key.process == place.key.process || !place.for_all()) &&
             !g.given_back();
    });
  };
  {
    const std::shared_lock lock(s.guard);
    if (const auto g = find(); g != s.all.end()) return g->origin + place.offset;
  }
  if (!place.for_all()) return nullptr;
  const std::unique_lock lock(s.guard);
  if (const auto g = find(); g != s.all.end()) return g->origin + place.offset;
  try {
    drop_what_was_given_back(s.all);
    s.all.reserve(s.all.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  mapping memory = mapping::attach(place.key);
  if (memory.empty()) return nullptr;
  s.all.push_back(of_mapping(std::move(memory), place.key, place.key.bytes - front));
  return s.all.back().origin + place.offset;
}

void know_common(const common_memory& memory, bool mine) {
  constexpr std::int32_t of_another_library = -2;
  const mapping_key key{memory.token, memory.bytes, 0, of_another_library};
  buffers& s = mine ? own() : views();
  const std::unique_lock lock(s.guard);
  s.all.push_back({key, {}, memory.begin, 0, memory.bytes, 0});
  ++s.count;
}

void forget_common(std::uint64_t token) noexcept {
  for (buffers* s : {&own(), &views()}) {
    const std::unique_lock lock(s->guard);
    s->count -= std::erase_if(s->all, [&](const buffer& g) { return g.memory.empty() && g.key.token == token; });
  }
}

}  // namespace taquin::detail

namespace taquin {

void* allocate_shared(std::size_t bytes) {
  using namespace detail;
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  mapping_key key;
  mapping memory = mapping::create(front + std::max<std::size_t>(bytes, 1), key, mapping::pages::as_written);
  if (memory.empty()) throw std::bad_alloc();
  std::byte* const begin = memory.data() + front;
  buffers& s = own();
  const std::unique_lock lock(s.guard);
  try {
    s.all.push_back(of_mapping(std::move(memory), key, bytes));
  } catch (...) {
    mapping::close(key);
    throw;
  }
  ++s.count;
  return begin;
}

void free_shared(void* memory) noexcept {
  using namespace detail;
  if (memory == nullptr) return;
  buffers& s = own();
  const std::unique_lock lock(s.guard);
  const auto g = std::ranges::find(s.all, static_cast<const std::byte*>(memory), &buffer::begin);
  if (g == s.all.end()) return;
  g->memory.word() = 1;
  mapping::close(g->key);
  s.all.erase(g);
  --s.count;
}

std::pmr::memory_resource& shared_resource() noexcept {
  static detail::resource r;
  return r;
}

}  // namespace taquin
