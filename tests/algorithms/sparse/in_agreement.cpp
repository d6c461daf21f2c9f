// Sparse exchanges of ranks that share no memory, whose headers and small data are in the messages of one agreement:
// functions that stand before the MPI library's count messages and bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "algorithms/sparse/between_nodes.hpp"
#include "call/agreement_rounds.hpp"
#include "call/forwarded_blocks.hpp"
#include "mpi/communicator.hpp"
#include "node/internode.hpp"
#include "support/named_memory.hpp"
#include "support/next_function.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace {

int messages = 0;    // of this rank
int reductions = 0;  // an agreement after the first is one

}  // namespace

extern "C" {

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++messages;
  return taquin::test::next_function<decltype(PMPI_Isend)>("PMPI_Isend")(data, count, type, to, tag, comm, request);
}

int PMPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
  ++reductions;
  return taquin::test::next_function<decltype(PMPI_Iallreduce)>("PMPI_Iallreduce")(from, to, count, type, op, comm,
                                                                                   request);
}

}  // extern "C"

namespace taquin::test {
namespace {

constexpr const char* in_one = "piggybacked_headers";

// Blocks of a rank: of 8 bytes an element, which names its sender, block and place.
struct sent_by {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<std::int64_t> data;
  void add(int destination, count_t n, int rank) {
    for (count_t k = 0; k < n; ++k) data.push_back((rank * 1000 + static_cast<std::int64_t>(to.size())) * 100000 + k);
    to.push_back(destination);
    counts.push_back(n);
  }
};

class in_agreement : public testing::Test {
 protected:
  int me = rank_in(MPI_COMM_WORLD);
  int p = size_of(MPI_COMM_WORLD);
  statistics stats{};

  void SetUp() override {
    static_cast<void>(neighbours(MPI_COMM_WORLD, {}));  // makes the private communicator
  }

  // One agreement has this many messages of a rank, and may have blocks of so many bytes for another.
  [[nodiscard]] int of_one() const {
    const detail::internode* const step = detail::internode::find(mpi::communicator::get_or_create(MPI_COMM_WORLD));
    if (step != nullptr) return p - 1;
    int n = 0;
    for (detail::agreement_rounds r(p); !r.done(); r.next()) n += r.digits();
    return n;
  }
  [[nodiscard]] std::size_t most_bytes() const {
    const detail::internode* const step = detail::internode::find(mpi::communicator::get_or_create(MPI_COMM_WORLD));
    return step != nullptr ? step->most_bytes() : detail::forwarded_blocks::most_bytes_of(p);
  }

  // `blocks_of(rank)` of all ranks are exchanged; every element is looked at. On all ranks what this one has sent.
  template <class Blocks>
  void exchange(Blocks blocks_of, options o = {}) {
    o.stats = &stats;
    stats = {};
    const sent_by mine = blocks_of(me);
    MPI_Barrier(MPI_COMM_WORLD);
    messages = reductions = 0;
    const auto got = sparse_exchange(mine.to, mine.counts, mine.data, MPI_COMM_WORLD, o);
    std::vector<int> sources;
    std::vector<std::int64_t> data;
    for (int from = 0; from < p; ++from) {
      const sent_by theirs = blocks_of(from);
      auto at = theirs.data.begin();
      for (std::size_t b = 0; b < theirs.to.size(); at += theirs.counts[b], ++b) {
        if (theirs.to[b] != me) continue;
        sources.push_back(from);
        data.insert(data.end(), at, at + theirs.counts[b]);
      }
    }
    EXPECT_EQ(got.sources, sources);
    EXPECT_TRUE(got.data == data) << "of " << stats.algorithm;
    EXPECT_LE(stats.peak_memory, o.memory);
  }

