// Wrong arguments: the error is seen on every rank, nothing is written, and the communicator works afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/library.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

constexpr int guard_value = -77;

/// An alltoallv of two ints per pair whose arguments the tests spoil.
struct call {
  explicit call(MPI_Comm c)
      : comm(c),
        rank(rank_in(c)),
        p(size_of(c)),
        sc(at(p), 2),
        sd(at(p)),
        rc(at(p), 2),
        rd(at(p)),
        send(at(2 * p)),
        recv(at(2 * p), guard_value) {
    for (int i = 0; i < p; ++i) sd[at(i)] = rd[at(i)] = 2 * i;
    for (int i = 0; i < 2 * p; ++i) send[at(i)] = 1000 * rank + i;
    sendbuf = send.data();
    recvbuf = recv.data();
  }
  [[nodiscard]] exchange given() const {
    return exchange::alltoallv(sendbuf, count_view(sc.data()), count_view(sd.data()), sendtype, recvbuf,
                               count_view(given_counts_once ? sc.data() : rc.data()), count_view(rd.data()), recvtype,
                               comm);
  }
  void expect_untouched() const {
    for (const int v : recv) EXPECT_EQ(v, guard_value);
  }
  void expect_right() const {
    for (int i = 0; i < p; ++i)
      for (int k = 0; k < 2; ++k) EXPECT_EQ(recv[at(2 * i + k)], 1000 * i + 2 * rank + k);
  }

  MPI_Comm comm;
  int rank, p;
  std::vector<count_t> sc, sd, rc, rd;
  std::vector<int> send, recv;
  const void* sendbuf;
  void* recvbuf;
  MPI_Datatype sendtype = MPI_INT, recvtype = MPI_INT;
  bool given_counts_once = false;
  options opts{};
};

class bad_input : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  int last_class = MPI_SUCCESS;  ///< of the last error_after

  [[nodiscard]] int last() const { return size_of(MPI_COMM_WORLD) - 1; }

  /// The error that `Error` is on every rank, after `spoil` on the ranks that it chooses. Returns its text.
  template <class Error = usage_error>
  std::string error_after(const std::function<void(call&)>& spoil) {
    call c(MPI_COMM_WORLD);
    c.opts.algorithm = GetParam()->name;
    spoil(c);
    std::string text;
    int thrown = 0;
    for (const bool as_plan : {false, true}) {
      try {
        if (as_plan) {
          const plan p(c.given(), c.opts);
        } else {
          run(c.given(), c.opts);
        }
      } catch (const Error& e) {
        text = e.what();
        last_class = e.mpi_class();
        ++thrown;
      }
    }
    EXPECT_EQ(thrown, 2) << "rank " << c.rank;
    c.expect_untouched();
    call good(MPI_COMM_WORLD);
    run(good.given());
    good.expect_right();
    return text;
  }

  static void expect_mentions(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not mention '" << part << "'";
  }
};

// The objects for taquin's own choice are made by all ranks together: not before they have agreed that all need them.
TEST(first_call, of_a_communicator_fails_on_all_when_only_some_ranks_leave_the_choice) {
  if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "takes two ranks";
  for (const char* name : {"pairwise", "teleport"}) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    call c(own);
    c.opts.algorithm = c.rank == 0 ? "auto" : name;
    EXPECT_THROW(run(c.given(), c.opts), usage_error);
    c.expect_untouched();
    c.opts.algorithm = "auto";
    run(c.given(), c.opts);
    c.expect_right();
    MPI_Comm_free(&own);
  }
}

TEST_P(bad_input, negative_count_on_one_rank_fails_on_all) {
  const auto text = error_after([&](call& c) {
    if (c.rank == last()) c.sc[0] = -3;
  });
  expect_mentions(text, fmt::format("rank {}: negative send count -3 for rank 0", last()));
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == 0) c.rc[at(last())] = -1;
                  }),
                  fmt::format("rank 0: negative receive count -1 for rank {}", last()));
}

