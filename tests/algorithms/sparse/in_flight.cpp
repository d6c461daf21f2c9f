// How many messages of a sparse exchange are on their way that no receive waits for: counted at both ends, in memory
// that all ranks share, by functions that stand before the MPI library's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "mpi/communicator.hpp"
#include "support/next_function.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace {

constexpr int most_ranks = 16;
// Notices and the agreement; requests for data; data. As the tags of a call are (grants.hpp, algorithm.hpp).
constexpr int kinds = 3;

struct counters {
  std::atomic<std::int64_t> ahead[kinds][most_ranks][most_ranks];  // messages less receives, by receiver and sender
  std::atomic<std::int64_t> any[kinds][most_ranks];                // receives from any sender
  std::atomic<std::int64_t> worst[kinds];                          // at a receiver
  std::atomic<std::int64_t> on_way[most_ranks];                    // of notices, by sender: not received yet
  std::atomic<std::int64_t> worst_on_way;
  std::atomic<std::int64_t> sent[kinds];
};
counters* all = nullptr;
bool counting = false;
std::set<MPI_Request> receives;
unsigned slow = 0;  // microseconds that this rank loses before each receive

int kind_of(int tag) {
  const int of_call = tag % taquin::mpi::communicator::tags_per_plan;
  return of_call < kinds ? of_call : 0;
}

bool is_of_notices(int tag) {
  const int of_call = tag % taquin::mpi::communicator::tags_per_plan;
  return of_call >= taquin::detail::finding::first_tag && of_call < taquin::mpi::communicator::gate_tag;
}

int own_rank() { return taquin::test::rank_in(MPI_COMM_WORLD); }

void raise(std::atomic<std::int64_t>& most, std::int64_t to) {
  std::int64_t known = most;
  while (to > known && !most.compare_exchange_weak(known, to)) {
  }
}

void sent(int to, int tag) {
  const int k = kind_of(tag);
  if (!counting || k >= kinds) return;
  ++all->ahead[k][to][own_rank()];
  std::int64_t unsolicited = -all->any[k][to];
  for (const auto& n : all->ahead[k][to]) unsolicited += std::max<std::int64_t>(n, 0);
  raise(all->worst[k], unsolicited);
  ++all->sent[k];
  if (is_of_notices(tag)) raise(all->worst_on_way, ++all->on_way[own_rank()]);
}

void taken(int from, int tag) {
  if (counting && is_of_notices(tag)) --all->on_way[from];
}

void awaits(int from, int tag) {
  const int k = kind_of(tag);
  if (!counting || k >= kinds) return;
  if (slow > 0) usleep(slow);
  if (from == MPI_ANY_SOURCE)
    ++all->any[k][own_rank()];
  else
    --all->ahead[k][own_rank()][from];
}

template <class Function>
int completes(const char* name, int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses) {
  const std::vector<MPI_Request> before(requests, requests + n);
  const int code = taquin::test::next_function<Function>(name)(n, requests, done, numbers, statuses);
  for (int i = 0; i < *done; ++i)  // MPI_UNDEFINED is negative
    if (receives.erase(before[static_cast<std::size_t>(numbers[i])]) > 0)
      taken(statuses[i].MPI_SOURCE, statuses[i].MPI_TAG);
  return code;
}

}  // namespace

extern "C" {

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  sent(to, tag);
  const int code =
      taquin::test::next_function<decltype(PMPI_Isend)>("PMPI_Isend")(data, count, type, to, tag, comm, request);
  receives.erase(*request);  // that of a receive which was completed by other functions
  return code;
}

int PMPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  sent(to, tag);
  const int code =
      taquin::test::next_function<decltype(PMPI_Issend)>("PMPI_Issend")(data, count, type, to, tag, comm, request);
  receives.erase(*request);
  return code;
}

int PMPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  awaits(from, tag);
  const int code =
      taquin::test::next_function<decltype(PMPI_Irecv)>("PMPI_Irecv")(data, count, type, from, tag, comm, request);
  receives.insert(*request);
  return code;
}

int PMPI_Testsome(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses) {
  return completes<decltype(PMPI_Testsome)>("PMPI_Testsome", n, requests, done, numbers, statuses);
}

int PMPI_Waitsome(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses) {
  return completes<decltype(PMPI_Waitsome)>("PMPI_Waitsome", n, requests, done, numbers, statuses);
}

int PMPI_Improbe(int from, int tag, MPI_Comm comm, int* found, MPI_Message* message, MPI_Status* status) {
  const int code =
      taquin::test::next_function<decltype(PMPI_Improbe)>("PMPI_Improbe")(from, tag, comm, found, message, status);
  if (code == MPI_SUCCESS && *found != 0) {
    awaits(status->MPI_SOURCE, tag);
    taken(status->MPI_SOURCE, tag);
  }
  return code;
}

}  // extern "C"

