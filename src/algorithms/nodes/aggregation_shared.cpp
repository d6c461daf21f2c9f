#include <algorithm>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/nodes/node_part.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

// MPI libraries send up to 64 KiB between nodes eagerly, envelope included. Equal blocks of up to a quarter of that
// travel in such messages, as many as are needed (six hosts of two ranks, 16 KiB per pair: 0.75 of native's time
// instead of 1.1). 0: all in one message.
constexpr count_t most_eager = 60000;
constexpr count_t blocks_in_message(count_t block_bytes) noexcept {
  return block_bytes > 0 && block_bytes <= most_eager / 3 ? most_eager / block_bytes : 0;
}

/// One rank's part. A pass serves distances [first, last]; distance 0 is the node itself. For each distance the node's
/// memory holds the data that its ranks send, by senders, and the incoming data, by senders and then receivers.
class shared_aggregation_builder : node_part {
 public:
  shared_aggregation_builder(const local_exchange& x, const level& nodes, const node_traffic& traffic,
                             const aggregation& how, schedule& s, std::pmr::memory_resource* memory)
      : node_part(x, nodes, traffic, how, s, as_size(nodes.largest()), memory) {}

  void build() {
    s_.add_copy(s_.send_block(x_, x_.rank), s_.recv_block(x_, x_.rank));
    for (int first = 0; first < nodes_.groups(); first += how_.distances) {
      const int last = std::min(first + how_.distances, nodes_.groups()) - 1;
      if (size_ == 1) {
        alone(first, last);
      } else {
        share(first, last);
      }
    }
  }

 private:
  // True for the local rank that moves the message to, and the one from, this distance.
  [[nodiscard]] bool serves(int d) const noexcept { return d > 0 && handler(d) == me_; }
  [[nodiscard]] region shared(count_t offset, count_t size) const noexcept {
    return bytes_in(place::shared, offset, size);
  }

  /// Calls f(distance, begin of the outgoing data, begin of the incoming data).
  template <class F>
  count_t for_each_distance(int first, int last, F f) const {
    count_t offset = 0;
    for (int d = first; d <= last; ++d) {
      const count_t out = sent(d);
      f(d, offset, offset + out);
      offset += out + received(d);
    }
    return offset;
  }

  void share(int first, int last) {
    const int before = s_.arrivals;
    s_.await(before);
    const count_t bytes = for_each_distance(first, last, [&](int d, count_t out, count_t in) {
      if (serves(d)) in_messages(in, received(d), [&](const region& r) { s_.recv(counterpart(d, source(d)), r); });
      write(d, out);
    });
    s_.shared_bytes = std::max(s_.shared_bytes, as_size(bytes));
    s_.join();
    s_.arrive();
    s_.await(before + 1);
    for_each_distance(first, last, [&](int d, count_t out, count_t) {
      if (d == 0) {
        read_neighbours(out);
      } else if (serves(d)) {
        in_messages(out, sent(d), [&](const region& r) { s_.send(counterpart(d, target(d)), r); });
      }
    });
    s_.arrive();
    s_.await(before + 2);
    const std::size_t copies = s_.copies.size();
    for_each_distance(first, last, [&](int d, count_t, count_t in) {
      if (d > 0) read(d, in, copies);
    });
    s_.arrive();
  }

  // Sender and receiver cut at the same places: between blocks, which all have one size.
  [[nodiscard]] count_t blocks_at_once() const noexcept {
    return traffic_.uniform() ? blocks_in_message(traffic_.from(0, 0)) : 0;
  }
  template <class F>
  void in_messages(count_t offset, count_t size, F f) const {
    const count_t most = blocks_at_once() > 0 ? blocks_at_once() * traffic_.from(0, 0) : size;
    for (count_t done = 0; done < size; done += most) f(shared(offset + done, std::min(most, size - done)));
  }

  void write(int d, count_t offset) {
    for (int i = 0; i < me_; ++i) offset += traffic_.to_node(i, target(d));
    const std::size_t first = s_.copies.size();
    for (const int rank : nodes_.members(target(d))) {
      const region block = s_.send_block(x_, rank);
      const count_t size = s_.bytes(block);
      if (rank != x_.rank && size > 0) bruck::add_joined_copy(s_, first, block, shared(offset, size));
      offset += size;
    }
  }

  // The blocks that the node's other ranks have written for this one.
  void read_neighbours(count_t offset) {
    const std::size_t first = s_.copies.size();
    for (int i = 0; i < size_; ++i) {
      const int rank = nodes_.member(node_, i);
      count_t place = offset;
      for (int j = 0; j < me_; ++j) place += traffic_.from(rank, j);
      const count_t size = traffic_.from(rank, me_);
      if (rank != x_.rank && size > 0) bruck::add_joined_copy(s_, first, shared(place, size), s_.recv_block(x_, rank));
      offset += traffic_.to_node(i, node_);
    }
  }

  void read(int d, count_t offset, std::size_t first) {
    for (const int rank : nodes_.members(source(d)))
      for (int j = 0; j < size_; ++j) {
        const count_t size = traffic_.from(rank, j);
        if (j == me_ && size > 0) bruck::add_joined_copy(s_, first, shared(offset, size), s_.recv_block(x_, rank));
        offset += size;
      }
  }

  void alone(int first, int last) {
    for (int d = std::max(first, 1); d <= last; ++d) {
      own_blocks(source(d), false,
                 [&] { s_.recv(counterpart(d, source(d)), parts_.data(), parts_.size(), packing_of_parts()); });
      own_blocks(target(d), true,
                 [&] { s_.send(counterpart(d, target(d)), parts_.data(), parts_.size(), packing_of_parts()); });
    }
    s_.end_round();
  }

  // Blocks of one node's ranks, joined where they are contiguous; calls f for those of each message.
  template <class F>
  void own_blocks(int node, bool send, F f) {
    count_t taken = 0;
    parts_.clear();
    for (const int rank : nodes_.members(node)) {
      add_part(own_block(rank, send));
      if (++taken != blocks_at_once()) continue;
      f();
      parts_.clear();
      taken = 0;
    }
    if (!parts_.empty()) f();
  }
};

}  // namespace

schedule build_shared(const local_exchange& x, const level& nodes, const node_traffic& traffic, const aggregation& how,
                      std::pmr::memory_resource* memory) {
  schedule result(memory, size_of_shared(shape_of(x, nodes, traffic), how).parts);
  shared_aggregation_builder(x, nodes, traffic, how, result, memory).build();
  return result;
}

aggregated_size size_of_shared(const shape& s, const aggregation& how) noexcept {
  const auto p = as_size(s.ranks);
  const auto nodes = as_size(std::max(s.nodes, 1));
  const auto d = std::min(as_size(how.distances), nodes);
  const auto passes = (nodes + d - 1) / d;
  aggregated_size size;
  size.parts.types = (s.kind == exchange::form::alltoallw ? 2 * p : 2) + 1;
  const auto most = as_size(s.largest_node);
  const auto together = as_size(blocks_in_message(static_cast<count_t>(s.max_block_bytes)));
  const std::size_t more = s.uniform && together > 0 ? how.handled(nodes - 1, most) * most / together : 0;
  size.parts.messages = 2 * (2 * (nodes - 1) + more);
  size.parts.regions = size.parts.messages + 2 * p;
  size.parts.copies = 2 * p + 1;
  size.parts.rounds = 3 * passes + 1;
  size.scratch = 2 * std::min(d * most, p) * as_size(s.max_block_bytes);
  return size;
}

}  // namespace taquin::detail
