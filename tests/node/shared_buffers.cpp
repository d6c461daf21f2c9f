// Exchanges between buffers that the ranks of a node map: results, in any mixture with other buffers, and their memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <memory_resource>
#include <numeric>
#include <random>
#include <vector>

#include "support/world.hpp"
#include "taquin/shared_buffer.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::test {
namespace {

// The data that rank `from` sends to `to` in a run.
int shared_value(int run, int from, int to, count_t i) {
  return run * 31 + from * 1009 + to * 101 + static_cast<int>(i);
}
count_t count_of(int run, int from, int to) {
  constexpr std::array<count_t, 6> sizes{0, 3, 200, 5000, 40000, 90000};
  return sizes[static_cast<std::size_t>(run + 2 * from + 3 * to) % sizes.size()];
}

struct sides {
  std::vector<count_t> send, sdispls, recv, rdispls;
};

sides sides_of(int run) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  sides s;
  count_t out = 0;
  count_t in = 0;
  for (int peer = 0; peer < p; ++peer) {
    s.send.push_back(count_of(run, rank, peer));
    s.recv.push_back(count_of(run, peer, rank));
    s.sdispls.push_back(out);
    s.rdispls.push_back(in);
    out += s.send.back();
    in += s.recv.back();
  }
  return s;
}

count_t total(const std::vector<count_t>& counts) { return std::accumulate(counts.begin(), counts.end(), count_t{0}); }

void fill(int* data, const sides& s, int run) {
  const int rank = rank_in(MPI_COMM_WORLD);
  for (std::size_t peer = 0; peer < s.send.size(); ++peer)
    for (count_t i = 0; i < s.send[peer]; ++i)
      data[s.sdispls[peer] + i] = shared_value(run, rank, static_cast<int>(peer), i);
}

bool right(const int* data, const sides& s, int run) {
  const int rank = rank_in(MPI_COMM_WORLD);
  for (std::size_t peer = 0; peer < s.recv.size(); ++peer)
    for (count_t i = 0; i < s.recv[peer]; ++i)
      if (data[s.rdispls[peer] + i] != shared_value(run, static_cast<int>(peer), rank, i)) return false;
  return true;
}

// Each rank has its buffers where it likes.
std::pmr::memory_resource* some_resource(std::mt19937& random) {
  return random() % 3 == 0 ? std::pmr::new_delete_resource() : &shared_resource();
}

TEST(shared_buffers, carry_every_form_beside_other_buffers) {
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 5);
  for (int run = 0; run < 40; ++run) {
    const sides s = sides_of(run);
    std::pmr::vector<int> out(static_cast<std::size_t>(total(s.send)) + 1, -1, some_resource(random));
    std::pmr::vector<int> in(static_cast<std::size_t>(total(s.recv)) + 1, -1, some_resource(random));
    fill(out.data(), s, run);
    const auto x =
        exchange::alltoallv(out.data(), count_view(s.send.data()), count_view(s.sdispls.data()), MPI_INT, in.data(),
                            count_view(s.recv.data()), count_view(s.rdispls.data()), MPI_INT, MPI_COMM_WORLD);
    if (run % 3 == 2) {
      plan p(x);
      for (int start = 0; start < 2; ++start) {
        std::ranges::fill(in, -1);
        p.run();
      }
    } else {
      taquin::run(x);
    }
    ASSERT_TRUE(right(in.data(), s, run)) << "run " << run;
    EXPECT_EQ(in.back(), -1);
  }
}

TEST(shared_buffers, serve_exchanges_in_place) {
  for (int run = 0; run < 10; ++run) {
    const sides s = sides_of(run);
    shared_buffer<int> buffer(static_cast<std::size_t>(std::max(total(s.send), total(s.recv))));
    fill(buffer.data(), s, run);
    options o;
    o.algorithm = "in_place";
    o.memory = std::size_t{64} << 10U;
    alltoallv_in_place(buffer.data(), s.send.data(), s.sdispls.data(), s.recv.data(), s.rdispls.data(), MPI_INT,
                       MPI_COMM_WORLD, o);
    ASSERT_TRUE(right(buffer.data(), s, run)) << "run " << run;
  }
}

// Equal blocks stand in each other's places: whichever rank of a pair comes first swaps them, whatever buffers they are
// in.
TEST(shared_buffers, swap_equal_blocks_with_other_buffers) {
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 9);
  const auto p = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  for (int run = 0; run < 8; ++run) {
    const count_t each = run % 2 == 0 ? 100003 : 771;
    sides s;
    s.send.assign(p, each);
    s.recv.assign(p, each);
    s.sdispls = s.rdispls = std::vector<count_t>(p);
    for (std::size_t i = 1; i < p; ++i) s.rdispls[i] = s.sdispls[i] = s.sdispls[i - 1] + each;
    std::pmr::vector<int> buffer(p * static_cast<std::size_t>(each) + 1, -1, some_resource(random));
    options o;
    o.algorithm = "in_place";
    o.memory = std::size_t{64} << 10U;
    plan again(
        exchange::alltoallv_in_place(buffer.data(), count_view(s.send.data()), count_view(s.sdispls.data()),
                                     count_view(s.recv.data()), count_view(s.rdispls.data()), MPI_INT, MPI_COMM_WORLD),
        o);
    for (int start = 0; start < 3; ++start) {
      fill(buffer.data(), s, run + start);
      again.start();
      if ((rank_in(MPI_COMM_WORLD) + start) % 2 == 0)
        while (!again.test()) {
        }
      again.wait();
      ASSERT_TRUE(right(buffer.data(), s, run + start)) << "run " << run << ", start " << start;
      EXPECT_EQ(buffer.back(), -1);
    }
  }
}

