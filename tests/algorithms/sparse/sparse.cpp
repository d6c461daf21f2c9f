// Sparse exchanges over MPI, against the counts of all ranks.
#include "taquin/sparse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "algorithms/sparse/algorithm.hpp"
#include "support/named_memory.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

struct sent_by {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<std::int64_t> data;
  void add(int dest, count_t n, int rank) {
    for (count_t k = 0; k < n; ++k) data.push_back((rank * 1000 + static_cast<std::int64_t>(to.size())) * 100000 + k);
    to.push_back(dest);
    counts.push_back(n);
  }
};

// The blocks that a rank sends in problem `seed`: every rank can compute those of every other.
sent_by random_blocks(unsigned seed, int rank, int ranks) {
  std::mt19937 random(seed * 977U + static_cast<unsigned>(rank));
  sent_by s;
  const auto blocks = random() % 7U;
  for (unsigned b = 0; b < blocks; ++b) {
    constexpr std::array<count_t, 6> sizes{0, 1, 3, 60, 700, 20000};
    const int dest = seed % 5 == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(ranks));
    s.add(dest, sizes[random() % sizes.size()], rank);
  }
  return s;
}

template <class Sent>
sparse_received<std::int64_t> expected(Sent sent) {
  sparse_received<std::int64_t> e;
  const int me = rank_in(MPI_COMM_WORLD);
  for (int r = 0; r < size_of(MPI_COMM_WORLD); ++r) {
    const sent_by s = sent(r);
    std::size_t at = 0;
    for (std::size_t b = 0; b < s.to.size(); ++b) {
      const auto n = static_cast<std::size_t>(s.counts[b]);
      if (s.to[b] == me) {
        e.sources.push_back(r);
        e.counts.push_back(s.counts[b]);
        e.data.insert(e.data.end(), s.data.begin() + static_cast<std::ptrdiff_t>(at),
                      s.data.begin() + static_cast<std::ptrdiff_t>(at + n));
      }
      at += n;
    }
  }
  return e;
}

bool same(const sparse_received<std::int64_t>& a, const sparse_received<std::int64_t>& b) {
  return a.sources == b.sources && a.counts == b.counts && a.data == b.data;
}

// Every way that serves everywhere, and auto.
std::vector<std::string> ways() {
  std::vector<std::string> names{"auto"};
  for (const auto* a : detail::sparse_algorithms())
    if (a->find != nullptr) names.emplace_back(a->name);
  return names;
}

TEST(sparse, brings_what_the_oracle_says_call_after_call) {
  const int p = size_of(MPI_COMM_WORLD);
  const auto names = ways();
  for (unsigned seed = 0; seed < (brief() ? 24U : 96U); ++seed) {
    const std::string& name = names[seed % names.size()];
    const sent_by mine = random_blocks(seed, rank_in(MPI_COMM_WORLD), p);
    statistics stats;
    const options o{.algorithm = name,
                    .memory = seed % 7 < 4 ? unlimited : std::size_t{20000},
                    .in_flight = static_cast<int>(seed / 2 % 4),
                    .timeout = seed % 11 < 2 ? 90.0F : 0.0F,
                    .stats = &stats};
    const auto got = sparse_exchange(mine.to, mine.counts, mine.data, MPI_COMM_WORLD, o);
    EXPECT_TRUE(same(got, expected([&](int r) { return random_blocks(seed, r, p); }))) << "problem " << seed;
    EXPECT_LE(stats.peak_memory, o.memory);
    EXPECT_EQ(stats.starts, 1U);
    EXPECT_TRUE(name == "auto" || stats.algorithm == name);
  }
}

// Lists in the node's memory, blocks in lines, in rooms and where they lie, and a room that is too small for a list.
TEST(sparse, brings_many_blocks_to_one_rank_in_their_order) {
  const int p = size_of(MPI_COMM_WORLD);
  const auto blocks = [&](int count, int rank) {
    sent_by s;
    for (int b = 0; b < count; ++b) s.add((rank + 1) % p, b % 5 == 0 ? b % 3 : b % 7 == 0 ? 9000 : 40, rank);
    return s;
  };
  for (const int n : {2, 30, brief() ? 200 : 3000}) {
    const sent_by mine = blocks(n, rank_in(MPI_COMM_WORLD));
    const auto got = sparse_exchange(mine.to, mine.counts, mine.data, MPI_COMM_WORLD);
    EXPECT_TRUE(same(got, expected([&](int r) { return blocks(n, r); }))) << n << " blocks";
  }
}

