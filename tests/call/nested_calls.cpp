// Functions of the program that taquin calls in the middle of an operation, and that call taquin themselves: on the
// operation's communicator they are refused before they communicate, on other communicators they are served.
#include "call/nested_calls.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/world.hpp"
#include "taquin/patterns.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::test {
namespace {

// The text with which a call is refused; empty: it is not.
std::string refusal_of(const inside_t& call) {
  try {
    call();
  } catch (const usage_error& e) {
    EXPECT_TRUE(e.collective());
    EXPECT_EQ(e.mpi_class(), MPI_ERR_COMM);
    return e.what();
  }
  return {};
}

bool prints_why(std::string_view text) { return text.find("pending until the function has returned") != text.npos; }

TEST(nested_calls, on_the_same_communicator_are_refused_and_the_operation_completes) {
  for (const auto& [callback, operation] : callbacks()) {
    for (const auto& [name, call] : nested_calls()) {
      SCOPED_TRACE(callback + " calls " + name);
      const scoped_comm comm(duplicate(MPI_COMM_WORLD));
      int refused = 0;
      const inside_t inside = [&] {
        const std::string text = refusal_of([&] { static_cast<void>(call(comm.get())); });
        EXPECT_TRUE(prints_why(text)) << text;
        ++refused;
      };
      EXPECT_TRUE(operation(comm.get(), inside));
      EXPECT_GT(refused, 0);
      EXPECT_TRUE(call(comm.get()));
    }
  }
}

TEST(nested_calls, on_another_communicator_are_served) {
  for (const auto& [callback, operation] : callbacks()) {
    for (const auto& [name, call] : nested_calls()) {
      SCOPED_TRACE(callback + " calls " + name);
      const scoped_comm comm(duplicate(MPI_COMM_WORLD));
      const scoped_comm other(duplicate(MPI_COMM_WORLD));
      int served = 0;
      const inside_t inside = [&] {
        EXPECT_TRUE(call(other.get()));
        ++served;
      };
      EXPECT_TRUE(operation(comm.get(), inside));
      EXPECT_GT(served, 0);
      EXPECT_TRUE(call(comm.get()));
    }
  }
}

// MPI's own calls, which the preloaded library may serve: not those of functions that wait for each other.
TEST(nested_calls, of_the_mpi_library_are_served_on_any_communicator) {
  for (const auto& [callback, operation] : callbacks()) {
    if (callback == "taker") continue;
    SCOPED_TRACE(callback);
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    const scoped_comm other(duplicate(MPI_COMM_WORLD));
    for (int round = 0; round < 50; ++round) {
      EXPECT_TRUE(operation(comm.get(), [&] {
        EXPECT_TRUE(library_is_right(comm.get()));
        EXPECT_TRUE(library_is_right(other.get()));
      }));
    }
  }
}

TEST(nested_calls, of_a_containers_allocator_are_refused_on_the_same_communicator) {
  for (const auto& [name, call] : nested_calls()) {
    SCOPED_TRACE(name);
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    EXPECT_TRUE(by_container(
        comm.get(), [&] { EXPECT_TRUE(prints_why(refusal_of([&] { static_cast<void>(call(comm.get())); }))); }));
    EXPECT_TRUE(call(comm.get()));
  }
}

TEST(nested_calls, of_what_was_prepared_on_the_same_communicator_are_refused_but_what_is_started_completes) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const ring r(comm.get());
  for (const auto& [callback, operation] : callbacks()) {
    SCOPED_TRACE(callback);
    std::vector<int> in(static_cast<std::size_t>(r.p), -1);
    const std::vector<int> out(in.size(), r.me);
    const exchange x = exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm.get());
    plan idle(x, {});
    plan started(x, {});
    std::array<int, 1> block{r.me};
    redistribution moves(block.data(), 1, 1, MPI_INT, comm.get());
    const std::array<count_t, 1> one{1};
    sparse_call other({&r.me, r.to, count_view(one.data()), MPI_INT}, comm.get());
    int arrived = -1;
    started.start();
    const inside_t inside = [&] {
      EXPECT_TRUE(prints_why(refusal_of([&] { idle.start(); })));
      EXPECT_TRUE(prints_why(refusal_of([&] { idle.run(); })));
      EXPECT_TRUE(prints_why(refusal_of([&] { moves(r.to, std::array<int, 1>{0}); })));
      EXPECT_TRUE(prints_why(refusal_of([&] { other.receive(&arrived); })));
      EXPECT_TRUE(prints_why(refusal_of([&] { other.deliver(1, [](const sparse_call::chunk&) {}); })));
      EXPECT_TRUE(prints_why(refusal_of([&] { other.reply(&r.me, MPI_INT, &arrived); })));
      started.wait();
      EXPECT_EQ(in[static_cast<std::size_t>(r.before)], r.before);
    };
    EXPECT_TRUE(operation(comm.get(), inside));
    idle.run();
    moves(r.to, std::array<int, 1>{0});
    EXPECT_EQ(block[0], r.before);
    other.receive(&arrived);
    EXPECT_EQ(arrived, r.before);
  }
}

