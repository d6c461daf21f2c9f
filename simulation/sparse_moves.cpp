#include "simulation/sparse_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <stdexcept>
#include <utility>

#include "algorithms/nodes/shared_exchange.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/between_nodes.hpp"
#include "algorithms/sparse/direct.hpp"
#include "algorithms/sparse/router.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "exchange/facts.hpp"
#include "node/channel.hpp"

namespace taquin::detail {

namespace {

constexpr count_t line_bytes = sizeof(node_line);
constexpr count_t most_in_line = node_line::capacity;
constexpr std::size_t message_bytes = sparse_algorithm::most_message;
constexpr count_t most_carried = message_bytes / 4;  // of a block whose data travel with its notice
constexpr count_t request_bytes = 16;
constexpr count_t of_verdict = 24;  // of the second agreement

using block_list = whole_moves::block_list;
using refusal = std::optional<std::string>;

/// Of a block in a step among nodes: its bytes there, and whether these are its data.
struct in_step {
  count_t bytes = 0;
  bool data = false;
};

class drawing {
 public:
  drawing(const sparse_pattern& x, sparse_moves& to) : x_(x), to_(to), p_(x.ranks()) {}

  [[nodiscard]] int ranks() const noexcept { return p_; }

  /// f(rank, block) for each block that leaves its rank.
  template <class Each>
  void each_block(Each f) const {
    for (int rank = 0; rank < p_; ++rank)
      for (const sparse_block& b : x_.blocks[as_size(rank)])
        if (b.to != rank) f(rank, b);
  }

  void send(int from, int to, count_t bytes, block_list blocks = {}) {
    name_round();
    to_.all.send(round_, {from, to, std::max(bytes, count_t{1}), std::move(blocks)});
  }
  void copy(int rank, count_t bytes, place from, place to) {
    name_round();
    to_.all.copy(round_, {rank, bytes, from, to});
  }
  /// Further rounds belong to this stage of the call.
  void stage(std::string_view name) noexcept { stage_ = name; }
  void next() noexcept { ++round_; }
  /// The next round begins when the ranks of each node have ended this one.
  void meet() {
    ++round_;
    to_.meets.resize(round_ + 1);
    to_.meets[round_] = true;
  }

  /// A dissemination: each rank's record reaches all others.
  void disseminate(count_t bytes, int radix) {
    for (std::int64_t w = 1; w < p_; w *= radix) {
      const auto digits = std::min<std::int64_t>(radix - 1, (p_ - 1) / w);
      for (int rank = 0; rank < p_; ++rank)
        for (std::int64_t j = 1; j <= digits; ++j) send(rank, static_cast<int>((rank + j * w) % p_), bytes);
      next();
    }
  }
  /// A step among nodes: one message for each pair of nodes and direction. `carried(rank, block)` beside records.
  void step_among_nodes(const std::function<in_step(int, const sparse_block&)>& carried) {
    const int nodes = x_.nodes();
    std::vector<count_t> bytes(as_size(nodes) * as_size(nodes));
    std::vector<block_list> blocks(bytes.size());
    each_block([&](int from, const sparse_block& b) {
      const auto [n, data] = carried(from, b);
      if (n == 0) return;
      copy(from, n, place::send, place::shared);
      const std::size_t pair = as_size(x_.node_of(from)) * as_size(nodes) + as_size(x_.node_of(b.to));
      bytes[pair] += n;
      if (data) blocks[pair].emplace_back(from, b.to);
    });
    for (int rank = 0; rank < p_; ++rank) copy(rank, fact_record::head, place::send, place::shared);
    meet();
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b) {
        if (a == b) continue;
        const std::size_t pair = as_size(a) * as_size(nodes) + as_size(b);
        const int from = first(a) + b % size(a);
        send(from, first(b) + a % size(b), size(a) * static_cast<count_t>(fact_record::head) + bytes[pair],
             std::move(blocks[pair]));
      }
    meet();
    for (int rank = 0; rank < p_; ++rank)
      copy(rank, p_ * static_cast<count_t>(fact_record::head), place::shared, place::recv);
    each_block([&](int from, const sparse_block& b) {
      if (const count_t n = carried(from, b).bytes; n > 0) copy(b.to, n, place::shared, place::recv);
    });
    next();
  }
  /// The agreement of a call that is not one step of a node.
  void agree() {
    stage(sparse_moves::agree);
    if (x_.nodes() == 1 && p_ > 1) {
      for (int rank = 0; rank < p_; ++rank) copy(rank, fact_record::head, place::send, place::shared);
      meet();
      for (int rank = 0; rank < p_; ++rank)
        copy(rank, p_ * static_cast<count_t>(fact_record::head), place::shared, place::recv);
      next();
    } else if (x_.per_node > 1) {
      step_among_nodes([](int, const sparse_block&) { return in_step{}; });
    } else {
      disseminate(fact_record::head, agreement_radix(p_));
    }
    stage(sparse_moves::find);
  }
  /// Data of more than `carried` bytes are requested.
  void asked_for(count_t carried) {
    stage(sparse_moves::move);
    const auto each_left = [&](auto f) {
      each_block([&](int from, const sparse_block& b) {
        if (b.bytes > carried) f(from, b);
      });
    };
    each_left([&](int from, const sparse_block& b) { send(b.to, from, request_bytes); });
    next();
    each_left([&](int from, const sparse_block& b) { send(from, b.to, b.bytes, {{from, b.to}}); });
    next();
  }
  /// A rank's block for itself.
  void own() {
    for (int rank = 0; rank < p_; ++rank)
      for (const sparse_block& b : x_.blocks[as_size(rank)])
        if (b.to == rank) copy(rank, b.bytes, place::send, place::recv);
  }
  [[nodiscard]] const sparse_pattern& pattern() const noexcept { return x_; }
  [[nodiscard]] sparse_moves& moves() noexcept { return to_; }

