// Notices through other ranks: the routers of all ranks are run in one process.
#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/router.hpp"
#include "simulation/sparse_drawing.hpp"

namespace taquin::detail {

namespace {

// One rank's notices and its actions on them, as routers of all ranks have it.
struct routing_rank {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<std::byte> data;
  sparse_data mine;
  std::optional<own_headers> own;
  std::optional<header_router> router;
};

struct in_flight_message {
  int from = 0;
  std::size_t channel = 0;
  int to = 0;
  int of = 0;  // class
  bool followed = false;
  std::vector<std::byte> bytes;
};

sparse_drawing::block_list blocks_in(std::span<const std::byte> message) {
  sparse_drawing::block_list all;
  message = message.subspan(header_router::head);
  while (!message.empty()) {
    const header_fields h = header_fields::of(message);
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
  r.own.emplace(rank, r.to, count_view(r.counts.data()), r.mine, as_size(most_with_header));
  r.router.emplace(rank, x.ranks(), radix, sparse_algorithm::most_message, *r.own, 1, std::pmr::new_delete_resource());
}

// All ranks' routers in steps: what one sends is received in the next step in which its receiver wants it.
void route(sparse_drawing& d, int radix) {
  std::deque<routing_rank> ranks(as_size(d.ranks()));
  for (int rank = 0; rank < d.ranks(); ++rank) prepare(ranks[as_size(rank)], d.pattern(), rank, radix);
  std::deque<in_flight_message> in_progress;
  const auto over = [](const routing_rank& r) { return r.router->done(); };
  for (;;) {
    bool news = false;
    for (int rank = 0; rank < d.ranks(); ++rank) {
      header_router& mine = *ranks[as_size(rank)].router;
      mine.advance([](std::span<const std::byte>) {});
      for (std::size_t c = 0; c < mine.outgoing(); ++c) {
        if (!mine.ready(c)) continue;
        const auto what = mine.begin(c);
        d.send(rank, mine.receiver(c), static_cast<count_t>(what.size()), blocks_in(what));
        in_progress.push_back(
            {rank, c, mine.receiver(c), mine.class_of(c), mine.followed(c), {what.begin(), what.end()}});
        if (!mine.followed(c)) mine.sent(c);
        news = true;
      }
    }
    d.next();
    for (std::size_t left = in_progress.size(); left > 0; --left) {
      in_flight_message m = std::move(in_progress.front());
      in_progress.pop_front();
      header_router& theirs = *ranks[as_size(m.to)].router;
      const auto k = as_size(m.of);
      if (!theirs.wants(k)) {
        in_progress.push_back(std::move(m));
        continue;
      }
      std::ranges::copy(m.bytes, theirs.buffer(k).begin());
      theirs.arrived(k, m.bytes.size());
      theirs.advance([](std::span<const std::byte>) {});
      if (m.followed) ranks[as_size(m.from)].router->sent(m.channel);
      news = true;
    }
    if (news) continue;
    if (!std::ranges::all_of(ranks, over)) throw std::logic_error("headers are on their way to no rank");
    return;
  }
}

}  // namespace

void sparse_drawing::route(int radix) { detail::route(*this, radix); }

}  // namespace taquin::detail
