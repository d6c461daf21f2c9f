// main() of the MPI tests: a test that fails on any rank fails on all, and rank 0 alone prints what passed.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

// What fails on other ranks than 0, whose printer tells the whole.
class tell_failures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank, part.file_name() != nullptr ? part.file_name() : "?",
                 part.line_number(), part.summary());
  }
};

class agree_on_failure : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {
    int mine = info.result()->Failed() ? 1 : 0;
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any != 0 && mine == 0) ADD_FAILURE() << "failed on another rank";
  }
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  // What ranks need not agree on where a program has one thread.
  const bool alone = std::getenv("TAQUIN_TEST_ONE_THREAD") != nullptr;
  MPI_Init_thread(&argc, &argv, alone ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // where MPICH reports what belongs to no communicator
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<testing::TestEventListener> printer(listeners.Release(listeners.default_result_printer()));
  listeners.Append(new agree_on_failure);
  if (rank == 0)
    listeners.Append(printer.release());
  else
    listeners.Append(new tell_failures);
  int result = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
