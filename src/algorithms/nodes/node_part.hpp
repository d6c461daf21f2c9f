// The common parts of the builders of aggregated exchanges: one rank's place among its node's ranks, bytes between
// nodes, and lists of blocks for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "algorithms/nodes/aggregation.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

class node_part {
 protected:
  /// Lists hold at most `parts` regions without growing.
  node_part(const local_exchange& x, const level& nodes, const node_traffic& traffic, const aggregation& how,
            schedule& s, std::size_t parts, std::pmr::memory_resource* memory)
      : x_(x),
        nodes_(nodes),
        traffic_(traffic),
        node_(nodes.group[as_size(x.rank)]),
        me_(nodes.index[as_size(x.rank)]),
        size_(nodes.size(node_)),
        how_(how),
        s_(s),
        parts_(memory) {
    s.add_types(x);
    bytes_ = s.add_type(element::bytes(1));
    parts_.reserve(parts);
  }

  [[nodiscard]] int target(int d) const noexcept { return (node_ + d) % nodes_.groups(); }
  [[nodiscard]] int source(int d) const noexcept { return (node_ - d + nodes_.groups()) % nodes_.groups(); }
  /// The local rank of this node that serves this distance.
  [[nodiscard]] int handler(int d) const noexcept { return how_.handler(d, size_); }
  /// The rank of another node that sends, or receives, at this distance.
  [[nodiscard]] int counterpart(int d, int node) const noexcept {
    return nodes_.member(node, how_.handler(d, nodes_.size(node)));
  }
  /// Bytes of this node to and from the nodes at this distance; bytes to itself count as sent only.
  [[nodiscard]] count_t sent(int d) const noexcept {
    count_t sum = 0;
    for (int i = 0; i < size_; ++i) sum += traffic_.to_node(i, target(d));
    return sum;
  }
  [[nodiscard]] count_t received(int d) const noexcept {
    if (d == 0) return 0;
    if (traffic_.uniform()) return traffic_.from(0, 0) * size_ * nodes_.size(source(d));
    count_t sum = 0;
    for (const int rank : nodes_.members(source(d)))
      for (int i = 0; i < size_; ++i) sum += traffic_.from(rank, i);
    return sum;
  }

  [[nodiscard]] region bytes_in(place where, count_t offset, count_t size) const noexcept {
    return {offset, size, 0, 1, bytes_, where};
  }

  /// A block as plain bytes where its type allows.
  [[nodiscard]] region plain(const region& r) const noexcept {
    const element& e = s_.types[r.type];
    return e.contiguous() ? bytes_in(r.where, r.offset, r.count * e.size) : r;
  }

  /// This rank's block for, or from, another.
  [[nodiscard]] region own_block(int rank, bool send) const noexcept {
    return plain(send ? s_.send_block(x_, rank) : s_.recv_block(x_, rank));
  }

  /// Adds to parts_, as a longer run of the last part where it follows it.
  void add_part(const region& r) {
    if (s_.bytes(r) == 0) return;
    if (!parts_.empty()) {
      region& last = parts_.back();
      const count_t extent = s_.types[r.type].extent;
      if (last.type == r.type && last.where == r.where && last.repeat == 1 && r.repeat == 1 &&
          last.offset + last.count * extent == r.offset) {
        last.count += r.count;
        return;
      }
    }
    parts_.push_back(r);
  }

  /// How a message of parts_ travels.
  [[nodiscard]] packing packing_of_parts() const noexcept {
    return parts_.size() == 1 && parts_[0].type == bytes_ && parts_[0].repeat == 1 ? packing::datatype
                                                                                   : packing::packed;
  }

  const local_exchange& x_;
  const level& nodes_;
  const node_traffic& traffic_;
  int node_;
  int me_;
  int size_;
  aggregation how_;
  schedule& s_;
  std::uint32_t bytes_ = 0;
  std::pmr::vector<region> parts_;
};

/// The bounds of a schedule follow from the shape of the nodes' exchange.
inline shape shape_of(const local_exchange& x, const level& nodes, const node_traffic& traffic) noexcept {
  return {.ranks = x.ranks,
          .kind = x.send.elements != nullptr ? exchange::form::alltoallw : exchange::form::alltoallv,
          .uniform = traffic.uniform(),
          .max_block_bytes = traffic.uniform() ? static_cast<std::uint64_t>(traffic.from(0, 0)) : 0,
          .nodes = nodes.groups(),
          .largest_node = nodes.largest()};
}

}  // namespace taquin::detail
