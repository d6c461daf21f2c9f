// Every cell of the table of routes: each state of a communicator, then each kind of call, with options that a rank
// chooses for itself different on each rank, and with a plan that ranks start before or after the call.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "support/world.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/plan.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

class routes : public testing::Test {
 protected:
  std::unique_ptr<scoped_comm> owner;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = rank_in(MPI_COMM_WORLD);
  int p = size_of(MPI_COMM_WORLD);
  std::mt19937 own{static_cast<unsigned>(rank) + 3};  // different on each rank
  std::vector<type_pair> types = one_type();
  statistics stats{};
  int salt = 0;

  void SetUp() override { begin_anew(); }
  void begin_anew() {
    owner = std::make_unique<scoped_comm>(duplicate(MPI_COMM_WORLD));
    comm = owner->get();
  }

  static std::vector<type_pair> one_type() {
    std::vector<type_pair> types;
    types.push_back(all_types[0].make());
    return types;
  }

  // The options that a rank may choose without the others.
  options own_choice() {
    options o;
    if (own() % 2 == 0) o.stats = &stats;
    o.in_place.scratch_sends = own() % 2 == 0;
    if (own() % 3 == 0) o.memory = std::size_t{1} << 30U;
    if (own() % 3 == 0) o.on_timeout = after_timeout::wait;
    return o;
  }

  struct kind {
    form what = form::alltoallv;
    count_t most = 1;
    bool in_place = false;
    bool by_plan = false;
  };

  // One call of the kind, every byte of which is compared.
  void call(const kind& k, count_matrix counts, const options& o) {
    problem x{.kind = k.what,
              .p = p,
              .counts = std::move(counts),
              .seed = static_cast<unsigned>(++salt),
              .in_place = k.in_place,
              .types = &types};
    if (k.in_place) make_symmetric(x.counts);
    rank_buffers mine(x, rank);
    mine.fill(salt);
    if (k.by_plan)
      plan(mine.given_to(comm), o).run();
    else
      run(mine.given_to(comm), o);
    ASSERT_EQ(mine.wrong_bytes(), 0U) << "call " << salt;
  }
  void call(const kind& k, const options& o) { call(k, count_matrix(at(p), std::vector<count_t>(at(p), k.most)), o); }
  void calls(int n, const kind& k) {
    for (int i = 0; i < n; ++i) call(k, own_choice());
  }

  // The states, in which calls before leave the communicator.
  void bring_to(std::string_view state) {
    if (state == "used") calls(6, {.most = 3});
    if (state == "empty") calls(12, {.most = 0});
    if (state == "large") calls(12, {.most = 20000});
    if (state == "planned") calls(2, {.most = 40, .by_plan = true});
    if (state == "refused") {
      options o = own_choice();
      if (rank == p - 1) o.in_flight = -1;
      EXPECT_THROW(call({.most = 3}, o), usage_error);
    }
  }
};

constexpr std::array states{"new", "used", "empty", "large", "planned", "refused"};

// A plan that ranks start before the call or after it, as each likes.
class started_sometime {
 public:
  started_sometime(MPI_Comm comm, int rank, int ranks)
      : rank_(rank),
        send_(at(ranks), rank),
        recv_(at(ranks), -1),
        plan_(exchange::alltoall(send_.data(), 1, MPI_INT, recv_.data(), 1, MPI_INT, comm)) {}
  void before(bool first) {
    first_ = first;
    if (first) plan_.start();
  }
  void after() {
    if (!first_) plan_.start();
    plan_.wait();
    for (std::size_t i = 0; i < recv_.size(); ++i) EXPECT_EQ(recv_[i], static_cast<int>(i)) << rank_;
  }

 private:
  int rank_;
  bool first_ = false;
  std::vector<int> send_, recv_;
  plan plan_;
};

TEST_F(routes, of_every_kind_of_call_are_the_same_on_all_ranks_in_every_state) {
  for (const auto* state : states)
    for (const bool with_plan : {false, true}) {
      begin_anew();
      bring_to(state);
      std::optional<started_sometime> other;
      if (with_plan) other.emplace(comm, rank, p);
      for (const form what : {form::alltoall, form::alltoallv, form::alltoallw})
        for (const count_t most : {0, 3, 9000, 40000})
          for (const bool in_place : {false, true})
            for (const bool by_plan : {false, true}) {
              if (brief() && most > 9000) continue;
              if (in_place && what == form::alltoallw) continue;  // which no algorithm serves by messages
              SCOPED_TRACE(fmt::format("{}: form {}, {} elements, in place {}, plan {}, beside another {}", state,
                                       static_cast<int>(what), most, in_place, by_plan, with_plan));
              if (other) other->before(own() % 2 == 0);
              call({what, most, in_place, by_plan}, own_choice());
              if (HasFatalFailure()) return;
              if (other) other->after();
            }
    }
}

// Calls in which no rank has data for another, then one in which a single rank does.
TEST_F(routes, after_empty_calls_do_not_follow_from_what_a_rank_chooses_for_itself) {
  calls(10, {.most = 0});
  for (int i = 0; i < 8; ++i) {
    count_matrix counts(at(p), std::vector<count_t>(at(p)));
    counts[at(p - 1)][0] = 1;
    options o;
    o.in_place.scratch_sends = (rank == 0) == (i % 2 == 0);
    call({}, counts, o);
  }
}

TEST_F(routes, after_empty_calls_do_not_follow_from_what_a_rank_has_started) {
  started_sometime other(comm, rank, p);
  calls(10, {.most = 0});
  for (int i = 0; i < 40; ++i) {
    other.before(rank == 0);
    call({.most = 0}, own_choice());
    other.after();
  }
}

// A rank that has failed in a call takes the communicator with it, for every kind of call.
TEST_F(routes, on_a_communicator_that_has_failed_end_with_the_error) {
  if (p == 1) return;
  for (const bool by_plan : {false, true})
    for (const count_t most : {0, 5, 30000}) {
      begin_anew();
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      calls(4, {.most = 3});
      auto buffer = std::vector<int>(at(p), rank);
      auto received = buffer;
      std::optional<plan> lost;
      lost.emplace(exchange::alltoall(buffer.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm));
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) {
        lost->start();
        lost.reset();  // while the others have not started it
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) {
        EXPECT_THROW(call({.most = most, .by_plan = by_plan}, own_choice()), error);
      } else {
        EXPECT_THROW(call({.most = most, .by_plan = by_plan}, own_choice()), peer_aborted);
      }
    }
}

}  // namespace
}  // namespace taquin::test
