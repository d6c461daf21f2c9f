// One rank is late at each of its messages, until the others have abandoned their pending operations: they destroy
// them, or a call of theirs fails, and they free their communicator. All data that the MPI library may still send keep
// their memory, as it is, until the process ends: mapped memory of a node, scratch, small messages of an agreement. The
// late rank gets an error or right bytes. Nothing here depends on how long something takes.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "faults/late_layer.hpp"
#include "node/mapping.hpp"
#include "redistribute/machine.hpp"
#include "support/instruments.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

/// Words that all ranks see, whatever taquin does.
class descriptor {
 public:
  descriptor() {
    detail::mapping_key key;
    if (rank_in(MPI_COMM_WORLD) == 0) memory_ = detail::mapping::create(64, key, detail::mapping::pages::as_written);
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

const descriptor& all_see() {
  static const descriptor b;
  return b;
}
std::atomic<int>& late_one_waits() { return all_see().word(0); }
std::atomic<int>& have_ended() { return all_see().word(1); }

// The action of the late rank at its message. It progresses the MPI library: a receive that has been matched cannot be
// cancelled, and its rank waits for the data.
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

  /// A rank's buffers of a call: abandoned sends still read them.
  struct buffers {
    buffers(int p, int rank, int count)
        : out(at(p) * at(count)), in(at(p) * at(count)), counts(at(p), count), places(at(p)) {
      for (int to = 0; to < p; ++to) places[at(to)] = count_t{to} * count;
      fill(rank);
    }
    void fill(int rank) {
      std::ranges::fill(in, -1);
      const std::size_t n = out.size() / counts.size();
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = word(rank, static_cast<int>(i / n), static_cast<int>(i % n));
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

  /// The action of a rank in a call, on buffers of its own. True if it ends well.
  using part = std::function<bool()>;

  /// `prepare(comm, buffers)` returns the part, or nothing if the call is not served; no rank is late for its
  /// communication. The late rank waits at the n-th message of its part until all others are at their ends. False if it
  /// has fewer messages.
  template <class Prepare>
  bool late_at(int n, int count, const std::string& what, bool in_place, Prepare prepare) {
    const int late = n % 2 == 0 ? 0 : p - 1;
    scoped_comm comm(duplicate(MPI_COMM_WORLD));
    auto* const mine = new buffers(p, rank, count);
    part work = prepare(comm.get(), *mine);
    if (work == nullptr) return false;
    mine->fill(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late)
      at_message(n / 2, wait_until_others_have_ended);
    else
      fail_a_poll_when([] { return late_one_waits() == 1; });
    bool complete = false;
    try {
      complete = work();
    } catch (const error&) {  // any
    }
    work = nullptr;
    fail_a_poll_when(nullptr);
    if (rank == late) late_one_waits() = 2;
    if (rank != late) ++have_ended();
    const bool fired = any_rank(rank == late && was_late());
    late_one_waits() = have_ended() = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(!complete || mine->right(in_place ? mine->out : mine->in, rank)) << what << ", message " << n / 2;
    EXPECT_TRUE(fired || complete) << what << ", message " << n / 2;
    comm.free();
    overwrite_stack();
    call_again();
    const given_up all = poll_given_up();
    sends += all.sends;
    EXPECT_EQ(all.spoiled, 0) << "of " << all.sends << " sends given up in " << what << ", message " << n / 2 << " of "
                              << late << ", rank " << rank;
    return fired;
  }

  // In the memory of blocking calls that has been given back.
  void call_again() const {
    static const MPI_Comm other = duplicate(MPI_COMM_WORLD);  // never freed
    for (const char* algorithm : {"bruck_v", "spread_out"}) {
      buffers b(p, rank, 3);
      run(b.of_ints(false, other), {.algorithm = algorithm});
      EXPECT_TRUE(b.right(b.in, rank));
    }
  }

  /// Late at each message, up to some; first and last rank by turns.
  template <class Prepare>
  void late_at_each(const std::string& what, bool in_place, std::initializer_list<int> counts, Prepare prepare) {
    const int most = brief() ? 4 : 12;
    for (const int count : counts)
      for (int n = 0; n < most && (late_at(n, count, what, in_place, prepare) || n % 2 == 0); ++n) {
      }
  }

  void expect_sends() const { EXPECT_TRUE(any_rank(sends > 0)) << "a test of no send that was given up"; }
};

constexpr options polling{.on_timeout = after_timeout::fail, .timeout = 1000};

// Begins `x`, and destroys it where it is not complete after some polls while the late rank waits.
template <class Started>
bool polled(std::unique_ptr<Started> x) {
  constexpr int polls = 5;
  bool complete = false;
  for (int k = 0; k < polls && !complete; k += late_one_waits() == 1 ? 1 : 0) complete = x->test();
  return complete;
}

TEST_F(given_up_sends, of_plans_keep_their_memory) {
  for (const detail::algorithm* a : detail::algorithms()) {
    if (a->name == "native") continue;  // the MPI library's own
    const bool in_place = a->name.starts_with("in_place");
    late_at_each(std::string(a->name), in_place, {500, 12500}, [&](MPI_Comm comm, buffers& mine) -> part {
      auto made = plan_if_served(mine.of_ints(in_place, comm), {.algorithm = a->name});
      if (!made) return nullptr;
      return [x = std::make_shared<std::unique_ptr<plan>>(std::make_unique<plan>(std::move(*made)))] {
        (*x)->start();
        return polled(std::move(*x));
      };
    });
  }
  expect_sends();
}

// The first call makes more than it sends.
TEST_F(given_up_sends, of_blocking_calls_keep_their_memory) {
  std::vector<std::string_view> names{"auto"};
  for (const detail::algorithm* a : detail::algorithms())
    if (a->name != "native") names.push_back(a->name);
  for (const std::string_view name : names)
    for (const bool in_place : {false, true}) {
      options o = polling;
      o.algorithm = name;
      late_at_each(std::string(name), in_place, {1, 2000}, [&](MPI_Comm comm, buffers& mine) -> part {
        if (!plan_if_served(mine.of_ints(in_place, comm), o)) return nullptr;
        run(mine.of_ints(in_place, comm), o);
        return [&mine, in_place, comm, o] {
          run(mine.of_ints(in_place, comm), o);
          return true;
        };
      });
    }
  expect_sends();
}

TEST_F(given_up_sends, of_sparse_exchanges_keep_their_memory) {
  for (const detail::sparse_algorithm* a : detail::sparse_algorithms())
    late_at_each(std::string(a->name), false, {1, 12500}, [&](MPI_Comm comm, buffers& mine) -> part {
      options o = polling;
      o.algorithm = a->name;
      const auto exchange = [&mine, comm, o, ranks = p] {
        std::vector<int> to(at(ranks));
        for (int i = 0; i < ranks; ++i) to[at(i)] = i;
        sparse_call(sparse_blocks{mine.out.data(), to, count_view(mine.counts.data()), MPI_INT}, comm, o)
            .receive(mine.in.data());
        return true;
      };
      try {
        exchange();
      } catch (const usage_error& e) {
        if (std::string_view(e.what()).find("serve") == std::string_view::npos) throw;
        return nullptr;
      }
      return exchange;
    });
  expect_sends();
}

// Block k of rank r goes to place r of rank k.
TEST_F(given_up_sends, of_redistributions_keep_their_memory) {
  std::vector<std::string_view> names{"auto"};
  for (const detail::redistribution_algorithm* a : detail::redistributions()) names.push_back(a->name);
  for (const std::string_view name : names)
    for (const bool blocking : {false, true}) {
      redistribute_options o;
      o.algorithm = name;
      o.on_timeout = after_timeout::fail;
      o.timeout = 1000;
      late_at_each(std::string(name), true, {1, 2000}, [&](MPI_Comm comm, buffers& mine) -> part {
        auto made = std::make_unique<redistribution>(mine.out.data(), p, mine.counts[0], MPI_INT, comm, o);
        std::vector<int> ranks(at(p));
        std::iota(ranks.begin(), ranks.end(), 0);
        const std::vector<int> places(at(p), rank);
        (*made)(std::span<const int>(ranks), std::span<const int>(places));
        return
            [&mine, x = std::make_shared<std::unique_ptr<redistribution>>(std::move(made)), ranks, places, blocking] {
              (*x)->set_data(mine.out.data());
              if (!blocking) (*x)->start(std::span<const int>(ranks), std::span<const int>(places));
              if (!blocking) return polled(std::move(*x));
              (**x)(std::span<const int>(ranks), std::span<const int>(places));
              x->reset();
              return true;
            };
      });
    }
  expect_sends();
}

// From blocks to blocks that are assigned round-robin: each rank has one for each.
TEST_F(given_up_sends, of_layouts_keep_their_memory) {
  layout_options o;
  o.on_timeout = after_timeout::fail;
  o.timeout = 1000;
  for (const bool blocking : {false, true})
    late_at_each("layouts", false, {1, 12500}, [&](MPI_Comm comm, buffers& mine) -> part {
      const count_t elements = count_t{p} * p * mine.counts[0];
      const layout from({dimension::block_of(elements, p)});
      const layout to({dimension::block_cyclic(elements, p, mine.counts[0])});
      auto made = std::make_unique<layout_redistribution>(mine.out.data(), from, mine.in.data(), to, MPI_INT, comm, o);
      (*made)();
      return [&mine, x = std::make_shared<std::unique_ptr<layout_redistribution>>(std::move(made)), blocking] {
        (*x)->set_data(mine.out.data(), mine.in.data());
        (*x)->start();
        if (!blocking) return polled(std::move(*x));
        (*x)->wait();
        x->reset();
        return true;
      };
    });
  expect_sends();
}

}  // namespace
}  // namespace taquin::test
