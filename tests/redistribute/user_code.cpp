// A migration runs code of the program: its function, its container, its allocator. Exceptions of that code on one
// rank, and numbers that are no ranks, are an error on every rank, with the elements kept.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory_resource>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"

namespace taquin {
namespace {

class user_code : public testing::Test {
 protected:
  static constexpr int n = 100;

  user_code() : elements(n) { std::iota(elements.begin(), elements.end(), first()); }

  [[nodiscard]] int first() const { return rank * 1000; }
  [[nodiscard]] bool hostile() const { return rank == culprit; }

  void expect_kept(std::span<const int> here) const {
    ASSERT_EQ(here.size(), std::size_t{n});
    for (int i = 0; i < n; ++i) ASSERT_EQ(here[static_cast<std::size_t>(i)], first() + i);
  }
  // `call` is refused on every rank with the culprit's error; where its code threw, the culprit has that nested.
  void expect_refused(const std::string& part, bool nested, const std::function<void()>& call) const {
    try {
      call();
      FAIL() << "no error: " << part;
    } catch (const usage_error& e) {
      EXPECT_EQ(e.rank(), culprit);
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
      EXPECT_EQ(dynamic_cast<const std::nested_exception*>(&e) != nullptr, nested && hostile());
    }
  }
  // The communicator is as good as before.
  void expect_usable() {
    migrate(
        elements, [&](int) { return (rank + 1) % ranks; }, comm.get());
    ASSERT_EQ(elements.size(), std::size_t{n});
    EXPECT_EQ(elements.front(), (rank + ranks - 1) % ranks * 1000);
  }

  test::scoped_comm comm{test::duplicate(MPI_COMM_WORLD)};
  int rank = test::rank_in(MPI_COMM_WORLD);
  int ranks = test::size_of(MPI_COMM_WORLD);
  int culprit = ranks - 1;
  std::vector<int> elements;
};

TEST_F(user_code, a_function_that_throws_on_one_rank_is_an_error_on_all) {
  const auto function = [&](int e) {
    if (hostile() && e == first() + n / 2) throw std::runtime_error("no owner");
    return 0;
  };
  expect_refused("no owner", true, [&] { migrate(elements, function, comm.get()); });
  expect_kept(elements);
  expect_refused("no owner", true, [&] { migrate(std::span(elements), n, function, comm.get()); });
  expect_kept(elements);
  expect_refused("no std::exception", true, [&] {
    migrate(
        elements, [&](int) { return hostile() ? throw 1 : 0; }, comm.get());
  });
  expect_kept(elements);
  expect_usable();
}

// Allocates until it is set to refuse.
class refusing_memory final : public std::pmr::memory_resource {
 public:
  bool refuse = false;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (refuse) throw std::bad_alloc();
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST_F(user_code, an_allocator_that_throws_on_one_rank_is_an_error_on_all) {
  if (ranks == 1) GTEST_SKIP() << "nothing grows";
  refusing_memory memory;
  std::pmr::vector<int> own(elements.begin(), elements.end(), &memory);
  memory.refuse = true;
  expect_refused("out of memory", true, [&] {
    migrate(
        own, [&](int) { return culprit; }, comm.get());
  });
  expect_kept(own);
  expect_usable();
}

// Has no reserve(): resize() is what throws.
struct fixed {
  std::vector<int> in;
  std::size_t most;
  [[nodiscard]] int* data() { return in.data(); }
  [[nodiscard]] auto begin() { return in.begin(); }
  [[nodiscard]] auto end() { return in.end(); }
  [[nodiscard]] std::size_t size() const { return in.size(); }
  void resize(std::size_t size) {
    if (size > most) throw std::length_error("more than it holds");
    in.resize(size);
  }
};

TEST_F(user_code, a_container_that_cannot_grow_on_one_rank_is_an_error_on_all) {
  if (ranks == 1) GTEST_SKIP() << "nothing grows";
  fixed own{elements, n};
  expect_refused("more than it holds", true, [&] {
    migrate(
        own, [&](int) { return culprit; }, comm.get());
  });
  expect_kept(own.in);
  expect_usable();
}

enum class place : std::uint64_t {};

TEST_F(user_code, numbers_that_no_int_holds_are_no_ranks) {
  constexpr std::int64_t beyond = std::int64_t{1} << 32;
  const auto refused = [&]<class R>(R wrong) {
    const auto function = [&](int e) { return hostile() && e == first() + 7 ? wrong : R{}; };
    std::vector<R> range(n, R{});
    if (hostile()) range[7] = wrong;
    expect_refused("element 7 goes to rank ", false, [&] { migrate(elements, function, comm.get()); });
    expect_refused("element 7 goes to rank ", false, [&] { migrate(elements, range, comm.get()); });
    expect_refused("element 7 goes to rank ", false, [&] { migrate(std::span(elements), n, function, comm.get()); });
    expect_kept(elements);
  };
  refused(beyond);
  refused(-beyond);
  refused(static_cast<std::uint64_t>(beyond));
  refused(std::uint32_t{1} << 31);
  refused(place{static_cast<std::uint64_t>(beyond)});
  refused(4294967296.0);
  refused(std::numeric_limits<float>::quiet_NaN());
  expect_usable();
}

}  // namespace
}  // namespace taquin