TEST(nested_calls, of_the_same_sparse_exchange_are_refused) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const ring r(comm.get());
  std::vector<int> in(10);
  const std::vector<int> out(10, r.me);
  const std::array<count_t, 1> ten{10};
  sparse_call call({out.data(), r.to, count_view(ten.data()), MPI_INT}, comm.get());
  int chunks = 0;
  call.deliver(1, [&](const sparse_call::chunk&) {
    ++chunks;
    EXPECT_TRUE(prints_why(refusal_of([&] { call.receive(in.data()); })));
  });
  EXPECT_EQ(chunks, 10);
  // A refusal that the function does not catch is thrown by the call, and the communicator serves on.
  EXPECT_TRUE(
      prints_why(refusal_of([&] { call.deliver(1, [&](const sparse_call::chunk&) { call.receive(in.data()); }); })));
  call.receive(in.data());
  EXPECT_EQ(in, std::vector<int>(10, r.before));
}

TEST(nested_calls, that_a_migrations_function_does_not_catch_are_the_error_of_all_ranks) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const ring r(comm.get());
  std::vector<int> elements(2, r.me);
  const auto destination = [&](int) {
    if (r.me == 0) static_cast<void>(alltoall_is_right(comm.get()));
    return r.next;
  };
  try {
    migrate(elements, destination, comm.get());
    ADD_FAILURE() << "no error";
  } catch (const usage_error& e) {
    EXPECT_TRUE(e.collective());
    EXPECT_TRUE(prints_why(e.what())) << e.what();
  }
  EXPECT_EQ(elements, std::vector<int>(2, r.me));
  EXPECT_TRUE(migration_is_right(comm.get()));
}

MPI_Comm reduced_on = MPI_COMM_NULL;
int refused_in_operator = 0;

void sum_and_call(void* in, void* into, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(into)[i] += static_cast<int*>(in)[i];
  if (prints_why(refusal_of([] { static_cast<void>(alltoall_is_right(reduced_on)); }))) ++refused_in_operator;
}

TEST(nested_calls, of_an_operator_are_refused_on_the_same_communicator) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  reduced_on = comm.get();
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(sum_and_call, 1, &op);
  const std::array<int, 2> ones{1, 1};
  for (const bool elements : {false, true}) {
    SCOPED_TRACE(elements ? "scan_elements" : "allreduce");
    std::array<int, 2> sums{};
    refused_in_operator = 0;
    if (elements)
      patterns::scan_elements(ones.data(), sums.data(), 2, MPI_INT, op, comm.get());
    else
      patterns::allreduce(ones.data(), sums.data(), 2, MPI_INT, op, comm.get());
    EXPECT_EQ(sums[1], elements ? 2 * (rank_in(comm.get()) + 1) : size_of(comm.get()));
    int refused = refused_in_operator;
    MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_SUM, comm.get());
    EXPECT_TRUE(refused > 0 || (size_of(comm.get()) == 1 && !elements));
  }
  MPI_Op_free(&op);
  EXPECT_TRUE(alltoall_is_right(comm.get()));
}

int served_in_handler = 0;

void call_in_handler(MPI_Comm* comm, int*, ...) {
  if (alltoall_is_right(*comm)) ++served_in_handler;
}

// The operation is over when its error handler is called.
TEST(nested_calls, of_an_error_handler_are_served_on_the_same_communicator) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(call_in_handler, &handler);
  MPI_Comm_set_errhandler(comm.get(), handler);
  MPI_Errhandler_free(&handler);
  served_in_handler = 0;
  int one = 1;
  EXPECT_NE(TAQUIN_Alltoall(&one, -1, MPI_INT, &one, 1, MPI_INT, comm.get()), MPI_SUCCESS);
  EXPECT_EQ(served_in_handler, 1);
  const std::array<int, 1> nowhere{-1};
  const std::array<MPI_Count, 1> counts{1};
  TAQUIN_Sparse s = TAQUIN_SPARSE_NULL;
  int n = 0;
  MPI_Count elements = 0;
  EXPECT_NE(TAQUIN_Sparse_begin(&one, 1, nowhere.data(), counts.data(), MPI_INT, comm.get(), &s, &n, &elements), 0);
  EXPECT_EQ(served_in_handler, 2);
}

}  // namespace
}  // namespace taquin::test
