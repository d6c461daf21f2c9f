// Blocking calls between nodes, which TAQUIN_NODES makes of one machine: with small blocks in the step, and others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/communicator.hpp"
#include "node/internode.hpp"
#include "select/choose.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

class between_nodes : public testing::Test {
 protected:
  scoped_comm comm{duplicate(MPI_COMM_WORLD)};
  int rank = rank_in(comm.get());
  int p = size_of(comm.get());
  std::vector<type_pair> types = make_types();
  std::mt19937 random{7};
  int salt = 0;
  statistics stats{};
  options automatic{.stats = &stats};

  static std::vector<type_pair> make_types() {
    std::vector<type_pair> types;
    for (const auto& t : all_types)
      if (!t.interleaves) types.push_back(t.make());
    return types;
  }

  // One call; every byte is looked at.
  void exchange_all(exchange::form kind, const workload& w, count_t most, const options& o, bool in_place = false,
                    bool symmetric = true) {
    std::swap(types[0], types[random() % types.size()]);
    problem x{.kind = kind,
              .p = p,
              .counts = w.make(p, most, random),
              .seed = static_cast<unsigned>(++salt),
              .in_place = in_place,
              .symmetric = symmetric,
              .types = &types};
    if (kind == exchange::form::alltoall) x.counts = count_matrix(at(p), std::vector<count_t>(at(p), most));
    if (in_place && symmetric) make_symmetric(x.counts);
    rank_buffers mine(x, rank);
    mine.fill(salt);
    run(mine.given_to(comm.get()), o);
    ASSERT_EQ(mine.wrong_bytes(), 0U) << w.name << ' ' << most << " call " << salt;
  }

  // alltoallv of ints, `count` to each; `spoil` makes it another call on this rank.
  template <class Spoil>
  std::string error_of(int count, Spoil spoil, const options& o) {
    std::vector<int> counts(at(p), count);
    std::vector<int> displs(at(p));
    for (int i = 0; i < p; ++i) displs[at(i)] = i * (count + 1);
    std::vector<int> send(at(p * (count + 1)), rank);
    std::vector<int> recv(at(p * (count + 1)), -1);
    std::vector<int> received = counts;
    spoil(counts, received);
    std::string what;
    try {
      run(exchange::alltoallv(send.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                              count_view(received.data()), count_view(displs.data()), MPI_INT, comm.get()),
          o);
    } catch (const error& e) {
      what = e.what();
    }
    for (int i = 0; i < p; ++i) EXPECT_EQ(recv[at(i * (count + 1) + count)], -1) << "behind the block of rank " << i;
    return what;
  }
  static void leave(std::vector<int>&, std::vector<int>&) {}

  // Calls until it is measured what is best for blocks of so many ints; true where it is `name`. The same on all ranks.
  bool settles_on(std::string_view name, int count) {
    for (int i = 0; i < 12; ++i) EXPECT_EQ(error_of(count, leave, automatic), "");
    return stats.algorithm == name;
  }
};

constexpr int large = 20000;  // ints: no step carries them

TEST_F(between_nodes, carry_small_blocks_from_the_first_call_on) {
  exchange_all(exchange::form::alltoallv, all_workloads[1], 5, automatic);
  EXPECT_EQ(stats.algorithm, "node_aggregated");
  EXPECT_EQ(stats.rounds, 1U);
}

TEST_F(between_nodes, carry_small_blocks_in_place) {
  types.resize(1);
  for (const auto kind : {exchange::form::alltoall, exchange::form::alltoallv}) {
    for (int i = 0; i < 3; ++i) {
      stats = {};
      exchange_all(kind, all_workloads[1], 5, automatic, true);
      EXPECT_EQ(stats.algorithm, "node_aggregated");
      EXPECT_EQ(stats.rounds, 1U);
    }
  }
  stats = {};
  exchange_all(exchange::form::alltoallv, all_workloads[1], 5, automatic, true, false);
  EXPECT_EQ(stats.algorithm, "node_aggregated");
  options named = automatic;
  named.algorithm = "node_aggregated";
  EXPECT_THROW(exchange_all(exchange::form::alltoall, all_workloads[0], 5, named, true), usage_error);
  const problem x{
      .p = p, .counts = count_matrix(at(p), std::vector<count_t>(at(p), 5)), .in_place = true, .types = &types};
  rank_buffers mine(x, rank);
  EXPECT_NE(plan(mine.given_to(comm.get()), automatic).algorithm(), "node_aggregated");
}