// MPICH says so itself: taquin keeps its diagnosis, on all ranks.
bool one_buffer_is_an_error() { return mpi::running_library() == mpi::library::mpich; }

TEST_P(bad_input, one_buffer_for_both_sides_fails_on_all) {
  if (!one_buffer_is_an_error()) GTEST_SKIP();
  const auto text = error_after([&](call& c) {
    if (c.rank != last()) return;
    c.sendbuf = c.recvbuf;
    c.given_counts_once = true;
  });
  expect_mentions(text, fmt::format("rank {}: the same buffer for sending and receiving", last()));
  EXPECT_EQ(last_class, MPI_ERR_BUFFER);
}

TEST(one_buffer, of_an_alltoall_is_an_error_and_without_data_none) {
  if (!one_buffer_is_an_error()) GTEST_SKIP();
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<int> data(at(p), 7);
  for (const bool as_plan : {false, true}) {
    const auto call = [&](count_t count) {
      const exchange x = exchange::alltoall(data.data(), count, MPI_INT, data.data(), count, MPI_INT, MPI_COMM_WORLD);
      as_plan ? plan(x).run() : run(x);
    };
    EXPECT_THROW(call(1), usage_error);
    EXPECT_NO_THROW(call(0));
  }
}

TEST_P(bad_input, counts_beyond_any_memory_fail_on_all) {
  for (const count_t much : {count_t{1} << 61, count_t{1} << 62, std::numeric_limits<count_t>::max()}) {
    expect_mentions(error_after([&](call& c) {
                      if (c.rank == last()) c.sc[0] = much;
                    }),
                    fmt::format("rank {}: send count {} for rank 0", last(), much));
    expect_mentions(error_after([&](call& c) {
                      if (c.rank == 0) c.rd[at(last())] = -much;
                    }),
                    fmt::format("rank 0: receive count 2 for rank {}", last()));
    error_after([&](call& c) {  // each fits, and all together do not
      std::ranges::fill(c.rc, much / 32);
      c.sc[0] = much;
    });
    EXPECT_EQ(last_class, MPI_ERR_COUNT);
  }
}

TEST(arrays, of_an_alltoall_beyond_any_memory_fail_on_all) {
  int sent = 0;
  int received = 0;
  for (const count_t much : {count_t{1} << 54, count_t{1} << 61, count_t{1} << 62}) {
    int mpi_class = MPI_SUCCESS;
    try {
      run(exchange::alltoall(&sent, much, MPI_DOUBLE, &received, much, MPI_DOUBLE, MPI_COMM_WORLD));
    } catch (const usage_error& e) {
      mpi_class = e.mpi_class();
    }
    EXPECT_EQ(mpi_class, MPI_ERR_COUNT);
  }
}

TEST_P(bad_input, null_buffer_with_positive_counts_fails_on_all) {
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == last()) c.sendbuf = nullptr;
                  }),
                  "null send buffer");
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == 0) c.recvbuf = nullptr;
                  }),
                  "null receive buffer");
}

TEST_P(bad_input, null_type_fails_on_all) {
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == last()) c.sendtype = MPI_DATATYPE_NULL;
                  }),
                  "null send datatype");
}