// A new buffer may lie where one that was given back lay: what others saw there must be forgotten.
TEST(shared_buffers, are_freed_when_dropped) {
  for (int run = 0; run < 60; ++run) {
    const auto p = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
    constexpr count_t each = 20000;
    shared_buffer<int> out(p * each);
    shared_buffer<int> in(p * each);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = shared_value(run, rank_in(MPI_COMM_WORLD), static_cast<int>(i / each), static_cast<count_t>(i % each));
    alltoall(out.data(), each, MPI_INT, in.data(), each, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < in.size(); i += 97)
      ASSERT_EQ(in[i],
                shared_value(run, static_cast<int>(i / each), rank_in(MPI_COMM_WORLD), static_cast<count_t>(i % each)));
  }
}

TEST(shared_buffers, are_given_by_the_c_api) {
  void* memory = nullptr;
  ASSERT_EQ(TAQUIN_Alloc_shared(12345, &memory), MPI_SUCCESS);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0U);
  const auto* bytes = static_cast<const char*>(memory);
  EXPECT_TRUE(std::all_of(bytes, bytes + 12345, [](char c) { return c == 0; }));
  EXPECT_EQ(TAQUIN_Free_shared(memory), MPI_SUCCESS);
  EXPECT_EQ(TAQUIN_Free_shared(nullptr), MPI_SUCCESS);
  ASSERT_EQ(TAQUIN_Alloc_shared(0, &memory), MPI_SUCCESS);
  EXPECT_EQ(TAQUIN_Free_shared(memory), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_NE(TAQUIN_Alloc_shared(-1, &memory), MPI_SUCCESS);
  EXPECT_NE(TAQUIN_Alloc_shared(1, nullptr), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

TEST(shared_buffers, that_are_too_large_are_refused) {
  EXPECT_THROW(allocate_shared(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(allocate_shared(SIZE_MAX / 4), std::bad_alloc);
}

TEST(shared_buffers, of_more_values_than_there_are_bytes_are_refused) {
  EXPECT_THROW(shared_buffer<double>((std::size_t{1} << 61U) + 2), std::bad_alloc);
  EXPECT_THROW(shared_buffer<double>(SIZE_MAX / sizeof(double)), std::bad_alloc);
  EXPECT_EQ(shared_buffer<double>(0).size(), 0U);
}

std::size_t resident_pages() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(shared_buffers, take_pages_when_they_are_written) {
  constexpr std::size_t n = std::size_t{1} << 23U;
  const std::size_t before = resident_pages();
  const shared_buffer<double> zeros(n);
  EXPECT_LT(resident_pages() - before, n * sizeof(double) / 4096 / 8);
  zeros[n - 1] = 1;
  EXPECT_EQ(zeros[0], 0);
}

// Values that are not all zero bytes: by their constructor, and a pointer to a member, whose null is -1.
struct with_default {
  int value = 7;
};
struct with_pointer {
  int with_default::*pointer;
};

TEST(shared_buffers, hold_default_values) {
  const shared_buffer<with_default> a(3000);
  EXPECT_TRUE(std::all_of(a.begin(), a.end(), [](const with_default& d) { return d.value == 7; }));
  const shared_buffer<with_pointer> b(3000);
  EXPECT_TRUE(std::all_of(b.begin(), b.end(), [](const with_pointer& d) { return d.pointer == nullptr; }));
}

// Memory of a node is a file for the system. The signal that a limit on the size of files raises would end the program.
class small_files {
 public:
  explicit small_files(std::size_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  small_files(const small_files&) = delete;
  small_files& operator=(const small_files&) = delete;
  ~small_files() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(shared_buffers, are_refused_and_calls_send_messages_where_files_must_be_small) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    const small_files limit(4096);
    EXPECT_THROW(shared_buffer<int>(100000), std::bad_alloc);
    const int p = size_of(comm);
    for (const char* algorithm : {"auto", "node_aggregated"}) {
      std::vector<int> out(at(p) * 1000, rank_in(comm));
      std::vector<int> in(out.size(), -1);
      options o;
      o.algorithm = algorithm;
      alltoall(out.data(), 1000, MPI_INT, in.data(), 1000, MPI_INT, comm, o);
      for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], static_cast<int>(i / 1000)) << algorithm;
    }
  }
  MPI_Comm_free(&comm);
}

// Blocks are copied from view to view; some ranks' arrays are ordinary memory.
TEST(shared_buffers, hold_blocks_that_are_redistributed) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  constexpr int blocks = 30;
  constexpr int length = 1200;  // ints
  for (const int ordinary : {-1, 0}) {
    shared_buffer<int> shared(rank == ordinary ? 1 : blocks * length);
    std::vector<int> own(rank == ordinary ? blocks * length : 0);
    int* const data = rank == ordinary ? own.data() : shared.data();
    std::vector<int> to(blocks);
    std::vector<int> index(blocks);
    for (int k = 0; k < blocks; ++k) {
      to[at(k)] = (rank + k) % p;
      index[at(k)] = blocks - 1 - k;
      for (int i = 0; i < length; ++i) data[k * length + i] = shared_value(k, rank, 0, i);
    }
    redistribution moves(data, blocks, length, MPI_INT, MPI_COMM_WORLD);
    moves(to, index);
    for (int k = 0; k < blocks; ++k) {
      const int then = blocks - 1 - k;
      const int from = ((rank - then) % p + p) % p;
      for (int i = 0; i < length; ++i)
        ASSERT_EQ(data[k * length + i], shared_value(then, from, 0, i)) << k << ", " << i;
    }
  }
}

}  // namespace
}  // namespace taquin::test
