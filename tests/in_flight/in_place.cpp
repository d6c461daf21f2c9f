// Unexpected messages at a rank that is slow in the middle of an exchange in place.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "in_flight/layer.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using test::size_of;

// An exchange in place with little memory for its blocks, so that it takes many rounds.
class shared_buffer_traffic {
 public:
  /// Rank 1 gets much and sends little, or the other way round.
  shared_buffer_traffic(bool gets, int times) : gets_(gets), times_(times) {
    for (int i = 0; i < ranks_; ++i) {
      out_.push_back(count(rank_, i));
      in_.push_back(count(i, rank_));
    }
    std::exclusive_scan(out_.begin(), out_.end(), std::back_inserter(out_at_), 0);
    std::exclusive_scan(in_.begin(), in_.end(), std::back_inserter(in_at_), 0);
    data_.resize(static_cast<std::size_t>(std::max(out_at_.back() + out_.back(), in_at_.back() + in_.back())));
  }
  void fill() {
    for (int i = 0; i < ranks_; ++i) std::fill_n(data_.begin() + out_at_[at(i)], out_[at(i)], rank_ * ranks_ + i);
  }
  [[nodiscard]] bool right() const {
    for (int i = 0; i < ranks_; ++i)
      for (int k = 0; k < in_[at(i)]; ++k)
        if (data_[at(in_at_[at(i)] + k)] != i * ranks_ + rank_) return false;
    return true;
  }
  [[nodiscard]] plan by(options o) {
    const auto x =
        exchange::alltoallv_in_place(data_.data(), count_view(out_.data()), count_view(out_at_.data()),
                                     count_view(in_.data()), count_view(in_at_.data()), MPI_INT, MPI_COMM_WORLD);
    o.memory = 0;
    try {
      return plan(x, o);
    } catch (const budget_exceeded& e) {
      o.memory = e.used() + e.requested() + (times_ > 1 ? std::size_t{1} << 20U : 80);
      return plan(x, o);
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  // Others need no message from the rank that sends little.
  [[nodiscard]] int count(int from, int to) const {
    const int a = gets_ ? from : to;
    const int b = gets_ ? to : from;
    if (a == 1 && b != 0) return 0;
    return ((a * 7 + b * 13) % 300 + (b == 1 ? 600 : 20)) * times_;
  }
  bool gets_;
  int times_;
  int rank_ = test::rank_in(MPI_COMM_WORLD), ranks_ = size_of(MPI_COMM_WORLD);
  std::vector<int> out_, in_, out_at_, in_at_, data_;
};

class in_place_in_flight : public testing::TestWithParam<options> {};

TEST_P(in_place_in_flight, a_rank_that_is_slow_in_the_middle_is_not_flooded) {
  constexpr int most = 2;
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  options o = GetParam();
  o.in_flight = most;
  for (const bool gets : {true, false}) {
    shared_buffer_traffic t(gets, o.algorithm == "in_place" ? 400 : 1);  // which requests large parts
    plan p = t.by(o);
    test::flood::begin();
    for (int i = 0; i < 2 * ranks; ++i) {
      t.fill();
      p.start();
      for (int poll = 0; poll < 40 && !p.test(); ++poll)
        if (rank == i % ranks) usleep(1000);
      p.wait();
      ASSERT_TRUE(t.right()) << "start " << i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const auto seen = test::flood::now();
    const auto left = test::flood::left();
    MPI_Barrier(MPI_COMM_WORLD);  // before anybody goes on
    // Of in_place, parts that this rank has requested and requests of the others; of in_place_phases one request of
    // each other rank, or two exchanges of requests in log p rounds.
    const int bound = o.algorithm == "in_place"           ? most + std::max(most, ranks - 1)
                      : o.in_place_phases.sparse_requests ? ranks - 1
                                                          : 2 * std::bit_width(static_cast<unsigned>(ranks - 1));
    EXPECT_LE(seen.unexpected, bound) << gets;
    EXPECT_EQ(left, 0) << gets;
  }
}

INSTANTIATE_TEST_SUITE_P(all, in_place_in_flight,
                         testing::Values(options{.algorithm = "in_place"}, options{.algorithm = "in_place_phases"},
                                         options{.algorithm = "in_place_phases",
                                                 .in_place_phases = {.sparse_requests = false}}),
                         [](const auto& i) {
                           return std::string(i.param.algorithm) +
                                  (i.param.in_place_phases.sparse_requests ? "" : "_dense");
                         });

}  // namespace
}  // namespace taquin