TEST_F(between_nodes, serve_all_forms_and_types_whatever_the_sizes) {
  for (int i = 0; i < 60; ++i) {
    const count_t most = std::array<count_t, 5>{1, 7, 60, 900, 9000}[random() % 5];
    const workload& w = all_workloads[random() % all_workloads.size()];
    const auto kind = static_cast<exchange::form>(random() % 3);
    options o = automatic;
    if (random() % 8 == 0) o.algorithm = "node_aggregated";
    if (random() % 8 == 0) o.algorithm = "spread_out";
    if (random() % 16 == 0) o.check = true;
    exchange_all(kind, w, most, o);
    if (HasFatalFailure()) return;
  }
}

TEST_F(between_nodes, serve_in_place_and_separate_buffers_in_turn) {
  types.resize(1);
  for (int i = 0; i < 60; ++i) {
    const count_t most = std::array<count_t, 5>{1, 7, 60, 900, 9000}[random() % 5];
    const workload& w = all_workloads[random() % all_workloads.size()];
    const auto kind = static_cast<exchange::form>(random() % 2);
    options o = automatic;
    if (random() % 8 == 0) o.memory = std::size_t{1} << 20U;
    const bool symmetric = kind == exchange::form::alltoall || random() % 2 == 0;
    exchange_all(kind, w, most, o, random() % 3 > 0, symmetric);
    if (HasFatalFailure()) return;
  }
}

TEST_F(between_nodes, serve_blocks_about_the_longest_that_a_step_carries) {
  types.resize(1);
  exchange_all(exchange::form::alltoall, all_workloads[0], 1, automatic);
  const auto* step = detail::internode::find(mpi::communicator::get_or_create(comm.get()));
  ASSERT_NE(step, nullptr);
  const auto most = static_cast<count_t>(step->most_bytes()) / types[0].send.size();
  for (const count_t n : {most - 1, most, most + 1, most, 2 * most})
    for (int i = 0; i < 3; ++i)
      exchange_all(exchange::form::alltoallv, all_workloads[static_cast<std::size_t>(i)], n, automatic);
}

// Each rank has one long block among short ones; the long ones follow the step directly.
TEST_F(between_nodes, long_blocks_follow_those_that_a_step_carries) {
  if (p < 5) GTEST_SKIP() << "with one long block of three the average is not short";
  options named = automatic;
  named.algorithm = "node_aggregated";
  EXPECT_EQ(error_of(1, leave, named), "");
  const auto most = static_cast<int>(
      detail::internode::find(mpi::communicator::get_or_create(comm.get()))->most_bytes() / sizeof(int));
  const int count = most + most / 8;
  const auto is_long = [&](int i, int j) { return (i + j) % p == 1; };
  const auto mix = [&](std::vector<int>& counts, std::vector<int>& received) {
    for (int peer = 0; peer < p; ++peer) received[at(peer)] = counts[at(peer)] = is_long(rank, peer) ? count : peer % 2;
    for (int peer = 0; peer < p; ++peer)
      if (!is_long(rank, peer)) received[at(peer)] = rank % 2;
  };
  for (int i = 0; i < 3; ++i) {
    stats = {};
    EXPECT_EQ(error_of(count, mix, named), "");
    EXPECT_EQ(stats.rounds, 1U) << "not by the step";
  }
  for (int i = 0; i < 12; ++i) EXPECT_EQ(error_of(count, mix, automatic), "");
  const int from = 1;  // who sends rank 0 its long block
  for (const int room : {count - 1, 1, 0}) {
    const auto spoil = [&](std::vector<int>& counts, std::vector<int>& received) {
      mix(counts, received);
      if (rank == 0) received[at(from)] = room;
    };
    const std::string what = error_of(count, spoil, named);
    EXPECT_NE(what.find("rank " + std::to_string(from) + " sends"), std::string::npos) << what;
    EXPECT_EQ(error_of(count, mix, named), "") << "after room for " << room;
  }
  const auto expects_too_much = [&](std::vector<int>& counts, std::vector<int>& received) {
    mix(counts, received);
    if (rank == 0) received[at(p - 1)] = count;
  };
  const std::string what = error_of(count, expects_too_much, named);
  EXPECT_NE(what.find("rank " + std::to_string(p - 1) + " sends"), std::string::npos) << what;
}

TEST_F(between_nodes, regimes_change_at_any_call) {
  types.resize(1);
  for (int i = 0; i < 40; ++i) {
    const int calls = 1 + static_cast<int>(random() % 20);
    const count_t most = i % 2 == 0 ? 20 : large;
    for (int k = 0; k < calls && !HasFatalFailure(); ++k)
      exchange_all(exchange::form::alltoallv, all_workloads[i % 3 == 0 ? 0 : 1], brief() ? most / 10 : most, automatic);
  }
}

