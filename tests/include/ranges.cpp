// Ranges, vectors that get the right size, counts that are exchanged, types of the program, containers that migrate.
#include "taquin/ranges.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <deque>
#include <memory_resource>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin::test {
namespace {

struct particle {
  double x;
  std::array<float, 3> v;
  short kind;
  bool operator==(const particle&) const = default;
};
struct node {
  int value;
  node* next;
};

const MPI_Comm world = MPI_COMM_WORLD;
int rank() { return rank_in(world); }
int ranks() { return size_of(world); }

/// Rank i sends (i + j) % 3 elements to rank j: some send nothing.
int count(int from, int to) { return (from + to) % 3; }

std::vector<int> counts_to() {
  std::vector<int> counts;
  for (int j = 0; j < ranks(); ++j) counts.push_back(count(rank(), j));
  return counts;
}

template <class T, class Make>
std::vector<T> outgoing(Make make) {
  std::vector<T> data;
  for (int j = 0; j < ranks(); ++j)
    for (int k = 0; k < count(rank(), j); ++k) data.push_back(make(rank(), j, k));
  return data;
}

template <class T, class Make>
std::vector<T> incoming(Make make) {
  std::vector<T> data;
  for (int i = 0; i < ranks(); ++i)
    for (int k = 0; k < count(i, rank()); ++k) data.push_back(make(i, rank(), k));
  return data;
}

int number(int from, int to, int k) { return 10000 * from + 100 * to + k; }
particle a_particle(int from, int to, int k) {
  return {from + 0.5, {static_cast<float>(to), static_cast<float>(k), 0}, static_cast<short>(k)};
}

TEST(ranges, counts_that_are_not_given_are_exchanged) {
  const auto [data, counts] = alltoallv(outgoing<int>(number), counts_to(), world);
  EXPECT_EQ(data, incoming<int>(number));
  for (int i = 0; i < ranks(); ++i) EXPECT_EQ(counts[static_cast<std::size_t>(i)], count(i, rank()));
}

TEST(ranges, types_of_the_program_travel) {
  auto r = alltoallv(outgoing<particle>(a_particle), counts_to(), world);
  EXPECT_EQ(r.data, incoming<particle>(a_particle));
  for (int i = 0; i < ranks(); ++i) {
    const auto part = r.from(i);
    ASSERT_EQ(part.size(), static_cast<std::size_t>(count(i, rank())));
    for (std::size_t k = 0; k < part.size(); ++k) EXPECT_EQ(part[k], a_particle(i, rank(), static_cast<int>(k)));
  }
}

TEST(ranges, any_contiguous_range_and_any_integers_go_in) {
  const auto data = outgoing<int>(number);
  const auto to = counts_to();
  const std::deque<unsigned short> counts(to.begin(), to.end());
  EXPECT_EQ(alltoallv(std::span<const int>(data), counts, world).data, incoming<int>(number));
  const std::pmr::vector<int> other(data.begin(), data.end());
  EXPECT_EQ(alltoallv(other, counts, world, {.algorithm = "pairwise"}).data, incoming<int>(number));
}

TEST(ranges, a_vector_gets_the_size_of_what_arrives) {
  std::vector<int> recv(1000, -1);
  const auto counts = alltoallv(outgoing<int>(number), counts_to(), recv, world);
  EXPECT_EQ(recv, incoming<int>(number));
  recv.clear();
  alltoallv(outgoing<int>(number), counts_to(), recv, counts, world);
  EXPECT_EQ(recv, incoming<int>(number));
}

TEST(ranges, equal_blocks_need_no_counts) {
  std::vector<double> send;
  for (int j = 0; j < ranks(); ++j) send.insert(send.end(), {rank() + 0.25 * j, 0.5});
  const auto recv = alltoall(send, world);
  ASSERT_EQ(recv.size(), send.size());
  for (int i = 0; i < ranks(); ++i) EXPECT_EQ(recv[2 * static_cast<std::size_t>(i)], i + 0.25 * rank());
  EXPECT_TRUE(alltoall(std::vector<double>{}, world).empty());
}

TEST(ranges, parts_are_found_by_rank_in_what_cannot_be_changed) {
  const auto r = alltoallv(outgoing<int>(number), counts_to(), world);
  for (int i = 0; i < ranks(); ++i)
    for (int k = 0; k < count(i, rank()); ++k) EXPECT_EQ(r.from(i)[static_cast<std::size_t>(k)], number(i, rank(), k));
  EXPECT_EQ(r.from(ranks() - 1).data() + r.from(ranks() - 1).size(), r.data.data() + r.data.size());
}

template <class Integer>
std::deque<Integer> counts_from() {
  std::deque<Integer> counts;
  for (int i = 0; i < ranks(); ++i) counts.push_back(static_cast<Integer>(count(i, rank())));
  return counts;
}

TEST(ranges, plans_take_ranges_and_any_integers) {
  auto send = outgoing<particle>(a_particle);
  std::vector<particle> recv(incoming<particle>(a_particle).size());
  plan p = plan_alltoallv(send, counts_to(), recv, counts_from<std::size_t>(), world);
  for (int start = 0; start < 3; ++start) {
    recv.assign(recv.size(), particle{});
    p.run();
    EXPECT_EQ(recv, incoming<particle>(a_particle));
  }
  // Displacements: one element lies before each block.
  std::vector<int> spaced, places;
  const auto to = counts_to();
  for (int j = 0, at = 0; j < ranks(); ++j) {
    places.push_back(++at);
    spaced.resize(static_cast<std::size_t>(at), -1);
    for (int k = 0; k < to[static_cast<std::size_t>(j)]; ++k, ++at) spaced.push_back(number(rank(), j, k));
  }
  std::vector<unsigned short> from_at(static_cast<std::size_t>(ranks()));
  const auto from = counts_from<unsigned char>();
  std::exclusive_scan(from.begin(), from.end(), from_at.begin(), static_cast<unsigned short>(0));
  std::vector<int> got(incoming<int>(number).size());
  plan_alltoallv(std::span<const int>(spaced), to, places, std::span<int>(got), from, from_at, world).run();
  EXPECT_EQ(got, incoming<int>(number));

  std::vector<double> equal(2 * static_cast<std::size_t>(ranks()), rank()), result(equal.size());
  plan_alltoall(equal, result, world).run();
  for (int i = 0; i < ranks(); ++i) EXPECT_EQ(result[2 * static_cast<std::size_t>(i) + 1], i);
}

TEST(ranges, one_buffer_serves_both_sides) {
  auto buffer = outgoing<int>(number);
  const auto wanted = incoming<int>(number);
  buffer.resize(std::max(buffer.size(), wanted.size()), -1);
  const auto before = buffer;
  alltoallv_in_place(buffer, counts_to(), counts_from<std::uint8_t>(), world);
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), buffer.begin()));

  buffer = before;
  plan p = plan_alltoallv_in_place(std::span(buffer), counts_to(), counts_from<long long>(), world, {.memory = 8192});
  p.run();
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), buffer.begin()));

  const auto row = [](const auto& counts) {
    std::vector<std::size_t> at(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), std::size_t{0});
    return at;
  };
  const auto to = counts_to();
  const auto from = counts_from<short>();
  buffer = before;
  alltoallv_in_place(buffer, to, row(to), from, row(from), world);
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), buffer.begin()));
  buffer = before;
  plan_alltoallv_in_place(buffer, to, row(to), from, row(from), world).run();
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), buffer.begin()));
}

