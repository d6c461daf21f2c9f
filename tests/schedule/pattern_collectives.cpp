// The collectives against the MPI library's own results.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "taquin/error.hpp"
#include "taquin/patterns.hpp"

namespace taquin {
namespace {

struct ranks {
  int rank = 0;
  int size = 1;
  ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

// x ⊗ y of 2×2 matrices modulo 97: associative, not commutative.
void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  const int* a = static_cast<int*>(in);
  int* b = static_cast<int*>(inout);
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    const int c[4] = {(a[0] * b[0] + a[1] * b[2]) % 97, (a[0] * b[1] + a[1] * b[3]) % 97,
                      (a[2] * b[0] + a[3] * b[2]) % 97, (a[2] * b[1] + a[3] * b[3]) % 97};
    std::copy(c, c + 4, b);
  }
}

class with_matrices : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Op_create(multiply, 0, &op);
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 4 * count; ++i) input.push_back((at.rank * 13 + i * 7 + i * i) % 97);
  }
  void TearDown() override {
    MPI_Op_free(&op);
    MPI_Type_free(&type);
  }
  static constexpr int count = 5;
  ranks at;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int> input;
};

TEST(permutations, bring_elements_of_any_datatype_to_the_right_rank) {
  const ranks at;
  MPI_Datatype pair = MPI_DATATYPE_NULL;  // of the first and the third of three ints
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const std::vector<int> mine{at.rank, -2, at.rank + 100};
  for (const int by : {-3, -1, 0, 1, 2}) {
    std::vector<int> got(3, -1);
    patterns::permute(patterns::permutation::ring, by, mine.data(), got.data(), 1, pair, MPI_COMM_WORLD);
    const int from = ((at.rank - by) % at.size + at.size) % at.size;
    EXPECT_EQ(got, (std::vector<int>{from, -1, from + 100})) << by;
  }
  EXPECT_THROW(patterns::permute(patterns::permutation::hypercube, -1, mine.data(), nullptr, 0, pair, MPI_COMM_WORLD),
               usage_error);
  MPI_Type_free(&pair);
}

TEST_F(with_matrices, reductions_keep_the_order_of_the_ranks) {
  std::vector<int> mine(input.size(), -1);
  std::vector<int> theirs(input.size(), -1);
  patterns::allreduce(input.data(), mine.data(), count, type, op, MPI_COMM_WORLD);
  MPI_Allreduce(input.data(), theirs.data(), count, type, op, MPI_COMM_WORLD);
  EXPECT_EQ(mine, theirs);
  patterns::scan(input.data(), mine.data(), count, type, op, MPI_COMM_WORLD);
  MPI_Scan(input.data(), theirs.data(), count, type, op, MPI_COMM_WORLD);
  EXPECT_EQ(mine, theirs);
  for (int root = 0; root < at.size; ++root) {
    mine.assign(input.size(), -1);
    theirs = mine;
    patterns::reduce(input.data(), mine.data(), count, type, op, root, MPI_COMM_WORLD);
    MPI_Reduce(input.data(), theirs.data(), count, type, op, root, MPI_COMM_WORLD);
    EXPECT_EQ(mine, theirs);
  }
}

TEST_F(with_matrices, movements_bring_what_the_mpi_library_brings) {
  const auto n = input.size() * static_cast<std::size_t>(at.size);
  std::vector<int> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<int>(i);
  for (int root = 0; root < at.size; ++root) {
    std::vector<int> mine = input;
    std::vector<int> theirs = input;
    patterns::broadcast(mine.data(), count, type, root, MPI_COMM_WORLD);
    MPI_Bcast(theirs.data(), count, type, root, MPI_COMM_WORLD);
    EXPECT_EQ(mine, theirs);
    patterns::scatter(all.data(), mine.data(), count, type, root, MPI_COMM_WORLD);
    MPI_Scatter(all.data(), count, type, theirs.data(), count, type, root, MPI_COMM_WORLD);
    EXPECT_EQ(mine, theirs);
    mine.assign(n, -1);
    theirs.assign(n, -1);
    patterns::gather(input.data(), mine.data(), count, type, root, MPI_COMM_WORLD);
    MPI_Gather(input.data(), count, type, theirs.data(), count, type, root, MPI_COMM_WORLD);
    EXPECT_EQ(mine, theirs);
  }
  std::vector<int> mine(n, -1);
  std::vector<int> theirs(n, -1);
  patterns::allgather(input.data(), mine.data(), count, type, MPI_COMM_WORLD);
  MPI_Allgather(input.data(), count, type, theirs.data(), count, type, MPI_COMM_WORLD);
  EXPECT_EQ(mine, theirs);
}

