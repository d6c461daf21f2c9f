// The kernel forbids reading another process's memory, after some calls on the same communicators: a process drops its
// privileges, or filters its system calls. Every form of exchange goes on with right results. The process is changed
// for good, so that each way to forbid it is a program of its own: TAQUIN_TEST_FORBID names it.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

// Whether this process may read `word` of another one.
bool may_read(pid_t process, std::uint64_t word) {
  std::uint64_t here = 0;
  const iovec to{&here, sizeof here};
  const iovec from{reinterpret_cast<void*>(word), sizeof here};  // NOLINT(performance-no-int-to-ptr)
  return process_vm_readv(process, &to, 1, &from, 1, 0) == sizeof here;
}

// Root may read everybody's memory.
void drop_privileges() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> all{};
  ASSERT_EQ(syscall(SYS_capget, &head, all.data()), 0);
  for (auto& a : all) a.inheritable = 0;
  constexpr std::uint32_t bit = 1U << static_cast<unsigned>(CAP_SYS_PTRACE);
  all[0].effective &= ~bit;
  all[0].permitted &= ~bit;
  ASSERT_EQ(syscall(SYS_capset, &head, all.data()), 0);
}

void filter_calls() {
  const std::array<sock_filter, 5> program{sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},  // the call's number
                                           sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_process_vm_readv},
                                           sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_process_vm_writev},
                                           sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                                           sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog filter{program.size(), const_cast<sock_filter*>(program.data())};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/// Exchanges of all forms, with blocks of the same length between all ranks.
