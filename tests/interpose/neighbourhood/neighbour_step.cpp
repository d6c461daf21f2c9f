// Exchanges among neighbours between nodes: blocks in the step, blocks as messages, and sizes that do not fit.
#include "interpose/neighbourhood/neighbour_step.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "interpose/serve/growing_pause.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"

namespace taquin::test {
namespace {

using interpose::growing_pause;
using interpose::neighbour_step;

TEST(a_growing_pause, is_twice_as_long_each_time_up_to_a_limit) {
  growing_pause p;
  for (int turn = 0; turn < 2; ++turn) {
    for (int calls = growing_pause::least; calls <= growing_pause::most; calls *= 2) EXPECT_EQ(p.after(false), calls);
    EXPECT_EQ(p.after(false), growing_pause::most);
    EXPECT_EQ(p.after(true), 0);
  }
}

constexpr int most = static_cast<int>(neighbour_step::most_bytes / sizeof(int));

// A ring: each rank sends to the next one, in every second int of its buffer.
class ring {
 public:
  ring() {
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &sparse_);
    MPI_Type_commit(&sparse_);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    const std::vector sources{(me() + ranks() - 1) % ranks(), MPI_PROC_NULL};
    const std::vector destinations{(me() + 1) % ranks()};
    step_ = neighbour_step::make(comm_, sources, destinations);
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() {
    step_.reset();
    MPI_Type_free(&sparse_);
    MPI_Comm_free(&comm_);
  }
  static int me() { return rank_in(MPI_COMM_WORLD); }
  static int ranks() { return size_of(MPI_COMM_WORLD); }
  static int value(int from, int i) { return from * 100000 + i; }
  [[nodiscard]] neighbour_step* step() const { return step_.get(); }

  // The received data; -1 in places that received none. Sizes of ints.
  std::vector<int> exchange(int sent, int expected) {
    std::vector<int> from(2 * static_cast<std::size_t>(sent) + 1);
    for (std::size_t i = 0; i < from.size(); i += 2) from[i] = value(me(), static_cast<int>(i) / 2);
    std::vector<int> to(static_cast<std::size_t>(expected) + 1, -1);
    const std::vector<int> counts{expected, 0};
    const std::vector<int> none{0, 0};
    blocks send{.base = from.data(), .counts = count_view(&sent), .displs = count_view(none.data())};
    send.element = element::of(sparse_);
    blocks recv{.base = to.data(), .counts = count_view(counts.data()), .displs = count_view(none.data())};
    recv.element = element::of(MPI_INT);
    try {
      step_->exchange(send, recv);
      EXPECT_LE(sent, expected);
    } catch (const usage_error& e) {
      EXPECT_GT(sent, expected) << e.what();
      EXPECT_EQ(e.mpi_class(), MPI_ERR_TRUNCATE);
    }
    return to;
  }

 private:
  MPI_Datatype sparse_ = MPI_DATATYPE_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<neighbour_step> step_;
};

TEST(neighbour_step, brings_blocks_of_any_size) {
  ring r;
  ASSERT_NE(r.step(), nullptr);
  const int before = (ring::me() + ring::ranks() - 1) % ring::ranks();
  for (const int n : {0, 1, 7, most, most + 1, 100000, 3}) {
    const auto got = r.exchange(n, n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], ring::value(before, i)) << n;
    EXPECT_EQ(got.back(), -1);
    EXPECT_EQ(r.step()->had_messages(), n > most) << n;
  }
}

// As with messages: what is less than expected leaves the rest as it was, what is more is an error.
TEST(neighbour_step, tells_of_blocks_that_are_too_long) {
  ring r;
  ASSERT_NE(r.step(), nullptr);
  const int before = (ring::me() + ring::ranks() - 1) % ring::ranks();
  for (const auto& [sent, expected] :
       {std::pair{8, 3}, {3, 8}, {most, 3}, {2 * most, 3}, {3, 2 * most}, {3 * most, 2 * most}, {5, 5}}) {
    const auto got = r.exchange(sent, expected);
    // A message that is too long may leave nothing.
    const int arrived = sent > std::max(expected, most) && expected > most ? 0 : std::min(sent, expected);
    for (int i = 0; i < arrived; ++i)
      ASSERT_EQ(got[static_cast<std::size_t>(i)], ring::value(before, i)) << sent << " of " << expected;
    EXPECT_EQ(got.back(), -1);
  }
}

TEST(neighbour_step, is_not_for_ranks_that_are_neighbours_twice) {
  const std::vector peers(2, (ring::me() + 1) % ring::ranks());
  const std::vector sources(2, (ring::me() + ring::ranks() - 1) % ring::ranks());
  EXPECT_EQ(neighbour_step::make(MPI_COMM_WORLD, sources, peers), nullptr);
}

}  // namespace
}  // namespace taquin::test
