// The map of whole data after an exchange in place, a redistribution or a migration that memory or an MPI call has
// ended on one rank: every element has its origin as its value. TAQUIN_TEST_FAILURES: how many of each.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "faults/layer.hpp"
#include "faults/map_of_program.hpp"
#include "faults/map_traffic.hpp"
#include "faults/redistribution_in_c.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/machine.hpp"
#include "support/failures_to_try.hpp"
#include "support/instruments.hpp"
#include "support/world.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using test::block_traffic;
using test::failures_to_try;
using test::kept;
using test::origin;
using test::origin_of;
using test::redistribution_in_c;
using test::same_in_c;
using test::traffic;

// The errors found, and how many maps there were, of all trials.
struct findings {
  int maps = 0;
  int failed = 0;
  std::size_t wrong = 0;
};

// `step(comm)` with a fault on one rank in its n-th request for memory or call of the MPI library, for several n; then
// `inspect(map)` is how much of the map is wrong.
template <class Prepare>
findings with_faults(unsigned trials, Prepare prepare, unsigned steps = 40, bool types = false) {
  findings all;
  const int ranks = test::size_of(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < trials; ++seed) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    const bool faulty = test::rank_in(comm.get()) == static_cast<int>(seed) % ranks;
    prepare(seed, comm.get(), [&](auto step, auto inspect) {
      MPI_Barrier(MPI_COMM_WORLD);  // no rank is still in a previous call
      std::mt19937 random(seed);
      const int n = static_cast<int>(random() % steps);
      const auto usual = random() % 3 == 0 ? test::fault::memory : test::fault::mpi_call;
      if (faulty) test::arm(types ? test::fault::datatype : usual, n);
      try {
        step();
      } catch (const std::exception&) {
        test::disarm();
        ++all.failed;
        const failure::block_map map = failure::blocks();
        if (map.known) {
          ++all.maps;
          all.wrong += inspect(map) + (same_in_c(map) ? 0 : 1);
          EXPECT_EQ(all.wrong, 0U) << "seed " << seed;
        }
      }
      test::disarm();
    });
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &all.maps, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &all.failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

class every_in_place : public testing::TestWithParam<const char*> {};

TEST_P(every_in_place, is_true_after_memory_or_an_mpi_call_has_failed_at_any_step) {
  const unsigned trials = failures_to_try(14);
  const auto found = with_faults(trials, [](unsigned seed, MPI_Comm comm, auto attempt) {
    options o{.algorithm = GetParam()};
    o.in_place_phases.sparse_requests = seed % 2 == 0;
    traffic& mine = kept(traffic(seed, comm));
    const exchange x = mine.given(comm);
    traffic first(seed + 100000, comm);  // in which ranks get to know each other
    run(first.given(comm), o);
    attempt([&] { run(x, o); },
            [&](const failure::block_map& map) {
              EXPECT_EQ(map.unit_bytes, 1);
              return mine.lies(map);
            });
  });
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || found.maps > 0) << found.maps;
}

// An element of two halves, as a type of a shape that follows from the seed; no call has seen it.
class halves {
 public:
  explicit halves(unsigned seed) {
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {seed % 2 == 0 ? 0 : 4, seed % 2 == 0 ? 4 : 0};
    seed % 3 == 0 ? MPI_Type_contiguous(2, MPI_UINT32_T, &type_)
                  : MPI_Type_create_hindexed(2, lengths, places, MPI_UINT32_T, &type_);
    MPI_Type_commit(&type_);
  }
  ~halves() { MPI_Type_free(&type_); }
  halves(const halves&) = delete;
  halves& operator=(const halves&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

TEST_P(every_in_place, is_true_after_a_datatype_has_failed) {
  const unsigned trials = failures_to_try(40);
  const auto found = with_faults(
      trials,
      [](unsigned seed, MPI_Comm comm, auto attempt) {
        options o{.algorithm = GetParam()};
        traffic& mine = kept(traffic(seed, comm));
        const halves type(seed);
        traffic first(seed + 100000, comm);
        run(first.given(comm), o);
        attempt([&] { run(mine.given(comm, type), o); }, [&](const failure::block_map& map) { return mine.lies(map); });
      },
      12, true);
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || found.failed > 0);
}

INSTANTIATE_TEST_SUITE_P(failure_map, every_in_place, testing::Values("in_place", "in_place_phases"),
                         [](const auto& i) { return std::string(i.param); });

class every_redistribution : public testing::TestWithParam<const detail::redistribution_algorithm*> {};

TEST_P(every_redistribution, is_true_after_memory_or_an_mpi_call_has_failed_at_any_step) {
  const unsigned trials = failures_to_try(14);
  const auto found = with_faults(trials, [](unsigned seed, MPI_Comm comm, auto attempt) {
    const std::size_t words = seed % 3 == 0 ? 1024 : seed % 3 == 1 ? 3 : 300;  // by reading, packed, where they belong
    block_traffic& mine = kept(block_traffic(seed, comm, words));
    redistribution& r =
        kept(redistribution(mine.data(), mine.map().blocks, static_cast<count_t>(words), MPI_UINT64_T, comm,
                            {.algorithm = GetParam()->name, .least_progress = seed % 2 == 0 ? 0 : 0.9}));
    attempt([&] { r(std::span(mine.map().ranks), std::span(mine.map().indices)); },
            [&](const failure::block_map& map) { return mine.lies(map); });
  });
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || found.maps > 0) << found.maps;
}