class forms {
 public:
  explicit forms(MPI_Comm comm) : comm_(comm) {
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector_);
    MPI_Type_create_resized(vector_, 0, 4 * sizeof(int), &gapped_);
    MPI_Type_commit(&gapped_);
  }
  forms(const forms&) = delete;
  forms& operator=(const forms&) = delete;
  ~forms() {
    MPI_Type_free(&vector_);
    MPI_Type_free(&gapped_);
  }

  void run_all() {
    for (const int ints : {2, 30, 1200, 10000, 300000}) {
      SCOPED_TRACE("blocks of " + std::to_string(ints) + " ints");
      for (const bool gaps : {false, true}) exchange_blocks(ints, gaps);
      plans(ints);
      in_place(ints);
      sparse(ints);
    }
    redistribute_blocks();
    migrate_arrays();
  }

 private:
  static int word(int from, int to, int k) { return (from * 10 + to) * 1000000 + k; }
  [[nodiscard]] std::vector<int> data(int ints) const {
    std::vector<int> all(static_cast<std::size_t>(p_) * static_cast<std::size_t>(ints));
    for (int to = 0, i = 0; to < p_; ++to)
      for (int k = 0; k < ints; ++k) all[static_cast<std::size_t>(i++)] = word(rank_, to, k);
    return all;
  }
  void expect_right(const std::vector<int>& all, const std::string& form) const {
    const auto n = all.size() / static_cast<std::size_t>(p_);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] != word(static_cast<int>(i / n), rank_, static_cast<int>(i % n))) ++wrong;
    EXPECT_EQ(wrong, 0U) << form << ", rank " << rank_;
  }

  // As many items to each rank from each, so that they stand in each other's places.
  void migrate_arrays() const {
    for (const int each : {1, 20000}) {
      std::vector<int> number;
      std::vector<std::int64_t> twice;
      std::vector<char> from;
      std::vector<int> to;
      for (int r = 0; r < p_; ++r)
        for (int k = 0; k < each; ++k) {
          number.push_back(word(rank_, r, k));
          twice.push_back(2 * std::int64_t{number.back()});
          from.push_back(static_cast<char>(rank_));
          to.push_back(r);
        }
      migrate(to, comm_, number, twice, from);
      expect_right(number, "a migration of several arrays");
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < number.size(); ++i)
        wrong +=
            twice[i] != 2 * std::int64_t{number[i]} || from[i] != static_cast<char>(i / static_cast<std::size_t>(each));
      EXPECT_EQ(wrong, 0U) << "rank " << rank_;
    }
  }

  // Received with gaps or without.
  void exchange_blocks(int ints, bool gaps) const {
    const std::vector<int> out = data(ints);
    std::vector<int> in(out.size() * (gaps ? 2 : 1), -1);
    run(exchange::alltoall(out.data(), ints, MPI_INT, in.data(), gaps ? ints / 2 : ints, gaps ? gapped_ : MPI_INT,
                           comm_),
        {});
    if (gaps) {
      for (std::size_t i = 0; i < out.size(); ++i) in[i] = in[i / 2 * 4 + i % 2 * 2];
      in.resize(out.size());
    }
    expect_right(in, gaps ? "a blocking call of a type with gaps" : "a blocking call");
  }
  void plans(int ints) const {
    const std::vector<int> out = data(ints);
    std::vector<int> in(out.size());
    plan once(exchange::alltoall(out.data(), ints, MPI_INT, in.data(), ints, MPI_INT, comm_), {});
    for (int again = 0; again < 3; ++again) {
      std::ranges::fill(in, -1);
      once.start();
      once.wait();
      expect_right(in, "a plan");
    }
  }
  void in_place(int ints) const {
    std::vector<int> all = data(ints);
    const std::vector<count_t> counts(static_cast<std::size_t>(p_), ints);
    std::vector<count_t> places(static_cast<std::size_t>(p_));
    for (std::size_t r = 0; r < places.size(); ++r) places[r] = static_cast<count_t>(r) * ints;
    const count_view c(counts.data());
    const count_view d(places.data());
    for (const char* name : {"auto", "in_place", "in_place_phases"}) {
      all = data(ints);
      run(exchange::alltoallv_in_place(all.data(), c, d, c, d, MPI_INT, comm_), {.algorithm = name});
      expect_right(all, std::string("in place by ") + name);
    }
  }
  void sparse(int ints) const {
    const std::vector<int> out = data(ints);
    std::vector<int> ranks(static_cast<std::size_t>(p_));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::vector<int> counts(static_cast<std::size_t>(p_), ints);
    const auto got = sparse_exchange(ranks, counts, out, comm_);
    expect_right(got.data, "a sparse exchange");
    std::vector<int> in;
    sparse_exchange_chunks(
        ranks, counts, out, std::max(1, ints / 3),
        [&](int, std::span<const int> chunk) { in.insert(in.end(), chunk.begin(), chunk.end()); }, comm_);
    std::ranges::sort(in);
    std::vector<int> all = got.data;
    std::ranges::sort(all);
    EXPECT_EQ(in, all) << "a sparse exchange in chunks";
  }
  // Each block to the next rank.
  void redistribute_blocks() const {
    constexpr int blocks = 12;
    constexpr int ints = 20000;
    std::vector<int> array(static_cast<std::size_t>(blocks) * ints);
    for (std::size_t i = 0; i < array.size(); ++i) array[i] = word(rank_, 0, static_cast<int>(i));
    const std::vector<int> to(blocks, (rank_ + 1) % p_);
    std::vector<int> index(blocks);
    std::iota(index.begin(), index.end(), 0);
    redistribution r(array.data(), blocks, ints, MPI_INT, comm_);
    r.start(std::span<const int>(to), std::span<const int>(index));
    r.wait();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < array.size(); ++i)
      wrong += array[i] == word((rank_ + p_ - 1) % p_, 0, static_cast<int>(i)) ? 0U : 1U;
    EXPECT_EQ(wrong, 0U) << "a redistribution of blocks";
  }

  MPI_Comm comm_;
  int p_ = size_of(comm_);
  int rank_ = rank_in(comm_);
  MPI_Datatype vector_ = MPI_DATATYPE_NULL;
  MPI_Datatype gapped_ = MPI_DATATYPE_NULL;
};

// One rank can no longer read the others' memory, or its own cannot be read, or no rank's can.
TEST(forbidden_reads, are_replaced_by_copies_of_the_owner) {
  const char* const how = std::getenv("TAQUIN_TEST_FORBID");
  ASSERT_NE(how, nullptr);
  const std::string_view way(how);
  scoped_comm comm(duplicate(MPI_COMM_WORLD));
  forms all(comm.get());
  all.run_all();

  static std::uint64_t seen = 1;
  struct {
    std::uint64_t word;
    std::uint64_t process;
  } mine{reinterpret_cast<std::uint64_t>(&seen), static_cast<std::uint64_t>(getpid())}, theirs{};
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  drop_privileges();
  if (way == "one_filters" && rank == 1) filter_calls();
  if ((way == "one_is_unreadable" && rank == 1) || way == "all_are_unreadable") {
    ASSERT_EQ(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
  }
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, (rank + 1) % p, 0, &theirs, sizeof theirs, MPI_BYTE, (rank + p - 1) % p, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const bool forbidden = !may_read(static_cast<pid_t>(theirs.process), theirs.word);
  ASSERT_TRUE(any_rank(forbidden)) << "nothing is forbidden";
  all.run_all();
  all.run_all();
}

}  // namespace
}  // namespace taquin::test
