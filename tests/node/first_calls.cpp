// The first calls on a communicator, and communicators that come and go.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/some_problem.hpp"
#include "support/world.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/plan.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class first_calls : public ::testing::Test {
 protected:
  // One call of alltoallv, from each rank to each `ints` numbers; every one is compared.
  std::string call(MPI_Comm comm, int ints, options o = {}) {
    const int p = size_of(comm);
    const int rank = rank_in(comm);
    ++calls_;
    std::vector<int> send, recv(at(p * ints) + 1, -7), expected;
    std::vector<count_t> counts(at(p), ints), displs;
    for (int peer = 0; peer < p; ++peer) {
      displs.push_back(peer * ints);
      send.insert(send.end(), at(ints), 1000 * rank + peer + calls_);
      expected.insert(expected.end(), at(ints), 1000 * peer + rank + calls_);
    }
    expected.push_back(-7);
    if (short_receive_ && rank == 0) counts_of_receive_ = counts, --counts_of_receive_[at(p - 1)];
    const bool is_short = short_receive_ && rank == 0;
    o.stats = &stats_;
    stats_ = {};
    try {
      alltoallv(send.data(), counts.data(), displs.data(), negative_ ? MPI_DATATYPE_NULL : MPI_INT, recv.data(),
                is_short ? counts_of_receive_.data() : counts.data(), displs.data(), MPI_INT, comm, o);
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective() || short_receive_);
      if (e.collective()) {
        EXPECT_EQ(recv, std::vector<int>(recv.size(), -7));
      }
      return e.what();
    }
    EXPECT_EQ(recv, expected) << "call " << calls_;
    return "";
  }

  scoped_comm comm_{duplicate(MPI_COMM_WORLD)};
  const int p_ = size_of(MPI_COMM_WORLD);
  const int rank_ = rank_in(MPI_COMM_WORLD);
  statistics stats_;
  bool negative_ = false;
  bool short_receive_ = false;
  int calls_ = 0;

 private:
  std::vector<count_t> counts_of_receive_;
};

TEST_F(first_calls, keep_to_the_limit_of_the_call) {
  constexpr std::size_t limit = std::size_t{1} << 20U;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(call(comm_.get(), 5, {.memory = limit}), "");
    if (shares_memory()) {
      EXPECT_EQ(stats_.algorithm, "shared_memory") << "call " << i;
    }
    EXPECT_LE(stats_.peak_memory, limit);
    EXPECT_EQ(stats_.starts, 1U);
    EXPECT_GE(stats_.bytes_sent, static_cast<std::uint64_t>(p_ - 1) * 5 * sizeof(int));
  }
}

// Sizes around the capacity of mailboxes and bounce buffers, types with gaps, and blocks that only some ranks have.
TEST_F(first_calls, put_every_byte_in_its_place) {
  unsigned seed = 0;
  for (const std::size_t type : {0U, 1U, 3U, 5U, 7U}) {
    std::vector<type_pair> types;
    types.push_back(all_types[type].make());
    for (const auto kind : {form::alltoall, form::alltoallv, form::alltoallw})
      for (const count_t most : {4, 60, 110, 470, 1000, 2000, 5000}) {
        const problem x = some_problem(kind, p_, most, ++seed, types);
        SCOPED_TRACE(fmt::format("form {}, type {}, most {}", static_cast<int>(kind), type, most));
        const scoped_comm own(duplicate(MPI_COMM_WORLD));
        rank_buffers mine(x, rank_);
        for (int number = 0; number < 2; ++number) {
          mine.fill(number);
          run(mine.given_to(own.get()));
          EXPECT_EQ(mine.wrong_bytes(), 0U);
        }
      }
  }
}

TEST_F(first_calls, of_sizes_that_change_put_every_byte_in_its_place) {
  std::mt19937 random(23);
  for (int communicator = 0; communicator < 30; ++communicator) {
    const scoped_comm own(duplicate(MPI_COMM_WORLD));
    for (int i = 0; i < 8; ++i) {
      const int ints = static_cast<int>(random() % (1U << (random() % 13)));
      ASSERT_EQ(call(own.get(), ints), "");
    }
  }
}

TEST_F(first_calls, with_something_wrong_on_one_rank_fail_on_all) {
  for (const bool second : {false, true}) {
    const scoped_comm own(duplicate(MPI_COMM_WORLD));
    if (second) {
      EXPECT_EQ(call(own.get(), 3), "");
    }
    negative_ = rank_ == p_ - 1;
    EXPECT_NE(call(own.get(), 3), "");
    negative_ = false;
    EXPECT_EQ(call(own.get(), 3), "");
    EXPECT_TRUE(p_ == 1 || stats_.algorithm != "native" || !shares_memory()) << stats_.algorithm;
  }
}

// As those that taquin does: on one node the receiver alone has the error.
TEST_F(first_calls, with_sizes_that_do_not_match_are_an_error_of_the_receiver) {
  short_receive_ = true;
  const std::string reported = call(comm_.get(), 4);
  EXPECT_TRUE(rank_ != 0 || !reported.empty());
  short_receive_ = false;
  EXPECT_EQ(call(comm_.get(), 4), "");
}

TEST_F(first_calls, by_name_on_some_ranks_fail_on_all) {
  if (p_ == 1) GTEST_SKIP() << "takes two ranks";
  options o;
  if (rank_ == 0) o.algorithm = "pairwise";
  EXPECT_NE(call(comm_.get(), 4, o), "");
  EXPECT_EQ(call(comm_.get(), 4), "");
}

