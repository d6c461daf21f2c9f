// Calls that wait for longer than their timeout: what is said, and what follows. No test goes by how long something
// takes: a rank that is missing comes when the others have noticed it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "mpi/deadline.hpp"
#include "node/call_deadline.hpp"
#include "node/peer_records.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

class timeouts : public testing::Test {
 protected:
  timeouts() : out(at(p), rank), in(at(p), -1) {}

  [[nodiscard]] options impatient(std::string_view algorithm) const {
    return {.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = 1.0F};
  }
  [[nodiscard]] exchange ints(MPI_Comm on) {
    return exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, on);
  }
  /// The report when all ranks but the last do `step`, and the last does `meanwhile`. Empty on the last, and if the
  /// timeout of another rank ended earlier: that one has aborted, and this rank is notified.
  std::string reported_by(
      const std::function<void()>& step, const std::function<void()>& meanwhile = [] {}) const {
    std::string reported;
    if (rank == last) {
      meanwhile();
    } else {
      testing::internal::CaptureStderr();
      try {
        step();
        ADD_FAILURE() << "does not end in an error";
      } catch (const timed_out&) {
        reported = testing::internal::GetCapturedStderr();
      } catch (const peer_aborted& e) {
        testing::internal::GetCapturedStderr();
        EXPECT_NE(e.reason().find("has waited"), std::string::npos) << e.what();
      }
    }
    EXPECT_TRUE(any_rank(!reported.empty()));
    return reported;
  }
  static void expect_mentions(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not mention '" << part << "'";
  }

  int rank = rank_in(MPI_COMM_WORLD);
  int p = size_of(MPI_COMM_WORLD);
  int last = p - 1;
  std::string missing = "rank " + std::to_string(last) + " is missing";
  std::vector<int> out, in;
};

TEST_F(timeouts, name_the_call_and_the_rank_that_does_not_come) {
  for (const char* algorithm : {"auto", "spread_out", "native"}) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    MPI_Comm_set_name(comm.get(), "of this test");
    run(ints(comm.get()), {.algorithm = algorithm});
    run(ints(comm.get()), {.algorithm = algorithm});
    const std::string reported = reported_by([&] { run(ints(comm.get()), impatient(algorithm)); });
    if (reported.empty()) continue;
    SCOPED_TRACE(algorithm);
    expect_mentions(reported, "in call 3 of 'of this test': alltoall");
    expect_mentions(reported, missing + ": its last call here was number 2; it is not in taquin");
    EXPECT_EQ(reported.find("rank 0 is missing"), std::string::npos) << reported;
  }
}

TEST_F(timeouts, name_the_rank_that_has_not_started_its_plan) {
  for (const detail::algorithm* a : detail::algorithms()) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    options o = impatient(a->name);
    std::optional<plan> made = plan_if_served(ints(comm.get()), o);
    if (!made) continue;
    const std::string reported = reported_by([&] {
      made->start();
      made->wait();
    });
    if (reported.empty()) continue;
    SCOPED_TRACE(a->name);
    expect_mentions(reported, "plan of alltoall, algorithm " + std::string(a->name));
    expect_mentions(reported, " is missing: its last call here was number ");
    if (p == 2) {
      expect_mentions(reported, missing + ": its last call here was number 1; it is not in taquin");
    }
  }
}

TEST_F(timeouts, say_that_a_rank_is_in_a_call_on_another_communicator) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const scoped_comm other(duplicate(MPI_COMM_WORLD));
  MPI_Comm_set_name(other.get(), "the other one");
  run(ints(comm.get()));
  run(ints(other.get()));
  std::string reported;
  if (rank == last) {
    run(ints(other.get()), {.timeout = 100});
  } else {
    testing::internal::CaptureStderr();
    // The last rank may have yet to come to its call.
    try {
      run(ints(comm.get()), {.on_timeout = after_timeout::fail, .timeout = 1});
      ADD_FAILURE() << "does not end in an error";
    } catch (const timed_out&) {
      reported = "timed out";
    } catch (const peer_aborted&) {
    }
    const std::string said = testing::internal::GetCapturedStderr();
    if (!reported.empty()) reported = said;
    run(ints(other.get()), {.timeout = 100});
    if (!reported.empty())
      expect_mentions(reported,
                      missing + ": its last call here was number 1; it is in call 2 (alltoall) of 'the other one'");
  }
}