// Arrays that are missing on the last rank only: the others get the error, and no rank reads at address 0.
TEST(arrays, that_are_missing_fail_on_all) {
  call c(MPI_COMM_WORLD);
  const std::vector<MPI_Datatype> ints(at(c.p), MPI_INT);
  std::vector<count_t> sd = c.sd;
  std::vector<count_t> rd = c.rd;
  for (auto* displs : {&sd, &rd})
    for (count_t& d : *displs) d *= sizeof(int);
  for (int missing = 0; missing <= 6; ++missing) {
    const auto or_null = [&](int which, const auto* array) {
      return which == missing && c.rank == c.p - 1 ? nullptr : array;
    };
    const auto exchange_w = [&] {
      run(exchange::alltoallw(c.sendbuf, count_view(or_null(1, c.sc.data())), count_view(or_null(2, sd.data())),
                              or_null(3, ints.data()), c.recvbuf, count_view(or_null(4, c.rc.data())),
                              count_view(or_null(5, rd.data())), or_null(6, ints.data()), c.comm));
    };
    if (missing == 0) {
      exchange_w();
      c.expect_right();
      std::ranges::fill(c.recv, guard_value);
    } else {
      EXPECT_THROW(exchange_w(), usage_error) << "without array " << missing;
      c.expect_untouched();
    }
  }
}

// Blocks that lie in each other's gaps do not overlap: rank i's ints become column i of a matrix.
TEST(overlap, interleaved_blocks_are_no_error) {
  constexpr int rows = 5;
  int p = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, 1, p, MPI_INT, &strided);
  MPI_Type_create_resized(strided, 0, sizeof(int), &column);
  MPI_Type_commit(&strided);
  MPI_Type_commit(&column);
  std::vector<int> send(at(rows * p));
  std::iota(send.begin(), send.end(), 1000 * rank);
  std::vector<count_t> sc(at(p), rows);
  std::vector<count_t> rc(at(p), 1);
  std::vector<count_t> sd(at(p));
  std::vector<count_t> rd(at(p));
  for (int i = 0; i < p; ++i) {
    sd[at(i)] = rows * i;
    rd[at(i)] = i;
  }
  const auto in_bytes = [](std::vector<count_t> v) {
    for (count_t& d : v) d *= sizeof(int);
    return v;
  };
  const std::vector<count_t> send_bytes = in_bytes(sd);
  const std::vector<count_t> recv_bytes = in_bytes(rd);
  const std::vector<MPI_Datatype> ints(at(p), MPI_INT);
  const std::vector<MPI_Datatype> columns(at(p), strided);
  for (const bool w : {false, true}) {
    std::vector<int> recv(at(rows * p), guard_value);
    run(w ? exchange::alltoallw(send.data(), count_view(sc.data()), count_view(send_bytes.data()), ints.data(),
                                recv.data(), count_view(rc.data()), count_view(recv_bytes.data()), columns.data(),
                                MPI_COMM_WORLD)
          : exchange::alltoallv(send.data(), count_view(sc.data()), count_view(sd.data()), MPI_INT, recv.data(),
                                count_view(rc.data()), count_view(rd.data()), column, MPI_COMM_WORLD));
    for (int i = 0; i < p; ++i)
      for (int k = 0; k < rows; ++k) EXPECT_EQ(recv[at(k * p + i)], 1000 * i + rows * rank + k);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&strided);
}

TEST_P(bad_input, overlapping_receive_blocks_fail_on_all) {
  if (last() == 0) GTEST_SKIP() << "one block";
  const auto text = error_after([&](call& c) {
    if (c.rank == last()) c.rd[1] = c.rd[0] + 1;
  });
  expect_mentions(text, "receive blocks of ranks 0 and 1 overlap");
}

TEST_P(bad_input, overlap_is_found_in_any_order_and_without_memory) {
  if (last() == 0) GTEST_SKIP() << "one block";
  for (const std::size_t memory : {unlimited, std::size_t{0}})
    expect_mentions(error_after([&](call& c) {
                      std::reverse(c.rd.begin(), c.rd.end());
                      c.opts.memory = memory;
                      if (c.rank == 0) c.rd[0] = c.rd[at(last())] + 1;
                    }),
                    "overlap");
}

