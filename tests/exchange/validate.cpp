// Errors in one rank's arguments, found without MPI's ranks.
#include "exchange/validate.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/invalid_argument.hpp"

namespace taquin::test {
namespace {

using detail::invalid_argument;

/// An alltoallv of ints between three ranks, with the figures of the type given: MPI is not started.
struct arguments {
  std::vector<count_t> counts{2, 3, 4}, displs{0, 2, 5}, rcounts{1, 1, 1}, rdispls{0, 1, 2};
  std::vector<int> out = std::vector<int>(16), in = std::vector<int>(16);

  /// The received blocks begin so many items behind those sent, in one buffer.
  std::optional<std::ptrdiff_t> behind{};

  [[nodiscard]] std::optional<invalid_argument> check() {
    exchange x;
    x.kind = exchange::form::alltoallv;
    const element e{.type = MPI_INT, .size = 4, .extent = 4, .true_extent = 4};
    x.send.base = out.data();
    x.send.counts = count_view(counts.data());
    x.send.displs = count_view(displs.data());
    x.send.element = e;
    x.send.displ_unit = x.recv.displ_unit = e.extent;
    x.recv.base = behind ? out.data() + *behind : in.data();
    x.recv.counts = count_view(rcounts.data());
    x.recv.displs = count_view(rdispls.data());
    x.recv.element = e;
    return detail::validate(x, 3, std::pmr::new_delete_resource());
  }
  void expect(int mpi_class, const std::string& part) {
    const auto bad = check();
    ASSERT_TRUE(bad.has_value()) << part;
    EXPECT_EQ(bad->mpi_class, mpi_class) << bad->what;
    EXPECT_NE(bad->what.find(part), std::string::npos) << bad->what;
  }
};

TEST(validation, accepts_blocks_side_by_side_in_any_order_and_with_gaps) {
  arguments a;
  const auto first = a.check();
  EXPECT_FALSE(first) << first->what;
  a.rdispls = {10, 0, 5};
  const auto bad = a.check();
  EXPECT_FALSE(bad) << bad->what;
  a.displs = {0, 0, 0};  // send blocks may overlap
  EXPECT_FALSE(a.check());
}

TEST(validation, refuses_negative_counts) {
  arguments a;
  a.counts[1] = -3;
  a.expect(MPI_ERR_COUNT, "-3");
  arguments b;
  b.rcounts[2] = -1;
  b.expect(MPI_ERR_COUNT, "-1");
}

TEST(validation, refuses_receive_blocks_that_overlap) {
  arguments a;
  a.rcounts = {2, 1, 1};
  const auto bad = a.check();
  ASSERT_TRUE(bad.has_value());
  EXPECT_NE(bad->what.find("overlap"), std::string::npos) << bad->what;
}

TEST(validation, refuses_receive_blocks_in_what_is_sent) {
  arguments a;
  a.behind = 9;  // right behind the last block
  EXPECT_FALSE(a.check());
  a.behind = 8;
  a.expect(MPI_ERR_BUFFER, "what is sent (block of rank 2) and what is received (block of rank 0) overlap by 4 bytes");
  a.rcounts = {0, 0, 0};
  EXPECT_FALSE(a.check()) << "nothing is received";
}

TEST(validation, accepts_receive_blocks_between_those_sent) {
  arguments a;
  a.counts = {1, 1, 1};
  a.displs = {0, 2, 4};
  a.rdispls = {0, 2, 4};
  a.behind = 1;
  EXPECT_FALSE(a.check());
  a.displs = {4, 0, 1};
  a.expect(MPI_ERR_BUFFER, "what is sent (block of rank 2) and what is received (block of rank 0)");
}

TEST(validation, refuses_sizes_that_come_round_in_64_bits) {
  arguments a;
  a.counts[0] = count_t{1} << 62;  // times 4 bytes is 0
  EXPECT_TRUE(a.check().has_value());
  arguments b;
  b.rdispls[1] = count_t{1} << 62;
  EXPECT_TRUE(b.check().has_value());
}

TEST(validation, tells_memory_of_an_interface_from_its_other_faults) {
  EXPECT_EQ(detail::of_interface(detail::lacks_memory_text).mpi_class, MPI_ERR_NO_MEM);
  EXPECT_EQ(detail::of_interface("null array").mpi_class, MPI_ERR_ARG);
}

}  // namespace
}  // namespace taquin::test