namespace taquin::test {
namespace {

// Of one problem: the most unexpected messages of each kind at a rank.
class in_flight : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Win_allocate_shared(own_rank() == 0 ? sizeof(counters) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own_, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &all);
    if (own_rank() == 0) new (all) counters{};
    static_cast<void>(neighbours(MPI_COMM_WORLD, {}));  // the ranks have synchronized
    MPI_Barrier(MPI_COMM_WORLD);
    counting = true;
  }
  void TearDown() override {
    counting = false;
    MPI_Win_free(&window_);
  }
  static std::int64_t worst(int kind) {
    MPI_Barrier(MPI_COMM_WORLD);
    return all->worst[kind];
  }
  static void begin_again() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (own_rank() == 0) new (all) counters{};
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // One message of each channel of notices and of each round of the agreement; as many requests as may be in flight, or
  // one of each rank that gets data.
  static void expect_bounds(const std::string& way, int window) {
    const int p = size_of(MPI_COMM_WORLD);
    EXPECT_LE(worst(0), 16) << way;
    EXPECT_GT(all->sent[0], 0) << way << ": it is counted";
    EXPECT_LE(worst(1), std::max(window, p)) << way;
    EXPECT_LE(worst(2), 0) << way << ": data come to receives that are posted";
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_LE(all->worst_on_way, window) << way;
    for (int rank = 0; rank < p; ++rank) EXPECT_EQ(all->on_way[rank], 0) << way << ": every notice is taken";
  }
  // Each way by messages.
  template <class Problem>
  void by_every_way(Problem problem) {
    for (const auto* a : detail::sparse_algorithms()) {
      if (a->find == nullptr) continue;
      begin_again();
      problem(std::string(a->name));
    }
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  void* own_ = nullptr;
};

TEST_F(in_flight, stays_within_the_window_when_one_rank_is_slow) {
  const int me = own_rank();
  const std::size_t blocks = brief() ? 500 : 5000;
  const std::vector<int> to(blocks, 0);
  const std::vector<int> counts(blocks, 1);
  const std::vector<int> data(blocks, me);
  if (me == 0) slow = 500;
  by_every_way([&](const std::string& way) {
    const auto got = sparse_exchange(to, counts, data, MPI_COMM_WORLD, {.algorithm = way, .in_flight = 4});
    EXPECT_EQ(got.data.size(), me == 0 ? blocks * static_cast<std::size_t>(size_of(MPI_COMM_WORLD)) : 0U);
    expect_bounds(way, 4);
    EXPECT_GT(all->worst_on_way, 0) << "it is counted";
  });
  slow = 0;
}

// All to one, in as much memory as one of them sends, to a reader that works long.
TEST_F(in_flight, a_mebibyte_of_each_for_one_slow_rank_in_a_mebibyte) {
  const int me = own_rank();
  constexpr std::size_t n = 1U << 17U;
  const std::vector<std::int64_t> data(n, me);
  by_every_way([&](const std::string& way) {
    std::size_t arrived = 0;
    statistics stats;
    sparse_exchange_chunks(std::array<int, 1>{0}, std::array<std::size_t, 1>{n}, data, 8192,
                           [&](int source, std::span<const std::int64_t> chunk) {
                             for (const auto v : chunk) ASSERT_EQ(v, source);
                             arrived += chunk.size();
                             usleep(1000);
                           },
                           MPI_COMM_WORLD, {.algorithm = way, .memory = n * sizeof(std::int64_t), .stats = &stats});
    EXPECT_EQ(arrived, me == 0 ? n * static_cast<std::size_t>(size_of(MPI_COMM_WORLD)) : 0U);
    EXPECT_LE(stats.peak_memory, n * sizeof(std::int64_t));
    expect_bounds(way, 32);
  });
}

TEST_F(in_flight, one_has_something_for_all_and_others_nothing) {
  const int me = own_rank();
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<int> to;
  if (me == p - 1)
    for (int rank = 0; rank < p; ++rank) to.insert(to.end(), 40, rank);
  for (const int n : {1, 100, 2000}) {
    const std::vector<int> counts(to.size(), n);
    const std::vector<int> data(static_cast<std::size_t>(n) * to.size(), me);
    by_every_way([&](const std::string& way) {
      if (me == p - 1) usleep(20000);
      slow = me == p - 1 ? 200 : 0;
      const auto got = sparse_exchange(to, counts, data, MPI_COMM_WORLD, {.algorithm = way, .in_flight = 3});
      slow = 0;
      EXPECT_EQ(got.data, std::vector<int>(40 * static_cast<std::size_t>(n), p - 1));
      expect_bounds(way, 3);
    });
  }
}

// Blocks of any number and size for any ranks, itself and the same one several times among them, and for none.
struct random_blocks {
  std::vector<int> to, counts, data;