  // Three destinations, this rank and one without elements among them, and the same one twice.
  [[nodiscard]] sent_by few(int rank, count_t elements) const {
    sent_by s;
    s.add((rank + 1) % p, elements, rank);
    s.add(rank, elements, rank);
    s.add((rank + p / 2) % p, elements, rank);
    s.add((rank + 1) % p, 0, rank);
    return s;
  }
  [[nodiscard]] int to_others(int rank, count_t elements) const {
    const sent_by s = few(rank, elements);
    int n = 0;
    for (std::size_t b = 0; b < s.to.size(); ++b) n += s.to[b] != rank && s.counts[b] > 0 ? 1 : 0;
    return n;
  }
};

TEST_F(in_agreement, carries_headers_and_small_blocks_in_the_messages_of_one) {
  for (int call = 0; call < 5; ++call) {
    exchange([&](int rank) { return few(rank, 1 + call * 4); });
    EXPECT_EQ(stats.algorithm, in_one);
    EXPECT_EQ(messages, of_one());
    EXPECT_EQ(reductions, 0) << "no second agreement";
  }
}

TEST_F(in_agreement, is_followed_by_larger_blocks_without_requests) {
  for (const count_t elements : {static_cast<count_t>(most_bytes() / 8 + 1), count_t{5000}}) {
    exchange([&](int rank) { return few(rank, elements); }, {.in_flight = 2 * p});
    EXPECT_EQ(stats.algorithm, in_one);
    EXPECT_EQ(messages, of_one() + to_others(me, elements));
    EXPECT_EQ(reductions, 0);
  }
}

// Several blocks for one rank, of which not all fit: the headers of the others have their space.
TEST_F(in_agreement, carries_the_headers_of_blocks_that_do_not_fit_beside_others) {
  const auto elements = static_cast<count_t>(most_bytes() / 8);
  for (const count_t each : {elements / 4, elements / 4 - 1, elements / 3, elements / 3 - 1, elements / 2 - 1}) {
    exchange([&](int rank) {
      sent_by s;
      for (int b = 0; b < 6; ++b) s.add((rank + 1) % p, each, rank);
      return s;
    });
    EXPECT_EQ(stats.algorithm, in_one) << each;
    EXPECT_EQ(reductions, 0);
  }
}

// More data of a rank than may arrive without a receive: they are requested.
TEST_F(in_agreement, is_followed_by_requests_for_much_data) {
  const std::size_t unsolicited = detail::piggybacked_headers::most_unsolicited;
  const auto elements = static_cast<count_t>(unsolicited / 8);
  exchange([&](int rank) { return few(rank, elements); });
  EXPECT_EQ(stats.algorithm, in_one);
  EXPECT_EQ(reductions, 0);
  EXPECT_GT(messages, of_one() + to_others(me, elements));
}

TEST_F(in_agreement, is_left_by_all_ranks_where_one_has_too_many_blocks_for_another) {
  const auto too_many = static_cast<int>(most_bytes() / detail::piggybacked_headers::header_bytes) + 1;
  for (const int who : {p - 1, 0}) {
    exchange([&](int rank) {
      sent_by s = few(rank, 3);
      for (int b = 0; rank == who && b < too_many; ++b) s.add(p / 2, b % 2, rank);
      return s;
    });
    EXPECT_EQ(stats.algorithm, "notify_tree");
    EXPECT_GT(reductions, 0) << "a second agreement is counted";
    exchange([&](int rank) { return few(rank, 3); });
    EXPECT_EQ(stats.algorithm, in_one) << "the next one is not";
  }
}

TEST_F(in_agreement, is_left_by_all_ranks_where_one_makes_two_steps) {
  const std::vector<int> data(50, me);
  for (int turn = 0; turn < std::min(p, 4); ++turn) {
    std::vector<int> got(50, -1);
    const std::array<int, 1> to{(me + 1) % p};
    statistics s;
    if (me == turn) {
      sparse_call call({data.data(), to, count_view(50, 0), MPI_INT}, MPI_COMM_WORLD, {.stats = &s});
      call.receive(got.data());
    } else {
      got = sparse_exchange(to, std::array<int, 1>{50}, data, MPI_COMM_WORLD, {.stats = &s}).data;
    }
    EXPECT_EQ(got, std::vector<int>(50, (me + p - 1) % p));
    EXPECT_EQ(s.algorithm, "notify_tree");
  }
}

TEST_F(in_agreement, carries_the_headers_of_calls_in_two_steps) {
  const std::vector<int> data(50, me);
  const std::array<int, 1> to{(me + 1) % p};
  statistics s;
  MPI_Barrier(MPI_COMM_WORLD);
  messages = reductions = 0;
  sparse_call call({data.data(), to, count_view(50, 0), MPI_INT}, MPI_COMM_WORLD, {.stats = &s});
  EXPECT_EQ(messages, of_one());
  EXPECT_EQ(reductions, 0);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<int> got(50, -1);
    call.receive(got.data());
    EXPECT_EQ(got, std::vector<int>(50, (me + p - 1) % p));
  }
  EXPECT_EQ(s.algorithm, in_one);
}

// The texts of an error on all ranks.
std::set<std::string> texts(const std::string& mine) {
  constexpr std::size_t most = 400;
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<char> own(most), all(most * static_cast<std::size_t>(p));
  std::copy_n(mine.begin(), std::min(mine.size(), most - 1), own.begin());
  MPI_Allgather(own.data(), most, MPI_CHAR, all.data(), most, MPI_CHAR, MPI_COMM_WORLD);
  std::set<std::string> different;
  for (int r = 0; r < p; ++r) different.emplace(all.data() + most * static_cast<std::size_t>(r));
  return different;
}

TEST_F(in_agreement, brings_the_error_of_one_rank_to_all) {
  const std::vector<int> data(4, me);
  for (const int who : {0, p / 2, p - 1})
    for (const auto& [to, count] : {std::pair{p, 4}, {-1, 4}, {0, -1}, {0, 3}}) {
      std::string what;
      MPI_Barrier(MPI_COMM_WORLD);
      messages = 0;
      try {
        static_cast<void>(
            sparse_exchange(std::vector{me == who ? to : 0}, std::vector{me == who ? count : 4}, data, MPI_COMM_WORLD));
      } catch (const usage_error& e) {
        EXPECT_TRUE(e.collective());
        EXPECT_EQ(e.rank(), who);
        what = e.what();
      }
      EXPECT_EQ(messages, of_one()) << "nothing else was sent";
      EXPECT_EQ(texts(what).size(), 1U);
      EXPECT_NE(what, "");
      exchange([&](int rank) { return few(rank, 3); });
      EXPECT_EQ(stats.algorithm, in_one) << "the communicator serves on";
    }
}

// A rank in another call receives messages with blocks, and sends none.
TEST_F(in_agreement, names_the_calls_of_ranks_that_disagree) {
  std::vector<int> out(static_cast<std::size_t>(p), me), in(static_cast<std::size_t>(p));
  const sent_by mine = few(me, 60);
  for (const int who : {0, p - 1}) {
    std::string what;
    try {
      if (me == who)
        run(exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD),
            {.algorithm = "spread_out"});
      else
        static_cast<void>(sparse_exchange(mine.to, mine.counts, mine.data, MPI_COMM_WORLD));
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      what = e.what();
    }
    EXPECT_NE(what.find("ranks disagree: rank 0 calls"), std::string::npos) << what;
    EXPECT_EQ(texts(what).size(), 1U);
    exchange([&](int rank) { return few(rank, 3); });
    EXPECT_EQ(stats.algorithm, in_one) << "the communicator serves on";
  }
}

