// Where memory for sharing ends: little address space on one rank, and more communicators than there is memory for. All
// ranks then send messages, and every byte is right.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "node/arena.hpp"
#include "node/blocking_channel.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

/// The mapped bytes of this process.
std::size_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[vsyscall]") != std::string::npos) continue;
    std::istringstream in(line);
    std::size_t from = 0;
    std::size_t to = 0;
    char dash = '-';
    in >> std::hex >> from >> dash >> to;
    sum += to - from;
  }
  return sum;
}

/// The bytes of taquin's files that this process has mapped and the system has allocated.
std::size_t shared_bytes() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t kib = 0;
  bool of_taquin = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    std::string name;
    std::size_t n = 0;
    in >> name >> n;
    if (name.find('-') != std::string::npos) of_taquin = line.find("memfd:taquin") != std::string::npos;
    if (of_taquin && name == "Rss:") kib += n;
  }
  return kib << 10U;
}

/// Leaves the process `more` bytes of address space beyond what it has.
class little_address_space {
 public:
  explicit little_address_space(std::size_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = mapped_bytes() + more;
    setrlimit(RLIMIT_AS, &now);
  }
  little_address_space(const little_address_space&) = delete;
  little_address_space& operator=(const little_address_space&) = delete;
  ~little_address_space() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

/// Blocks of as many ints.
class equal_blocks {
 public:
  equal_blocks(int count, MPI_Comm comm)
      : rank_(rank_in(comm)),
        count_(count),
        send_(at(size_of(comm)) * at(count)),
        recv_(send_.size()),
        x_(exchange::alltoall(send_.data(), count, MPI_INT, recv_.data(), count, MPI_INT, comm)) {
    for (std::size_t i = 0; i < send_.size(); ++i) send_[i] = value(rank_, static_cast<int>(i) / count_);
  }
  [[nodiscard]] const exchange& given() const { return x_; }
  [[nodiscard]] bool right() const {
    for (std::size_t i = 0; i < recv_.size(); ++i)
      if (recv_[i] != value(static_cast<int>(i) / count_, rank_)) return false;
    return true;
  }

 private:
  static int value(int from, int to) { return 1000 * from + to + 7; }
  int rank_;
  int count_;
  std::vector<int> send_;
  std::vector<int> recv_;
  exchange x_;
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take address space of their own
TEST(scarce_memory, address_space_of_one_rank_is_done_without_on_all) {
  const int p = size_of(MPI_COMM_WORLD);
  if (p == 1) GTEST_SKIP() << "shares with nobody";
  const scoped_comm copy(duplicate(MPI_COMM_WORLD));
  constexpr int count = 12000;
  equal_blocks data(count, MPI_COMM_WORLD);
  equal_blocks other(count, copy.get());
  plan before(data.given());  // makes what a communicator's first plan makes
  EXPECT_EQ(before.algorithm(), "shared_memory");
  {
    std::optional<little_address_space> little;
    std::vector<detail::arena_block> rest;  // of what the rank has mapped already
    if (rank_in(MPI_COMM_WORLD) == p - 1) {
      constexpr std::size_t each = std::size_t{256} << 10U;  // less than a plan needs
      rest.reserve(detail::arena::most_segment / each);
      little.emplace(std::size_t{1} << 20U);  // the MPI library needs some of it
      detail::arena_place where;
      do rest.push_back(detail::arena_block::make(each, 0, where));
      while (!rest.back().empty());
    }
    plan made(data.given());
    EXPECT_NE(made.algorithm(), "shared_memory");
    made.run();
    EXPECT_TRUE(data.right());
    try {
      plan named(data.given(), {.algorithm = "shared_memory"});
      ADD_FAILURE() << "not noticed";
    } catch (const usage_error& e) {
      EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
      EXPECT_TRUE(e.collective());
    }
    run(other.given());
    EXPECT_TRUE(other.right());
    before.run();
    EXPECT_TRUE(data.right());
  }
  plan after(data.given());
  EXPECT_EQ(after.algorithm(), "shared_memory");
  after.run();
  EXPECT_TRUE(data.right());
}
#endif

/// How often `what` is in `text`.
int occurrences(std::string_view text, std::string_view what) {
  int n = 0;
  for (auto i = text.find(what); i != std::string_view::npos; i = text.find(what, i + 1)) ++n;
  return n;
}

// Beyond what the channels of a process may take, communicators send messages; which is said once.
TEST(scarce_memory, of_a_thousand_communicators_is_bounded) {
  const int p = size_of(MPI_COMM_WORLD);
  const std::size_t share = detail::channel::share(p, detail::channel::default_payload_bytes(p));
  std::vector<MPI_Comm> all;
  for (int i = 0; i < 1000; ++i) all.push_back(duplicate(MPI_COMM_WORLD));
  testing::internal::CaptureStderr();
  for (int again = 0; again < 4; ++again)  // the first two calls of each make nothing
    for (const MPI_Comm comm : all) {
      equal_blocks data(3, comm);
      run(data.given());
      ASSERT_TRUE(data.right());
    }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_LE(shared_bytes(), detail::most_channel_bytes * static_cast<std::size_t>(p));
  const bool too_many = all.size() * share > detail::most_channel_bytes;
  EXPECT_EQ(occurrences(said, "further communicators send messages"), p > 1 && too_many ? 1 : 0) << said;
  for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
  equal_blocks data(3, MPI_COMM_WORLD);
  run(data.given());
  EXPECT_TRUE(data.right());
  MPI_Barrier(MPI_COMM_WORLD);  // all have left the channels
  const scoped_comm last(duplicate(MPI_COMM_WORLD));
  equal_blocks more(3, last.get());
  run(more.given());
  EXPECT_LE(shared_bytes(), (detail::arena::most_kept + 4 * share) * static_cast<std::size_t>(p)) << "given back";
}

}  // namespace
}  // namespace taquin::test