TEST_P(every_redistribution, is_true_after_a_datatype_has_failed) {
  const unsigned trials = failures_to_try(40);
  const auto found = with_faults(
      trials,
      [](unsigned seed, MPI_Comm comm, auto attempt) {
        const std::size_t words = seed % 3 == 0 ? 1024 : seed % 3 == 1 ? 3 : 300;
        block_traffic& mine = kept(block_traffic(seed, comm, words));
        const halves type(seed);
        attempt(
            [&] {
              redistribution& r = kept(redistribution(mine.data(), mine.map().blocks, static_cast<count_t>(words), type,
                                                      comm, {.algorithm = GetParam()->name}));
              r(std::span(mine.map().ranks), std::span(mine.map().indices));
            },
            [&](const failure::block_map& map) { return mine.lies(map); });
      },
      12, true);
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || found.failed > 0);
}

INSTANTIATE_TEST_SUITE_P(failure_map, every_redistribution, testing::ValuesIn(detail::redistributions()),
                         [](const auto& i) { return std::string(i.param->name); });

// Blocks of a redistribution: words of a part, and parts of a block where the memory is too small for whole ones.
struct divided {
  std::size_t words = 1;
  int parts = 1;
  std::size_t memory = unlimited;
};

divided whole_blocks(unsigned seed) { return {seed % 3 == 0 ? 1024U : seed % 3 == 1 ? 3U : 300U}; }

// The least memory that blocks of 32 KiB need.
divided blocks_in_parts(const detail::redistribution_algorithm& a, unsigned seed, MPI_Comm comm) {
  constexpr std::size_t words = 4096;
  detail::redistribution_problem p{
      .algorithm = &a, .ranks = test::size_of(comm), .block_bytes = words * sizeof(origin), .block_length = words};
  for (const int n : block_traffic::sizes(seed, p.ranks)) {
    const auto blocks = static_cast<std::size_t>(n);
    if (n > 0) p.least_blocks = p.least_blocks == 0 ? blocks : std::min(p.least_blocks, blocks);
    p.most_blocks = std::max(p.most_blocks, blocks);
  }
  const std::size_t least = detail::least_memory(p);
  const std::size_t parts = detail::choose_buffers(p, least)->parts;
  return {words / parts, static_cast<int>(parts), least};
}

TEST_P(every_redistribution, of_blocks_in_parts_is_true_after_memory_or_an_mpi_call_has_failed_at_any_step) {
  bool in_parts = false;
  const auto found = with_faults(failures_to_try(14), [&](unsigned seed, MPI_Comm comm, auto attempt) {
    const divided d = blocks_in_parts(*GetParam(), seed, comm);
    in_parts = in_parts || d.parts > 1;
    block_traffic& mine = kept(block_traffic(seed, comm, d.words, d.parts));
    redistribution& r = kept(redistribution(mine.data(), mine.map().blocks, static_cast<count_t>(d.words) * d.parts,
                                            MPI_UINT64_T, comm, {.algorithm = GetParam()->name, .memory = d.memory}));
    attempt([&] { r(std::span(mine.map().ranks), std::span(mine.map().indices)); },
            [&](const failure::block_map& map) { return mine.lies(map); });
  });
  EXPECT_TRUE(in_parts);
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || found.maps > 0) << found.maps;
}

