// Plans beside each other, on all kinds of communicators, in several threads; and progress while the program computes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

class plans : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  plans() {
    types_.push_back(all_types[3].make());  // gaps
    plain_.push_back(all_types[0].make());
  }

  /// Irregular where the algorithm serves that, otherwise equal blocks.
  problem make_problem(int p, unsigned seed, count_t most = 6, bool gaps = true) {
    problem x{.kind = form::alltoallv, .p = p, .counts = {}, .seed = seed, .types = gaps ? &types_ : &plain_};
    std::mt19937 random(seed);
    x.counts = all_workloads[1].make(p, most, random);
    if (GetParam()->supports(shape_of(x))) return x;
    x.kind = form::alltoall;
    x.counts.assign(at(p), std::vector<count_t>(at(p), most));
    if (GetParam()->supports(shape_of(x))) return x;
    x.in_place = true;
    return x;
  }

  [[nodiscard]] options opts() const { return {.algorithm = GetParam()->name}; }

  std::vector<type_pair> types_, plain_;
};

TEST_P(plans, started_together_complete_in_any_order) {
  const int p = size_of(MPI_COMM_WORLD);
  std::deque<problem> problems;
  std::deque<rank_buffers> buffers;
  std::deque<plan> all;
  for (unsigned i = 0; i < 4; ++i) {
    problems.push_back(make_problem(p, i + 1, i == 3 ? 3000 : 6));
    buffers.emplace_back(problems.back(), rank_in(MPI_COMM_WORLD));
    auto made = plan_if_served(buffers.back().given_to(MPI_COMM_WORLD), opts());
    if (!made) GTEST_SKIP() << "serves none of these";
    all.push_back(std::move(*made));
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      buffers[i].fill(turn * 10 + static_cast<int>(i));
      all[i].start();
    }
    // All make progress until one after the other is waited for, on each rank in its own order.
    std::vector<bool> done(all.size());
    for (std::size_t open = all.size(); open > 0;)
      for (std::size_t k = 0; k < all.size(); ++k) {
        const std::size_t i = (k * 3 + at(turn + rank_in(MPI_COMM_WORLD))) % all.size();
        if (done[i] || !all[i].test()) continue;
        done[i] = true;
        --open;
      }
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(buffers[i].wrong_bytes(), 0U) << "plan " << i;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    buffers[i].fill(99);
    all[i].start();
  }
  for (std::size_t i = all.size(); i-- > 0;) all[i].wait();  // last first
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(buffers[i].wrong_bytes(), 0U) << "plan " << i;
}

TEST_P(plans, complete_by_tests_alone_while_the_program_computes) {
  const problem x = make_problem(size_of(MPI_COMM_WORLD), 5, 20000, false);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  auto p = plan_if_served(mine.given_to(MPI_COMM_WORLD), opts());
  if (!p) GTEST_SKIP() << "serves none of these";
  mine.fill(3);
  p->start();
  bool done = false;
  volatile double work = 1;
  // Ranks are oversubscribed here, so the number of slices that it needs is unknown: far more than enough.
  for (int slice = 0; slice < 2000000 && !done; ++slice) {
    for (int i = 0; i < 50; ++i) work = work * 1.0000001 + 1;
    done = p->test();
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(mine.wrong_bytes(), 0U);  // before any wait
  p->wait();
}

TEST_P(plans, work_on_parts_and_copies_of_the_world) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);  // and in reverse order
  const scoped_comm half(part);
  const problem x = make_problem(size_of(half.get()), static_cast<unsigned>(rank % 2) + 1);
  exchange_is_right(x, half.get(), opts());
  for (int i = 0; i < 3; ++i) {
    const scoped_comm copy(duplicate(MPI_COMM_WORLD));
    exchange_is_right(make_problem(size_of(copy.get()), 9), copy.get(), opts());
    const scoped_comm copy_of_copy(duplicate(copy.get()));
    exchange_is_right(make_problem(size_of(copy.get()), 9), copy_of_copy.get(), opts());
  }
}

