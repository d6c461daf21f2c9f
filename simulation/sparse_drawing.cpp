#include "simulation/sparse_drawing.hpp"

#include <vector>

#include "algorithms/sparse/grants.hpp"
#include "call/agree.hpp"
#include "call/agreement_rounds.hpp"
#include "call/forwarded_blocks.hpp"
#include "exchange/properties.hpp"
#include "node/internode.hpp"

namespace taquin::detail {

namespace {

constexpr auto record_bytes = static_cast<count_t>(property_record::head);

}  // namespace

bool step_suits(const sparse_pattern& x) noexcept {
  const int last = x.ranks() - (x.nodes() - 1) * x.per_node;
  return internode::suits(x.ranks(), x.nodes(), std::min(x.per_node, x.ranks()), last);
}

void sparse_drawing::name_round() {
  if (to_.stages.size() <= round_) to_.stages.resize(round_ + 1);
  to_.stages[round_] = stage_;
}

void sparse_drawing::next_when_taken() {
  to_.taken.resize(round_ + 1);
  to_.taken[round_] = true;
  ++round_;
}

void sparse_drawing::synchronize() {
  ++round_;
  to_.synchronizes.resize(round_ + 1);
  to_.synchronizes[round_] = true;
}

void sparse_drawing::disseminate(count_t bytes, int radix) {
  for (std::int64_t w = 1; w < p_; w *= radix) {
    const auto digits = std::min<std::int64_t>(radix - 1, (p_ - 1) / w);
    for (int rank = 0; rank < p_; ++rank)
      for (std::int64_t j = 1; j <= digits; ++j) send(rank, static_cast<int>((rank + j * w) % p_), bytes);
    next();
  }
}

// Each round forwards half of the values of all ranks.
void sparse_drawing::reduce_counts() {
  count_t bytes = static_cast<count_t>(p_) * 4;
  for (int w = 1; w < p_; w *= 2) {
    bytes = std::max(bytes / 2, count_t{4});
    for (int rank = 0; rank < p_; ++rank) send(rank, (rank + w) % p_, bytes);
    next();
  }
}

void sparse_drawing::step_among_nodes(const std::function<in_step(int, const sparse_block&)>& piggybacked) {
  const int nodes = x_.nodes();
  std::vector<count_t> bytes(as_size(nodes) * as_size(nodes));
  std::vector<block_list> blocks(bytes.size());
  each_block([&](int from, const sparse_block& b) {
    const auto [n, data] = piggybacked(from, b);
    if (n == 0) return;
    copy(from, n, place::send, place::shared);
    const std::size_t pair = as_size(x_.node_of(from)) * as_size(nodes) + as_size(x_.node_of(b.to));
    bytes[pair] += n;
    if (data) blocks[pair].emplace_back(from, b.to);
  });
  for (int rank = 0; rank < p_; ++rank) copy(rank, record_bytes, place::send, place::shared);
  synchronize();
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b) {
      if (a == b) continue;
      const std::size_t pair = as_size(a) * as_size(nodes) + as_size(b);
      const int from = first(a) + b % size(a);
      send(from, first(b) + a % size(b), size(a) * record_bytes + bytes[pair], std::move(blocks[pair]));
    }
  synchronize();
  for (int rank = 0; rank < p_; ++rank) copy(rank, p_ * record_bytes, place::shared, place::recv);
  each_block([&](int from, const sparse_block& b) {
    if (const count_t n = piggybacked(from, b).bytes; n > 0) copy(b.to, n, place::shared, place::recv);
  });
  next();
}

void sparse_drawing::forward(const std::function<in_step(int, const sparse_block&)>& piggybacked) {
  struct block {
    int from;
    int to;
    in_step in_message;
  };
  std::vector<std::vector<block>> held(as_size(p_));
  each_block([&](int from, const sparse_block& b) {
    held[as_size(from)].push_back({from, b.to, piggybacked(from, b)});
  });
  for (agreement_rounds r(p_); !r.done(); r.next()) {
    std::vector<std::vector<block>> after(held.size());
    for (int rank = 0; rank < p_; ++rank) {
      std::vector<count_t> bytes(as_size(r.digits() + 1), sizeof(property_record));
      std::vector<block_list> blocks(bytes.size());
      for (const block& b : held[as_size(rank)]) {
        const auto digit = as_size((b.to - rank + p_) % p_ / r.width() % r.radix());
        bytes[digit] += static_cast<count_t>(forwarded_blocks::with_head(as_size(b.in_message.bytes)));
        if (b.in_message.data) blocks[digit].emplace_back(b.from, b.to);
        after[as_size((rank + static_cast<int>(digit) * r.width()) % p_)].push_back(b);
      }
      for (int z = 1; z <= r.digits(); ++z)
        send(rank, (rank + z * r.width()) % p_, bytes[as_size(z)], std::move(blocks[as_size(z)]));
    }
    held = std::move(after);
    next();
  }
}

void sparse_drawing::agree() {
  stage(sparse_moves::agree);
  if (x_.nodes() == 1 && p_ > 1) {
    for (int rank = 0; rank < p_; ++rank) copy(rank, record_bytes, place::send, place::shared);
    synchronize();
    for (int rank = 0; rank < p_; ++rank) copy(rank, p_ * record_bytes, place::shared, place::recv);
    next();
  } else if (step_suits(x_)) {
    step_among_nodes([](int, const sparse_block&) { return in_step{}; });
  } else {
    disseminate(record_bytes, agreement_radix(p_));
  }
  stage(sparse_moves::find);
}

void sparse_drawing::requested_for(count_t piggybacked) {
  stage(sparse_moves::move);
  const auto each_left = [&](auto f) {
    each_block([&](int from, const sparse_block& b) {
      if (b.bytes > piggybacked) f(from, b);
    });
  };
  each_left([&](int from, const sparse_block& b) { send(b.to, from, sparse_grants::request_bytes); });
  next();
  each_left([&](int from, const sparse_block& b) { send(from, b.to, b.bytes, {{from, b.to}}); });
  next();
}

void sparse_drawing::own() {
  for (int rank = 0; rank < p_; ++rank)
    for (const sparse_block& b : x_.blocks[as_size(rank)])
      if (b.to == rank) copy(rank, b.bytes, place::send, place::recv);
}

}  // namespace taquin::detail
