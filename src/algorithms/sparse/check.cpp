#include "algorithms/sparse/check.hpp"

#include <fmt/format.h>

#include "algorithms/sparse/algorithm.hpp"

namespace taquin::detail {

std::optional<invalid_argument> check_sparse_options(const options& o) {
  if (!(o.timeout >= 0))
    return invalid_argument{fmt::format("timeout must be ≥ 0 seconds, got {}", static_cast<float>(o.timeout))};
  if (find_sparse(o.algorithm) == nullptr)
    return invalid_argument{
        fmt::format("unknown sparse algorithm '{}'; known are auto, {}", o.algorithm, sparse_names())};
  if (o.in_flight < 0) return invalid_argument{fmt::format("in_flight must be ≥ 0, got {}", o.in_flight)};
  return std::nullopt;
}

std::optional<invalid_argument> check_sparse_blocks(const sparse_blocks& x, int ranks, checked& total) {
  if (x.type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (x.destinations.data() == nullptr && !x.destinations.empty())
    return invalid_argument{"null array of destinations", MPI_ERR_ARG};
  if (x.counts.missing() && !x.destinations.empty()) return invalid_argument{"null array of counts", MPI_ERR_ARG};
  bool any = false;
  for (std::size_t i = 0; i < x.destinations.size(); ++i) {
    const int to = x.destinations[i];
    const count_t n = x.counts[static_cast<int>(i)];
    if (to < 0 || to >= ranks)
      return invalid_argument{fmt::format("block {} goes to rank {}; ranks are 0 to {}", i, to, ranks - 1),
                              MPI_ERR_RANK, to};
    if (n < 0)
      return invalid_argument{fmt::format("block {}, to rank {}, has {} elements; 0 or more are allowed", i, to, n),
                              MPI_ERR_COUNT, to};
    any = any || n > 0;
    total = total + n;
  }
  if (any && x.data == nullptr) return invalid_argument{"null data", MPI_ERR_BUFFER};
  return std::nullopt;
}

}  // namespace taquin::detail