TEST(ranges, times_of_chrono_are_timeouts) {
  static_assert(options{.timeout = std::chrono::milliseconds(1500)}.timeout == 1.5F);
  static_assert(redistribute_options{.timeout = 2}.timeout == 2.0F && options{}.timeout == 0.0F);
  EXPECT_EQ(alltoallv(outgoing<int>(number), counts_to(), world, {.timeout = std::chrono::seconds(60)}).data,
            incoming<int>(number));
}

/// The text of the usage_error that `f` throws; empty when it throws none.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const usage_error& e) {
    return e.what();
  }
  return "";
}

TEST(ranges, bad_input_on_one_rank_is_refused_on_all) {
  const bool bad = rank() == ranks() - 1;
  const auto data = outgoing<int>(number);
  const auto with = [&](auto change) {
    auto counts = counts_to();
    if (bad) change(counts);
    return refusal([&] { static_cast<void>(alltoallv(data, counts, world)); });
  };
  EXPECT_NE(with([](auto& c) { c.pop_back(); }).find("one entry per rank"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c[0] = -1; }).find("negative"), std::string::npos);
  EXPECT_NE(with([](auto& c) { ++c[0]; }).find("not those of the data"), std::string::npos);
  EXPECT_EQ(with([](auto&) {}), "");
  std::vector<int> none;
  EXPECT_TRUE(refusal([&] {
                static_cast<void>(alltoallv(data, none, world));
              }).starts_with(ranks() > 1 ? "all ranks: counts must" : "rank 0: counts must"));
  std::vector<std::uint64_t> huge(static_cast<std::size_t>(ranks()), 0);
  huge[0] = std::uint64_t{1} << 63U;
  EXPECT_NE(refusal([&] { static_cast<void>(alltoallv(std::vector<int>{}, huge, world)); }), "");

  std::vector<int> recv;
  auto from = alltoallv(data, counts_to(), recv, world);
  if (bad) from.push_back(0);
  EXPECT_NE(refusal([&] { alltoallv(data, counts_to(), recv, from, world); }).find("one entry per rank"),
            std::string::npos);
  if (ranks() > 1) {
    const std::vector<int> uneven(static_cast<std::size_t>(ranks()) + 1);
    EXPECT_NE(refusal([&] { static_cast<void>(alltoall(uneven, world)); }).find("does not divide"), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(alltoallv(data, counts_to(), MPI_COMM_NULL)), usage_error);

  std::vector<int> arriving(incoming<int>(number).size()),
      small(bad && !arriving.empty() ? arriving.size() - 1 : arriving.size());
  const auto before = data;
  const auto fits = counts_from<int>();
  if (count(0, ranks() - 1) + count(ranks() - 1, ranks() - 1) > 0) {
    EXPECT_NE(refusal([&] { plan_alltoallv(data, counts_to(), small, fits, world).run(); }).find("more than the range"),
              std::string::npos);
    EXPECT_NE(refusal([&] { alltoallv_in_place(small, std::vector<int>(fits.size()), fits, world); }), "");
  }
  EXPECT_EQ(data, before);
  std::vector<int> places(static_cast<std::size_t>(ranks()));
  if (bad) places[0] = 1 << 20;
  std::vector<int> ones(static_cast<std::size_t>(ranks()), 1), buffer(static_cast<std::size_t>(ranks()));
  EXPECT_NE(refusal([&] { alltoallv_in_place(buffer, ones, places, ones, places, world); }).find("outside its range"),
            std::string::npos);
}