TEST_F(with_matrices, types_with_holes_keep_their_holes) {
  MPI_Datatype sparse = MPI_DATATYPE_NULL;
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
  MPI_Type_create_resized(sparse, 0, 4 * sizeof(int), &resized);
  MPI_Type_commit(&resized);
  const auto n = input.size() * static_cast<std::size_t>(at.size);
  std::vector<int> mine(n, -1);
  std::vector<int> theirs(n, -1);
  patterns::allgather(input.data(), mine.data(), count, resized, MPI_COMM_WORLD);
  MPI_Allgather(input.data(), count, resized, theirs.data(), count, resized, MPI_COMM_WORLD);
  EXPECT_EQ(mine, theirs);
  MPI_Type_free(&resized);
  MPI_Type_free(&sparse);
}

// Every element's prefix over all ranks: with an operator that does not commute, and with empty ranks.
TEST_F(with_matrices, scan_of_elements_goes_through_all_ranks) {
  const auto counts_of = [](int rank) { return rank % 3 == 1 ? 0 : 2 + rank % 4; };
  std::vector<int> expected(4);
  bool first = true;
  for (int r = 0; r <= at.rank; ++r)
    for (int i = 0; i < counts_of(r); ++i) {
      std::vector<int> matrix;
      for (int k = 0; k < 4; ++k) matrix.push_back((r * 31 + i * 5 + k) % 97);
      int one = 1;
      if (!first) multiply(expected.data(), matrix.data(), &one, nullptr);
      expected = matrix;
      first = false;
    }
  const int mine = counts_of(at.rank);
  std::vector<int> in;
  for (int i = 0; i < mine; ++i)
    for (int k = 0; k < 4; ++k) in.push_back((at.rank * 31 + i * 5 + k) % 97);
  std::vector<int> out(in.size(), -1);
  patterns::scan_elements(in.data(), out.data(), mine, type, op, MPI_COMM_WORLD);
  if (mine > 0) {
    EXPECT_EQ(std::vector<int>(out.end() - 4, out.end()), expected);
  }
}

TEST(patterns, a_barrier_holds_until_all_have_come) {
  const ranks at;
  for (int late = 0; late < at.size; ++late) {
    // The late rank notifies all of its arrival; no rank may leave the barrier before.
    std::vector<MPI_Request> requests;
    int token = 0;
    if (at.rank != late) {
      requests.emplace_back();
      MPI_Irecv(&token, 1, MPI_INT, late, 99, MPI_COMM_WORLD, &requests.back());
    } else {
      for (int r = 0; r < at.size; ++r)
        if (r != late) MPI_Ssend(&late, 1, MPI_INT, r, 99, MPI_COMM_WORLD);
    }
    patterns::barrier(MPI_COMM_WORLD);
    int arrived = 1;
    if (!requests.empty()) MPI_Test(requests.data(), &arrived, MPI_STATUS_IGNORE);
    EXPECT_EQ(arrived, 1);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
}

TEST(patterns, bad_arguments_of_one_rank_are_an_error_on_all) {
  const ranks at;
  int value = 0;
  const count_t count = at.rank == at.size - 1 ? -1 : 1;
  EXPECT_THROW(patterns::broadcast(&value, count, MPI_INT, 0, MPI_COMM_WORLD), usage_error);
  EXPECT_THROW(patterns::broadcast(&value, 1, MPI_INT, at.size, MPI_COMM_WORLD), usage_error);
  EXPECT_THROW(patterns::allreduce(nullptr, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), usage_error);
  EXPECT_THROW(patterns::barrier(MPI_COMM_NULL), usage_error);
}

}  // namespace
}  // namespace taquin
