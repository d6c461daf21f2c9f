#include "harness/block_problem.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/sizes.hpp"
#include "mpi/check.hpp"

namespace taquin::harness {

namespace {

std::uint64_t word_of(int rank, int index) {
  return (static_cast<std::uint64_t>(rank) << 32U | static_cast<std::uint32_t>(index)) * 0x9e3779b97f4a7c15ULL + 1;
}

template <class Visit>
void words(std::size_t bytes, std::uint64_t word, Visit visit) {
  for (std::size_t at = 0; at < bytes; at += sizeof word, ++word) visit(at, word, std::min(sizeof word, bytes - at));
}

void write(std::byte* block, std::size_t bytes, std::uint64_t first) {
  words(bytes, first, [&](std::size_t at, std::uint64_t w, std::size_t n) { std::memcpy(block + at, &w, n); });
}

count_t differing(const std::byte* block, std::size_t bytes, std::uint64_t first) {
  count_t wrong = 0;
  words(bytes, first, [&](std::size_t at, std::uint64_t w, std::size_t n) {
    if (std::memcmp(block + at, &w, n) != 0) wrong += static_cast<count_t>(n);
  });
  return wrong;
}

}  // namespace

block_problem::block_problem(const block_workload& workload, count_t blocks, count_t live, count_t block_bytes,
                             std::uint64_t seed, std::pmr::memory_resource* memory)
    : bytes_(detail::as_size(block_bytes)),
      type_(mpi::contiguous(block_bytes, MPI_BYTE)),
      data_(memory),
      send_(memory),
      receive_(memory) {
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  map_ = workload.make(rank_, ranks, blocks, live, seed);
  wanted_.assign(map_.ranks.size(), false);
  const auto p = detail::as_size(ranks);
  for (auto* v : {&sent_, &received_, &send_at_, &receive_at_}) v->assign(p, 0);
  for (const int r : map_.ranks)
    if (r >= 0) ++sent_[detail::as_size(r)];
  TAQUIN_MPI(PMPI_Alltoall(sent_.data(), 1, MPI_INT, received_.data(), 1, MPI_INT, MPI_COMM_WORLD));
  std::exclusive_scan(sent_.begin(), sent_.end(), send_at_.begin(), 0);
  std::exclusive_scan(received_.begin(), received_.end(), receive_at_.begin(), 0);
  std::vector<int> indices(detail::as_size(send_at_.back() + sent_.back()));
  std::vector<int> mine(detail::as_size(receive_at_.back() + received_.back()));
  auto next = send_at_;
  for (std::size_t k = 0; k < map_.ranks.size(); ++k)
    if (map_.ranks[k] >= 0) indices[detail::as_size(next[detail::as_size(map_.ranks[k])]++)] = map_.indices[k];
  TAQUIN_MPI(PMPI_Alltoallv(indices.data(), sent_.data(), send_at_.data(), MPI_INT, mine.data(), received_.data(),
                            receive_at_.data(), MPI_INT, MPI_COMM_WORLD));
  for (const int x : mine) wanted_[detail::as_size(x)] = true;
  data_.resize(map_.ranks.size() * bytes_);
  send_.resize(indices.size() * bytes_);
  receive_.resize(mine.size() * bytes_);
}

void block_problem::fill() {
  for (std::size_t k = 0; k < map_.ranks.size(); ++k) {
    const bool live = map_.ranks[k] >= 0;
    write(data_.data() + k * bytes_, bytes_, live ? word_of(map_.ranks[k], map_.indices[k]) : ~std::uint64_t{0});
  }
}

count_t block_problem::wrong_bytes() const {
  count_t wrong = 0;
  for (std::size_t x = 0; x < wanted_.size(); ++x)
    if (wanted_[x]) wrong += differing(data_.data() + x * bytes_, bytes_, word_of(rank_, static_cast<int>(x)));
  return wrong;
}

void block_problem::fill_native() {
  std::byte* at = send_.data();
  for (std::size_t r = 0; r < sent_.size(); ++r)
    for (int k = 0; k < sent_[r]; ++k, at += bytes_) write(at, bytes_, word_of(rank_, static_cast<int>(r)));
  std::ranges::fill(receive_, std::byte{0xa5});
}

void block_problem::run_native() {
  TAQUIN_MPI(PMPI_Alltoallv(send_.data(), sent_.data(), send_at_.data(), type_.get(), receive_.data(), received_.data(),
                            receive_at_.data(), type_.get(), MPI_COMM_WORLD));
}

count_t block_problem::wrong_native() const {
  count_t wrong = 0;
  const std::byte* at = receive_.data();
  for (std::size_t r = 0; r < received_.size(); ++r)
    for (int k = 0; k < received_[r]; ++k, at += bytes_)
      wrong += differing(at, bytes_, word_of(static_cast<int>(r), rank_));
  return wrong;
}

void block_problem::account_native(statistics& s) const {
  s.rounds = 1;
  for (std::size_t r = 0; r < sent_.size(); ++r) {
    if (static_cast<int>(r) == rank_ || sent_[r] == 0) continue;
    ++s.messages;
    s.bytes_sent += static_cast<std::uint64_t>(sent_[r]) * bytes_;
  }
}

}  // namespace taquin::harness