TEST_F(first_calls, of_other_forms_on_some_ranks_fail_on_all) {
  if (p_ == 1) GTEST_SKIP() << "takes two ranks";
  std::vector<int> send(at(p_), 1), recv(at(p_), 2);
  const std::vector<count_t> counts(at(p_), 1);
  std::vector<count_t> displs;
  for (int i = 0; i < p_; ++i) displs.push_back(i);
  const auto mixed = [&] {
    if (rank_ == 0)
      alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm_.get());
    else
      alltoallv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), counts.data(), displs.data(), MPI_INT,
                comm_.get());
  };
  EXPECT_THROW(mixed(), usage_error);
  EXPECT_EQ(recv, std::vector<int>(at(p_), 2));
}

TEST_F(first_calls, with_a_limit_on_one_rank_are_served) {
  options o;
  if (rank_ == 0) o.memory = 64 << 10;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(call(comm_.get(), 4, o), "");
}

TEST_F(first_calls, after_a_plan_are_served_by_shared_memory) {
  std::vector<int> send(at(p_), 1), recv(at(p_), 2);
  plan all(exchange::alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm_.get()));
  EXPECT_EQ(call(comm_.get(), 4), "");
  all.run();
  if (shares_memory() && p_ > 1) {
    EXPECT_EQ(stats_.algorithm, "shared_memory");
  }
}

// Ranks that all have the memory of a freed communicator use it from the first call on.
TEST_F(first_calls, after_a_communicator_of_the_same_ranks_are_served_by_its_memory) {
  const auto used = [&] {
    auto own = std::make_unique<scoped_comm>(duplicate(MPI_COMM_WORLD));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(call(own->get(), 5), "");
    return own;
  };
  const bool shares = shares_memory() && p_ > 1;
  used();
  for (const bool wrong : {false, true}) {
    const scoped_comm next(duplicate(MPI_COMM_WORLD));
    negative_ = wrong && rank_ == p_ - 1;
    EXPECT_EQ(call(next.get(), 5).empty(), !wrong);
    negative_ = false;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(call(next.get(), 5), "");
      EXPECT_TRUE(!shares || stats_.algorithm == "shared_memory") << stats_.algorithm;
    }
  }
  // One rank frees the communicator late: the others' memory does not serve without its.
  auto late = used();
  used().swap(late);
  const scoped_comm other(duplicate(MPI_COMM_WORLD));
  if (rank_ != 0) late.reset();
  EXPECT_EQ(call(other.get(), 7), "");
  late.reset();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(call(other.get(), 7), "");
}

// The memory of a freed one is used by the next with the same ranks in the same order, and by no other.
TEST_F(first_calls, on_communicators_that_come_and_go) {
  for (int round = 0; round < 30; ++round) {
    MPI_Comm next = MPI_COMM_NULL;
    const int key = round % 3 == 1 ? -rank_ : rank_;
    const int colour = round % 5 == 4 ? rank_ % 2 : 0;
    MPI_Comm_split(MPI_COMM_WORLD, colour, key, &next);
    const scoped_comm own(next);
    for (int i = 0; i < 1 + round % 7; ++i) EXPECT_EQ(call(next, 1 + 400 * (round % 4)), "");
    if (round % 6 == 5) {  // two at a time, freed in the other order
      const scoped_comm other(duplicate(next));
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(call(other.get(), 3), "");
        EXPECT_EQ(call(next, 9000), "");
      }
    }
  }
}

// Some ranks need the place of the kept memory for other communicators.
TEST_F(first_calls, where_some_ranks_have_let_go_of_the_memory) {
  if (p_ < 3) GTEST_SKIP() << "takes three ranks";
  for (const int others : {1, 5}) {
    {
      const scoped_comm own(duplicate(MPI_COMM_WORLD));
      for (int i = 0; i < 4; ++i) EXPECT_EQ(call(own.get(), 5), "");
    }
    for (int i = 0; i < others; ++i) {
      MPI_Comm pair = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, rank_ < 2 ? 0 : MPI_UNDEFINED, i % 2 == 0 ? rank_ : -rank_, &pair);
      if (pair == MPI_COMM_NULL) continue;
      const scoped_comm two(pair);
      const scoped_comm more(duplicate(pair));
      for (int k = 0; k < 4; ++k) EXPECT_EQ(call(pair, 5), "");
      for (int k = 0; k < 4; ++k) EXPECT_EQ(call(more.get(), 5), "");
    }
    calls_ = 100 * others;
    const scoped_comm next(duplicate(MPI_COMM_WORLD));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(call(next.get(), 6), "");
  }
}

// Ranks free their communicators when they like, as programs whose objects are collected do, and begin with a plan or a
// call.
TEST_F(first_calls, on_communicators_that_ranks_free_at_different_times) {
  std::mt19937 common(5);
  std::mt19937 own(static_cast<unsigned>(17 + rank_));
  std::vector<std::unique_ptr<scoped_comm>> used;
  const auto free_some = [&] {
    while (!used.empty() && own() % 3 != 0) used.erase(used.begin() + static_cast<std::ptrdiff_t>(own() % used.size()));
  };
  for (int round = 0; round < 60; ++round) {
    auto next = std::make_unique<scoped_comm>(duplicate(MPI_COMM_WORLD));
    free_some();
    if (common() % 4 == 0) {
      const std::vector<int> send(at(p_), rank_);
      std::vector<int> recv(at(p_));
      plan all(exchange::alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, next->get()));
      all.run();
      for (int peer = 0; peer < p_; ++peer) EXPECT_EQ(recv[at(peer)], peer);
    }
    const auto calls = common() % 6;
    for (unsigned i = 0; i < calls; ++i) {
      EXPECT_EQ(call(next->get(), 1 + 3 * (round % 2)), "");
      if (common() % 5 == 0) free_some();
    }
    used.push_back(std::move(next));
  }
}

}  // namespace
}  // namespace taquin::test
