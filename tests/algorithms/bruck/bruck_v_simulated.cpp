// Irregular Bruck for all ranks in one process: the state machines of a blocking call and the schedule of a reused
// plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/bruck/bruck_v_schedule.hpp"
#include "algorithms/bruck/bruck_v_state.hpp"
#include "algorithms/bruck/radices.hpp"
#include "algorithms/bruck/zero_copy_bruck_v.hpp"
#include "base/memory_budget.hpp"
#include "simulation/runner.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {
namespace {

using namespace bruck;

constexpr std::byte untouched{0xee};

std::byte value(int from, int to, count_t i) { return static_cast<std::byte>(from * 31 + to * 17 + i * 7 + 1); }

// counts[i][j] bytes from rank i to rank j: many empty, some beyond the threshold.
class irregular_problem {
 public:
  irregular_problem(int p, count_t threshold, unsigned seed) : counts_(static_cast<std::size_t>(p)) {
    std::mt19937 random(seed);
    const auto below = static_cast<unsigned>(threshold) + 4;
    for (auto& row : counts_)
      for (int j = 0; j < p; ++j) row.push_back(random() % 3 == 0 ? 0 : static_cast<count_t>(random() % below));
    for (int r = 0; r < p; ++r) ranks_.push_back(std::make_unique<rank_data>(*this, r));
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(counts_.size()); }
  [[nodiscard]] count_t bytes(int from, int to) const {
    return counts_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  [[nodiscard]] count_t largest() const {
    count_t most = 0;
    for (const auto& row : counts_) most = std::max(most, *std::ranges::max_element(row));
    return most;
  }
  [[nodiscard]] local_exchange local(int rank) {
    auto& d = *ranks_[static_cast<std::size_t>(rank)];
    const element e = element::bytes(1);
    local_exchange x{.rank = rank, .ranks = ranks()};
    x.send = {d.send.data(), count_view(d.scounts.data()), count_view(d.sdispls.data()), 1, e};
    x.recv = {d.recv.data(), count_view(d.rcounts.data()), count_view(d.rdispls.data()), 1, e};
    return x;
  }
  std::vector<std::byte>& send(int rank) { return ranks_[static_cast<std::size_t>(rank)]->send; }
  std::vector<std::byte>& recv(int rank) { return ranks_[static_cast<std::size_t>(rank)]->recv; }

  /// The data that `rank` must receive in blocks of at most `threshold` bytes; all others untouched.
  [[nodiscard]] std::vector<std::byte> expected(int rank, count_t threshold) const {
    const auto& d = *ranks_[static_cast<std::size_t>(rank)];
    std::vector<std::byte> all(d.recv.size(), untouched);
    for (int j = 0; j < ranks(); ++j)
      if (bytes(j, rank) <= threshold || j == rank)
        for (count_t i = 0; i < bytes(j, rank); ++i)
          all[static_cast<std::size_t>(d.rdispls[static_cast<std::size_t>(j)] + i)] = value(j, rank, i);
    return all;
  }

 private:
  struct rank_data {
    std::vector<count_t> scounts, rcounts, sdispls, rdispls;
    std::vector<std::byte> send, recv;
    rank_data(const irregular_problem& problem, int rank) {
      count_t s = 1;  // a byte between blocks must stay as it is
      count_t r = 1;
      for (int j = 0; j < problem.ranks(); ++j) {
        scounts.push_back(problem.bytes(rank, j)), sdispls.push_back(s), s += scounts.back() + 1;
        rcounts.push_back(problem.bytes(j, rank)), rdispls.push_back(r), r += rcounts.back() + 1;
      }
      send.assign(static_cast<std::size_t>(s), std::byte{0x55});
      recv.assign(static_cast<std::size_t>(r), untouched);
      for (int j = 0; j < problem.ranks(); ++j)
        for (count_t i = 0; i < scounts[static_cast<std::size_t>(j)]; ++i)
          send[static_cast<std::size_t>(sdispls[static_cast<std::size_t>(j)] + i)] = value(rank, j, i);
    }
  };
  std::vector<std::vector<count_t>> counts_;
  std::vector<std::unique_ptr<rank_data>> ranks_;
};

// All ranks' machines round by round. Returns the bytes sent.
template <class Machine>
std::size_t run_rounds(std::vector<Machine*> machines, const route& r, std::size_t capacity) {
  std::size_t sent = 0;
  const int p = r.ranks;
  for_each_weight(p, r.radix, [&](count_t weight) {
    struct letter {
      int to;
      count_t digit;
      std::vector<std::byte> bytes;
    };
    std::vector<letter> letters;
    for (int rank = 0; rank < p; ++rank)
      for_each_digit(p, r.radix, weight, [&](count_t digit) {
        std::vector<std::byte> buffer(capacity);
        const std::size_t n = machines[static_cast<std::size_t>(rank)]->load(weight, digit, buffer);
        EXPECT_LE(n, capacity);
        sent += n;
        buffer.resize(n);
        letters.push_back({static_cast<int>((rank + digit * weight) % p), digit, std::move(buffer)});
      });
    std::ranges::stable_sort(letters, {}, &letter::digit);  // as a rank takes its messages
    for (const letter& l : letters) {
      Machine& machine = *machines[static_cast<std::size_t>(l.to)];
      std::byte* const receive_slot = machine.receive_slot();
      std::ranges::copy(l.bytes, receive_slot);
      machine.unload(weight, l.digit, {receive_slot, l.bytes.size()});
    }
  });
  return sent;
}

// Each block travels once for every digit of its distance that is not zero, and its size with it.
std::size_t bytes_expected(const irregular_problem& problem, const route& r) {
  std::size_t sum = 0;
  for (int from = 0; from < r.ranks; ++from)
    for (int t = 1; t < r.ranks; ++t) {
      const count_t bytes = problem.bytes(from, (from + t) % r.ranks);
      const auto hop = sizeof(size_field) + static_cast<std::size_t>(bytes > r.threshold ? 0 : bytes);
      for (int rest = t; rest > 0; rest /= r.radix) sum += rest % r.radix != 0 ? hop : 0;
    }
  return sum;
}

void exchange_in_log_rounds(const route& r, unsigned seed) {
  const int p = r.ranks;
  irregular_problem problem(p, r.threshold, seed);
  std::vector<std::unique_ptr<bruck_v_state>> states;
  std::vector<bruck_v_state*> machines;
  for (int rank = 0; rank < p; ++rank) {
    memory_budget exact(bruck_v_state::bytes(r));
    states.push_back(std::make_unique<bruck_v_state>(problem.local(rank), r, std::pmr::new_delete_resource()));
    ASSERT_NO_THROW(bruck_v_state(problem.local(rank), r, &exact)) << "within the memory that it states";
    machines.push_back(states.back().get());
  }
  ASSERT_EQ(run_rounds(machines, r, r.capacity(true)), bytes_expected(problem, r));
  for (int rank = 0; rank < p; ++rank) {
    ASSERT_EQ(problem.recv(rank), std::vector<std::byte>(problem.recv(rank).size(), untouched)) << "too early";
    states[static_cast<std::size_t>(rank)]->deliver();
    ASSERT_EQ(problem.recv(rank), problem.expected(rank, r.threshold)) << p << " ranks, radix " << r.radix;
  }
}

TEST(bruck_v, sizes_and_data_reach_every_rank_for_every_p_up_to_64_and_every_radix) {
  for (int p = 1; p <= 64; ++p)
    for (const int radix : radices(p)) exchange_in_log_rounds({p, radix, p % 7, p % 7}, static_cast<unsigned>(p));
}

TEST(bruck_v, a_thousand_ranks_at_radix_2) {
  for (const int p : {1000, 1024}) exchange_in_log_rounds({p, 2, 3, 3}, static_cast<unsigned>(p));
}

TEST(bruck_v, a_reused_plan_gives_every_block_for_every_p_up_to_64_and_every_radix) {
  for (int p = 1; p <= 64; ++p)
    for (const int radix : radices(p)) {
      const route r{p, radix, 5};
      irregular_problem problem(p, r.threshold, static_cast<unsigned>(p) + 100);
      std::vector<std::unique_ptr<size_history>> sizes;
      std::vector<size_history*> machines;
      for (int rank = 0; rank < p; ++rank) {
        sizes.push_back(std::make_unique<size_history>(problem.local(rank), r, std::pmr::new_delete_resource()));
        machines.push_back(sizes.back().get());
      }
      run_rounds(machines, r, r.capacity(false));
      const shape sh{.ranks = p,
                     .kind = exchange::form::alltoallv,
                     .uniform = false,
                     .max_block_bytes = static_cast<std::uint64_t>(problem.largest())};
      std::vector<schedule> plans;
      std::size_t log_rounds = 0;
      for (count_t reach = 1; reach < p; reach *= radix) ++log_rounds;
      for (int rank = 0; rank < p; ++rank) {
        const auto k = static_cast<std::size_t>(rank);
        ASSERT_FALSE(sizes[k]->mismatch());
        plans.push_back(
            bruck_v_schedule(problem.local(rank), sh, {}, r, sizes[k]->received(), std::pmr::new_delete_resource()));
        const schedule_size stated = bruck_v_schedule_size(sh, r);
        ASSERT_LE(plans[k].messages.size(), stated.messages);
        ASSERT_LE(plans[k].regions.size(), stated.regions);
        ASSERT_LE(plans[k].rounds.size(), log_rounds + 2) << "one of direct messages, one of the own block if alone";
        std::size_t passing = 0;  // no more scratch than what arrives and goes on
        std::size_t next = 0;
        for_each_weight(p, radix, [&](count_t weight) {
          for_each_digit(p, radix, weight, [&](count_t digit) {
            for_each_element(p, radix, weight, digit, [&](int t) {
              const size_field size = sizes[k]->received()[next++];
              if (size < unknown_size && r.next_weight(weight, t) != 0) passing += size;
            });
          });
        });
        ASSERT_EQ(plans[k].scratch_bytes, passing);
      }
      std::vector<simulated_rank> ranks;
      for (int rank = 0; rank < p; ++rank)
        ranks.push_back({&plans[static_cast<std::size_t>(rank)], problem.send(rank).data(), problem.recv(rank).data()});
      run_simulated(ranks, p % 2 == 0 ? delivery::eager : delivery::rendezvous);
      for (int rank = 0; rank < p; ++rank)
        ASSERT_EQ(problem.recv(rank), problem.expected(rank, problem.largest())) << p << " ranks, radix " << radix;
    }
}

// §3.5 of the paper: two intermediate buffers of p − 1 elements of the largest size, ⌈log p⌉ rounds of data, each block
// sent once for every digit of its distance, and no local copy but that of the rank's own block.
void exchange_without_copies(int p, int radix) {
  constexpr count_t below = 6;
  irregular_problem problem(p, below, static_cast<unsigned>(p) + 200);
  const route r{p, radix, problem.largest()};
  const shape sh{.ranks = p,
                 .kind = exchange::form::alltoallv,
                 .uniform = false,
                 .max_block_bytes = static_cast<std::uint64_t>(problem.largest())};
  std::vector<std::unique_ptr<wide_history>> sizes;
  std::vector<wide_history*> machines;
  for (int rank = 0; rank < p; ++rank) {
    sizes.push_back(std::make_unique<wide_history>(problem.local(rank), r, std::pmr::new_delete_resource()));
    machines.push_back(sizes.back().get());
  }
  run_rounds(machines, r, sizes.front()->capacity());
  std::vector<schedule> plans;
  std::size_t log_rounds = 0;
  for (count_t reach = 1; reach < p; reach *= radix) ++log_rounds;
  count_t sent = 0;
  for (int rank = 0; rank < p; ++rank) {
    const auto k = static_cast<std::size_t>(rank);
    ASSERT_FALSE(sizes[k]->mismatch());
    plans.push_back(zero_copy_v_schedule(problem.local(rank), sh, r, sizes[k]->received(), nullptr,
                                         std::pmr::new_delete_resource()));
    const schedule& s = plans.back();
    ASSERT_LE(s.rounds.size(), std::max<std::size_t>(log_rounds, 1));
    ASSERT_EQ(s.scratch_bytes, radix >= p ? 0 : 2 * static_cast<std::size_t>((p - 1) * problem.largest()));
    ASSERT_LE(s.messages.size(), zero_copy_v_size(sh, r).messages);
    ASSERT_LE(s.regions.size(), zero_copy_v_size(sh, r).regions);
    count_t copied = 0;
    for (const copy& c : s.copies) copied += s.bytes(c.from);
    ASSERT_EQ(copied, problem.bytes(rank, rank));
    for (const message& m : s.messages) {
      ASSERT_NE(m.how, packing::packed);
      if (m.direction == message_direction::send) sent += s.bytes(m);
    }
  }
  std::size_t expected = 0;
  for (int from = 0; from < p; ++from)
    for (int t = 1; t < p; ++t)
      for (int rest = t; rest > 0; rest /= radix)
        expected += rest % radix != 0 ? static_cast<std::size_t>(problem.bytes(from, (from + t) % p)) : 0;
  ASSERT_EQ(static_cast<std::size_t>(sent), expected);
  std::vector<simulated_rank> ranks;
  for (int rank = 0; rank < p; ++rank)
    ranks.push_back({&plans[static_cast<std::size_t>(rank)], problem.send(rank).data(), problem.recv(rank).data()});
  run_simulated(ranks, p % 2 == 0 ? delivery::eager : delivery::rendezvous);
  for (int rank = 0; rank < p; ++rank)
    ASSERT_EQ(problem.recv(rank), problem.expected(rank, problem.largest())) << p << " ranks, radix " << radix;
}

TEST(zero_copy_bruck_v, gives_every_block_without_a_copy_for_every_p_up_to_64_and_every_radix) {
  for (int p = 1; p <= 64; ++p)
    for (const int radix : radices(p)) exchange_without_copies(p, radix);
}

TEST(bruck_v, blocks_that_are_too_long_are_found_before_anything_is_written) {
  irregular_problem sent(5, 8, 1);
  irregular_problem expected(5, 8, 2);
  const route r{5, 2, 8, 8};
  std::vector<std::unique_ptr<bruck_v_state>> states;
  std::vector<bruck_v_state*> machines;
  for (int rank = 0; rank < 5; ++rank) {
    local_exchange x = sent.local(rank);
    x.recv = expected.local(rank).recv;
    states.push_back(std::make_unique<bruck_v_state>(x, r, std::pmr::new_delete_resource()));
    machines.push_back(states.back().get());
  }
  run_rounds(machines, r, r.capacity(true));
  for (int rank = 0; rank < 5; ++rank) {
    bool longer = false;
    for (int peer = 0; peer < 5; ++peer)
      longer =
          longer || (peer != rank && sent.local(peer).send[rank].bytes() > expected.local(rank).recv[peer].bytes());
    EXPECT_EQ(states[static_cast<std::size_t>(rank)]->mismatch().has_value(), longer) << rank;
    EXPECT_EQ(expected.recv(rank), std::vector<std::byte>(expected.recv(rank).size(), untouched));
  }
}

TEST(bruck_v, a_message_cut_short_is_an_error_and_no_overrun) {
  irregular_problem problem(4, 8, 3);
  const route r{4, 2, 8, 8};
  bruck_v_state state(problem.local(0), r, std::pmr::new_delete_resource());
  std::vector<std::byte> buffer(r.capacity(true));
  for (const count_t weight : {1, 2}) {
    static_cast<void>(state.load(weight, 1, buffer));
    state.unload(weight, 1, {state.receive_slot(), 0});
  }
  EXPECT_TRUE(state.mismatch().has_value());
}

}  // namespace
}  // namespace taquin::detail
