// The regular Bruck algorithms for all ranks in one process: every byte, rounds and bytes as the theorems say.
#include <gtest/gtest.h>

#include <bit>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/bruck/radices.hpp"
#include "algorithms/bruck/regular_problem.hpp"

namespace taquin::detail {
namespace {

constexpr std::array family{&basic_bruck, &modified_bruck, &zero_copy_bruck, &lean_bruck};
constexpr std::array layouts{bruck_layout::automatic, bruck_layout::indexed, bruck_layout::regular,
                             bruck_layout::elements,  bruck_layout::blocks,  bruck_layout::packed};

std::size_t ceil_log(int p, int radix) {
  std::size_t rounds = 0;
  for (std::int64_t reach = 1; reach < p; reach *= radix) ++rounds;
  return rounds;
}

// Each element once for each of its digits that is not zero.
std::size_t elements_sent(int p, int radix) {
  std::size_t sum = 0;
  for (int j = 1; j < p; ++j)
    for (int rest = j; rest > 0; rest /= radix) sum += rest % radix != 0 ? 1 : 0;
  return sum;
}

count_t bytes_sent(const schedule& s) {
  count_t sum = 0;
  for (const message& m : s.messages)
    if (m.direction == message_direction::send) sum += s.bytes(m);
  return sum;
}

schedule build_one(const algorithm& a, const regular_problem& problem, int rank, const options& o) {
  return a.build(problem.local(rank, nullptr, nullptr), problem.agreed(), o, std::pmr::new_delete_resource());
}

TEST(bruck, every_variant_gives_every_block_for_every_p_up_to_64_and_every_radix) {
  for (int p = 1; p <= 64; ++p) {
    const regular_problem problem{p, 1 + p % 3, p % 2 == 0 ? element::bytes(2) : element{MPI_BYTE, 3, 5, 0, 3},
                                  p % 4 / 3};
    std::size_t turn = static_cast<std::size_t>(p);
    for (const int radix : radices(p))
      for (const algorithm* a : family) {
        ++turn;
        // Small p in every layout, larger p in one after the other.
        for (std::size_t i = 0; i < layouts.size(); ++i) {
          if (p > 13 && i != turn % layouts.size()) continue;
          const bruck_layout layout = layouts[i];
          for (const auto how : {delivery::eager, delivery::rendezvous}) {
            if (p > 13 && (how == delivery::eager) != (turn / layouts.size() % 2 == 0)) continue;
            const std::size_t rounds = run_regular(*a, problem, {.bruck = {.radix = radix, .layout = layout}}, how);
            ASSERT_EQ(rounds, ceil_log(p, radix)) << a->name << " p " << p << " radix " << radix;
            ASSERT_FALSE(testing::Test::HasFailure()) << "radix " << radix << " layout " << static_cast<int>(layout);
          }
        }
      }
  }
}

TEST(bruck, thousands_of_ranks_at_radix_2) {
  for (const int p : {1000, 1024, 4096}) {
    const regular_problem problem{p, 1, element::bytes(1)};
    for (const algorithm* a : {&basic_bruck, &modified_bruck, &zero_copy_bruck}) {
      if (p > 1024 && a != &modified_bruck) continue;
      const options o{.bruck = {.radix = 2, .layout = bruck_layout::packed}};
      ASSERT_EQ(run_regular(*a, problem, o, delivery::rendezvous), ceil_log(p, 2));
    }
  }
  ASSERT_EQ(run_regular(zero_copy_bruck, {1000, 1, element::bytes(1)},
                        {.bruck = {.radix = 2, .layout = bruck_layout::blocks}}, delivery::eager),
            10U);
  ASSERT_EQ(run_regular(lean_bruck, {1024, 1, element::bytes(1)}, {.bruck = {.radix = 2}}, delivery::rendezvous), 10U);
}

TEST(bruck, sends_each_block_once_for_every_digit) {
  for (const int p : {1, 2, 3, 5, 8, 13, 36, 64, 80, 1000, 1024, 4096}) {
    for (const int radix : radices(p)) {
      const regular_problem problem{p, 3, element::bytes(4)};
      for (const algorithm* a : family) {
        if (p >= 1000 && a == &lean_bruck && radix > 8) continue;
        const schedule s = build_one(*a, problem, p / 2, {.bruck = {.radix = radix}});
        const auto sent = static_cast<std::size_t>(bytes_sent(s));
        EXPECT_EQ(sent, elements_sent(p, radix) * 12) << a->name << " p " << p << " radix " << radix;
        if (radix == 2) {
          EXPECT_LE(sent, ceil_log(p, 2) * static_cast<std::size_t>(p / 2) * 12);
        }
        if (radix >= p) {
          EXPECT_EQ(sent, static_cast<std::size_t>(p - 1) * 12) << "direct";
        }
      }
    }
  }
}

TEST(bruck, figures_are_those_of_the_schedule) {
  for (int p = 1; p <= 200; ++p)
    for (const int radix : radices(p)) {
      const auto f = bruck::count(p, radix);
      ASSERT_EQ(f.rounds, ceil_log(p, radix)) << p << ' ' << radix;
      ASSERT_EQ(f.elements, elements_sent(p, radix)) << p << ' ' << radix;
      ASSERT_EQ(f.messages * 2, build_one(modified_bruck, {p}, 0, {.bruck = {.radix = radix}}).messages.size());
    }
}

// Theorems 1 and 2: at most p + 2⌈log p⌉⌊p/2⌋ copies of elements, and 2p more for basic Bruck's last step; zero copy
// none but the rank's own block.
TEST(bruck, copies_no_more_than_the_theorems_say) {
  for (int p = 1; p <= 130; ++p) {
    const regular_problem problem{p, 1, element::bytes(4)};
    const auto copied = [&](const algorithm& a) {
      const schedule s = build_one(a, problem, p / 3, {.bruck = {.radix = 2, .layout = bruck_layout::regular}});
      count_t bytes = 0;
      for (const copy& c : s.copies) bytes += s.bytes(c.from);
      return static_cast<std::size_t>(bytes) / 4;
    };
    const auto n = static_cast<std::size_t>(p);
    const std::size_t rounds = ceil_log(p, 2) * (n / 2);
    EXPECT_LE(copied(modified_bruck), n + rounds);
    EXPECT_LE(copied(basic_bruck), n + rounds + 2 * n);
    EXPECT_EQ(copied(zero_copy_bruck), 1U);
    EXPECT_EQ(copied(lean_bruck), 1U);
  }
}

TEST(bruck, lean_bruck_needs_half_the_blocks_less_one) {
  for (int p = 2; p <= 1100; p += p < 130 ? 1 : 97) {
    const auto spare = build_one(lean_bruck, {p, 1, element::bytes(4)}, 0, {.bruck = {.radix = 2}}).scratch_bytes / 4;
    EXPECT_LE(spare, static_cast<std::size_t>(p / 2) - 1) << p;
    if (std::has_single_bit(static_cast<unsigned>(p))) {
      EXPECT_EQ(spare, static_cast<std::size_t>(p / 2 - 1)) << p << ": every place is taken in the last round";
    }
    EXPECT_EQ(build_one(lean_bruck, {p, 1, element::bytes(4)}, 0, {.bruck = {.radix = p}}).scratch_bytes, 0U)
        << "direct";
  }
}

// No rank ends before all have entered, whatever the size of blocks: the executor counts on it.
TEST(bruck, synchronizes_all_ranks_unless_blocks_are_empty) {
  for (const algorithm* a : {&basic_bruck, &modified_bruck, &zero_copy_bruck})
    for (const count_t bytes : {0, 1, 2, 1000})
      EXPECT_EQ(build_one(*a, {7, 1, element::bytes(bytes)}, 3, {.bruck = {.radix = 2}}).synchronizes, bytes > 0)
          << a->name << ' ' << bytes;
}

TEST(bruck, sends_nothing_when_blocks_are_empty) {
  for (const algorithm* a : family)
    for (const regular_problem& empty : {regular_problem{7, 0}, {7, 3, element::bytes(0)}})
      EXPECT_EQ(run_regular(*a, empty, {.bruck = {.radix = 2}}, delivery::eager), 0U) << a->name;
}

}  // namespace
}  // namespace taquin::detail