// Ranks that share memory have met in calls without a timeout, which take no communicator of taquin's own.
TEST_F(timeouts, name_the_rank_that_does_not_come_after_calls_without_one) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  MPI_Comm_set_name(comm.get(), "met before");
  for (int k = 0; k < 3; ++k) run(ints(comm.get()), {});
  const std::string reported = reported_by([&] { run(ints(comm.get()), impatient("auto")); });
  if (reported.empty()) return;
  expect_mentions(reported, "in call 4 of 'met before': alltoall");
  expect_mentions(reported, missing + ": its last call here was number 3");
}

// A collective of the MPI library cannot be cancelled: the memory that it still writes has no other use.
TEST_F(timeouts, of_a_first_call_are_errors_after_which_nothing_is_written) {
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);  // not freed: the MPI library is still in a collective on it
  MPI_Comm_set_name(comm, "of this test");
  const std::string reported = reported_by([&] { run(ints(comm), impatient("auto")); });
  std::vector<std::vector<unsigned char>> others;  // in the memory that the call has given back
  for (std::size_t bytes = 16; bytes <= 4096; bytes += 16)
    for (int k = 0; k < 4; ++k) others.emplace_back(bytes, static_cast<unsigned char>(90));
  if (!reported.empty()) expect_mentions(reported, "in the first call of 'of this test': alltoall");
  const std::string late = [&] {
    if (rank != last) return std::string();
    testing::internal::CaptureStderr();
    EXPECT_THROW(run(ints(comm), impatient("auto")), timed_out);
    return testing::internal::GetCapturedStderr();
  }();
  MPI_Barrier(MPI_COMM_WORLD);
  for (const auto& block : others)
    for (const unsigned char c : block) ASSERT_EQ(c, 90) << "in a block of " << block.size();
  const auto refused = [&](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "not refused";
    } catch (const usage_error& e) {
      EXPECT_EQ(e.mpi_class(), MPI_ERR_COMM) << e.what();
    }
  };
  refused([&] { run(ints(comm)); });
  refused([&] { const plan made(ints(comm)); });
  refused([&] { const redistribution moves(in.data(), 1, 1, MPI_INT, comm); });
}

// MPI libraries reuse the context of a freed communicator, also for messages that were never received.
TEST_F(timeouts, that_are_errors_lose_the_communicator_and_no_other) {
  for (const char* algorithm : {"auto", "spread_out", "shared_memory"}) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    {
      plan made(ints(comm.get()), impatient(algorithm));
      reported_by([&] {
        made.start();
        made.wait();
      });
    }
    if (rank == last) continue;
    const auto refused = [&](const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "not refused";
      } catch (const usage_error& e) {
        EXPECT_EQ(e.mpi_class(), MPI_ERR_COMM) << e.what();
        EXPECT_FALSE(e.collective());
      }
    };
    refused([&] { run(ints(comm.get())); });
    refused([&] { const plan made(ints(comm.get())); });
    refused([&] { const redistribution moves(in.data(), 1, 1, MPI_INT, comm.get()); });
  }
  for (const char* algorithm : {"auto", "bruck_v", "spread_out"}) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    std::fill(in.begin(), in.end(), -1);
    plan(ints(comm.get()), {.algorithm = algorithm}).run();
    for (int i = 0; i < p; ++i) EXPECT_EQ(in[at(i)], i);
  }
}

