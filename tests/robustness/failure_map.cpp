// What is whole of an exchange in place, a redistribution or a migration that memory or an MPI call has ended on one
// rank, compared with the data: every element says where it comes from. TAQUIN_TEST_FAILURES: how many of each.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "faults.hpp"
#include "redistribute/machine.hpp"
#include "redistribute/problems.hpp"
#include "support/world.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using origin = std::uint64_t;

origin origin_of(int from, int to, count_t k) {
  return static_cast<origin>(from + 1) << 48U | static_cast<origin>(to + 1) << 32U | static_cast<origin>(k + 1);
}

// Counts between all ranks from a seed that all have.
class traffic {
 public:
  traffic(unsigned seed, MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    std::mt19937 random(seed);
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to) {
        const auto n = static_cast<count_t>(random() % 3 == 0 ? 0 : random() % 5000);
        if (from == rank_) out_.push_back(n);
        if (to == rank_) in_.push_back(n);
      }
    std::exclusive_scan(out_.begin(), out_.end(), std::back_inserter(out_at_), count_t{0});
    std::exclusive_scan(in_.begin(), in_.end(), std::back_inserter(in_at_), count_t{0});
    data_.resize(static_cast<std::size_t>(std::max(out_at_.back() + out_.back(), in_at_.back() + in_.back())));
    for (int to = 0; to < ranks_; ++to)
      for (count_t k = 0; k < out_[at(to)]; ++k)
        data_[static_cast<std::size_t>(out_at_[at(to)] + k)] = origin_of(rank_, to, k);
  }
  exchange given(MPI_Comm comm) {
    return exchange::alltoallv_in_place(data_.data(), count_view(out_.data()), count_view(out_at_.data()),
                                        count_view(in_.data()), count_view(in_at_.data()), MPI_UINT64_T, comm);
  }
  // Wrong bytes of what the map says to be whole.
  [[nodiscard]] std::size_t lies(const failure::block_map& map) const {
    std::size_t wrong = 0;
    for (const failure::part& p : map.incoming) {
      if (p.what == failure::state::arrived) wrong += differing(bytes(data_) + p.at, p.peer, rank_, p);
      if (p.what == failure::state::staged) wrong += differing(map.staged.data() + p.at, p.peer, rank_, p);
    }
    for (const failure::part& p : map.outgoing)
      if (p.what == failure::state::stands) wrong += differing(bytes(data_) + p.at, rank_, p.peer, p);
    return wrong;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static const std::byte* bytes(const std::vector<origin>& v) { return reinterpret_cast<const std::byte*>(v.data()); }
  static std::size_t differing(const std::byte* here, int from, int to, const failure::part& p) {
    std::size_t wrong = 0;
    for (count_t k = 0; k < p.length; ++k) {  // a unit is a byte
      const auto unit = static_cast<count_t>(sizeof(origin));
      const origin truth = origin_of(from, to, (p.offset + k) / unit);
      wrong += std::memcmp(here + k, reinterpret_cast<const std::byte*>(&truth) + (p.offset + k) % unit, 1) != 0;
    }
    return wrong;
  }

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<count_t> out_, in_, out_at_, in_at_;
  std::vector<origin> data_;
};

unsigned failures_to_try(unsigned few) {
  const char* const asked = std::getenv("TAQUIN_TEST_FAILURES");
  return asked == nullptr ? few : static_cast<unsigned>(std::stoul(asked));
}

// An MPI library may still send from what a failed call has sent from, and does so whenever it is called: a program
// keeps such data as long as its communicators.
template <class T>
T& kept(T&& made) {
  static std::vector<std::unique_ptr<std::decay_t<T>>> all;
  all.push_back(std::make_unique<std::decay_t<T>>(std::forward<T>(made)));
  return *all.back();
}

// The C API's map is the same.
bool same_in_c(const failure::block_map& map) {
  TAQUIN_Block_map c;
  const auto same = [](const TAQUIN_Part* parts, MPI_Count n, const std::vector<failure::part>& list) {
    bool alike = n == static_cast<MPI_Count>(list.size());
    for (std::size_t k = 0; alike && k < list.size(); ++k)
      alike = parts[k].state == static_cast<int>(list[k].what) && parts[k].peer == list[k].peer &&
              parts[k].offset == list[k].offset && parts[k].length == list[k].length && parts[k].at == list[k].at;
    return alike;
  };
  return TAQUIN_Failure_blocks(&c) == MPI_SUCCESS && c.known == 1 && c.unit_bytes == map.unit_bytes &&
         same(c.outgoing, c.outgoing_size, map.outgoing) && same(c.incoming, c.incoming_size, map.incoming) &&
         c.staged_units * c.unit_bytes == static_cast<MPI_Count>(map.staged.size()) &&
         (map.staged.empty() || std::memcmp(c.staged, map.staged.data(), map.staged.size()) == 0);
}

