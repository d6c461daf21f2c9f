// main() of the MPI tests: a test that fails on any rank fails on all, a test whose instruments did nothing fails, and
// rank 0 alone prints what passed.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "support/chosen_files.hpp"
#include "support/instruments.hpp"

namespace {

namespace instruments = taquin::test::instruments;

// Failures on other ranks than 0, whose printer prints all.
class report_failures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank, part.file_name() != nullptr ? part.file_name() : "?",
                 part.line_number(), part.summary());
  }
};

class agree_on_failure : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*info*/) override {
    before_ = instruments::totals();
    instruments::idle_is_right = false;
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    std::array<std::int64_t, 2 * instruments::number + 1> sums{};
    const auto now = instruments::totals();
    for (std::size_t k = 0; k < instruments::number; ++k) {
      sums[2 * k] = now[k].used - before_[k].used;
      sums[2 * k + 1] = now[k].fired - before_[k].fired;
    }
    sums.back() = info.result()->Failed() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (sums.back() != 0 && !info.result()->Failed()) ADD_FAILURE() << "failed on another rank";
    for (std::size_t k = 0; k < instruments::number; ++k)
      if (sums[2 * k] > 0 && sums[2 * k + 1] == 0 && !instruments::idle_is_right)
        ADD_FAILURE() << instruments::names[k] << " used " << sums[2 * k] << " times, and nothing happened";
  }
  std::array<instruments::use, instruments::number> before_{};
};

// The same for the whole program, of whose tests some may rightly see nothing.
bool instruments_did_nothing(int rank) {
  bool nothing = false;
  for (std::size_t k = 0; k < instruments::number; ++k) {
    const auto mine = instruments::totals()[k];
    std::array<std::int64_t, 2> sums{mine.used, mine.fired};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (sums[0] == 0) continue;
    if (rank == 0)
      std::printf("%s: used %lld times, %lld with an effect\n", instruments::names[k], static_cast<long long>(sums[0]),
                  static_cast<long long>(sums[1]));
    nothing = nothing || sums[1] == 0;
  }
  return nothing;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // where MPICH reports what belongs to no communicator
  testing::InitGoogleTest(&argc, argv);
  taquin::test::choose_files(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<testing::TestEventListener> printer(listeners.Release(listeners.default_result_printer()));
  listeners.Append(new agree_on_failure);
  if (rank == 0)
    listeners.Append(printer.release());
  else
    listeners.Append(new report_failures);
  int result = RUN_ALL_TESTS();
  if (instruments_did_nothing(rank)) result = 1;
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