TEST_F(timeouts, are_only_reported_when_asked) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  plan made(ints(comm.get()), {.algorithm = "spread_out", .timeout = 0.05F});
  testing::internal::CaptureStderr();
  made.start();
  int reported = 0;
  if (rank != 0) {
    made.wait();
    MPI_Send(&reported, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else {
    for (int i = 1; i < p; ++i) MPI_Recv(&reported, 0, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    made.wait();
  }
  testing::internal::GetCapturedStderr();
  for (int i = 0; i < p; ++i) EXPECT_EQ(in[at(i)], i);
}

TEST_F(timeouts, are_the_environments_unless_the_options_have_one) {
  const auto of = [](const options& o) { return detail::call_timeout::of(o); };
  EXPECT_EQ(of({}).seconds, 1);
  EXPECT_EQ(of({}).then, after_timeout::fail);
  EXPECT_EQ(of({.on_timeout = after_timeout::abort}).then, after_timeout::abort);
  EXPECT_EQ(of({.timeout = 5}).seconds, 5);
  EXPECT_EQ(of({.timeout = 5}).then, after_timeout::wait);
  EXPECT_EQ(of({.on_timeout = after_timeout::fail, .timeout = 5}).then, after_timeout::fail);
}

TEST_F(timeouts, of_a_redistribution_come_from_the_environment) {
  EXPECT_EQ(detail::environment::get().on_timeout, after_timeout::fail) << "set for this test program";
  std::vector<int> data(10, rank), ranks(10), indices(10);
  for (int i = 0; i < 10; ++i) ranks[at(i)] = (rank + i) % p, indices[at(i)] = i;
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  redistribution moves(data.data(), 10, 1, MPI_INT, comm.get());
  const std::string reported = reported_by([&] { moves(ranks, indices); });
  if (reported.empty()) return;
  expect_mentions(reported, ": redistribution, algorithm node_steps");
  expect_mentions(reported, " is missing: its last call here was number ");
}

// The last rank comes when it sees in the others' files that they have said what they wait for.
TEST_F(timeouts, of_a_redistribution_are_options_as_well) {
  std::vector<int> data(10, rank), ranks(10), indices(10);
  for (int i = 0; i < 10; ++i) ranks[at(i)] = (rank + i) % p, indices[at(i)] = i;
  const auto file_of = [](int r) { return testing::TempDir() + fmt::format("taquin-told-{}-{}", getppid(), r); };
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  redistribution moves(data.data(), 10, 1, MPI_INT, comm.get(), {.on_timeout = after_timeout::wait, .timeout = 0.05F});
  const int before = dup(STDERR_FILENO);
  const int file = open(file_of(rank).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  dup2(file, STDERR_FILENO);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last)
    for (int r = 0; r < last; ++r)
      while (std::filesystem::file_size(file_of(r)) == 0) usleep(1000);
  moves(ranks, indices);  // does not throw, though the environment requests that
  dup2(before, STDERR_FILENO);
  close(before);
  close(file);
  std::ifstream in_file(file_of(rank));
  const std::string reported{std::istreambuf_iterator<char>(in_file), {}};
  if (rank != last) expect_mentions(reported, ": redistribution, algorithm node_steps");
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file_of(rank));
}

TEST_F(timeouts, of_a_migration_begin_with_its_first_step) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::vector<int> data(10, rank);
  run(ints(comm.get()), {});  // whose ranks know each other afterwards
  const std::string reported = reported_by(
      [&] { migrate(data, [&](int) { return rank; }, comm.get(), {.on_timeout = after_timeout::fail, .timeout = 1}); });
  if (!reported.empty()) expect_mentions(reported, ": migration, algorithm migrate");
}

TEST(places, tell_that_a_process_has_ended) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const detail::peer_record place{child, reinterpret_cast<std::uint64_t>(&mpi::here),
                                  reinterpret_cast<std::uint64_t>(&mpi::here)};
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(describe(detail::poll_at(place)), "its process has ended") << "its parent has not waited for it";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(describe(detail::poll_at(place)), "its process has ended");
  EXPECT_EQ(describe(detail::poll_at({})), "nothing is known of it");
}

