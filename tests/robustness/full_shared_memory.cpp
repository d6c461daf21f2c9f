// Run where /dev/shm is small and private: no memory is left there, nothing can be made there (TAQUIN_TEST_NO_SHM), or
// ranks have different ones (TAQUIN_TEST_OWN_SHM), and all exchanges are right all the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

class full final {
 public:
  full() {
    file_ = open(name, O_CREAT | O_WRONLY, S_IRUSR | S_IWUSR);
    const std::array<char, 4096> page{};
    while (write(file_, page.data(), page.size()) > 0) written_ += page.size();
  }
  full(const full&) = delete;
  full& operator=(const full&) = delete;
  ~full() {
    close(file_);
    unlink(name);
  }
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  static constexpr const char* name = "/dev/shm/all-that-is-left";
  int file_ = -1;
  std::size_t written_ = 0;
};

TEST(full_shared_memory, is_replaced_by_messages) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::optional<full> nothing_left;
  const bool absent = std::getenv("TAQUIN_TEST_NO_SHM") != nullptr;
  if (absent) {
    EXPECT_LT(open("/dev/shm/anything", O_CREAT | O_WRONLY, S_IRUSR | S_IWUSR), 0);
  }
  const bool own = std::getenv("TAQUIN_TEST_OWN_SHM") != nullptr;
  if (own) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    EXPECT_EQ(size_of(node), p) << "these ranks are on one node, says the MPI library";
    MPI_Comm_free(&node);
  }
  if (rank == 0 && !absent && !own) {
    nothing_left.emplace();
    EXPECT_GT(nothing_left->written(), 0U);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int size : {1, 3000, 40000})
    for (const detail::algorithm* a : detail::algorithms())
      for (const bool reused : {false, true}) {
        SCOPED_TRACE(a->name);
        const scoped_comm comm(duplicate(MPI_COMM_WORLD));
        const std::vector<int> send(at(p * size), rank);
        std::vector<int> recv(at(p * size), -1);
        const exchange x = exchange::alltoall(send.data(), size, MPI_INT, recv.data(), size, MPI_INT, comm.get());
        const options o{.algorithm = a->name};
        try {
          reused ? plan(x, o).run() : run(x, o);
        } catch (const usage_error& e) {
          EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
          continue;
        }
        EXPECT_TRUE(!own || a->name != "shared_memory") << "ranks do not share memory";
        for (int i = 0; i < p * size; ++i) ASSERT_EQ(recv[at(i)], i / size);
      }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace taquin::test
