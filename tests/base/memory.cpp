// The budget counts before it gives, and counts what is set aside; the pool inside a plan gives from its own bytes.
#include <gtest/gtest.h>

#include <memory_resource>
#include <vector>

#include "base/inline_pool.hpp"
#include "base/memory_budget.hpp"

namespace taquin::test {
namespace {

using detail::inline_pool;
using detail::memory_budget;

/// Counts requests to the heap, and has no memory left on request.
class heap final : public std::pmr::memory_resource {
 public:
  std::size_t taken = 0;
  bool is_empty = false;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (is_empty) throw std::bad_alloc();
    taken += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    taken -= bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(a_budget, refuses_what_goes_over_it_and_takes_nothing) {
  heap from;
  memory_budget b(100, &from);
  void* const first = b.allocate(60, 8);
  try {
    static_cast<void>(b.allocate(41, 8));
    FAIL() << "more than the limit";
  } catch (const budget_exceeded& e) {
    EXPECT_EQ(e.requested(), 41U);
    EXPECT_EQ(e.used(), 60U);
    EXPECT_EQ(e.limit(), 100U);
  }
  EXPECT_EQ(from.taken, 60U);
  EXPECT_EQ(b.used(), 60U);
  void* const second = b.allocate(40, 8);
  EXPECT_EQ(b.peak(), 100U);
  b.deallocate(second, 40, 8);
  b.deallocate(first, 60, 8);
  EXPECT_EQ(b.used(), 0U);
  EXPECT_EQ(b.peak(), 100U);
}

// A size that comes round in 64 bits is refused, too.
TEST(a_budget, refuses_sizes_beyond_all_memory) {
  memory_budget b(100);
  b.charge(1);
  EXPECT_THROW(b.charge(~std::size_t{0}), budget_exceeded);
  EXPECT_EQ(b.used(), 1U);
}

TEST(a_budget, counts_nothing_where_the_heap_has_nothing) {
  heap from;
  from.is_empty = true;
  memory_budget b(100, &from);
  EXPECT_THROW(static_cast<void>(b.allocate(10, 8)), std::bad_alloc);
  EXPECT_EQ(b.used(), 0U);
}

bool inside(const inline_pool& pool, const void* memory) {
  const auto* const at = static_cast<const std::byte*>(memory);
  const auto* const begin = reinterpret_cast<const std::byte*>(&pool);
  return at >= begin && at < begin + sizeof pool;
}

TEST(a_pool, uses_again_what_is_returned_in_reverse_order) {
  inline_pool pool;
  void* const first = pool.allocate(100, 8);
  void* const second = pool.allocate(200, 8);
  EXPECT_TRUE(inside(pool, first) && inside(pool, second));
  pool.deallocate(second, 200, 8);
  EXPECT_EQ(pool.allocate(50, 8), second);
  pool.deallocate(second, 50, 8);
  pool.deallocate(first, 100, 8);
}

TEST(a_pool, goes_to_the_heap_for_what_does_not_fit) {
  inline_pool pool;
  void* const large = pool.allocate(5000, 8);
  EXPECT_FALSE(inside(pool, large));
  pool.deallocate(large, 5000, 8);
}

TEST(a_pool, aligns_what_it_gives) {
  inline_pool pool;
  static_cast<void>(pool.allocate(1, 1));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.allocate(16, 16)) % 16, 0U);
  void* const page = pool.allocate(64, 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0U);
  pool.deallocate(page, 64, 4096);
}

TEST(a_budget, counts_what_is_set_aside_when_it_is_taken_and_once) {
  heap from;
  memory_budget b(20000, &from);
  b.set_aside(12000);
  EXPECT_EQ(b.used(), 12000U);
  void* const before = b.allocate(100, 8);  // it is not in use yet
  EXPECT_EQ(b.used(), 12100U);
  b.use_aside();
  from.is_empty = true;
  auto* const first = static_cast<std::byte*>(b.allocate(6000, 8));
  auto* const second = static_cast<std::byte*>(b.allocate(6000, 8));
  EXPECT_EQ(second, first + 6000);
  EXPECT_EQ(b.used(), 12100U);
  EXPECT_THROW(static_cast<void>(b.allocate(1, 1)), std::bad_alloc) << "it is used up";
  b.deallocate(second, 6000, 8);
  b.deallocate(first, 6000, 8);
  b.deallocate(before, 100, 8);
  EXPECT_EQ(b.used(), 12000U);
  b.drop_aside();
  EXPECT_EQ(b.used(), 0U);
}

TEST(a_budget, sets_nothing_aside_beyond_its_limit) {
  memory_budget b(100);
  EXPECT_THROW(b.set_aside(101), budget_exceeded);
  EXPECT_EQ(b.used(), 0U);
}

}  // namespace
}  // namespace taquin::test