  random_blocks(unsigned problem, int rank, int ranks) {
    std::mt19937 random(problem * 7919 + static_cast<unsigned>(rank));
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    if (problem % 5 == 0 && below(2) == 0) return;
    for (int n = below(problem % 3 == 0 ? 40 : 6); n > 0; --n) {
      to.push_back(problem % 4 == 0 ? below(2) % ranks : below(static_cast<unsigned>(ranks)));
      counts.push_back(below(3) == 0 ? below(20000) : below(30));
      data.insert(data.end(), static_cast<std::size_t>(counts.back()), rank);
    }
  }
  // Elements for one rank.
  [[nodiscard]] count_t sum(int for_rank) const {
    count_t n = 0;
    for (std::size_t i = 0; i < to.size(); ++i) n += to[i] == for_rank ? counts[i] : 0;
    return n;
  }
};

TEST_F(in_flight, stays_within_the_window_when_problems_are_random) {
  const int me = own_rank();
  const int p = size_of(MPI_COMM_WORLD);
  for (unsigned problem = 0; problem < (brief() ? 10U : 24U); ++problem) {
    const random_blocks mine(problem, me, p);
    const int window = p + static_cast<int>(problem % 5);
    by_every_way([&](const std::string& way) {
      slow = static_cast<int>(problem) % p == me ? 100 : 0;
      const auto got = sparse_exchange(
          mine.to, mine.counts, mine.data, MPI_COMM_WORLD,
          {.algorithm = way, .memory = problem % 2 == 0 ? unlimited : std::size_t{30000}, .in_flight = window});
      slow = 0;
      count_t coming = 0;
      for (int from = 0; from < p; ++from) coming += random_blocks(problem, from, p).sum(me);
      EXPECT_EQ(static_cast<count_t>(got.data.size()), coming) << way << ", problem " << problem;
      expect_bounds(way, window);
    });
  }
}

// An error on one rank is known to all before any rank has requested or sent data.
TEST_F(in_flight, sends_nothing_when_arguments_are_invalid) {
  const int me = own_rank();
  const int p = size_of(MPI_COMM_WORLD);
  const std::vector<int> data(40000, me);
  const auto call = [&](const std::string& way, int to, int count) {
    return sparse_exchange(std::vector{me == p - 1 ? to : 0}, std::vector{me == p - 1 ? count : 40000}, data,
                           MPI_COMM_WORLD, {.algorithm = way});
  };
  by_every_way([&](const std::string& way) {
    for (const auto& [to, count] : {std::pair{p, 40000}, {-1, 40000}, {0, -1}, {0, 39999}}) {
      EXPECT_THROW(static_cast<void>(call(way, to, count)), usage_error) << way;
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_EQ(all->sent[1] + all->sent[2], 0) << way << ": to " << to << ", " << count << " elements";
    }
    EXPECT_EQ(call(way, 0, 40000).data.size(), me == 0 ? 40000U * static_cast<std::size_t>(p) : 0U) << way;
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_GT(all->sent[2], 0) << "it is counted";
  });
}

// Whatever rank is late, and wherever it is: the slow one waits before each of its receives.
TEST_F(in_flight, each_rank_is_slow_in_turn) {
  const int me = own_rank();
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<int> to;
  for (int step = 0; step < 3; ++step) to.push_back((me + 1 + step * step) % p);
  for (int turn = 0; turn < p; ++turn) {
    by_every_way([&](const std::string& way) {
      slow = me == turn ? 1000 : 0;
      for (int call = 0; call < 3; ++call) {
        const std::vector<int> counts(to.size(), 10 + 1000 * call);
        const std::vector<int> data(to.size() * static_cast<std::size_t>(10 + 1000 * call), 100 * me + call);
        const auto got = sparse_exchange(to, counts, data, MPI_COMM_WORLD, {.algorithm = way});
        std::size_t at = 0;
        for (std::size_t b = 0; b < got.sources.size(); ++b)
          for (count_t i = 0; i < got.counts[b]; ++i) ASSERT_EQ(got.data[at++], 100 * got.sources[b] + call) << way;
        EXPECT_EQ(at, data.size());
      }
      slow = 0;
      expect_bounds(way, 32);
    });
  }
}

}  // namespace
}  // namespace taquin::test