 private:
  [[nodiscard]] int first(int node) const noexcept { return node * x_.per_node; }
  [[nodiscard]] int size(int node) const noexcept { return std::min(x_.per_node, p_ - first(node)); }

  void name_round() {
    if (to_.stages.size() <= round_) to_.stages.resize(round_ + 1);
    to_.stages[round_] = stage_;
  }

  const sparse_pattern& x_;
  sparse_moves& to_;
  int p_;
  std::string_view stage_ = sparse_moves::find;
  std::size_t round_ = 0;
};

// Of each algorithm of the list.
template <const sparse_algorithm& which>
refusal moves(drawing& d) = delete;

// Lines for all, and small data in the room; then each rank reads its part.
template <>
refusal moves<node_step_way>(drawing& d) {
  if (d.pattern().nodes() != 1) return "it needs all ranks on one node";
  d.moves().all.through_memory = true;
  for (int rank = 0; rank < d.ranks(); ++rank) d.copy(rank, d.ranks() * line_bytes, place::send, place::shared);
  d.each_block([&](int from, const sparse_block& b) {
    if (b.bytes > most_in_line && b.bytes <= shared_exchange::most_in_room)
      d.copy(from, b.bytes, place::send, place::shared);
  });
  d.own();
  d.meet();
  for (int rank = 0; rank < d.ranks(); ++rank) d.copy(rank, d.ranks() * line_bytes, place::shared, place::recv);
  d.each_block([&](int from, const sparse_block& b) { d.send(from, b.to, b.bytes, {{from, b.to}}); });
  d.next();
  return std::nullopt;
}

// Blocks of up to 8 KiB travel in the step; the others follow, by requests where they are many.
template <>
refusal moves<between_nodes_way>(drawing& d) {
  const sparse_pattern& x = d.pattern();
  if (x.nodes() == 1 || x.per_node == 1) return "it needs several nodes, with several ranks on one of them";
  constexpr count_t of_block = 8;
  constexpr count_t most = 8192 - of_block;
  d.own();
  d.step_among_nodes([&](int, const sparse_block& b) {
    return b.bytes <= most ? in_step{of_block + b.bytes, true} : in_step{2 * of_block, false};
  });
  bool few = as_size(x.ranks()) <= x.in_flight;
  for (const auto& mine : x.blocks) {
    count_t left = 0;
    for (const sparse_block& b : mine) left += b.bytes > most ? b.bytes : 0;
    few = few && as_size(left) <= carried_notices::most_unasked;
  }
  if (!few) {
    d.asked_for(most);
    return std::nullopt;
  }
  d.stage(sparse_moves::move);
  d.each_block([&](int from, const sparse_block& b) {
    if (b.bytes > most) d.send(from, b.to, b.bytes, {{from, b.to}});
  });
  d.next();
  return std::nullopt;
}

// Ranks agree that all have their notices, and the data in them; the other data are requested.
void end_of_stages(drawing& d) {
  d.stage(sparse_moves::agree_again);
  d.disseminate(of_verdict, 2);
  d.asked_for(most_carried);
}

count_t notice_bytes(const sparse_block& b) {
  const count_t data = b.bytes <= most_carried ? (b.bytes + 7) / 8 * 8 : 0;
  return static_cast<count_t>(sizeof(notice_head)) + data;
}

void notices_at_once(drawing& d) {
  d.each_block([&](int from, const sparse_block& b) {
    d.send(from, b.to, notice_bytes(b), b.bytes <= most_carried ? block_list{{from, b.to}} : block_list{});
  });
  d.own();
  d.next();
}

// In each round half of the counts of all ranks are sent on.
void reduce_counts(drawing& d) {
  const int p = d.ranks();
  count_t bytes = static_cast<count_t>(p) * 4;
  for (int w = 1; w < p; w *= 2) {
    bytes = std::max(bytes / 2, count_t{4});
    for (int rank = 0; rank < p; ++rank) d.send(rank, (rank + w) % p, bytes);
    d.next();
  }
}

template <>
refusal moves<notify_nbx>(drawing& d) {
  d.agree();
  notices_at_once(d);
  d.disseminate(1, 2);
  end_of_stages(d);
  return std::nullopt;
}

template <>
refusal moves<notify_counts>(drawing& d) {
  d.agree();
  reduce_counts(d);
  notices_at_once(d);
  end_of_stages(d);
  return std::nullopt;
}

// One rank's router with its notices.
struct routing_rank {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<std::byte> data;
  sparse_data mine;
  std::optional<own_notices> own;
  std::optional<notice_router> router;
};

struct on_its_way {
  int from = 0;
  std::size_t channel = 0;
  int to = 0;
  int of = 0;  // class
  bool followed = false;
  std::vector<std::byte> bytes;
};

block_list blocks_in(std::span<const std::byte> message) {
  block_list all;
  message = message.subspan(notice_router::head);
  while (!message.empty()) {
    const notice_head h = notice_head::of(message);
    if (h.has_data()) all.emplace_back(h.from, h.to);
    message = message.subspan(h.bytes(1));
  }
  return all;
}

void prepare(routing_rank& r, const sparse_pattern& x, int rank, int radix) {
  for (const sparse_block& b : x.blocks[as_size(rank)]) {
    r.to.push_back(b.to);
    r.counts.push_back(b.bytes);
    r.mine.to_send += b.bytes;
  }
  r.data.resize(as_size(r.mine.to_send));
  r.mine.at = r.data.data();
  r.mine.element = element::bytes(1);
  r.own.emplace(rank, r.to, count_view(r.counts.data()), r.mine, as_size(most_carried));
  r.router.emplace(rank, x.ranks(), radix, message_bytes, *r.own, 1, std::pmr::new_delete_resource());
}

// All ranks' routers in steps: a message is received in the next step in which its receiver accepts it.
void route(drawing& d, int radix) {
  std::deque<routing_rank> ranks(as_size(d.ranks()));
  for (int rank = 0; rank < d.ranks(); ++rank) prepare(ranks[as_size(rank)], d.pattern(), rank, radix);
  std::deque<on_its_way> under_way;
  const auto over = [](const routing_rank& r) { return r.router->over(); };
  for (;;) {
    bool news = false;
    for (int rank = 0; rank < d.ranks(); ++rank) {
      notice_router& mine = *ranks[as_size(rank)].router;
      mine.advance([](std::span<const std::byte>) {});
      for (std::size_t c = 0; c < mine.outgoing(); ++c) {
        if (!mine.ready(c)) continue;
        const auto what = mine.begin(c);
        d.send(rank, mine.receiver(c), static_cast<count_t>(what.size()), blocks_in(what));
        under_way.push_back(
            {rank, c, mine.receiver(c), mine.class_of(c), mine.followed(c), {what.begin(), what.end()}});
        if (!mine.followed(c)) mine.sent(c);
        news = true;
      }
    }
    d.next();
    for (std::size_t left = under_way.size(); left > 0; --left) {
      on_its_way m = std::move(under_way.front());
      under_way.pop_front();
      notice_router& theirs = *ranks[as_size(m.to)].router;
      const auto k = as_size(m.of);
      if (!theirs.wants(k)) {
        under_way.push_back(std::move(m));
        continue;
      }
      std::ranges::copy(m.bytes, theirs.room(k).begin());
      theirs.came(k, m.bytes.size());
      theirs.advance([](std::span<const std::byte>) {});
      if (m.followed) ranks[as_size(m.from)].router->sent(m.channel);
      news = true;
    }
    if (news) continue;
    if (!std::ranges::all_of(ranks, over)) throw std::logic_error("notices are on their way to nobody");
    return;
  }
}

refusal routed_moves(drawing& d, const sparse_algorithm& which) {
  d.own();
  d.agree();
  route(d, which.radix(d.ranks(), d.pattern().in_flight));
  end_of_stages(d);
  return std::nullopt;
}

template <>
refusal moves<notify_tree>(drawing& d) {
  return routed_moves(d, notify_tree);
}

template <>
refusal moves<notify_grid>(drawing& d) {
  return routed_moves(d, notify_grid);
}

struct drawn {
  const sparse_algorithm* which;
  refusal (*moves)(drawing& d);
};
#define TAQUIN_SPARSE(NAME) drawn{&(NAME), moves<NAME>},
constexpr std::array all_drawn{
#include "algorithms/sparse/sparse.def"
};
#undef TAQUIN_SPARSE

}  // namespace

std::optional<std::string> add_sparse_moves(const sparse_algorithm& a, const sparse_pattern& x, sparse_moves& to) {
  if (a.most_ranks != nullptr)
    if (const int most = a.most_ranks({.ranks = x.ranks(), .in_flight = x.in_flight}); most < x.ranks())
      return fmt::format("it serves at most {} ranks where {} messages may be in flight", most, x.in_flight);
  drawing d(x, to);
  return std::ranges::find(all_drawn, &a, &drawn::which)->moves(d);
}

}  // namespace taquin::detail