TEST(sparse, is_one_step_where_ranks_share_memory) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const std::vector<int> to{(me + 1) % p};
  const std::vector<int> data(100, me);
  statistics stats;
  const options o{.algorithm = "node_step", .stats = &stats};
  const auto run = [&](const options& how) {
    return sparse_exchange(to, std::vector<int>{100}, data, MPI_COMM_WORLD, how).data.size();
  };
  try {
    EXPECT_EQ(run(o), 100U);
    EXPECT_EQ(stats.rounds, 1U);
    EXPECT_EQ(stats.algorithm, "node_step");
    statistics seen;
    EXPECT_EQ(run({.stats = &seen}), 100U);
    EXPECT_EQ(seen.algorithm, "node_step") << "it is what auto takes";
    seen = {};
    sparse_call in_two_steps({data.data(), to, count_view(100, 0), MPI_INT}, MPI_COMM_WORLD, {.stats = &seen});
    std::vector<int> got(100, -1);
    in_two_steps.receive(got.data());
    EXPECT_EQ(got, std::vector<int>(100, (me + p - 1) % p));
    EXPECT_EQ(seen.algorithm, "node_step") << "also where the data follow later";
    EXPECT_THROW(run({.algorithm = me == 0 ? "auto" : "node_step"}), usage_error);
  } catch (const usage_error& e) {
    EXPECT_TRUE(e.collective());
    EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
  }
  EXPECT_EQ(run({}), 100U) << "the communicator serves on";
}

// One rank makes two steps where the others make one.
TEST(sparse, may_be_made_in_steps_by_some_ranks) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const std::array<int, 1> to{(me + 1) % p};
  const std::vector<int> data(50, me);
  std::vector<int> got(50, -1);
  for (int turn = 0; turn < 3; ++turn) {
    if (me == turn % p) {
      sparse_call call({data.data(), to, count_view(50, 0), MPI_INT}, MPI_COMM_WORLD);
      call.receive(got.data());
    } else {
      got = sparse_exchange(to, std::array<int, 1>{50}, data, MPI_COMM_WORLD).data;
    }
    EXPECT_EQ(got, std::vector<int>(50, (me + p - 1) % p));
  }
}

TEST(sparse, gives_pieces_in_order_and_in_their_size) {
  const int p = size_of(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < 10; ++seed) {
    const sent_by mine = random_blocks(seed, rank_in(MPI_COMM_WORLD), p);
    const auto e = expected([&](int r) { return random_blocks(seed, r, p); });
    std::vector<std::int64_t> data;
    const count_t most = seed % 2 == 0 ? 7 : 1000;
    sparse_exchange_chunks(mine.to, mine.counts, mine.data, most,
                           [&](int, std::span<const std::int64_t> chunk) {
                             EXPECT_LE(chunk.size(), static_cast<std::size_t>(most));
                             data.insert(data.end(), chunk.begin(), chunk.end());
                           },
                           MPI_COMM_WORLD, {.memory = 30000});
    EXPECT_EQ(data, e.data) << "problem " << seed;
  }
}

TEST(sparse, is_thrown_what_a_reader_throws_when_its_peers_have_all) {
  const int me = rank_in(MPI_COMM_WORLD);
  const std::vector<int> to{0, me};
  const std::vector<int> counts{50, 50};
  const std::vector<double> data(100, 1.5);
  std::size_t seen = 0;
  const auto run = [&] {
    sparse_exchange_chunks(
        to, counts, data, 9,
        [&](int, std::span<const double> chunk) {
          seen += chunk.size();
          if (me == 0) throw std::runtime_error("the disk is full");
        },
        MPI_COMM_WORLD);
  };
  if (me == 0) {
    EXPECT_THROW(run(), std::runtime_error);
  } else {
    EXPECT_NO_THROW(run());
    EXPECT_EQ(seen, 50U);
  }
  EXPECT_EQ(neighbours(MPI_COMM_WORLD, {}).size(), 0U) << "the communicator serves on";
}

