// Counts that do not match: all ranks have the same error, which names the two ranks and both sizes, nothing is
// written, and the communicator serves the next call.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "support/world.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::test {
namespace {

struct mismatch {
  std::string_view name;
  count_t sent;      ///< by rank 1 to rank 0
  count_t expected;  ///< there
};
constexpr std::array mismatches{mismatch{"less", 4, 7}, mismatch{"more", 4, 1}, mismatch{"much_more", 900, 1},
                                mismatch{"unexpected", 4, 0}, mismatch{"nothing", 0, 7}};

class mismatched : public testing::TestWithParam<std::tuple<const detail::algorithm*, mismatch, bool>> {};

constexpr int guard = -1;

TEST_P(mismatched, counts_are_an_error_on_all_ranks) {
  const auto& [a, m, reused] = GetParam();
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const int rank = rank_in(comm.get());
  const int p = size_of(comm.get());
  std::vector<count_t> out(at(p), 2), in(at(p), 2), out_at(at(p)), in_at(at(p));
  if (rank == 1) out[0] = m.sent;
  if (rank == 0) in[1] = m.expected;
  for (int peer = 0; peer < p; ++peer) out_at[at(peer)] = in_at[at(peer)] = 1000 * peer;
  std::vector<int> sent(at(1000 * p), rank), received(at(1000 * p), guard);
  const auto attempt = [&] {
    const exchange x =
        exchange::alltoallv(sent.data(), count_view(out.data()), count_view(out_at.data()), MPI_INT, received.data(),
                            count_view(in.data()), count_view(in_at.data()), MPI_INT, comm.get());
    const options o{.algorithm = a->name};
    if (!reused) return run(x, o);
    plan made(x, o);
    made.start();
    made.wait();
  };
  // A blocking call that names shared_memory takes the fast path: the rank that expects another size has the error.
  const bool short_way = !reused && a == &detail::shared_memory;
  for (int again = 0; again < 2; ++again) {
    try {
      attempt();
      EXPECT_TRUE(short_way && rank != 0) << "no error";
    } catch (const error& e) {
      EXPECT_TRUE(e.collective() || short_way) << e.what();
      if (e.mpi_class() == MPI_ERR_UNSUPPORTED_OPERATION) return;
      EXPECT_EQ(e.mpi_class(), m.sent > m.expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT) << e.what();
      EXPECT_NE(std::string_view(e.what()).find(
                    fmt::format("rank 1 sends {} bytes to rank 0, which expects {} bytes", 4 * m.sent, 4 * m.expected)),
                std::string::npos)
          << e.what();
    }
    if (short_way) {
      std::ranges::fill(received, guard);
    } else {
      EXPECT_EQ(std::ranges::count(received, guard), static_cast<std::ptrdiff_t>(received.size()));
    }
  }
  std::ranges::fill(out, 2);
  std::ranges::fill(in, 2);
  try {
    attempt();
  } catch (const error& e) {  // an algorithm that does not serve such an exchange
    EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
    return;
  }
  for (int peer = 0; peer < p; ++peer) EXPECT_EQ(received[static_cast<std::size_t>(in_at[at(peer)])], peer);
}

std::string mismatch_name(const testing::TestParamInfo<mismatched::ParamType>& info) {
  const auto& [a, m, reused] = info.param;
  return fmt::format("{}_{}_{}{}", a->name, m.name, reused ? "plan" : "call", np_suffix());
}

INSTANTIATE_TEST_SUITE_P(list, mismatched,
                         testing::Combine(testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                                          testing::ValuesIn(mismatches), testing::Bool()),
                         mismatch_name);

// Blocks beyond what MPI libraries send without being asked, as several nodes send them before ranks have agreed.
TEST(blocks_that_are_too_long, write_nothing_after_calls_of_their_size) {
  constexpr count_t more = 20000;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  for (const count_t n : {count_t{20000}, count_t{65536}, count_t{100000}}) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    const count_t stride = 2 * (n + more);
    std::vector<std::byte> sent(detail::as_size(p * (n + more))), received(detail::as_size(p * stride), std::byte{9});
    std::vector<count_t> out(at(p), n), in(at(p), n), out_at(at(p)), in_at(at(p));
    for (int peer = 0; peer < p; ++peer) {
      out_at[at(peer)] = peer * (n + more);
      in_at[at(peer)] = peer * stride;
    }
    const exchange x =
        exchange::alltoallv(sent.data(), count_view(out.data()), count_view(out_at.data()), MPI_BYTE, received.data(),
                            count_view(in.data()), count_view(in_at.data()), MPI_BYTE, comm.get());
    for (int call = 0; call < 20; ++call) run(x);
    std::ranges::fill(received, std::byte{9});
    for (int peer = 0; peer < p; ++peer)
      if (peer != rank) out[at(peer)] = n + more;
    EXPECT_THROW(run(x), error);
    for (int peer = 0; peer < p; ++peer) {
      const auto behind = std::span(received).subspan(detail::as_size(peer * stride + n), detail::as_size(stride - n));
      EXPECT_TRUE(std::ranges::all_of(behind, [](std::byte b) { return b == std::byte{9}; })) << n << " of " << peer;
    }
  }
}

// The two are in the same agreement, and would wait for each other's data.
TEST(a_plan_on_one_rank_and_a_call_on_another, is_an_error_of_all) {
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<int> out(at(p), 1);
  std::vector<int> in(at(p), -1);
  const auto x = exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int turn = 0; turn < 2; ++turn) {
    try {
      if (rank_in(MPI_COMM_WORLD) == 0)
        run(x);
      else
        const plan made(x);
      ADD_FAILURE() << "no error";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective()) << e.what();
    }
  }
}

// Blocks piggybacked on the agreement reach a rank that has none, and no memory for them: it agrees on its stack.
TEST(a_redistribution_on_one_rank_and_a_call_on_the_others, is_an_error_of_all) {
  constexpr count_t bytes = 22000;
  const int p = size_of(MPI_COMM_WORLD);
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::vector<std::byte> sent(detail::as_size(p * bytes)), received(sent.size());
  const auto x = exchange::alltoall(sent.data(), bytes, MPI_BYTE, received.data(), bytes, MPI_BYTE, comm.get());
  for (int who = 0; who < p; ++who) {
    run(x, {.algorithm = "bruck_v"});
    std::vector<int> block(1, who);
    try {
      if (rank_in(comm.get()) == who)
        const redistribution made(block.data(), 1, 1, MPI_INT, comm.get());
      else
        run(x, {.algorithm = "bruck_v"});
      ADD_FAILURE() << "no error where rank " << who << " makes another call";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective()) << e.what();
    }
  }
}

}  // namespace
}  // namespace taquin::test