// A peer may free its record, and the memory may become something else.
TEST(places, of_records_that_are_gone_are_not_believed) {
  alignas(mpi::call_record) std::array<std::byte, sizeof(mpi::call_record)> memory{};
  auto* const record = new (memory.data()) mpi::call_record;
  record->calls = 5;
  const detail::peer_record place{getpid(), reinterpret_cast<std::uint64_t>(&mpi::here),
                                  reinterpret_cast<std::uint64_t>(record), record->identity};
  EXPECT_EQ(detail::poll_at(place).calls, 5U);
  EXPECT_EQ(describe(detail::poll_at(place)).find("its last call here was number 5"), 0U);
  record->~call_record();
  EXPECT_FALSE(detail::poll_at(place).known);
  memory.fill(std::byte{'t'});
  EXPECT_EQ(describe(detail::poll_at(place)), "nothing is known of it");
  auto* const later = new (memory.data()) mpi::call_record;  // of another communicator
  EXPECT_FALSE(detail::poll_at(place).known);
  later->~call_record();
}

TEST(settings, of_timeouts_are_refused_when_invalid) {
  for (const char* good : {"1", "0.5", "3,wait", "3,abort", "3,fail", ""}) {
    setenv("TAQUIN_TIMEOUT", good, 1);
    EXPECT_EQ(detail::environment::invalid_text_of("TAQUIN_TIMEOUT"), "") << good;
  }
  for (const char* bad : {"soon", "3,stop", "-1", "3 abort"}) {
    setenv("TAQUIN_TIMEOUT", bad, 1);
    EXPECT_NE(detail::environment::invalid_text_of("TAQUIN_TIMEOUT"), "") << bad;
  }
}

class disagreement : public timeouts {
 protected:
  /// The error of all ranks when the first makes another call than the others.
  static std::string error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      return e.what();
    }
    ADD_FAILURE() << "not noticed";
    return {};
  }
};

TEST_F(disagreement, on_the_form_is_named_with_the_calls_of_both_ranks) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::vector<count_t> counts(at(p), 1), displs(at(p));
  std::iota(displs.begin(), displs.end(), count_t{0});
  exchange irregular =
      exchange::alltoallv(out.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, in.data(),
                          count_view(counts.data()), count_view(displs.data()), MPI_INT, comm.get());
  for (const bool check : {false, true}) {
    const std::string reported = error_of([&] { run(rank == 0 ? ints(comm.get()) : irregular, {.check = check}); });
    expect_mentions(reported, "rank 0 calls alltoall (its call ");
    expect_mentions(reported, "rank 1 alltoallv (its call ");
  }
  const std::string reported = error_of([&] {
    if (rank == 0) {
      const plan made(ints(comm.get()));
    } else {
      const redistribution moves(in.data(), 1, 1, MPI_INT, comm.get());
    }
  });
  expect_mentions(reported, "rank 0 calls plan of alltoall (");
  expect_mentions(reported, "rank 1 redistribution (");
  run(ints(comm.get()));
  for (int i = 0; i < p; ++i) EXPECT_EQ(in[at(i)], i);
}

// A rank that was busy, or had no core, has not waited: others may have waited for it.
TEST(deadline, counts_no_gap_in_which_its_rank_does_not_look) {
  class counted final : public mpi::deadline {
   public:
    counted() : deadline(0.2) {}
    bool over = false;

   private:
    void expired(const mpi::awaited*) override { over = true; }
  };
  counted wait;
  constexpr unsigned microseconds = 500'000;
  usleep(microseconds);
  mpi::deadline::poll(nullptr);
  EXPECT_FALSE(wait.over);
  {
    const mpi::deadline::paused busy;
    usleep(microseconds);
  }
  mpi::deadline::poll(nullptr);
  EXPECT_FALSE(wait.over);
  while (!wait.over) mpi::deadline::poll(nullptr);
}

}  // namespace
}  // namespace taquin::test
