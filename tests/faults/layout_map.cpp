// The map of whole data after a redistribution between layouts that memory or an MPI call has ended on one rank: every
// byte is compared with the one that the layouts say is there. TAQUIN_TEST_FAILURES: how many failures of each.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <vector>

#include "faults/layer.hpp"
#include "faults/map_of_program.hpp"
#include "layouts/problems.hpp"
#include "support/failures_to_try.hpp"
#include "support/instruments.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using failure::state;
using test::kept;
using test::layout_case;

std::size_t at(count_t n) { return static_cast<std::size_t>(n); }

// A random case whose arrays need many messages.
layout_case some_large_case(unsigned seed, int ranks) {
  std::mt19937 random(seed);
  auto pick = [&](int a, int b) { return a + static_cast<int>(random() % static_cast<std::uint32_t>(b - a + 1)); };
  layout_case c;
  c.ranks = ranks;
  c.element = std::size_t{1} << static_cast<unsigned>(pick(0, 4));
  if (pick(0, 2) == 0) c.element = static_cast<std::size_t>(pick(3, 24));
  const auto n = static_cast<std::size_t>(pick(1, 3));
  std::vector<count_t> extents;
  for (std::size_t d = 0; d < n; ++d)
    extents.push_back(n == 1 ? pick(4000, 9000) : n == 2 ? pick(50, 110) : pick(9, 24));
  c.from = test::some_layout(pick, extents, ranks);
  std::vector<count_t> there = extents;
  if (n > 1 && pick(0, 1) == 1) {  // the first axis last
    for (std::size_t d = 0; d < n; ++d) c.options.axes.push_back(static_cast<int>((d + n - 1) % n));
    for (std::size_t d = 0; d < n; ++d) there[at(c.options.axes[d])] = extents[d];
  }
  c.to = test::some_layout(pick, there, ranks);
  return c;
}

