#include "select/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>

#include "algorithms/sparse/choice.hpp"
#include "base/sizes.hpp"
#include "mpi/collectives.hpp"
#include "select/choose.hpp"

namespace taquin::detail {

const sparse_algorithm* fastest_sparse(const profile& p, const sparse_shape& s) {
  std::map<const sparse_algorithm*, std::map<double, seconds>> times;  // by size
  std::map<double, seconds> all_sizes;
  for (const auto& m : p.sparse) {
    if (m.ranks != s.ranks || std::bit_width(m.peers) != std::bit_width(s.blocks)) continue;
    const sparse_algorithm* const a = find_sparse(m.algorithm);
    if (a == nullptr || !a->suits(s)) continue;
    times[a][m.bytes] = m.time;
    all_sizes[m.bytes] = m.time;
  }
  const sparse_algorithm* fastest = nullptr;
  double least = 0;
  for (const sparse_algorithm* const a : sparse_algorithms()) {
    const auto mine = times.find(a);
    if (mine == times.end() || mine->second.size() != all_sizes.size()) continue;
    double sum = 0;  // of logarithms: each size counts as much
    for (const auto& [bytes, time] : mine->second) sum += std::log(time);
    if (fastest != nullptr && sum >= least) continue;
    fastest = a;
    least = sum;
  }
  return fastest;
}

// Rank 0 broadcasts its choice, where cores compute logarithms differently.
const sparse_algorithm* measured_sparse(mpi::communicator& comm, const sparse_shape& s) {
  const chooser& choices = chooser::of(comm);
  const sparse_algorithm* mine = fastest_sparse(choices.known(), s);
  if (choices.computes_alike()) return mine;
  const auto all = sparse_algorithms();
  std::int32_t which = static_cast<std::int32_t>(std::ranges::find(all, mine) - all.begin());
  mpi::broadcast(std::span(&which, 1), 0, comm.get());
  return as_size(which) == all.size() ? nullptr : all[as_size(which)];
}

}  // namespace taquin::detail
