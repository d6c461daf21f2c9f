// The messages of slots to the owners of blocks, and its answers to theirs.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/sizes.hpp"
#include "redistribute/pull_engine.hpp"

namespace taquin::detail {

// The blocks that were read. The owner may be elsewhere, and acknowledgements wait there: of each half of the allowed
// ones, the receipt of one is awaited, and all that were posted before it are received then.
void pull_engine::report(int source) {
  peer_state& p = pending_[as_size(source)];
  if (p.sure > 0 || 2U * p.requested < m_.sizes.per_peer) return m_.net->post(source, list_.words());
  p.sure = p.requested;
  ++awaited_;
  m_.net->post_known(source, list_.words());
}

void pull_engine::taken(int source) {
  peer_state& p = pending_[as_size(source)];
  p.requested = static_cast<std::uint8_t>(p.requested - std::exchange(p.sure, std::uint8_t{0}));
  --awaited_;
}

// The request of a peer, or its note of blocks that it has read.
void pull_engine::serve(int peer, std::span<const word> request) {
  const std::size_t count = t_.out_at[as_size(peer) + 1] - t_.out_at[as_size(peer)];
  runs_.clear();
  block_list::read(
      request, ahead,
      [&](std::uint32_t k, std::uint32_t n) {
        for (; n > 0; --n) append(runs_, t_.slot_of(peer, k++), m_.staging());
      },
      [&](std::size_t soon) {
        if (soon < count && !t_.order.empty()) __builtin_prefetch(&t_.order[t_.out_at[as_size(peer)] + soon]);
      });
  if (reader_ != nullptr && m_.net->reads(peer) && !block_list::is_marked(request)) {
    m_.net->gone(peer, units_of(runs_));
  } else if (!m_.net->send(peer, runs_, 0)) {
    return;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (i + ahead < runs_.size()) prefetch(static_cast<slot>(runs_[i + ahead].at));
    left(runs_[i]);
  }
}

void pull_engine::left(const unit_run& gone) {
  unsent_ -= static_cast<std::uint64_t>(gone.length);
  for (count_t y = gone.at; y < gone.end(); ++y) freed(static_cast<slot>(y));
}

void pull_engine::handle(const event& e) {
  switch (e.what) {
    case event::kind::message:
      serve(e.peer, e.words);
      break;
    case event::kind::arrived:
      arrived(e.id);
      break;
    case event::kind::sent:
      left(e.units);
      break;
    case event::kind::taken:
      taken(e.peer);
      break;
    case event::kind::fetched:
    case event::kind::quiet:
      break;
  }
}

}  // namespace taquin::detail