// Redistributions that fail on one rank, of all ranks, which are still there. `go_on(r, mine, survivors)` of each says
// how many blocks there were, and how many are lost.
template <class Redistribution = redistribution, class GoOn>
void repairs(const detail::redistribution_algorithm& algorithm, GoOn go_on, bool in_parts = false) {
  const int enough = static_cast<int>(failures_to_try(4));
  int repairs = 0;
  int blocks = 0;
  int lost = 0;
  // Few of the faults meet a redistribution through a node's memory: it calls the MPI library, or allocates, rarely.
  for (unsigned seed = 0; seed < 40 && repairs < enough; ++seed) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    const test::scoped_comm survivors(test::duplicate(MPI_COMM_WORLD));
    MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);  // of C
    const divided d = in_parts ? blocks_in_parts(algorithm, seed, comm.get()) : whole_blocks(seed);
    block_traffic& mine = kept(block_traffic(seed, comm.get(), d.words, d.parts));
    Redistribution& r =
        kept(Redistribution(mine.data(), mine.map().blocks, static_cast<count_t>(d.words) * d.parts, MPI_UINT64_T,
                            comm.get(), {.algorithm = algorithm.name, .memory = d.memory}));
    std::mt19937 random(seed);
    const int n = static_cast<int>(random() % 40);
    if (test::rank_in(comm.get()) == static_cast<int>(seed) % test::size_of(comm.get()))
      test::arm(random() % 3 == 0 ? test::fault::memory : test::fault::mpi_call, n);
    int failed = 0;
    try {
      r(std::span(mine.map().ranks), std::span(mine.map().indices));
    } catch (const std::exception&) {
      failed = 1;
    }
    test::disarm();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed == 0) continue;
    ++repairs;
    SCOPED_TRACE(seed);
    const auto [all, missing] = go_on(r, mine, survivors.get());
    blocks += all;
    lost += missing;
  }
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || repairs > 0);
  EXPECT_LE(lost, blocks / 2) << repairs;
}

// After a repair every block is on one of them or was on its way, and the next start brings all that are left to their
// places.
TEST_P(every_redistribution, is_repaired_and_goes_on_with_every_block_that_is_left) {
  repairs(*GetParam(), [](redistribution& r, block_traffic& mine, MPI_Comm survivors) {
    const failure::block_map map = r.repair(survivors);
    EXPECT_EQ(mine.lies(map), 0U);
    return mine.go_on(r, map, survivors);
  });
}

// The same, and the next start brings all that are left to where they were.
TEST_P(every_redistribution, is_rolled_back_with_every_block_that_is_left) {
  repairs(*GetParam(), [](redistribution& r, block_traffic& mine, MPI_Comm survivors) {
    return mine.go_back(r, r.roll_back(survivors, mine.map().ranks, mine.map().indices), survivors);
  });
}

TEST_P(every_redistribution, of_blocks_in_parts_is_repaired_and_rolled_back) {
  int turn = 0;
  const auto go_on = [&](redistribution& r, block_traffic& mine, MPI_Comm survivors) {
    if (++turn % 2 == 0) return mine.go_on(r, r.repair(survivors), survivors);
    return mine.go_back(r, r.roll_back(survivors, mine.map().ranks, mine.map().indices), survivors);
  };
  repairs(*GetParam(), go_on, true);
}

// Both in C, by turns.
TEST_P(every_redistribution, is_repaired_and_rolled_back_in_c) {
  int turn = 0;
  repairs<redistribution_in_c>(*GetParam(), [&](redistribution_in_c& r, block_traffic& mine, MPI_Comm survivors) {
    if (++turn % 2 == 0) return mine.go_on(r, r.repair(survivors), survivors);
    return mine.go_back(r, r.roll_back(survivors, mine.map().ranks, mine.map().indices), survivors);
  });
}

// An item that knows its source and where it goes.
struct particle {
  int from, to;
  origin check;
};

// The items of a map that are not those that it says. `at(i)` is the i-th one of the data.
template <class At>
std::size_t wrong_items(const failure::block_map& map, int rank, At at) {
  std::size_t wrong = map.unit_bytes != sizeof(particle);
  const auto* const staged = reinterpret_cast<const particle*>(map.staged.data());
  for (const auto* list : {&map.incoming, &map.outgoing})
    for (const failure::part& part : *list)
      for (count_t k = 0; part.what != failure::state::missing && k < part.length; ++k) {
        const auto i = static_cast<std::size_t>(part.at + k);
        const particle p = part.what == failure::state::staged ? staged[i] : at(i);
        const bool in = list == &map.incoming;
        wrong +=
            p.check != origin_of(p.from, p.to, 7) || p.to != (in ? rank : part.peer) || (in && p.from != part.peer);
      }
  return wrong;
}