// A program that exchanges as many bytes in place and with two buffers in turn comes to an end of measuring.
TEST_F(between_nodes, exchanges_in_place_and_with_two_buffers_are_measured_on_their_own) {
  auto& choices = detail::chooser::get_or_create(mpi::communicator::get_or_create(comm.get()));
  detail::shape two{.ranks = p, .kind = exchange::form::alltoallv, .one_unit = true, .unit_size = 4};
  two.max_block_bytes = two.min_block_bytes = 80000;
  two.max_rank_bytes = two.max_received_bytes = 80000 * static_cast<std::uint64_t>(p);
  two.nodes = 2;
  two.largest_node = p - 1;
  detail::shape one = two;
  one.in_place = true;
  bool measured = false;
  const auto take_turns = [&](const detail::shape& s) {
    EXPECT_NE(choices.choose(s, {}, false, unlimited), nullptr);
    choices.took(1e-6);
    const bool measures = choices.last_time() != unlimited;
    choices.record_time(choices.last_time());
    return measures;
  };
  for (int i = 0; i < 20; ++i) {
    measured = take_turns(two) || measured;
    take_turns(one);
  }
  EXPECT_TRUE(measured);
  EXPECT_FALSE(take_turns(two));
  EXPECT_FALSE(take_turns(one));
}

TEST_F(between_nodes, errors_are_alike) {
  for (const int count : {3, large}) {
    for (int i = 0; i < 4; ++i) {
      const int bad = i % p;
      const auto spoil = [&](std::vector<int>& counts, std::vector<int>&) {
        if (rank == bad) counts[0] = -1;
      };
      const std::string what = error_of(count, spoil, automatic);
      EXPECT_TRUE(what.starts_with("rank " + std::to_string(bad) + ":")) << what;
      for (int good = 0; good < 3; ++good) EXPECT_EQ(error_of(count, leave, automatic), "");
    }
  }
}

TEST_F(between_nodes, counts_that_do_not_match_are_an_error_on_all_ranks) {
  for (const int count : {3, large}) {
    settles_on("spread_out", count);
    for (const int expected : {count - 1, count + 1, 0}) {
      const auto spoil = [&](std::vector<int>&, std::vector<int>& received) {
        if (rank == 0) received[at(p - 1)] = std::min(expected, count);
      };
      const auto send_less = [&](std::vector<int>& counts, std::vector<int>&) {
        if (rank == p - 1) counts[0] = count - 1;
      };
      const std::string what =
          expected > count ? error_of(count, send_less, automatic) : error_of(count, spoil, automatic);
      EXPECT_NE(what.find(fmt::format("rank {} sends", p - 1)), std::string::npos) << what;
      EXPECT_NE(what.find("rank 0, which expects"), std::string::npos) << what;
      EXPECT_EQ(error_of(count, leave, automatic), "");
    }
  }
}

// Whatever the limit, ranks serve the call or refuse it together; an empty exchange needs least in a step.
TEST_F(between_nodes, empty_exchanges_in_place_hold_every_limit) {
  int nothing = 0;
  for (std::size_t limit = 0; limit <= 2048; limit += 52) {
    bool refused = false;
    try {
      alltoall(MPI_IN_PLACE, 0, MPI_INT, &nothing, 0, MPI_INT, comm.get(), {.memory = limit});
    } catch (const budget_exceeded& e) {
      refused = true;
      EXPECT_TRUE(e.collective()) << limit << ": " << e.what();
    }
    EXPECT_EQ(any_rank(refused), !any_rank(!refused)) << limit;
  }
}

TEST_F(between_nodes, a_limit_on_one_rank_holds) {
  for (const int count : {3, large}) {
    for (int i = 0; i < 30; ++i) {
      options o = automatic;
      if (i % 5 == 4 && rank == i % p) o.memory = 64;
      const std::string what = error_of(count, leave, o);
      EXPECT_EQ(any_rank(!what.empty()), i % 5 == 4) << what;
    }
  }
}

TEST_F(between_nodes, communicators_do_not_meet) {
  types.resize(1);
  scoped_comm first(duplicate(MPI_COMM_WORLD));
  for (int i = 0; i < 10; ++i) {
    const scoped_comm other(duplicate(MPI_COMM_WORLD));
    for (const MPI_Comm c : {first.get(), other.get(), comm.get()}) {
      const problem x{.p = p, .counts = all_workloads[1].make(p, i < 5 ? 9 : 3000, random), .types = &types};
      rank_buffers mine(x, rank);
      mine.fill(i);
      run(mine.given_to(c));
      ASSERT_EQ(mine.wrong_bytes(), 0U);
    }
  }
}

TEST_F(between_nodes, plans_and_calls_in_turn) {
  types.resize(1);
  const problem x{.p = p, .counts = all_workloads[1].make(p, 500, random), .types = &types};
  rank_buffers mine(x, rank);
  plan prepared(mine.given_to(comm.get()), automatic);
  for (int i = 0; i < 20; ++i) {
    mine.fill(i);
    prepared.start();
    exchange_all(exchange::form::alltoallv, all_workloads[0], i % 4 < 2 ? 10 : 5000, automatic);
    prepared.wait();
    ASSERT_EQ(mine.wrong_bytes(), 0U);
  }
}

