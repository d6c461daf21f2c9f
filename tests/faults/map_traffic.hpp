// The data of the tests of the map after a failure: every element, and every block, has its origin as its value, so
// that a map can be compared with the data.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "redistribute/problems.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin::test {

using origin = std::uint64_t;

inline origin origin_of(int from, int to, count_t k) {
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
  exchange given(MPI_Comm comm, MPI_Datatype type = MPI_UINT64_T) {
    return exchange::alltoallv_in_place(data_.data(), count_view(out_.data()), count_view(out_at_.data()),
                                        count_view(in_.data()), count_view(in_at_.data()), type, comm);
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

// Blocks of any number of words, all of which say where the block comes from and goes to.
class block_traffic {
 public:
  /// `parts`: of a block, each of so many words, and a block for the maps.
  block_traffic(unsigned seed, MPI_Comm comm, std::size_t words, int parts = 1) : words_(words) {
    MPI_Comm_rank(comm, &rank_);
    std::mt19937 random(seed);
    const std::vector<int> blocks = sizes(random, size_of(comm));
    const block_problem all = random_problem(blocks, static_cast<int>(random() % 5 + 6) * 10, seed);
    given_ = all[static_cast<std::size_t>(rank_)];
    mine_.blocks = given_.blocks * parts;
    for (int u = 0; u < mine_.blocks; ++u) {
      const auto k = static_cast<std::size_t>(u / parts);
      mine_.ranks.push_back(given_.ranks[k]);
      mine_.indices.push_back(given_.indices[k] * parts + u % parts);
    }
    for (int k = 0; k < mine_.blocks; ++k)
      for (std::size_t w = 0; w < words_; ++w)
        data_.push_back(name(mine_.ranks[static_cast<std::size_t>(k)], mine_.indices[static_cast<std::size_t>(k)], w));
  }
  [[nodiscard]] origin* data() { return data_.data(); }
  [[nodiscard]] const rank_map& map() const { return given_; }
  /// Blocks of each rank.
  static std::vector<int> sizes(unsigned seed, int ranks) {
    std::mt19937 random(seed);
    return sizes(random, ranks);
  }
  // Wrong blocks of what the map says to be whole.
  [[nodiscard]] std::size_t lies(const failure::block_map& map) const {
    std::size_t wrong = map.unit_bytes != static_cast<count_t>(words_ * sizeof(origin));
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list)
        for (count_t k = 0; p.what != failure::state::missing && k < p.length; ++k)
          wrong += differs(map, p, k, list == &map.incoming ? rank_ : p.peer);
    return wrong;
  }

  // Starts what a map of roll_back() has left, and compares the array with what it was before. How many blocks there
  // were on all ranks, and how many are not back.
  template <class Redistribution>
  std::pair<int, int> go_back(Redistribution& r, const failure::block_map& map, MPI_Comm comm) {
    forget_all_but(map);
    start_again(r, map);
    int counts[3] = {0, 0, 0};
    for (std::size_t k = 0; k < static_cast<std::size_t>(mine_.blocks); ++k) {
      std::size_t right = 0;
      for (std::size_t w = 0; w < words_; ++w)
        right += data_[k * words_ + w] == name(mine_.ranks[k], mine_.indices[k], w);
      counts[0] += mine_.ranks[k] >= 0;
      counts[1] += mine_.ranks[k] >= 0 && right == words_;
    }
    return all_found(counts, map, comm);
  }

  // Starts what `map` has left, and compares the array with what all have had. How many blocks there were on all ranks,
  // and how many are lost.
  template <class Redistribution>
  std::pair<int, int> go_on(Redistribution& r, const failure::block_map& map, MPI_Comm comm) {
    const auto n = static_cast<std::size_t>(mine_.blocks);
    forget_missing(map);
    start_again(r, map, true);
    // The data that are where they belong, and their map.
    int counts[3] = {0, 0, 0};
    for (std::size_t k = 0; k < n; ++k) {
      counts[0] += mine_.ranks[k] >= 0;
      std::size_t right = 0;
      for (std::size_t w = 0; w < words_; ++w) right += data_[k * words_ + w] == name(rank_, static_cast<int>(k), w);
      counts[1] += right == words_;
    }
    return all_found(counts, map, comm);
  }

 private:
  static std::vector<int> sizes(std::mt19937& random, int ranks) {
    std::vector<int> n(static_cast<std::size_t>(ranks));
    for (int& blocks : n) blocks = static_cast<int>(random() % 40);
    return n;
  }
  // The places in which, as the map says, there is a block.
  [[nodiscard]] std::vector<bool> whole_places(const failure::block_map& map) const {
    std::vector<bool> whole(static_cast<std::size_t>(mine_.blocks), false);
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list)
        for (count_t k = 0; p.at >= 0 && p.what != failure::state::staged && k < p.length; ++k)
          whole[static_cast<std::size_t>(p.at + k)] = true;
    return whole;
  }
  void forget(std::size_t place) {
    std::fill_n(data_.begin() + static_cast<std::ptrdiff_t>(place * words_), words_, origin{0});
  }
  // Overwrites the places in which, as the map says, there is no block.
  void forget_all_but(const failure::block_map& map) {
    const std::vector<bool> whole = whole_places(map);
    for (std::size_t k = 0; k < whole.size(); ++k)
      if (!whole[k]) forget(k);
  }
  // Overwrites the places whose blocks are missing, as the map says. A message that comes while a call is left may have
  // brought one that is not known to be there.
  void forget_missing(const failure::block_map& map) {
    const std::vector<bool> whole = whole_places(map);
    for (const failure::part& p : map.incoming)
      for (count_t k = 0; p.what == failure::state::missing && k < p.length; ++k)
        if (const auto place = static_cast<std::size_t>(p.offset + k); !whole[place]) forget(place);
  }
  // `counts`: blocks of this rank, those that are right, 0. On all ranks: how many there were, and how many are lost.
  static std::pair<int, int> all_found(int (&counts)[3], const failure::block_map& map, MPI_Comm comm) {
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list) {
        if (p.what == failure::state::staged) counts[1] += static_cast<int>(p.length);
        if (p.what == failure::state::missing) counts[2] += static_cast<int>(p.length);
      }
    MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_INT, MPI_SUM, comm);
    EXPECT_EQ(counts[1] + counts[2], counts[0]) << "a block is not just one of: in its place, held by a map, missing";
    return {counts[0], counts[2]};
  }
  // `keeps`: a rank whose part had ended well has all for it; its map need not list them.
  template <class Redistribution>
  void start_again(Redistribution& r, const failure::block_map& map, bool keeps = false) {
    const auto n = static_cast<std::size_t>(mine_.blocks);
    std::vector<int> ranks(n, -1);
    std::vector<int> places(n, 0);
    for (const auto* list : {&map.incoming, &map.outgoing})
      for (const failure::part& p : *list)
        for (count_t k = 0; p.at >= 0 && p.what != failure::state::staged && k < p.length; ++k) {
          ranks[static_cast<std::size_t>(p.at + k)] = list == &map.incoming ? rank_ : p.peer;
          places[static_cast<std::size_t>(p.at + k)] = static_cast<int>(p.offset + k);
        }
    for (std::size_t k = 0; keeps && map.incoming.empty() && k < n; ++k)
      if (data_[k * words_] == name(rank_, static_cast<int>(k), 0) && ranks[k] < 0) {
        ranks[k] = rank_;
        places[k] = static_cast<int>(k);
      }
    r(std::span<const int>(ranks), std::span<const int>(places));
  }
  static origin name(int to, int index, std::size_t word) {
    return static_cast<origin>(to + 2) << 48U | static_cast<origin>(static_cast<unsigned>(index + 8)) << 16U | word;
  }
  std::size_t differs(const failure::block_map& map, const failure::part& p, count_t k, int to) const {
    const auto* staged = reinterpret_cast<const origin*>(map.staged.data());
    const origin* const here =
        (p.what == failure::state::staged ? staged : data_.data()) + static_cast<std::size_t>(p.at + k) * words_;
    for (std::size_t w = 0; w < words_; ++w)
      if (here[w] != name(to, static_cast<int>(p.offset + k), w)) return 1;
    return 0;
  }

  std::size_t words_;
  int rank_ = 0;
  rank_map given_;
  rank_map mine_;  // of the parts
  std::vector<origin> data_;
};

}  // namespace taquin::test
