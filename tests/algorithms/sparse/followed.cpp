#include "algorithms/sparse/followed.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

using block = std::pair<int, int>;

class follower {
 public:
  follower(const sparse_pattern& x, const sparse_moves& m, bool by_nodes)
      : x_(x),
        m_(m),
        by_nodes_(by_nodes),
        held_(as_size(by_nodes ? x.nodes() : x.ranks())),
        copied_(as_size(x.ranks())) {
    for (int from = 0; from < x.ranks(); ++from)
      for (const sparse_block& b : x.blocks[as_size(from)]) {
        blocks_[{from, b.to}] = b.bytes;
        held_[holder(from)].insert({from, b.to});
      }
  }

  std::string follow() {
    for (const auto& round : m_.all.rounds) {
      auto after = held_;
      for (const auto& one : round.messages) {
        auto wrong = take(one, after);
        if (!wrong.empty()) return wrong;
      }
      for (const auto& c : round.copies) {
        if (c.to != place::recv) continue;
        auto& [own, out_of_memory] = copied_[as_size(c.rank)];
        (c.from == place::send ? own : out_of_memory) += c.bytes;
      }
      held_ = std::move(after);
    }
    for (const auto& [b, bytes] : blocks_)
      if (!is_there(b, bytes)) return fmt::format("{}>{} has come {} times", b.first, b.second, arrived_[b]);
    return {};
  }

 private:
  [[nodiscard]] std::size_t holder(int rank) const noexcept { return as_size(by_nodes_ ? x_.node_of(rank) : rank); }

  std::string take(const whole_moves::message& one, std::vector<std::set<block>>& after) {
    if (one.from == one.to) return fmt::format("{} sends to itself", one.from);
    count_t piggybacked = 0;
    for (const block& b : one.blocks) {
      const auto known = blocks_.find(b);
      if (known == blocks_.end()) return fmt::format("nobody has a block {}>{}", b.first, b.second);
      if (!held_[holder(one.from)].contains(b)) return fmt::format("{} has no {}>{}", one.from, b.first, b.second);
      after[holder(one.to)].insert(b);
      piggybacked += known->second;
      if (holder(one.to) == holder(b.second)) ++arrived_[b];
    }
    if (one.bytes < piggybacked) return fmt::format("{} bytes from {} carry {}", one.bytes, one.from, piggybacked);
    return {};
  }

  // Data in memory that ranks share are read there: no message brings them.
  [[nodiscard]] bool is_there(const block& b, count_t bytes) {
    const auto [own, out_of_memory] = copied_[as_size(b.second)];
    if (b.first == b.second) return own == bytes;
    if (arrived_[b] == 0 && by_nodes_ && holder(b.first) == holder(b.second)) return out_of_memory >= bytes;
    return arrived_[b] == 1 || (bytes == 0 && arrived_[b] == 0);
  }

  struct copies_of {
    count_t own = 0;
    count_t out_of_memory = 0;
  };

  const sparse_pattern& x_;
  const sparse_moves& m_;
  bool by_nodes_;
  std::map<block, count_t> blocks_;
  std::vector<std::set<block>> held_;  // by rank, or by node
  std::vector<copies_of> copied_;
  std::map<block, int> arrived_;
};

}  // namespace

std::string wrong_in(const sparse_pattern& x, const sparse_moves& m, bool by_nodes) {
  return follower(x, m, by_nodes).follow();
}

}  // namespace taquin::detail