// MPI_BOTTOM and absolute addresses: the blocks lie far from the buffer's address, with gaps that are not touched.
TEST_F(between_nodes, alltoallv_in_place_moves_data_at_absolute_addresses) {
  std::vector<int> data(at(4 * p), -1);
  for (int i = 0; i < p; ++i) data[at(4 * i)] = data[at(4 * i + 2)] = 100 * rank + i;
  const std::array<int, 2> lengths{1, 1};
  std::array<MPI_Aint, 2> places{0, 2 * sizeof(int)};
  const std::array<MPI_Datatype, 2> ints{MPI_INT, MPI_INT};
  MPI_Aint base = 0;
  MPI_Get_address(data.data(), &base);
  for (MPI_Aint& place : places) place += base;
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), ints.data(), &two);
  MPI_Type_create_resized(two, 0, 4 * sizeof(int), &type);
  MPI_Type_commit(&type);
  const std::vector<count_t> counts(at(p), 1);
  std::vector<count_t> displs(at(p));
  std::iota(displs.begin(), displs.end(), count_t{0});
  for (int round = 0; round < 3; ++round)
    alltoallv(MPI_IN_PLACE, counts.data(), displs.data(), type, MPI_BOTTOM, counts.data(), displs.data(), type,
              comm.get());
  for (int i = 0; i < p; ++i) {
    EXPECT_EQ(data[at(4 * i)], 100 * i + rank);
    EXPECT_EQ(data[at(4 * i + 2)], 100 * i + rank);
    EXPECT_EQ(data[at(4 * i + 1)], -1);
    EXPECT_EQ(data[at(4 * i + 3)], -1);
  }
  MPI_Type_free(&type);
  MPI_Type_free(&two);
}

TEST_F(between_nodes, alltoall_in_place_moves_data_before_the_origin_of_their_type) {
  constexpr int before = 1 << 20;  // where nothing of the program may lie
  std::vector<int> data(at(p));
  for (int i = 0; i < p; ++i) data[at(i)] = 100 * rank + i;
  const int one = 1;
  const MPI_Aint place = -before;
  const MPI_Datatype integer = MPI_INT;
  MPI_Datatype far = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(1, &one, &place, &integer, &far);
  MPI_Type_create_resized(far, 0, sizeof(int), &type);
  MPI_Type_commit(&type);
  for (int round = 0; round < 3; ++round)
    alltoall(MPI_IN_PLACE, 1, type, reinterpret_cast<std::byte*>(data.data()) + before, 1, type, comm.get());
  for (int i = 0; i < p; ++i) EXPECT_EQ(data[at(i)], 100 * i + rank);
  MPI_Type_free(&type);
  MPI_Type_free(&far);
}

TEST_F(between_nodes, alltoallw_in_place_with_elements_of_several_sizes_is_refused_with_the_reason) {
  std::vector<double> data(at(p), rank);
  std::vector<MPI_Datatype> mixed(at(p));
  for (int i = 0; i < p; ++i) mixed[at(i)] = (rank + i) % 2 == 0 ? MPI_INT : MPI_DOUBLE;
  const std::vector<count_t> counts(at(p), 1);
  std::vector<count_t> displs(at(p));
  for (int i = 0; i < p; ++i) displs[at(i)] = i * static_cast<count_t>(sizeof(double));
  try {
    alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, data.data(), counts.data(), displs.data(), mixed.data(),
              comm.get());
    ADD_FAILURE() << "served: then say so in taquin.h";
  } catch (const usage_error& e) {
    EXPECT_TRUE(e.collective());
    EXPECT_NE(std::string_view(e.what()).find("elements of one size"), std::string_view::npos) << e.what();
  }
}

// Offers to the own node need memory beyond that of the algorithm.
TEST_F(between_nodes, in_place_goes_within_any_limit_or_is_refused_on_all_ranks) {
  const std::vector<count_t> counts(at(p), 5);
  std::vector<count_t> displs(at(p));
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), count_t{0});
  int done = 0;
  for (std::size_t memory = 3000; memory < 7000; memory += 50) {
    std::vector<int> data(at(5 * p), rank);
    const exchange x =
        exchange::alltoallv_in_place(data.data(), count_view(counts.data()), count_view(displs.data()),
                                     count_view(counts.data()), count_view(displs.data()), MPI_INT, comm.get());
    if (memory == 3000) run(x, {.algorithm = "in_place"});  // in which ranks get to know each other
    try {
      run(x, {.algorithm = "in_place", .memory = memory});
      ++done;
    } catch (const error& e) {
      ASSERT_TRUE(e.collective()) << memory << ": " << e.what();
    }
  }
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace taquin::test
