#include "algorithms/nodes/aggregation.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/nodes/node_part.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

/// One rank's part.
class aggregation_builder : node_part {
 public:
  aggregation_builder(const local_exchange& x, const level& nodes, const node_traffic& traffic, const aggregation& how,
                      schedule& s, std::pmr::memory_resource* memory)
      : node_part(x, nodes, traffic, how, s, 2 * as_size(nodes.largest()), memory) {}

  void build() {
    s_.add_copy(s_.send_block(x_, x_.rank), s_.recv_block(x_, x_.rank));
    const int n = nodes_.groups();
    for (int first = 1; first < n; first += how_.distances) {
      const int last = std::min(first + how_.distances, n) - 1;
      gather(first, last);
      between(first, last);
      if (first == 1) inside();
      s_.end_round();
      scatter(first, last);
    }
    if (n == 1) {
      inside();
      s_.end_round();
    }
  }

 private:
  [[nodiscard]] int local(int i) const noexcept { return nodes_.member(node_, i); }
  // A handler's data for a distance: first outgoing ones of its node, by local ranks, then incoming ones, by ranks.
  [[nodiscard]] region scratch(count_t offset, count_t size) const noexcept {
    return bytes_in(place::scratch, offset, size);
  }

  void own_blocks(int node, bool send) {
    parts_.clear();
    for (const int rank : nodes_.members(node)) add_part(own_block(rank, send));
  }

  void gather(int first, int last) {
    count_t offset = 0;
    for (int d = first; d <= last; ++d) {
      const int h = handler(d);
      if (h != me_) {
        own_blocks(target(d), true);
        s_.send(local(h), parts_.data(), parts_.size(), packing_of_parts());
        continue;
      }
      for (int i = 0; i < size_; ++i) {
        const count_t bytes = traffic_.to_node(i, target(d));
        if (i != me_) {
          s_.recv(local(i), scratch(offset, bytes));
        } else {
          count_t place = offset;
          for (const int rank : nodes_.members(target(d))) {
            const region block = s_.send_block(x_, rank);
            s_.add_copy(block, scratch(place, s_.bytes(block)));
            place += s_.bytes(block);
          }
        }
        offset += bytes;
      }
      offset += received(d);
    }
    s_.scratch_bytes = std::max(s_.scratch_bytes, as_size(offset));
    s_.end_round();
  }

  void between(int first, int last) {
    count_t offset = 0;
    for (int d = first; d <= last; ++d) {
      if (handler(d) != me_) continue;
      const count_t out = sent(d);
      const count_t in = received(d);
      s_.recv(counterpart(d, source(d)), scratch(offset + out, in));
      s_.send(counterpart(d, target(d)), scratch(offset, out));
      offset += out + in;
    }
  }

  void inside() {
    for (int k = 1; k < size_; ++k) {
      const int from = local((me_ - k + size_) % size_);
      const int to = local((me_ + k) % size_);
      s_.recv(from, s_.recv_block(x_, from));
      s_.send(to, s_.send_block(x_, to));
    }
  }

  void scatter(int first, int last) {
    count_t offset = 0;
    for (int d = first; d <= last; ++d) {
      const int h = handler(d);
      if (h != me_) {
        own_blocks(source(d), false);
        s_.recv(local(h), parts_.data(), parts_.size(), packing_of_parts());
        continue;
      }
      offset += sent(d);
      for (int i = 0; i < size_; ++i) {
        if (i == me_) {
          copy_out(d, offset);
        } else {
          pieces(d, i, offset);
          s_.send(local(i), parts_.data(), parts_.size(), packing_of_parts());
        }
      }
      offset += received(d);
    }
    s_.end_round();
  }

  // Where local rank i's bytes lie in the data from distance d: a piece per rank there.
  void pieces(int d, int i, count_t offset) {
    parts_.clear();
    const auto ranks = nodes_.members(source(d));
    if (traffic_.uniform()) {
      const count_t block = traffic_.from(ranks[0], i);
      add_part(
          {offset + i * block, block, size_ * block, static_cast<std::uint32_t>(ranks.size()), bytes_, place::scratch});
      return;
    }
    for (const int rank : ranks)
      for (int j = 0; j < size_; ++j) {
        const count_t bytes = traffic_.from(rank, j);
        if (j == i) add_part(scratch(offset, bytes));
        offset += bytes;
      }
  }

  void copy_out(int d, count_t offset) {
    for (const int rank : nodes_.members(source(d)))
      for (int j = 0; j < size_; ++j) {
        const count_t bytes = traffic_.from(rank, j);
        if (j == me_) s_.add_copy(scratch(offset, bytes), s_.recv_block(x_, rank));
        offset += bytes;
      }
  }
};

}  // namespace

node_traffic::node_traffic(const level& nodes, int node, count_t block_bytes, std::pmr::memory_resource* memory)
    : nodes_(&nodes), size_(nodes.size(node)), block_(block_bytes), to_node_(memory), from_(memory) {}

node_traffic::node_traffic(const level& nodes, int node, std::pmr::vector<count_t> to_node,
                           std::pmr::vector<count_t> from)
    : nodes_(&nodes), size_(nodes.size(node)), block_(0), to_node_(std::move(to_node)), from_(std::move(from)) {}

count_t node_traffic::to_node(int i, int other) const noexcept {
  return uniform() ? block_ * nodes_->size(other) : to_node_[as_size(i) * as_size(nodes_->groups()) + as_size(other)];
}

count_t node_traffic::from(int rank, int i) const noexcept {
  return uniform() ? block_ : from_[as_size(i) * nodes_->ranks.size() + as_size(rank)];
}

schedule build_aggregated(const local_exchange& x, const level& nodes, const node_traffic& traffic,
                          const aggregation& how, std::pmr::memory_resource* memory) {
  schedule result(memory, size_of_aggregated(shape_of(x, nodes, traffic), how).parts);
  aggregation_builder(x, nodes, traffic, how, result, memory).build();
  return result;
}

// A node's only leader serves every distance; per distance it moves a message with each local rank.
aggregated_size size_of_aggregated(const shape& s, const aggregation& how) noexcept {
  const auto p = as_size(s.ranks);
  const auto others = as_size(std::max(s.nodes, 1)) - 1;
  const auto most = as_size(s.largest_node);
  const auto d = std::min(as_size(how.distances), others);
  const auto passes = others == 0 ? 1 : (others + d - 1) / d;
  const auto handled = passes * how.handled(d, most);
  aggregated_size size;
  size.parts.types = (s.kind == exchange::form::alltoallw ? 2 * p : 2) + 1;
  size.parts.messages = 2 * others + 2 * handled + 2 * others + 2 * most;
  size.parts.regions = size.parts.messages + 2 * p + (s.uniform ? 0 : handled * most);
  size.parts.copies = 2 * p + 1;
  size.parts.rounds = 3 * passes + 1;
  const auto block = as_size(s.max_block_bytes);
  const auto kept = how.handled(d, most) * most * block;  // one direction
  size.scratch = 2 * kept;
  size.staging = kept + d * most * block;
  return size;
}

}  // namespace taquin::detail
