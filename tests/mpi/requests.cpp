// Unfinished requests: what is said of one that fails, and what is left of those whose owner has gone.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/library.hpp"
#include "mpi/request_set.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {
namespace {

class requests : public testing::Test {
 protected:
  requests() : comm(communicator::adopt(test::duplicate(MPI_COMM_WORLD))), rank(comm->rank()), peer(1 - rank) {}
  void barrier() const { MPI_Barrier(comm->get()); }

  communicator::lease comm;
  int rank;
  int peer;
};

// MPICH's status has no size after such an error.
const char* sender_and_sizes() {
  return running_library() == library::mpich ? "rank 0 sends more where 16 bytes are expected"
                                             : "rank 0 sends 28 bytes where 16 bytes are expected";
}

constexpr auto sixteen = [](std::size_t) { return count_t{16}; };
constexpr auto nothing = [](std::size_t, const MPI_Status&) {};

// A status as the MPI library gives it, of a message of 3 GiB.
TEST_F(requests, a_message_that_is_too_long_has_its_size_in_the_error_beyond_what_an_int_counts) {
  MPI_Status status{};
  MPI_Status_set_elements_x(&status, MPI_BYTE, MPI_Count{3} << 30);
  status.MPI_SOURCE = 1;
  try {
    fail_truncated(status, 16, "MPI_Recv");
  } catch (const mpi_error& e) {
    EXPECT_STREQ(e.what(), "MPI_Recv: rank 1 sends 3221225472 bytes where 16 bytes are expected");
  }
}

// More than one window of requests, so that the one that fails is not in the first.
TEST_F(requests, a_message_that_is_too_long_is_named_with_its_sender_and_both_sizes) {
  constexpr int n = 100;
  for (const bool all : {false, true}) {
    std::vector<char> data(static_cast<std::size_t>(n) * 28);
    request_set set(n, std::pmr::new_delete_resource());
    barrier();
    for (int i = 0; i < n; ++i) {
      char* place = &data[static_cast<std::size_t>(i) * 28];
      const auto at = static_cast<std::size_t>(i);
      if (rank == 0) {
        set.send(at, place, i == n - 1 ? 28 : 16, MPI_BYTE, peer, 0, comm->get());
      } else {
        set.receive(at, place, 16, MPI_BYTE, peer, 0, comm->get());
      }
    }
    const auto complete = [&] {
      if (all) {
        set.complete_all(true, sixteen);
      } else {
        while (set.in_flight() > 0) set.wait_some(nothing, sixteen);
      }
    };
    if (rank == 0) {
      EXPECT_NO_THROW(complete());
    } else {
      try {
        complete();
        FAIL() << "not noticed";
      } catch (const mpi_error& e) {
        EXPECT_EQ(e.mpi_class(), MPI_ERR_TRUNCATE);
        const std::string what = e.what();
        EXPECT_NE(what.find(sender_and_sizes()), std::string::npos) << what;
      }
    }
    barrier();
  }
}

TEST_F(requests, nothing_is_written_after_their_owner_has_gone) {
  for (const bool persistent : {false, true}) {
    std::vector<int> data(4, -1);
    if (rank == 1) {
      MPI_Request own = MPI_REQUEST_NULL;
      {
        request_set set(2, std::pmr::new_delete_resource());
        if (persistent) {
          MPI_Recv_init(data.data(), 4, MPI_INT, peer, 0, comm->get(), &own);
          set.start(1, own, request_kind::persistent_receive);
        } else {
          set.receive(1, data.data(), 4, MPI_INT, peer, 0, comm->get());
        }
      }
      if (persistent) MPI_Request_free(&own);
    }
    barrier();
    const std::vector<int> late{1, 2, 3, 4};
    if (rank == 0) MPI_Send(late.data(), 4, MPI_INT, peer, 0, comm->get());
    barrier();
    std::vector<int> got(4);
    if (rank == 1) MPI_Recv(got.data(), 4, MPI_INT, peer, 0, comm->get(), MPI_STATUS_IGNORE);
    EXPECT_EQ(data, std::vector<int>(4, -1));
    if (rank == 1) {
      EXPECT_EQ(got, late);
    }
  }
}

TEST_F(requests, a_send_that_nobody_receives_does_not_keep_its_owner) {
  const std::vector<char> data(1 << 20);
  if (rank == 0) {
    request_set set(1, std::pmr::new_delete_resource());
    set.send(0, data.data(), static_cast<int>(data.size()), MPI_BYTE, peer, 1, comm->get());
  }
  barrier();
  std::vector<char> got(data.size());  // it may be received until its memory goes
  if (rank == 1) MPI_Recv(got.data(), static_cast<int>(got.size()), MPI_BYTE, peer, 1, comm->get(), MPI_STATUS_IGNORE);
  barrier();
}

TEST_F(requests, complete_in_any_number_of_windows) {
  constexpr int n = 150;
  std::vector<int> sent(n);
  std::vector<int> got(n, -1);
  request_set set(2 * n, std::pmr::new_delete_resource());
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sent[at] = 1000 * rank + i;
    set.receive(at, &got[at], 1, MPI_INT, peer, i, comm->get());
    set.send(n + at, &sent[at], 1, MPI_INT, peer, i, comm->get());
  }
  std::vector<bool> done(2 * n);
  for (std::size_t left = 2 * n; left > 0;)
    left -= set.wait_some([&](std::size_t i, const MPI_Status&) { done[i] = true; }, sixteen);
  for (int i = 0; i < n; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 1000 * peer + i);
  EXPECT_EQ(std::count(done.begin(), done.end(), false), 0);
  EXPECT_EQ(set.in_flight(), 0U);
}

}  // namespace
}  // namespace taquin::mpi
