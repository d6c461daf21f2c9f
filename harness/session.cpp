#include "harness/session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/sizes.hpp"
#include "harness/errors.hpp"
#include "mpi/check.hpp"
#include "mpi/library.hpp"
#include "taquin/error.hpp"

namespace taquin::harness {

namespace {

// Launchers mark their processes in the environment.
bool launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

// Ranks that the launcher of this process has started; 0: no launcher is known.
int started_together() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* const text = std::getenv(name)) return static_cast<int>(std::strtol(text, nullptr, 10));
  return 0;
}

const char* library_name() {
  switch (mpi::running_library()) {
    case mpi::library::open_mpi:
      return "Open MPI";
    case mpi::library::mpich:
      return "MPICH";
    case mpi::library::other:
      break;
  }
  return "another one";
}

}  // namespace

bool first_of_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const text = std::getenv(name)) return std::strtol(text, nullptr, 10) == 0;
  return true;
}

void print_once(const std::string& out, const std::string& err) {
  int rank = 0;
  int finalized = 0;
  MPI_Finalized(&finalized);
  const bool use_mpi = finalized == 0 && launched();
  if (use_mpi) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  if (rank == 0) {
    fmt::print(stdout, "{}", out);
    fmt::print(stderr, "{}", err);
    std::fflush(stdout);
    std::fflush(stderr);
  }
  if (!use_mpi) return;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

int in_session(const std::function<int(int, int)>& work) {
  int provided = 0;
  TAQUIN_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  TAQUIN_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int status = failure_status;
  if (ranks == 1 && started_together() > 1) {
    if (first_of_launcher())
      fmt::print(
          stderr,
          "taquin: {} processes of 1 rank each: this mpirun belongs to another MPI library than taquin's, which is "
          "{}; start it with that one's mpirun -n {}\n",
          started_together(), library_name(), started_together());
    TAQUIN_MPI(MPI_Finalize());
    return usage_status;
  }
  const auto print_message = [&](const std::exception& e) {
    if (rank == 0) fmt::print(stderr, "taquin: {}\n", e.what());
  };
  try {
    status = work(rank, ranks);
  } catch (const usage& e) {
    print_message(e);
    status = usage_status;
  } catch (const failure& e) {
    print_message(e);
  } catch (const usage_error& e) {
    print_message(e);
  } catch (const budget_exceeded& e) {
    print_message(e);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "taquin: rank {}: there is not enough memory for the data; choose smaller sizes\n", rank);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, failure_status);
  } catch (const std::exception& e) {  // on this rank alone, perhaps: the others may be waiting for it
    fmt::print(stderr, "taquin: rank {}: {}\n", rank, e.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, failure_status);
  }
  std::fflush(stdout);
  std::fflush(stderr);
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));  // a rank that exits with a status other than 0 lets mpirun end the others
  TAQUIN_MPI(MPI_Finalize());
  return status;
}

std::optional<std::string> any_failure(const std::optional<std::string>& mine, MPI_Comm comm) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(MPI_Comm_size(comm, &ranks));
  int first = mine ? rank : ranks;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == ranks) return std::nullopt;
  std::string text = mine.value_or("");
  auto size = static_cast<int>(text.size());
  TAQUIN_MPI(MPI_Bcast(&size, 1, MPI_INT, first, comm));
  text.resize(detail::as_size(size));
  TAQUIN_MPI(MPI_Bcast(text.data(), size, MPI_CHAR, first, comm));
  return text;
}

}  // namespace taquin::harness
