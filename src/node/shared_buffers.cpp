#include "node/shared_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

#include "base/sizes.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::detail {

namespace {

// The program's memory begins at the second page of a mapping.
constexpr std::size_t front = page - mapping::header;

struct buffer {
  mapping_key key;
  mapping memory;
  std::size_t bytes = 0;

  [[nodiscard]] const std::byte* begin() const noexcept { return memory.data() + front; }
  /// 0 while the owner still has it.
  [[nodiscard]] std::atomic<std::uint64_t>& given_back() const noexcept { return memory.word(); }
};

struct buffers {
  std::shared_mutex guard;
  std::vector<buffer> all;
  std::atomic<std::size_t> count{0};  // looked at without the lock: most programs have none
};

// Never destroyed, because containers with static lifetime may give memory back late; and not on the heap, because they
// are first looked at in the middle of calls.
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
  std::erase_if(all, [](const buffer& s) { return s.given_back() != 0; });
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
      return buffer_place{g.key, static_cast<std::uint64_t>(begin - g.memory.data())};
  return std::nullopt;
}

std::byte* view_shared(const buffer_place& place, std::size_t bytes) noexcept {
  if (place.offset > place.key.bytes || bytes > place.key.bytes - place.offset) return nullptr;
  buffers& s = views();
  const auto find = [&] {
    return std::ranges::find_if(s.all, [&](const buffer& g) {
      return g.key.token == place.key.token && g.key.process == place.key.process && g.given_back() == 0;
    });
  };
  {
    const std::shared_lock lock(s.guard);
    if (const auto g = find(); g != s.all.end()) return g->memory.data() + place.offset;
  }
  const std::unique_lock lock(s.guard);
  if (const auto g = find(); g != s.all.end()) return g->memory.data() + place.offset;
  try {
    drop_what_was_given_back(s.all);
    s.all.reserve(s.all.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  buffer g{place.key, mapping::attach(place.key), place.key.bytes};
  if (g.memory.empty()) return nullptr;
  s.all.push_back(std::move(g));
  return s.all.back().memory.data() + place.offset;
}

}  // namespace taquin::detail

namespace taquin {

void* allocate_shared(std::size_t bytes) {
  using namespace detail;
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  buffer g;
  g.memory = mapping::create(front + std::max<std::size_t>(bytes, 1), g.key, mapping::pages::as_written);
  if (g.memory.empty()) throw std::bad_alloc();
  g.bytes = bytes;
  std::byte* const begin = g.memory.data() + front;
  buffers& s = own();
  const std::unique_lock lock(s.guard);
  try {
    s.all.push_back(std::move(g));
  } catch (...) {
    mapping::close(g.key);
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
  g->given_back() = 1;
  mapping::close(g->key);
  s.all.erase(g);
  --s.count;
}

std::pmr::memory_resource& shared_resource() noexcept {
  static detail::resource r;
  return r;
}

}  // namespace taquin
