// One rank is late at each of its messages, until the others have given up what they have started. Whatever the MPI
// library may still send keeps its memory, as it is, until the process ends: mapped memory of a node, scratch, small
// messages of an agreement. The late rank gets an error or right bytes. Nothing here goes by how long something takes.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "late_layer.hpp"
#include "node/mapping.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

/// Words that all ranks see, whatever taquin does.
class board {
 public:
  board() {
    detail::mapping_key key;
    if (rank_in(MPI_COMM_WORLD) == 0) memory_ = detail::mapping::create(64, key, detail::mapping::pages::now);
    MPI_Bcast(&key, sizeof key, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) != 0) memory_ = detail::mapping::attach(key);
    MPI_Barrier(MPI_COMM_WORLD);
    detail::mapping::close(key);
  }
  [[nodiscard]] bool empty() const { return memory_.empty(); }
  [[nodiscard]] std::atomic<int>& word(int i) const { return reinterpret_cast<std::atomic<int>*>(memory_.data())[i]; }

 private:
  detail::mapping memory_;
};

const board& all_see() {
  static const board b;
  return b;
}
std::atomic<int>& late_one_waits() { return all_see().word(0); }
std::atomic<int>& have_ended() { return all_see().word(1); }

// What the late rank does at its message. It makes progress in the MPI library: a receive that has been matched cannot
// be cancelled, and its rank waits for the data.
void wait_until_others_have_ended() {
  late_one_waits() = 1;
  for (int any = 0; have_ended() < size_of(MPI_COMM_WORLD) - 1; usleep(100))
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
}

// Of any frame that was below the caller's.
[[gnu::noinline]] void overwrite_stack() {
  volatile char gone[100000];  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (volatile char& c : gone) c = 0x55;
}

