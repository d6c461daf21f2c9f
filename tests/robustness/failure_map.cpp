// What is whole of an exchange in place that memory or an MPI call has ended on one rank, compared with the data: every
// element says where it comes from.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "faults.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using origin = std::uint64_t;

origin origin_of(int from, int to, count_t k) {
  return static_cast<origin>(from + 1) << 48U | static_cast<origin>(to + 1) << 32U | static_cast<origin>(k + 1);
}

// Counts between all ranks from a seed that all have.
class traffic {
 public:
  traffic(unsigned seed, MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    std::mt19937 random(seed);
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to) {
        const auto n = static_cast<count_t>(random() % 3 == 0 ? 0 : random() % 5000);
        if (from == rank_) out_.push_back(n);
        if (to == rank_) in_.push_back(n);
      }
    std::exclusive_scan(out_.begin(), out_.end(), std::back_inserter(out_at_), count_t{0});
    std::exclusive_scan(in_.begin(), in_.end(), std::back_inserter(in_at_), count_t{0});
    data_.resize(static_cast<std::size_t>(std::max(out_at_.back() + out_.back(), in_at_.back() + in_.back())));
    for (int to = 0; to < ranks_; ++to)
      for (count_t k = 0; k < out_[at(to)]; ++k)
        data_[static_cast<std::size_t>(out_at_[at(to)] + k)] = origin_of(rank_, to, k);
  }
  exchange given(MPI_Comm comm) {
    return exchange::alltoallv_in_place(data_.data(), count_view(out_.data()), count_view(out_at_.data()),
                                        count_view(in_.data()), count_view(in_at_.data()), MPI_UINT64_T, comm);
  }
  // Wrong bytes of what the map says to be whole.
  [[nodiscard]] std::size_t lies(const failure::block_map& map) const {
    std::size_t wrong = 0;
    for (const failure::part& p : map.incoming) {
      if (p.what == failure::state::arrived) wrong += differing(bytes(data_) + p.at, p.peer, rank_, p);
      if (p.what == failure::state::staged) wrong += differing(map.staged.data() + p.at, p.peer, rank_, p);
    }
    for (const failure::part& p : map.outgoing)
      if (p.what == failure::state::stands) wrong += differing(bytes(data_) + p.at, rank_, p.peer, p);
    return wrong;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static const std::byte* bytes(const std::vector<origin>& v) { return reinterpret_cast<const std::byte*>(v.data()); }
  static std::size_t differing(const std::byte* here, int from, int to, const failure::part& p) {
    std::size_t wrong = 0;
    for (count_t k = 0; k < p.length; ++k) {  // a unit is a byte
      const auto unit = static_cast<count_t>(sizeof(origin));
      const origin truth = origin_of(from, to, (p.offset + k) / unit);
      wrong += std::memcmp(here + k, reinterpret_cast<const std::byte*>(&truth) + (p.offset + k) % unit, 1) != 0;
    }
    return wrong;
  }

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<count_t> out_, in_, out_at_, in_at_;
  std::vector<origin> data_;
};

TEST(failure_map, is_true_after_memory_or_an_mpi_call_has_failed_at_any_step) {
  constexpr unsigned trials = 28;
  const int ranks = test::size_of(MPI_COMM_WORLD);
  int failed = 0;
  for (unsigned seed = 0; seed < trials; ++seed) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    traffic mine(seed, comm.get());
    const bool faulty = test::rank_in(comm.get()) == static_cast<int>(seed) % ranks;
    const exchange x = mine.given(comm.get());
    options o{.algorithm = "in_place"};
    traffic first(seed + 1000, comm.get());  // in which ranks get to know each other
    run(first.given(comm.get()), o);
    if (faulty) test::arm(seed % 4 == 0 ? test::fault::memory : test::fault::mpi_call, static_cast<int>(seed / 4 + 1));
    try {
      run(x, o);
    } catch (const std::exception&) {
      test::disarm();
      const failure::block_map map = failure::blocks();
      if (map.known) {
        ++failed;
        EXPECT_EQ(map.unit_bytes, 1);
        EXPECT_EQ(mine.lies(map), 0U) << "seed " << seed;
      }
    }
    test::disarm();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_TRUE(ranks == 1 || failed > 5) << failed;
}

}  // namespace
}  // namespace taquin
