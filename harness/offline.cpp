#include "harness/offline.hpp"

#include <algorithm>
#include <numeric>

#include "base/sizes.hpp"

namespace taquin::harness {

namespace {

std::uint64_t unsigned_of(count_t n) { return static_cast<std::uint64_t>(n); }

}  // namespace

detail::shape offline_shape(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                            buffering how) {
  constexpr int most_looked_at = 4096;
  constexpr int sample = 16;
  const bool all = size.ranks <= most_looked_at;
  detail::shape s{.ranks = size.ranks,
                  .kind = kind,
                  .in_place = how != buffering::separate,
                  .symmetric = how != buffering::one_buffer,
                  .one_unit = how != buffering::separate,
                  .unit_size = how != buffering::separate ? 1U : 0U};
  s.min_block_bytes = static_cast<std::uint64_t>(-1);
  std::vector<count_t> received(detail::as_size(size.ranks));
  std::vector<int> senders(received.size());
  const int step = all ? 1 : size.ranks / sample;
  for (int from = 0; from < size.ranks; from += step) {
    const auto row = w.row(size, from);
    const auto [low, high] = std::ranges::minmax(row);
    int peers = 0;
    for (std::size_t to = 0; to < row.size(); ++to) {
      received[to] += row[to];
      peers += row[to] > 0 ? 1 : 0;
      senders[to] += row[to] > 0 ? 1 : 0;
    }
    s.max_peers = std::max(s.max_peers, peers);
    s.min_block_bytes = std::min(s.min_block_bytes, unsigned_of(low));
    s.max_block_bytes = std::max(s.max_block_bytes, unsigned_of(high));
    s.max_rank_bytes = std::max(s.max_rank_bytes, unsigned_of(std::accumulate(row.begin(), row.end(), count_t{0})));
  }
  s.max_received_bytes = all ? unsigned_of(std::ranges::max(received)) : s.max_rank_bytes;
  if (all) s.max_peers = std::max(s.max_peers, std::ranges::max(senders));
  s.uniform = s.min_block_bytes == s.max_block_bytes;
  return s;
}

detail::sparse_pattern offline_pattern(const workloads::workload& w, int ranks, count_t bytes, bool per_pair,
                                       std::uint64_t seed) {
  detail::sparse_pattern x;
  // Per pair the workload only defines the pairs: with so many bytes no part is empty.
  const workloads::problem_size size{ranks, per_pair ? count_t{ranks} << 20U : bytes, seed};
  for (int from = 0; from < ranks; ++from) {
    const auto row = w.row(size, from);
    auto& mine = x.blocks.emplace_back();
    for (int to = 0; to < ranks; ++to)
      if (const count_t n = row[detail::as_size(to)]; n > 0) mine.push_back({to, per_pair ? bytes : n});
  }
  return x;
}

}  // namespace taquin::harness