// What has been found wrong, and how many maps there were, of all trials.
struct findings {
  int maps = 0;
  std::size_t wrong = 0;
};

// `step(comm)` with a fault on one rank in its n-th request for memory or call of the MPI library, for several n; then
// `look(map)` says how much of the map is wrong.
template <class Prepare>
findings with_faults(unsigned trials, Prepare prepare, unsigned steps = 40) {
  findings all;
  const int ranks = test::size_of(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < trials; ++seed) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    const bool faulty = test::rank_in(comm.get()) == static_cast<int>(seed) % ranks;
    prepare(seed, comm.get(), [&](auto step, auto look) {
      std::mt19937 random(seed);
      const int n = static_cast<int>(random() % steps);
      if (faulty) test::arm(random() % 3 == 0 ? test::fault::memory : test::fault::mpi_call, n);
      try {
        step();
      } catch (const std::exception&) {
        test::disarm();
        const failure::block_map map = failure::blocks();
        if (map.known) {
          ++all.maps;
          all.wrong += look(map) + (same_in_c(map) ? 0 : 1);
          EXPECT_EQ(all.wrong, 0U) << "seed " << seed;
        }
      }
      test::disarm();
    });
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &all.maps, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
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

INSTANTIATE_TEST_SUITE_P(failure_map, every_in_place, testing::Values("in_place", "in_place_phases"),
                         [](const auto& i) { return std::string(i.param); });

// Blocks of any number of words, all of which say where the block comes from and goes to.
class block_traffic {
 public:
  block_traffic(unsigned seed, MPI_Comm comm, std::size_t words) : words_(words) {
    MPI_Comm_rank(comm, &rank_);
    const int ranks = test::size_of(comm);
    std::mt19937 random(seed);
    std::vector<int> sizes(static_cast<std::size_t>(ranks));
    for (int& n : sizes) n = static_cast<int>(random() % 40);
    const test::block_problem all = test::random_problem(sizes, static_cast<int>(random() % 5 + 6) * 10, seed);
    mine_ = all[static_cast<std::size_t>(rank_)];
    for (int k = 0; k < mine_.blocks; ++k)
      for (std::size_t w = 0; w < words_; ++w)
        data_.push_back(name(mine_.ranks[static_cast<std::size_t>(k)], mine_.indices[static_cast<std::size_t>(k)], w));
  }
  [[nodiscard]] origin* data() { return data_.data(); }
  [[nodiscard]] const test::rank_map& map() const { return mine_; }
  // Wrong blocks of what the map says to be whole.
  [[nodiscard]] std::size_t lies(const failure::block_map& map) const {
    std::size_t wrong = map.unit_bytes != static_cast<count_t>(words_ * sizeof(origin));
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list)
        for (count_t k = 0; p.what != failure::state::missing && k < p.length; ++k)
          wrong += differs(map, p, k, list == &map.incoming ? rank_ : p.peer);
    return wrong;
  }

  // Starts what `map` has left, and compares the array with what all have had. How many blocks there were on all ranks,
  // and how many are lost.
  std::pair<int, int> go_on(redistribution& r, const failure::block_map& map, MPI_Comm comm) {
    const auto n = static_cast<std::size_t>(mine_.blocks);
    std::vector<int> ranks(n, -1);
    std::vector<int> places(n, 0);
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list)
        for (count_t k = 0; p.at >= 0 && p.what != failure::state::staged && k < p.length; ++k) {
          ranks[static_cast<std::size_t>(p.at + k)] = list == &map.incoming ? rank_ : p.peer;
          places[static_cast<std::size_t>(p.at + k)] = static_cast<int>(p.offset + k);
        }
    // A rank whose part had ended well has all; its map need not list them.
    const bool ended = map.incoming.empty();
    for (std::size_t k = 0; ended && k < n; ++k)
      if (data_[k * words_] == name(rank_, static_cast<int>(k), 0) && ranks[k] < 0) {
        ranks[k] = rank_;
        places[k] = static_cast<int>(k);
      }
    r(std::span<const int>(ranks), std::span<const int>(places));
    // What is where it belongs, and what is with a map.
    int counts[3] = {0, 0, 0};
    for (std::size_t k = 0; k < n; ++k) {
      counts[0] += mine_.ranks[k] >= 0;
      std::size_t right = 0;
      for (std::size_t w = 0; w < words_; ++w) right += data_[k * words_ + w] == name(rank_, static_cast<int>(k), w);
      counts[1] += right == words_;
    }
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list) {
        if (p.what == failure::state::staged) counts[1] += static_cast<int>(p.length);
        if (p.what == failure::state::missing) counts[2] += static_cast<int>(p.length);
      }
    MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_INT, MPI_SUM, comm);
    EXPECT_GE(counts[1] + counts[2], counts[0]) << "a block is neither in its place, nor held by a map, nor missing";
    return {counts[0], counts[0] - counts[1]};
  }

 private:
  static origin name(int to, int index, std::size_t word) {
    return static_cast<origin>(to + 2) << 48U | static_cast<origin>(static_cast<unsigned>(index + 8)) << 16U | word;
  }
  std::size_t differs(const failure::block_map& map, const failure::part& p, count_t k, int to) const {
    const auto* staged = reinterpret_cast<const origin*>(map.staged.data());
    const origin* const here =
        (p.what == failure::state::staged ? staged : data_.data()) + static_cast<std::size_t>(p.at + k) * words_;
    for (std::size_t w = 0; w < words_; ++w)
      if (here[w] != name(to, static_cast<int>(p.offset + k), w)) return 1;
    return 0;
  }

  std::size_t words_;
  int rank_ = 0;
  test::rank_map mine_;
  std::vector<origin> data_;
};

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