TEST(ranges, the_memory_allowed_is_kept) {
  std::vector<int> send(64 * static_cast<std::size_t>(ranks()), rank());
  const std::vector<int> counts(static_cast<std::size_t>(ranks()), 64);
  EXPECT_THROW(static_cast<void>(alltoallv(send, counts, world, {.algorithm = "two_phase", .memory = 1})),
               budget_exceeded);
}

static_assert(transferable<particle> && transferable<double> && transferable<std::array<int, 4>>);
static_assert(!transferable<int*> && !transferable<std::string> && !transferable<std::span<int>>);
static_assert(transferable<node>);  // its pointer cannot be seen: that is what the trait is for
static_assert(!transferable_range<std::deque<int>>);

TEST(migration, any_container_that_can_be_resized_will_do) {
  std::pmr::vector<particle> some;
  std::string letters;
  for (int k = 0; k < 3 * ranks(); ++k) {
    some.push_back(a_particle(rank(), k % ranks(), k));
    letters.push_back(static_cast<char>('a' + k % ranks()));
  }
  migrate(
      some, [](const particle& p) { return static_cast<int>(p.v[0]); }, world);
  migrate(
      letters, [](char c) { return c - 'a'; }, world);
  EXPECT_EQ(letters, std::string(3 * static_cast<std::size_t>(ranks()), static_cast<char>('a' + rank())));
  ASSERT_EQ(some.size(), 3 * static_cast<std::size_t>(ranks()));
  for (std::size_t k = 0; k < some.size(); ++k) EXPECT_EQ(some[k].x, static_cast<double>(k / 3) + 0.5);
  EXPECT_NE(refusal([&] {
              migrate(
                  letters, [](char) { return ranks(); }, world);
            }),
            "");
  EXPECT_EQ(letters.size(), 3 * static_cast<std::size_t>(ranks()));
}

TEST(migration, everything_may_go_to_one_rank) {
  std::pmr::vector<int> mine(static_cast<std::size_t>(rank()) + 1, rank());
  migrate(
      mine, [](int) { return 0; }, world);
  const auto total = static_cast<std::size_t>(ranks()) * (static_cast<std::size_t>(ranks()) + 1) / 2;
  EXPECT_EQ(mine.size(), rank() == 0 ? total : 0);
}

}  // namespace
}  // namespace taquin::test

template <>
struct taquin::travels_as_bytes<taquin::count_view> : std::false_type {};
static_assert(!taquin::transferable<taquin::count_view>);