TEST_P(plans, outlive_the_communicator_that_they_were_made_on) {
  scoped_comm copy(duplicate(MPI_COMM_WORLD));
  const problem x = make_problem(size_of(copy.get()), 4);
  rank_buffers mine(x, rank_in(copy.get()));
  auto p = plan_if_served(mine.given_to(copy.get()), opts());
  if (!p) GTEST_SKIP() << "serves none of these";
  copy.free();
  for (int start = 0; start < 2; ++start) {
    mine.fill(start);
    p->start();
    p->wait();
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  }
}

/// The arguments of an exchange in storage of their own, with datatypes of their own: to be lost.
class passing_arguments {
 public:
  passing_arguments(const exchange& x, int p) : send_(x.send, p), recv_(x.recv, p), given_(x) {
    send_.stand_for(given_.send);
    recv_.stand_for(given_.recv);
    if (x.in_place && x.symmetric) given_.send = given_.recv;
  }
  [[nodiscard]] const exchange& get() const { return given_; }

 private:
  struct side {
    side(const blocks& b, int p) : own_element(b.element) {
      for (int i = 0; i < p; ++i) {
        counts.push_back(b.counts[i]);
        displs.push_back(b.displs[i]);
        if (b.types != nullptr) types.push_back(copy_of(b.types[i]));
      }
      if (b.types == nullptr && b.element.type != MPI_DATATYPE_NULL) own_element = element::of(copy_of(b.element.type));
    }
    side(const side&) = delete;
    side& operator=(const side&) = delete;
    ~side() {
      std::ranges::fill(counts, count_t{1} << 40);
      std::ranges::fill(displs, -1);
      for (MPI_Datatype& type : owned) MPI_Type_free(&type);
    }
    MPI_Datatype copy_of(MPI_Datatype type) {
      MPI_Datatype copy = MPI_DATATYPE_NULL;
      MPI_Type_dup(type, &copy);
      owned.push_back(copy);
      return copy;
    }
    void stand_for(blocks& b) const {
      if (!b.counts.is_sequence()) b.counts = count_view(counts.data());
      if (!b.displs.is_sequence()) b.displs = count_view(displs.data());
      if (b.types != nullptr) b.types = types.data();
      b.element = own_element;
    }
    std::vector<count_t> counts, displs;
    std::vector<MPI_Datatype> types, owned;
    element own_element;
  };
  side send_, recv_;
  exchange given_;
};

TEST_P(plans, outlive_the_arrays_and_datatypes_that_they_were_made_from) {
#ifdef TAQUIN_TEST_SIMULATED
  GTEST_SKIP() << "SMPI cannot duplicate datatypes";
#endif
  const int p = size_of(MPI_COMM_WORLD);
  const problem irregular = make_problem(p, 6);
  problem mixed = make_problem(p, 7);
  mixed.kind = form::alltoallw;
  for (const problem& x : {irregular, mixed}) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    std::optional<plan> made;
    {
      const passing_arguments given(mine.given_to(MPI_COMM_WORLD), p);
      made = plan_if_served(given.get(), opts());
    }
    if (!made) continue;
    for (int start = 0; start < 2; ++start) {
      mine.fill(start);
      made->start();
      made->wait();
      EXPECT_EQ(mine.wrong_bytes(), 0U) << "start " << start;
    }
  }
}

TEST_P(plans, run_in_several_threads_on_communicators_of_their_own) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI library has no MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  std::deque<scoped_comm> comms;
  for (int i = 0; i < threads; ++i) comms.emplace_back(duplicate(MPI_COMM_WORLD));
  std::vector<std::size_t> wrong(threads);
  std::deque<problem> problems;
  for (int i = 0; i < threads; ++i)
    problems.push_back(make_problem(size_of(MPI_COMM_WORLD), static_cast<unsigned>(i) + 1));
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      rank_buffers mine(problems[at(i)], rank_in(comms[at(i)].get()));
      const auto x = mine.given_to(comms[at(i)].get());
      for (int turn = 0; turn < (brief() ? 3 : 20); ++turn) {
        mine.fill(turn);
        run(x, opts());
        wrong[at(i)] += mine.wrong_bytes();
      }
    });
  running.clear();
  EXPECT_EQ(wrong, std::vector<std::size_t>(threads));
}

INSTANTIATE_TEST_SUITE_P(list, plans, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

}  // namespace
}  // namespace taquin::test