INSTANTIATE_TEST_SUITE_P(failure_map, every_redistribution, testing::ValuesIn(detail::redistributions()),
                         [](const auto& i) { return std::string(i.param->name); });

// All ranks are still there: after a repair every block is on one of them or was on its way, and the next start brings
// all that are left to their places.
TEST_P(every_redistribution, is_repaired_and_goes_on_with_every_block_that_is_left) {
  const unsigned trials = failures_to_try(6);
  int repairs = 0;
  int blocks = 0;
  int lost = 0;
  for (unsigned seed = 0; seed < trials; ++seed) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    const test::scoped_comm survivors(test::duplicate(MPI_COMM_WORLD));
    const std::size_t words = seed % 3 == 0 ? 1024 : seed % 3 == 1 ? 3 : 300;
    block_traffic& mine = kept(block_traffic(seed, comm.get(), words));
    redistribution& r = kept(redistribution(mine.data(), mine.map().blocks, static_cast<count_t>(words), MPI_UINT64_T,
                                            comm.get(), {.algorithm = GetParam()->name}));
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
    const failure::block_map map = r.repair(survivors.get());
    EXPECT_EQ(mine.lies(map), 0U) << "seed " << seed;
    const auto [all, missing] = mine.go_on(r, map, survivors.get());
    blocks += all;
    lost += missing;
  }
  EXPECT_TRUE(test::size_of(MPI_COMM_WORLD) == 1 || repairs > 0);
  EXPECT_LE(lost, blocks / 2) << repairs;
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
        struct particle {
          int from, to;
          origin check;
        };
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
              std::size_t wrong = map.unit_bytes != sizeof(particle);
              for (const auto* list : {&map.incoming, &map.outgoing})
                for (const failure::part& part : *list)
                  for (count_t k = 0; part.what != failure::state::missing && k < part.length; ++k) {
                    const particle* const staged = reinterpret_cast<const particle*>(map.staged.data());
                    const particle& p = (part.what == failure::state::staged ? staged : all.data())[part.at + k];
                    const bool in = list == &map.incoming;
                    wrong += p.check != origin_of(p.from, p.to, 7) || p.to != (in ? rank : part.peer) ||
                             (in && p.from != part.peer);
                  }
              return wrong;
            });
      },
      150);
  EXPECT_TRUE(ranks == 1 || found.maps > 0) << found.maps;
}

// With separate buffers nothing of the send side is ever changed, whatever fails.
class every_algorithm : public testing::TestWithParam<const detail::algorithm*> {};

TEST_P(every_algorithm, leaves_the_send_side_as_it_was_whatever_fails) {
  const std::string name(GetParam()->name);
  if (name == "native") GTEST_SKIP() << "waits in the MPI library's own collective, out of which nobody calls it";
  with_faults(failures_to_try(5), [&](unsigned seed, MPI_Comm comm, auto attempt) {
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
  });
}

INSTANTIATE_TEST_SUITE_P(failure_map, every_algorithm, testing::ValuesIn(detail::algorithms()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace taquin