// The limit of one rank, or of all: from the least on all calls are right, within the limit, and all ranks make the
// same of it.
TEST_F(in_agreement, keeps_every_limit) {
  const auto attempt = [&](std::size_t mine, const char* name) {
    try {
      exchange([&](int rank) { return few(rank, 200); }, {.algorithm = name, .memory = mine});
    } catch (const budget_exceeded& e) {
      return named_memory(e).least;
    }
    return std::size_t{0};
  };
  const std::size_t least = attempt(1, "notify_tree");
  ASSERT_GT(least, 1U);
  std::set<std::string> taken;
  for (std::size_t memory = least; memory < std::size_t{8} << 20U; memory *= 2)
    for (const int who : {-1, p / 3}) {
      EXPECT_EQ(attempt(who < 0 || who == me ? memory : unlimited, "auto"), 0U) << memory;
      EXPECT_EQ(texts(std::string(stats.algorithm)).size(), 1U);
      taken.emplace(stats.algorithm);
    }
  EXPECT_EQ(taken, (std::set<std::string>{in_one, "notify_tree"}));
  EXPECT_GE(attempt(least - 1, "auto"), least);
  EXPECT_GE(attempt(me == p / 3 ? 1 : unlimited, "auto"), least) << "one rank has next to nothing";
}