class scoped_type {
 public:
  explicit scoped_type(std::size_t bytes) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~scoped_type() { MPI_Type_free(&type_); }
  scoped_type(const scoped_type&) = delete;
  scoped_type& operator=(const scoped_type&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// The least memory of a move.
template <class Make>
std::size_t least_memory(layout_options o, Make make) {
  o.memory = 1;
  try {
    make(o);
  } catch (const budget_exceeded& e) {
    return e.requested() + e.used();
  }
  ADD_FAILURE() << "one byte suffices";
  return 0;
}

// The rank that has each byte of a rank's target before the move; −1: no element is there.
std::vector<int> owners_before(const layout_case& c, int receiver) {
  std::vector<int> owners(at(c.to.made.local_size(receiver)) * c.element, -1);
  const auto from = c.from.places();
  const auto to = c.to.places();
  const std::size_t n = c.from.dimensions.size();
  std::vector<count_t> index(n, 0);
  for (const auto& source : from) {
    std::vector<count_t> there(n);
    for (std::size_t d = 0; d < n; ++d) there[c.options.axes.empty() ? d : at(c.options.axes[d])] = index[d];
    std::size_t number = 0;
    for (std::size_t d = 0; d < n; ++d) number = number * at(c.to.dimensions[d].extent) + at(there[d]);
    if (to[number].rank == receiver)
      std::fill_n(owners.begin() + static_cast<std::ptrdiff_t>(at(to[number].offset) * c.element), c.element,
                  source.rank);
    for (std::size_t d = n; d-- > 0;) {
      if (++index[d] < c.from.dimensions[d].extent) break;
      index[d] = 0;
    }
  }
  return owners;
}

// A failed move as one rank sees it.
struct outcome {
  const layout_case& c;
  int rank;
  const std::vector<std::byte>& array;         // the target, or the one array
  std::vector<std::vector<std::byte>> wanted;  // of each rank, in the target

  // Bytes of the map that are not as it says, or that it has not just once.
  [[nodiscard]] std::size_t wrong(const failure::block_map& map) const {
    std::size_t bad = map.unit_bytes == 1 ? 0 : 1;
    const std::vector<int> owners = owners_before(c, rank);
    std::vector<int> listed(owners.size(), 0);
    count_t last = 0;
    for (const failure::part& p : map.incoming) {
      bad += p.offset < last || p.what == state::stands || p.what == state::displaced ? 1 : 0;
      last = p.offset + p.length;
      for (count_t k = 0; k < p.length; ++k) {
        bad += owners.at(at(p.offset + k)) == p.peer ? 0 : 1;
        ++listed.at(at(p.offset + k));
      }
      bad += differing(map, p, rank);
    }
    for (std::size_t k = 0; k < owners.size(); ++k) bad += listed[k] == (owners[k] >= 0 ? 1 : 0) ? 0 : 1;
    for (const failure::part& p : map.outgoing) bad += differing(map, p, p.peer);
    return bad + (test::same_in_c(map) ? 0 : 1);
  }

  // Of this rank's map: which bytes of each rank's target are here, one byte for each.
  void mark(const failure::block_map& map, std::vector<std::vector<unsigned char>>& here) const {
    const auto add = [&](const failure::part& p, int to) {
      if (p.what == state::stands || p.what == state::arrived || p.what == state::staged)
        std::fill_n(here[at(to)].begin() + p.offset, p.length, static_cast<unsigned char>(1));
    };
    for (const failure::part& p : map.incoming) add(p, rank);
    for (const failure::part& p : map.outgoing) add(p, p.peer);
  }

 private:
  [[nodiscard]] std::size_t differing(const failure::block_map& map, const failure::part& p, int to) const {
    if (p.what == state::missing || p.what == state::unknown) return 0;
    const std::byte* const here = (p.what == state::staged ? map.staged.data() : array.data()) + p.at;
    const std::size_t space = p.what == state::staged ? map.staged.size() : array.size();
    if (p.at < 0 || at(p.at + p.length) > space || at(p.offset + p.length) > wanted[at(to)].size()) return at(p.length);
    return std::memcmp(here, wanted[at(to)].data() + p.offset, at(p.length)) == 0 ? 0 : at(p.length);
  }
};

// The layout_findings of all trials, of all ranks.
struct layout_findings {
  int failed = 0;             // ranks with an error
  int unknown = 0;            // of them, those whose error is not on all ranks and that have no map
  unsigned long whole = 0;    // bytes of targets that are on a rank, after a failure
  unsigned long lost = 0;     // and those that are not
  unsigned long arrived = 0;  // bytes in their places, by maps
  unsigned long missing = 0;
};

enum class form { two_arrays, one_array };

void one_trial(unsigned seed, form f, layout_findings& all) {
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
  const layout_case& c = kept(some_large_case(seed, ranks));
  const scoped_type type(c.element);
  const auto mine = at(rank);
  const auto wanted = c.after();
  const std::vector<std::byte>& source = kept(c.before()[mine]);
  std::vector<std::byte>& array = kept(std::vector<std::byte>(wanted[mine].size(), layout_case::untouched));
  if (f == form::one_array) {
    array = source;
    array.resize(std::max(source.size(), wanted[mine].size()));
  }
  layout_options o = c.options;
  std::optional<layout_redistribution> move;
  const auto make = [&](const layout_options& with) {
    if (f == form::one_array)
      move.emplace(array.data(), c.from.made, c.to.made, type, comm.get(), with);
    else
      move.emplace(source.data(), c.from.made, array.data(), c.to.made, type, comm.get(), with);
  };
  o.memory = least_memory(o, make) + std::size_t{1500} * (seed % 4);  // small chunks: many messages
  if (f == form::two_arrays) o.memory += 1500;
  make(o);
  std::mt19937 random(seed);
  const int n = static_cast<int>(random() % (f == form::one_array ? 25 : 50));
  const auto kind = random() % 4 == 0 ? test::fault::memory : test::fault::mpi_call;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == static_cast<int>(seed) % ranks) test::arm(kind, n);
  bool failed = false;
  bool collective = false;
  try {
    if (seed % 2 == 0) {
      (*move)();
    } else {
      move->start();
      while (!move->test()) continue;
    }
  } catch (const error& e) {
    failed = true;
    collective = e.collective();
  } catch (const std::exception&) {
    failed = true;
  }
  test::disarm();
  const outcome result{c, rank, array, wanted};
  std::vector<std::vector<unsigned char>> here;
  for (const auto& target : wanted) here.emplace_back(target.size(), static_cast<unsigned char>(0));
  if (failed) {
    ++all.failed;
    const failure::block_map map = failure::blocks();
    if (!map.known) all.unknown += collective ? 0 : 1;
    if (map.known) {
      EXPECT_EQ(result.wrong(map), 0U) << "seed " << seed << ", rank " << rank;
      result.mark(map, here);
      for (const failure::part& p : map.incoming) {
        if (p.what == state::arrived) all.arrived += at(p.length);
        if (p.what == state::missing) all.missing += at(p.length);
      }
    }
  } else {
    const std::vector<int> owners = owners_before(c, rank);
    for (std::size_t k = 0; k < owners.size(); ++k) {
      if (owners[k] < 0) continue;
      here[mine][k] = 1;
      EXPECT_EQ(array[k], wanted[mine][k]) << "seed " << seed << ", byte " << k;
    }
  }
  int any = failed ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int r = 0; any != 0 && f == form::one_array && r < ranks; ++r) {
    auto& bytes = here[at(r)];
    MPI_Allreduce(MPI_IN_PLACE, bytes.data(), static_cast<int>(bytes.size()), MPI_UNSIGNED_CHAR, MPI_MAX,
                  MPI_COMM_WORLD);
    const std::vector<int> owners = owners_before(c, r);
    for (std::size_t k = 0; k < owners.size(); ++k)
      if (owners[k] >= 0) ++(bytes[k] != 0 ? all.whole : all.lost);
  }
  if (any == 0) return;
  kept(std::move(move));  // its destructor frees what failed messages may read
}

// Failed ranks have maps, in which some bytes have arrived and others have not.
layout_findings trials(form f) {
  layout_findings all;
  const unsigned count = test::failures_to_try(25);
  for (unsigned seed = 0; seed < count; ++seed) one_trial(seed, f, all);
  MPI_Allreduce(MPI_IN_PLACE, &all.failed, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &all.arrived, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (test::size_of(MPI_COMM_WORLD) == 1) return all;
  EXPECT_GT(all.failed, 0);
  EXPECT_EQ(all.unknown, 0);
  EXPECT_GT(all.arrived, 0U);
  EXPECT_GT(all.missing, 0U);
  return all;
}

// The source is as it was; the map says which bytes of the target have arrived, and from which rank the others are.
TEST(layout_map, has_every_byte_of_the_target_of_two_arrays) { trials(form::two_arrays); }

// Where they are now and where they belong, for the ranks that have them and for those that expect them.
TEST(layout_map, has_every_byte_that_is_whole_in_one_array) {
  const layout_findings found = trials(form::one_array);
  if (test::size_of(MPI_COMM_WORLD) == 1) return;
  EXPECT_LT(found.lost, found.whole / 2) << found.whole;
}

}  // namespace
}  // namespace taquin