TEST(sparse, takes_much_more_than_its_memory_from_all_at_once) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  constexpr std::size_t n = (1U << 20U) / sizeof(std::int64_t);
  const std::vector<std::int64_t> data(n, me);
  std::size_t taken = 0;
  statistics stats;
  sparse_exchange_chunks(std::vector<int>{0}, std::vector<std::size_t>{n}, data, 2048,
                         [&](int source, std::span<const std::int64_t> chunk) {
                           taken += chunk.size();
                           for (const auto v : chunk) ASSERT_EQ(v, source);
                         },
                         MPI_COMM_WORLD, {.memory = 128U << 10U, .stats = &stats});
  EXPECT_EQ(taken, me == 0 ? n * static_cast<std::size_t>(p) : 0U);
  EXPECT_LE(stats.peak_memory, 128U << 10U);
}

TEST(sparse, takes_types_with_holes) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(type, 0, 16, &spaced);
  MPI_Type_commit(&spaced);
  std::vector<int> data(12, me);
  const std::array<int, 2> to{(me + 1) % p, (me + 1) % p};
  const std::array<count_t, 2> counts{1, 2};
  sparse_call call({data.data(), to, count_view(counts.data()), spaced}, MPI_COMM_WORLD);
  ASSERT_EQ(call.total(), 3);
  std::vector<int> got(12, -1);
  call.receive(got.data());
  const int from = (me + p - 1) % p;
  EXPECT_EQ(got, (std::vector<int>{from, -1, from, -1, from, -1, from, -1, from, -1, from, -1}));
  std::ranges::fill(data, 100 + me);
  call.receive(got.data());
  EXPECT_EQ(got[4], 100 + from) << "again, with what the data are now";
  MPI_Type_free(&type);
  MPI_Type_free(&spaced);
}

// Only the data change from one to the next.
TEST(sparse, a_pattern_that_is_found_once_brings_data_many_times) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  for (const count_t n : {3, 3000, 100000}) {
    const std::array<int, 2> to{(me + 1) % p, 0};
    std::vector<std::int64_t> data(2 * static_cast<std::size_t>(n));
    sparse_call call({data.data(), to, count_view(n, 0), MPI_INT64_T}, MPI_COMM_WORLD, {.memory = 100000});
    std::vector<std::int64_t> got(static_cast<std::size_t>(call.total()));
    for (int turn = 0; turn < 5; ++turn) {
      std::ranges::fill(data, 10 * me + turn);
      if (turn % 2 == 0)
        call.receive(got.data());
      else
        call.deliver(1000, [&](const sparse_call::chunk& chunk) {
          std::copy_n(static_cast<const std::int64_t*>(chunk.data), chunk.count,
                      got.data() + static_cast<count_t>(chunk.block) * n + chunk.first);
        });
      for (std::size_t b = 0; b < call.sources().size(); ++b)
        ASSERT_EQ(got[(b + 1) * static_cast<std::size_t>(n) - 1], 10 * call.sources()[b] + turn) << "turn " << turn;
    }
  }
}

// Each rank requests numbers by their indices, in no order, and receives them at its requests.
TEST(sparse, answers_come_where_they_were_asked_for) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  for (const bool ascending : {true, false})
    for (const std::string& name : ways())
      for (const int most : {3, 5000}) {
        std::vector<int> to{(me + 1) % p, 0, me, (me + 1) % p, p - 1};
        if (ascending) std::ranges::sort(to);
        std::vector<count_t> counts(to.size());
        for (std::size_t b = 0; b < to.size(); ++b) counts[b] = (b * 7 + static_cast<std::size_t>(me)) % 3 * most / 2;
        const auto n = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), count_t{0}));
        std::vector<std::int64_t> requested(n);
        std::iota(requested.begin(), requested.end(), 1000 * me);
        sparse_call call({requested.data(), to, count_view(counts.data()), MPI_INT64_T}, MPI_COMM_WORLD,
                         {.algorithm = name, .memory = 400000});
        std::vector<std::int64_t> questions(static_cast<std::size_t>(call.total()));
        for (int turn = 0; turn < 3; ++turn) {
          call.receive(questions.data());
          std::vector<double> answers;
          for (const auto q : questions) answers.push_back(static_cast<double>(q) + 0.5 + turn);
          std::vector<double> got(n, -1);
          call.reply(answers.data(), MPI_DOUBLE, got.data());
          for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], static_cast<double>(requested[i]) + 0.5 + turn) << name;
          if (turn == 1) {
            EXPECT_THROW(call.reply(answers.data(), me == 0 ? MPI_CHAR : MPI_DOUBLE, got.data()), usage_error);
          }
        }
      }
}

