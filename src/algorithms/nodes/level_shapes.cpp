#include "algorithms/nodes/level_shapes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "algorithms/nodes/level_part.hpp"

namespace taquin::detail {

namespace {

bool equal_groups(const shape& s) noexcept { return s.uniform && s.largest_node == s.smallest_node; }

shape bytes_among(int ranks, bool uniform, std::uint64_t block, std::uint64_t sent, std::uint64_t received) noexcept {
  return {.ranks = ranks,
          .kind = exchange::form::alltoallv,
          .uniform = uniform,
          .large = std::max(sent, received) > static_cast<std::uint64_t>(std::numeric_limits<int>::max()),
          .max_block_bytes = block,
          .min_block_bytes = uniform ? block : 0,
          .max_rank_bytes = sent,
          .max_received_bytes = received};
}

}  // namespace

const algorithm& first_of(std::string_view names) {
  return *find_algorithm(names.substr(0, names.find_first_of(",:")));
}

options options_of_first(const options& o, std::string_view names) noexcept {
  const std::string_view first = names.substr(0, names.find(','));
  const auto colon = first.find(':');
  options own = o;
  int radix = 0;
  if (colon == std::string_view::npos) return own;
  std::from_chars(first.data() + colon + 1, first.data() + first.size(), radix);
  own.bruck.radix = radix;
  return own;
}

bool is_automatic(std::string_view names) noexcept { return names.substr(0, names.find(',')) == "auto"; }

std::string_view after_first(std::string_view names) noexcept {
  const auto comma = names.find(',');
  return comma == std::string_view::npos ? names : names.substr(comma + 1);
}

shape one_group(const shape& s) noexcept {
  shape t = s;
  t.nodes = 0;
  t.levels_inside = 0;
  if (s.levels_inside == 0) return t;
  t.nodes = s.inside[0].groups;
  t.largest_node = s.inside[0].largest;
  t.smallest_node = s.inside[0].smallest;
  t.levels_inside = s.levels_inside - 1;
  std::copy(s.inside.begin() + 1, s.inside.end(), t.inside.begin());
  return t;
}

shape inside_of(const shape& s, int size) noexcept {
  const auto n = static_cast<std::uint64_t>(size);
  const auto columns = static_cast<std::uint64_t>(level_part::columns_of(size, s.largest_node));
  const std::uint64_t block =
      std::min(columns * static_cast<std::uint64_t>(s.nodes) * s.max_block_bytes, s.max_rank_bytes);
  shape t = bytes_among(size, equal_groups(s), block, s.max_rank_bytes, n * block);
  t.levels_inside = s.levels_inside;
  t.inside = s.inside;
  return one_group(t);
}

shape column_of(const shape& s) noexcept {
  const auto groups = static_cast<std::uint64_t>(s.nodes);
  const auto n = static_cast<std::uint64_t>(s.largest_node);
  const std::uint64_t block = std::min(n * s.max_block_bytes, s.max_received_bytes);
  return bytes_among(s.nodes, equal_groups(s), block, std::min(groups * block, n * s.max_rank_bytes),
                     s.max_received_bytes);
}

}  // namespace taquin::detail