// Elements that know where they go; their places there follow from the migration.
TEST(failure_map, of_a_migration_says_where_every_element_is_and_for_whom) {
  const unsigned trials = failures_to_try(100);
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const auto found = with_faults(
      trials,
      [&](unsigned seed, MPI_Comm comm, auto attempt) {
        const int rank = test::rank_in(comm);
        std::mt19937 random(seed + 1000U * static_cast<unsigned>(rank));
        // More than go in two steps of the node's memory, where nothing can fail in the middle.
        std::vector<particle>& all = kept(std::vector<particle>(5000 + random() % 3000));
        std::vector<particle> first(1, {rank, rank, 0});
        migrate(
            first, [](const particle& p) { return p.to; }, comm);  // in which ranks get to know each other
        for (particle& p : all) {
          p = {rank, static_cast<int>(random() % static_cast<unsigned>(ranks)), 0};
          p.check = origin_of(p.from, p.to, 7);
        }
        attempt(
            [&] {
              migrate(
                  all, [](const particle& p) { return p.to; }, comm);
            },
            [&](const failure::block_map& map) {
              return wrong_items(map, rank, [&](std::size_t i) { return all[i]; });
            });
      },
      150);
  EXPECT_TRUE(ranks == 1 || found.maps > 0) << found.maps;
}

// The same in three arrays, which move together: a part of the map has the places of items in all of them, and staged
// items are whole.
TEST(failure_map, of_a_migration_of_several_arrays_holds_for_all_of_them) {
  const unsigned trials = failures_to_try(100);
  const int ranks = test::size_of(MPI_COMM_WORLD);
  std::size_t staged_items = 0;
  const auto found = with_faults(
      trials,
      [&](unsigned seed, MPI_Comm comm, auto attempt) {
        const int rank = test::rank_in(comm);
        std::mt19937 random(seed + 1000U * static_cast<unsigned>(rank));
        struct arrays {
          std::vector<int> from, to;
          std::vector<origin> check;
        };
        arrays& all = kept(arrays{});
        std::vector<int> first(1, rank);
        migrate(
            first, [](int to) { return to; }, comm);  // in which ranks get to know each other
        for (auto k = 5000 + random() % 3000; k > 0; --k) {
          all.from.push_back(rank);
          all.to.push_back(static_cast<int>(random() % static_cast<unsigned>(ranks)));
          all.check.push_back(origin_of(rank, all.to.back(), 7));
        }
        attempt([&] { migrate(std::vector<int>(all.to), comm, all.from, all.to, all.check); },
                [&](const failure::block_map& map) {
                  for (const auto* list : {&map.incoming, &map.outgoing})
                    for (const failure::part& part : *list)
                      if (part.what == failure::state::staged) staged_items += static_cast<std::size_t>(part.length);
                  return wrong_items(map, rank, [&](std::size_t i) {
                    return particle{all.from[i], all.to[i], all.check[i]};
                  });
                });
      },
      150);
  EXPECT_TRUE(ranks == 1 || found.maps > 0) << found.maps;
  MPI_Allreduce(MPI_IN_PLACE, &staged_items, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_TRUE(ranks == 1 || detail::environment::get().shared_memory || staged_items > 0);
}

// With separate buffers nothing of the send side is ever changed, whatever fails.
class every_algorithm : public testing::TestWithParam<const detail::algorithm*> {};

TEST_P(every_algorithm, leaves_the_send_side_as_it_was_whatever_fails) {
  const std::string name(GetParam()->name);
  if (name == "native") GTEST_SKIP() << "waits in the MPI library's own collective, out of which nobody calls it";
  // Where ranks share memory a call may make no MPI call at all.
  test::instruments::idle_is_right = detail::environment::get().shared_memory;
  const auto attempt_all = [&](unsigned seed, MPI_Comm comm, auto attempt) {
    const auto ranks = static_cast<std::size_t>(test::size_of(comm));
    const int n = seed % 2 == 0 ? 3 : 5000;
    std::vector<origin>& send = kept(std::vector<origin>(ranks * static_cast<std::size_t>(n)));
    std::iota(send.begin(), send.end(), seed);
    const std::vector<origin> before = send;
    std::vector<origin>& recv = kept(std::vector<origin>(send.size()));
    // In which ranks get to know each other: a plan, since a communicator's first calls make nothing.
    plan(exchange::alltoall(send.data(), 1, MPI_UINT64_T, recv.data(), 1, MPI_UINT64_T, comm)).run();
    const exchange x = exchange::alltoall(send.data(), n, MPI_UINT64_T, recv.data(), n, MPI_UINT64_T, comm);
    attempt([&] { run(x, {.algorithm = name}); }, [](const failure::block_map&) { return std::size_t{0}; });
    EXPECT_EQ(send, before);
  };
  with_faults(failures_to_try(10), attempt_all, 12);  // of few MPI calls
}

INSTANTIATE_TEST_SUITE_P(failure_map, every_algorithm, testing::ValuesIn(detail::algorithms()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace taquin
