// Objects that taquin keeps per communicator: the private communicator, and the owners of tags. Run with room for three
// private communicators and for four plans on each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "mpi/owned.hpp"
#include "support/next_function.hpp"
#include "support/world.hpp"

namespace {

int error_handlers = 0;  // that taquin has got from communicators and not freed

}  // namespace

extern "C" {

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  ++error_handlers;
  return taquin::test::next_function<decltype(PMPI_Comm_get_errhandler)>("PMPI_Comm_get_errhandler")(comm, handler);
}

int PMPI_Errhandler_free(MPI_Errhandler* handler) {
  --error_handlers;
  return taquin::test::next_function<decltype(PMPI_Errhandler_free)>("PMPI_Errhandler_free")(handler);
}

}  // extern "C"

namespace taquin::test {
namespace {

constexpr int most_communicators = 3;
constexpr int most_plans = 4;

/// One int to and from each rank.
struct ints {
  explicit ints(int of_this)
      : sent(at(size_of(MPI_COMM_WORLD)), of_this * 100 + rank_in(MPI_COMM_WORLD)), received(sent.size(), -1) {}
  [[nodiscard]] exchange given(MPI_Comm comm = MPI_COMM_WORLD) {
    return exchange::alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
  }
  void expect(int of_this) {
    for (std::size_t i = 0; i < received.size(); ++i) EXPECT_EQ(received[i], of_this * 100 + static_cast<int>(i));
  }
  std::vector<int> sent, received;
};

const options opts{.algorithm = "spread_out"};

TEST(tags, of_plans_stay_their_own_whatever_is_called_in_between) {
  ints first(1), second(2), other(3);
  plan a(first.given(), opts);
  for (int i = 0; i < 1023; ++i) run(other.given(), opts);
  plan b(second.given(), opts);
  a.start();
  b.start();
  plan& sooner = rank_in(MPI_COMM_WORLD) % 2 == 0 ? a : b;
  plan& later = rank_in(MPI_COMM_WORLD) % 2 == 0 ? b : a;
  while (!sooner.test()) {
  }
  while (!later.test()) {
  }
  first.expect(1);
  second.expect(2);
}

TEST(tags, are_refused_on_all_ranks_when_all_are_in_use) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const int rank = rank_in(comm.get());
  for (int turn = 0; turn < 3; ++turn) {
    std::deque<ints> data;
    std::vector<std::unique_ptr<plan>> plans;
    for (int i = 0; i < most_plans; ++i) {
      data.emplace_back(i);
      plans.push_back(std::make_unique<plan>(data.back().given(comm.get()), opts));
    }
    ints more(most_plans);
    EXPECT_THROW(plan(more.given(comm.get()), opts), usage_error);
    // A set that is free on one rank only is not enough; in the end all but one are free everywhere.
    plans[at(rank % (most_plans - 1))].reset();
    if (size_of(comm.get()) > 1) {
      EXPECT_THROW(plan(more.given(comm.get()), opts), usage_error);
    }
    plans.erase(plans.begin(), plans.begin() + most_plans - 1);
    plan last(more.given(comm.get()), opts);
    last.start();
    plans.back()->start();
    last.wait();
    plans.back()->wait();
    more.expect(most_plans);
    data.back().expect(most_plans - 1);
  }
}

TEST(communicators, beyond_the_limit_are_refused_on_all_ranks) {
  std::deque<scoped_comm> comms;
  ints data(7);
  const auto served = [&](MPI_Comm comm) {
    try {
      run(data.given(comm), opts);
    } catch (const usage_error& e) {
      EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
      return false;
    }
    data.expect(7);
    return true;
  };
  EXPECT_TRUE(served(MPI_COMM_WORLD));
  for (int i = 0; i < most_communicators + 2; ++i) {
    comms.emplace_back(duplicate(MPI_COMM_WORLD));
    EXPECT_EQ(served(comms.back().get()), i < most_communicators - 1) << i;
    EXPECT_EQ(served(comms.back().get()), i < most_communicators - 1) << "again " << i;
  }
  comms.pop_front();
  comms.emplace_back(duplicate(MPI_COMM_WORLD));
  EXPECT_TRUE(served(comms.back().get()));
}

// Ranks of one node exchange in its memory without a private communicator. A rank that cannot, alone, has an error, and
// so have the others, which wait in the step.
TEST(communicators, without_a_private_one_an_error_of_one_rank_is_all_ranks_error) {
  struct odd {
    const char* what;
    std::function<void(ints&, MPI_Comm)> call;
  };
  const std::array odds{
      odd{"an invalid argument",
          [](ints& d, MPI_Comm c) {
            run(exchange::alltoall(d.sent.data(), -1, MPI_INT, d.received.data(), 1, MPI_INT, c), {});
          }},
      odd{"a timeout",
          [](ints& d, MPI_Comm c) { run(d.given(c), {.on_timeout = after_timeout::fail, .timeout = 60}); }},
      odd{"a named algorithm", [](ints& d, MPI_Comm c) { run(d.given(c), opts); }},
      odd{"a plan", [](ints& d, MPI_Comm c) { plan(d.given(c), {}).run(); }},
  };
  std::deque<scoped_comm> comms;
  ints data(7);
  for (int i = 0; i < most_communicators; ++i) {
    comms.emplace_back(duplicate(MPI_COMM_WORLD));
    try {
      run(data.given(comms.back().get()), opts);
    } catch (const usage_error&) {
    }
  }
  for (const odd& o : odds)
    for (int at_rank = 0; at_rank < size_of(MPI_COMM_WORLD); ++at_rank)
      for (int calls_before = 0; calls_before < 3; ++calls_before) {
        const scoped_comm comm(duplicate(MPI_COMM_WORLD));
        const auto refused = [&](bool odd_one) {
          try {
            if (odd_one)
              o.call(data, comm.get());
            else
              run(data.given(comm.get()), {});
          } catch (const usage_error& e) {
            EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << o.what << ": " << e.what();
            return true;
          }
          return false;
        };
        if (calls_before > 0) {
          EXPECT_THROW(run(data.given(comm.get()), opts), usage_error);
        }
        for (int i = 1; i < calls_before; ++i) refused(false);
        EXPECT_TRUE(refused(rank_in(comm.get()) == at_rank)) << o.what;
        if (!refused(false)) data.expect(7);
      }
}

int copies = 0;
int copy(MPI_Comm, int, void*, void* value, void* to, int* flag) {
  ++copies;
  *static_cast<void**>(to) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

TEST(communicators, of_the_users_are_not_duplicated) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    MPI_Comm_set_attr(comm.get(), key, &key);
    ints data(4);
    run(data.given(comm.get()), opts);
    data.expect(4);
    EXPECT_EQ(copies, 0);
  }
  MPI_Comm_free_keyval(&key);
}

TEST(communicators, of_the_users_keep_their_error_handlers_and_taquin_keeps_none) {
  const int before = error_handlers;
  {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    ints data(5);
    run(data.given(comm.get()), opts);
    data.expect(5);
  }
  EXPECT_EQ(error_handlers, before);
}

// Stands for a handle: how often it was freed, and whether by an error.
struct counted {
  using handle = int*;
  static handle null() noexcept { return nullptr; }
  static void free(handle* h, bool by_error) noexcept { **h += by_error ? 100 : 1; }
};

struct on_destruction {
  std::function<void()> call;
  ~on_destruction() { call(); }
};

TEST(owners, know_an_error_that_takes_them_away_from_one_that_was_there_before) {
  int made_during = 0;
  int taken_away = 0;
  try {
    const mpi::owned<counted> before(&taken_away);
    const on_destruction cleanup{[&] { const mpi::owned<counted> during(&made_during); }};
    throw 0;
  } catch (int) {
  }
  EXPECT_EQ(made_during, 1);
  EXPECT_EQ(taken_away, 100);
}

}  // namespace
}  // namespace taquin::test