TEST(sparse, errors_of_one_rank_are_thrown_on_all_and_nothing_is_sent) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const int last = p - 1;
  const std::vector<int> data(4, me);
  const auto run = [&](int to, int count, std::size_t memory = unlimited) {
    return sparse_exchange(std::vector<int>{to}, std::vector<int>{count}, data, MPI_COMM_WORLD, {.memory = memory});
  };
  const auto thrown = [&](int to, int count) {
    try {
      run(me == last ? to : 0, me == last ? count : 4);
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_EQ(e.rank(), last == e.rank() ? last : -2) << e.what();
      return e.mpi_class();
    }
    return MPI_SUCCESS;
  };
  EXPECT_EQ(thrown(p, 4), MPI_ERR_RANK);
  EXPECT_EQ(thrown(-1, 4), MPI_ERR_RANK);
  EXPECT_EQ(thrown(0, -1), MPI_ERR_ARG);
  EXPECT_EQ(thrown(0, 3), MPI_ERR_ARG) << "counts that are not those of the data";
  const std::array<int, 1> to{0};
  EXPECT_THROW(sparse_call({nullptr, to, count_view(me == last ? 1 : 0, 0), MPI_INT}, MPI_COMM_WORLD), usage_error);
  EXPECT_THROW(sparse_call({nullptr, to, count_view(0, 0), me == last ? MPI_INT : MPI_CHAR}, MPI_COMM_WORLD,
                           {.algorithm = me == last ? "none" : "auto"}),
               usage_error);
  EXPECT_THROW(static_cast<void>(run(0, 4, me == last ? 1 : unlimited)), budget_exceeded);
  EXPECT_EQ(run(0, 4).data.size(), me == 0 ? 4U * static_cast<std::size_t>(p) : 0U) << "the communicator serves on";
}

// One message names the whole sum, whatever the limit. By messages it is the least.
TEST(sparse, works_from_the_memory_that_it_asks_for) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  for (const int each : {1, 7, 300}) {  // blocks for the same rank
    std::vector<int> to(static_cast<std::size_t>(each), 0);
    to.push_back(me);
    const std::vector<int> counts(to.size(), 100);
    const std::vector<int> data(100 * to.size(), me);
    for (const std::string& name : ways()) {
      const auto works_in = [&](std::size_t memory) {
        const auto got =
            sparse_exchange(to, counts, data, MPI_COMM_WORLD, {.algorithm = name, .memory = memory, .in_flight = 4});
        EXPECT_EQ(got.data.size(), static_cast<std::size_t>(100 * (1 + (me == 0 ? each * p : 0))));
      };
      const auto named_in = [&](std::size_t memory) {
        try {
          works_in(memory);
        } catch (const budget_exceeded& e) {
          return named_memory(e).least;
        }
        return std::size_t{0};
      };
      const std::size_t least = named_in(1);
      ASSERT_GT(least, 1U) << name;
      works_in(least);
      if (name != "notify_tree") continue;
      for (const std::size_t less : {least - 1, least - least / 4, least / 2, least / 10})
        EXPECT_EQ(named_in(less), least) << each << " blocks, limit " << less;
      works_in(least + least / 2);
      works_in(3 * least);
    }
  }
}

TEST(sparse, maps_pairs_and_neighbours_agree) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const std::map<int, std::vector<char>> mine{{(me + 1) % p, {'a', static_cast<char>('a' + me)}}};
  const auto got = sparse_exchange(mine, MPI_COMM_WORLD);
  const int from = (me + p - 1) % p;
  EXPECT_EQ(got, (std::map<int, std::vector<char>>{{from, {'a', static_cast<char>('a' + from)}}}));
  const std::array<int, 1> to{(me + 1) % p};
  EXPECT_EQ(neighbours(MPI_COMM_WORLD, to), std::vector<int>{from});
}

}  // namespace
}  // namespace taquin::test