TEST_F(in_agreement, packs_types_with_gaps) {
  MPI_Datatype pair = MPI_DATATYPE_NULL, spaced = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 16, &spaced);
  MPI_Type_commit(&spaced);
  for (const count_t n : {1, 7, 3000}) {
    std::vector<int> data(static_cast<std::size_t>(8 * n), me);
    std::vector<int> got(data.size(), -1);
    const std::array<int, 2> to{(me + 1) % p, (me + 1) % p};
    const options o{.stats = &stats};
    static_cast<void>(detail::sparse_access::make({data.data(), to, count_view(n, 0), spaced}, MPI_COMM_WORLD, o,
                                                  nullptr, [&](const sparse_call& call) -> void* {
                                                    EXPECT_EQ(call.total(), 2 * n);
                                                    return got.data();
                                                  }));
    EXPECT_EQ(stats.algorithm, in_one);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i % 2 == 0 ? (me + p - 1) % p : -1);
  }
  MPI_Type_free(&pair);
  MPI_Type_free(&spaced);
}

// A rank has no place for its blocks, in the messages or after them: its error is its own.
TEST_F(in_agreement, brings_the_others_their_blocks_where_one_rank_has_no_place) {
  for (const count_t elements : {3, 700, 40000})
    for (const int who : {0, p - 1}) {
      const sent_by mine = few(me, elements);
      std::vector<std::int64_t> got;
      const auto call = [&] {
        static_cast<void>(
            detail::sparse_access::make({mine.data.data(), mine.to, count_view(mine.counts.data()), MPI_INT64_T},
                                        MPI_COMM_WORLD, {}, nullptr, [&](const sparse_call& c) -> void* {
                                          if (me == who) return nullptr;
                                          got.resize(static_cast<std::size_t>(c.total()));
                                          return got.data();
                                        }));
      };
      if (me == who) {
        EXPECT_THROW(call(), usage_error);
      } else {
        EXPECT_NO_THROW(call());
        EXPECT_GE(got.size(), 3 * static_cast<std::size_t>(elements));
      }
      exchange([&](int rank) { return few(rank, elements); });
    }
}

TEST_F(in_agreement, brings_random_blocks_call_after_call) {
  for (unsigned problem = 0; problem < 40; ++problem)
    exchange(
        [&](int rank) {
          std::mt19937 random(problem * 977U + static_cast<unsigned>(rank));
          constexpr std::array<count_t, 6> sizes{0, 1, 3, 60, 400, 2500};
          sent_by s;
          for (auto b = random() % 9U; b > 0; --b)
            s.add(problem % 5 == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(p)),
                  sizes[random() % sizes.size()], rank);
          return s;
        },
        {.memory = problem % 4 == 3 ? std::size_t{2000000} : unlimited,
         .in_flight = static_cast<int>(problem / 4 % 3) * 20,
         .timeout = problem % 7 == 2 ? 90.0F : 0.0F});
}

}  // namespace
}  // namespace taquin::test