TEST_P(bad_input, ranks_that_disagree_fail_on_all) {
  if (last() == 0) GTEST_SKIP() << "nobody to disagree with";
  for (const auto* other : detail::algorithms())
    if (other != GetParam())
      expect_mentions(error_after([&](call& c) {
                        if (c.rank == last()) c.opts.algorithm = other->name;
                      }),
                      "disagree");
  expect_mentions(error_after([&](call& c) { c.opts.in_flight = c.rank == 0 ? 3 : 4; }), "disagree");
  expect_mentions(error_after([&](call& c) { c.opts.check = c.rank == 0; }), "disagree");
}

TEST_P(bad_input, a_defect_outweighs_a_disagreement_and_a_small_limit) {
  if (last() < 2) GTEST_SKIP() << "takes three ranks";
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == 0) c.sc[0] = -3;
                    if (c.rank == 1) c.opts.algorithm = "auto";
                  }),
                  "negative send count");
  expect_mentions(error_after([&](call& c) {
                    if (c.rank == 0) c.sc[0] = -3;
                    if (c.rank == last()) c.opts.memory = 0;
                  }),
                  "negative send count");
}

TEST_P(bad_input, wrong_options_fail_on_all) {
  const auto text = error_after([&](call& c) { c.opts.algorithm = "teleport"; });
  expect_mentions(text, "unknown algorithm 'teleport'");
  for (const auto* a : detail::algorithms()) expect_mentions(text, std::string(a->name));
  expect_mentions(error_after([&](call& c) { c.opts.bruck.radix = 1; }), "radix must be ≥ 2, got 1");
  expect_mentions(error_after([&](call& c) { c.opts.in_flight = -1; }), "in_flight must be ≥ 0, got -1");
}

TEST_P(bad_input, check_names_both_ranks_and_sizes_on_all) {
  const auto text = error_after([&](call& c) {
    c.opts.check = true;
    if (c.rank == 0) c.sc[at(last())] = 1;
  });
  // Those that take only equal blocks refuse the exchange before.
  if (text.find("does not serve") == std::string::npos)
    expect_mentions(text, fmt::format("rank 0 sends 4 bytes to rank {}, which expects 8 bytes", last()));
}

TEST_P(bad_input, too_little_memory_on_one_rank_fails_on_all) {
  std::size_t requested = 0;
  const auto fails_with = [&](std::size_t limit) {
    error_after<budget_exceeded>([&](call& c) {
      if (c.rank == last()) c.opts.memory = limit;
      if (requested != 0) return;
      try {
        run(c.given(), c.opts);
      } catch (const budget_exceeded& e) {
        requested = e.requested();
        EXPECT_EQ(e.limit(), limit);
      }
    });
  };
  call c(MPI_COMM_WORLD);
  c.opts.algorithm = GetParam()->name;
  if (!plan_if_served(c.given(), c.opts)) GTEST_SKIP() << "does not serve this exchange";
  fails_with(0);
  ASSERT_GT(requested, 0U);
  fails_with(requested - 1);
}

INSTANTIATE_TEST_SUITE_P(list, bad_input, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

TEST(communicator, is_refused_when_null) {
  call c(MPI_COMM_WORLD);
  c.comm = MPI_COMM_NULL;
  EXPECT_THROW(run(c.given()), usage_error);
  EXPECT_THROW(plan(c.given()), usage_error);
}

TEST(overlap, empty_blocks_may_lie_anywhere) {
  call c(MPI_COMM_WORLD);
  std::ranges::fill(c.sc, 0);
  std::ranges::fill(c.rc, 0);
  std::ranges::fill(c.rd, 1);
  run(c.given());
  c.expect_untouched();
}

TEST(plan_use, starting_a_started_plan_is_refused_and_does_no_harm) {
  call c(MPI_COMM_WORLD);
  plan p(c.given());
  p.start();
  EXPECT_THROW(p.start(), usage_error);
  EXPECT_THROW(p.run(), usage_error);
  p.wait();
  c.expect_right();
  p.wait();  // nothing is started: returns immediately
  EXPECT_TRUE(p.test());
}

}  // namespace
}  // namespace taquin::test
