// The caller's array and staging as one range of units.
#include "protocol/store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory_resource>
#include <numeric>
#include <vector>

namespace taquin::test {
namespace {

using detail::store;
using detail::unit_run;

const element ints{.type = MPI_INT, .size = 4, .extent = 4, .true_extent = 4};

/// Six units of two ints, and two of staging.
struct six_units {
  std::vector<int> data = std::vector<int>(12);
  store units{data.data(), 6, 2, ints, 2, std::pmr::new_delete_resource()};
  six_units() { std::iota(data.begin(), data.end(), 0); }
};

TEST(a_store, has_staging_behind_the_array) {
  six_units s;
  EXPECT_EQ(s.units.border(), 6);
  EXPECT_EQ(s.units.end(), 8);
  EXPECT_EQ(s.units.unit_bytes(), 8U);
  EXPECT_TRUE(s.units.plain());
  EXPECT_EQ(s.units.at(5), reinterpret_cast<std::byte*>(&s.data[10]));
  EXPECT_EQ(s.units.at(7), s.units.at(6) + 8);
}

TEST(a_store, copies_to_staging_and_back) {
  six_units s;
  s.units.copy(1, 6, 2);
  s.units.copy(6, 4, 2);
  EXPECT_EQ(s.data, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5}));
  EXPECT_EQ(s.units.bytes_copied(), 32U);
}

TEST(a_store, moves_runs_when_they_overlap) {
  six_units up;
  up.units.move({0, 2, 4});
  EXPECT_EQ(up.data, (std::vector{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7}));
  six_units down;
  down.units.move({2, 0, 4});
  EXPECT_EQ(down.data, (std::vector{4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11}));
}

TEST(a_store, moves_some_at_a_time) {
  six_units up;
  detail::unit_move left{0, 2, 4};
  EXPECT_FALSE(up.units.move_some(left, 24));
  EXPECT_EQ(up.data, (std::vector{0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(left.length, 1);
  EXPECT_TRUE(up.units.move_some(left, 1));  // at least one unit
  EXPECT_EQ(up.data, (std::vector{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7}));
  six_units down;
  left = {2, 0, 4};
  EXPECT_FALSE(down.units.move_some(left, 8));
  EXPECT_EQ(left.from, 3);
  EXPECT_EQ(left.to, 1);
  EXPECT_TRUE(down.units.try_move(left));
  EXPECT_EQ(down.data, (std::vector{4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11}));
}

TEST(a_store, gathers_runs_and_writes_them) {
  six_units s;
  const std::array<unit_run, 2> runs{unit_run{4, 1}, unit_run{0, 2}};
  EXPECT_EQ(detail::units_of(runs), 3);
  std::array<int, 6> packed{};
  s.units.gather(runs, reinterpret_cast<std::byte*>(packed.data()));
  EXPECT_EQ(packed, (std::array{8, 9, 0, 1, 2, 3}));
  EXPECT_EQ(s.units.bytes_copied(), 24U);
  s.units.write(reinterpret_cast<const std::byte*>(packed.data()), {3, 3});
  EXPECT_EQ(s.data, (std::vector{0, 1, 2, 3, 4, 5, 8, 9, 0, 1, 2, 3}));
  EXPECT_EQ(s.units.bytes_copied(), 24U);  // reading and writing do not count
}

/// Six units with an int and a char each, in two arrays, and two of staging.
struct two_columns {
  std::vector<int> ints{0, 1, 2, 3, 4, 5};
  std::vector<char> chars{'a', 'b', 'c', 'd', 'e', 'f'};
  std::array<detail::unit_column, 2> columns{
      {{reinterpret_cast<std::byte*>(ints.data()), 4, 0}, {reinterpret_cast<std::byte*>(chars.data()), 1, 4}}};
  store units{nullptr, 6, 1, element::bytes(5), 2, std::pmr::new_delete_resource(), false, columns};
};

TEST(a_store, moves_parts_of_units_in_several_arrays) {
  two_columns s;
  s.units.copy(1, 6, 2);
  s.units.move({2, 3, 3});
  s.units.move({7, 0, 1});
  EXPECT_EQ(s.ints, (std::vector{2, 1, 2, 2, 3, 4}));
  EXPECT_EQ(s.chars, (std::vector{'c', 'b', 'c', 'c', 'd', 'e'}));
  EXPECT_EQ(s.units.bytes_copied(), 6U * 5);
}

TEST(a_store, packs_several_arrays_one_after_the_other) {
  two_columns s;
  const std::array<unit_run, 2> runs{unit_run{4, 2}, unit_run{0, 1}};
  std::array<std::byte, 15> packed{};
  s.units.gather(runs, packed.data());
  s.units.write(packed.data(), {1, 2});
  s.units.write(packed.data() + 10, {6, 1});
  s.units.copy(6, 5);
  EXPECT_EQ(s.ints, (std::vector{0, 4, 5, 3, 4, 0}));
  EXPECT_EQ(s.chars, (std::vector{'a', 'e', 'f', 'd', 'e', 'a'}));
}

TEST(a_store, goes_on_with_another_array) {
  six_units s;
  std::vector<int> other(12, 7);
  s.units.copy(0, 6);
  s.units.set_data(other.data());
  s.units.copy(6, 5);
  EXPECT_EQ(other[10], 0);
  EXPECT_EQ(other[11], 1);
  EXPECT_EQ(s.data[10], 10);
}

}  // namespace
}  // namespace taquin::test