class given_up_sends : public testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(all_see().empty()); }

  int p = size_of(MPI_COMM_WORLD);
  int rank = rank_in(MPI_COMM_WORLD);
  int sends = 0;  // that this rank has given up

  /// What a rank has for a call: sends that were given up still read it.
  struct buffers {
    buffers(int p, int rank, int count)
        : out(at(p) * at(count)), in(out.size(), -1), counts(at(p), count), places(at(p)) {
      for (int to = 0; to < p; ++to) {
        places[at(to)] = count_t{to} * count;
        for (int k = 0; k < count; ++k) out[at(to) * at(count) + at(k)] = word(rank, to, k);
      }
    }
    static int word(int from, int to, int k) { return (from * 100 + to) * 100000 + k; }
    [[nodiscard]] bool right(const std::vector<int>& received, int rank) const {
      const auto n = at(static_cast<int>(counts[0]));
      for (std::size_t i = 0; i < received.size(); ++i)
        if (received[i] != word(static_cast<int>(i / n), rank, static_cast<int>(i % n))) return false;
      return true;
    }
    exchange of_ints(bool in_place, MPI_Comm comm) {
      const auto c = count_view(counts.data());
      const auto d = count_view(places.data());
      if (in_place) return exchange::alltoallv_in_place(out.data(), c, d, c, d, MPI_INT, comm);
      return exchange::alltoall(out.data(), static_cast<int>(counts[0]), MPI_INT, in.data(),
                                static_cast<int>(counts[0]), MPI_INT, comm);
    }
    std::vector<int> out, in;
    std::vector<count_t> counts, places;
  };

  /// Runs `work`, in which the late rank waits at its n-th message until all others are at their ends; false where it
  /// has fewer. `finish` destroys what was started.
  template <class Work>
  bool late_at(int n, int late, Work work) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late) at_message(n, wait_until_others_have_ended);
    try {
      work();
    } catch (const error&) {  // any
    }
    if (rank == late) late_one_waits() = 2;
    if (rank != late) ++have_ended();
    const bool fired = rank == late && was_late();
    MPI_Barrier(MPI_COMM_WORLD);
    late_one_waits() = have_ended() = 0;
    return any_rank(fired);
  }

  void expect_memory_of_sends(const std::string& what) {
    overwrite_stack();
    const given_up all = look_at_given_up();
    sends += all.sends;
    EXPECT_EQ(all.spoiled, 0) << "of " << all.sends << " sends given up in " << what << ", rank " << rank;
  }

  /// A plan that the others destroy when the late one waits; false where it has fewer messages.
  bool start_late(const detail::algorithm& a, bool in_place, int count, int n) {
    const int late = n % 2 == 0 ? 0 : p - 1;
    scoped_comm comm(duplicate(MPI_COMM_WORLD));
    auto* const mine = new buffers(p, rank, count);
    std::optional<plan> made = plan_if_served(mine->of_ints(in_place, comm.get()), {.algorithm = a.name});
    bool fired = false;
    if (made) {
      bool complete = false;
      constexpr int polls = 5;
      fired = late_at(n / 2, late, [&] {
        made->start();
        for (int k = 0; k < polls && !complete; k += late_one_waits() == 1 ? 1 : 0) complete = made->test();
        made.reset();
      });
      made.reset();
      EXPECT_TRUE(!complete || mine->right(in_place ? mine->out : mine->in, rank)) << a.name << ", message " << n;
      EXPECT_TRUE(fired || complete);
    }
    comm.free();
    expect_memory_of_sends(std::string(a.name));
    return fired;
  }

  bool run_late(const options& o, int count, int n) {
    const int late = n % 2 == 0 ? 0 : p - 1;
    scoped_comm comm(duplicate(MPI_COMM_WORLD));
    auto* const mine = new buffers(p, rank, count);
    run(mine->of_ints(false, comm.get()), {.algorithm = o.algorithm});  // the first call makes more than it sends
    bool complete = false;
    const bool fired = late_at(n / 2, late, [&] {
      run(mine->of_ints(false, comm.get()), o);
      complete = true;
    });
    EXPECT_TRUE(!complete || mine->right(mine->in, rank)) << o.algorithm << ", message " << n;
    comm.free();
    expect_memory_of_sends(std::string(o.algorithm));
    return fired;
  }

  bool send_late(std::string_view algorithm, int n) {
    constexpr int count = 12500;
    const int late = n % 2 == 0 ? 0 : p - 1;
    scoped_comm comm(duplicate(MPI_COMM_WORLD));
    auto* const mine = new buffers(p, rank, count);
    std::vector<int> to(at(p));
    for (int i = 0; i < p; ++i) to[at(i)] = i;
    run(mine->of_ints(false, comm.get()));  // makes what the communicator has
    bool complete = false;
    const bool fired = late_at(n / 2, late, [&] {
      sparse_call(sparse_blocks{mine->out.data(), to, count_view(mine->counts.data()), MPI_INT}, comm.get(),
                  {.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = 0.2F})
          .receive(mine->in.data());
      complete = true;
    });
    EXPECT_TRUE(!complete || mine->right(mine->in, rank)) << algorithm << ", message " << n;
    comm.free();
    expect_memory_of_sends(std::string(algorithm));
    return fired;
  }
};

constexpr int most = 12;

TEST_F(given_up_sends, of_plans_keep_their_memory) {
  for (const detail::algorithm* a : detail::algorithms()) {
    if (a->name == "native") continue;  // the MPI library's own
    const bool in_place = a->name.starts_with("in_place");
    for (const int count : {500, 12500})
      for (int n = 0; n < most && (start_late(*a, in_place, count, n) || n % 2 == 0); ++n) {
      }
  }
  EXPECT_TRUE(any_rank(sends > 0)) << "a test of no send that was given up";
}

TEST_F(given_up_sends, of_blocking_calls_keep_their_memory) {
  constexpr int most_waits = 8;  // some of which last for five seconds, because all ranks are known to be there
  for (const char* algorithm : {"auto", "node_aggregated", "bruck_v"})
    for (const int count : {1, 2000}) {
      const options o{.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = 0.2F};
      for (int n = 0; n < most_waits && (run_late(o, count, n) || n % 2 == 0); ++n) {
      }
    }
  EXPECT_TRUE(any_rank(sends > 0)) << "a test of no send that was given up";
}

TEST_F(given_up_sends, of_sparse_exchanges_keep_their_memory) {
  constexpr int most_waits = 6;
  for (const detail::sparse_algorithm* a : detail::sparse_algorithms())
    for (int n = 0; n < most_waits && (send_late(a->name, n) || n % 2 == 0); ++n) {
    }
  EXPECT_TRUE(any_rank(sends > 0)) << "a test of no send that was given up";
}

}  // namespace
}  // namespace taquin::test
