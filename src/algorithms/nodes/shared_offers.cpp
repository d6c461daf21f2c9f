// Blocks of a plan that stay in the sender's buffer for receivers that start soon. A sender that must not wait for its
// receivers revokes the offers that they have not claimed, and copies these blocks into its payload area.
#include <algorithm>

#include "algorithms/nodes/shared_exchange.hpp"
#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

using kind = mailbox::kind;

// Polls a block that its receiver has not claimed, before the sender revokes the offer.
constexpr int idle_threshold = 100;

}  // namespace

// A block that its sender is moving is left for later, so that this rank does not wait before it has claimed the
// others.
void shared_exchange::take_offer(int writer) {
  mailbox& box = c_.from(writer);
  if (box.what() == kind::offered) box.end_offer(kind::claimed);
  const kind what = box.what();
  if (what == kind::withdrawn) {
    any_moves_ = true;
    return;
  }
  deliver_or_fail(writer);
  if (box.what() == kind::unread) return;  // its sender waits as for one that is claimed
  if (what == kind::claimed || what == kind::moved) box.become(kind::taken);
}

bool shared_exchange::take_what_was_moved() {
  for (next_ = std::max(next_, 1); next_ < c_.size(); ++next_) {
    const kind what = c_.from(peer_at(next_)).what();
    if (what == kind::withdrawn) return false;
    if (what == kind::moved) take_offer(peer_at(next_));
  }
  next_ = 0;
  return true;
}

bool shared_exchange::all_have_taken() {
  for (next_ = std::max(next_, 1); next_ < c_.size(); ++next_) {
    const int reader = peer_at(next_);
    std::size_t used = polled_rank_;
    const kind path = path_of(reader, used);
    if (path == kind::remote && !c_.has_fetched(reader, offered_)) return false;
    if (path == kind::offered && !has_taken(reader, polled_rank_)) return false;
    polled_rank_ = used;
  }
  return true;
}

// Whether the send buffer is free of this block. A reader that polls its mailboxes is about to claim it.
bool shared_exchange::has_taken(int reader, std::size_t place) {
  const kind what = c_.to(reader).what();
  if (what != kind::offered) return !mailbox::may_be_read(what);
  if (c_.is_looking(reader) || ++polls_ < idle_threshold) return false;
  return take_back(reader, place);
}

bool shared_exchange::take_back(int reader, std::size_t place) {
  mailbox& box = c_.to(reader);
  if (!box.end_offer(kind::withdrawn)) return false;
  const auto bytes = as_size(sent(reader));
  copy_bytes(c_.payload(c_.rank()) + place, send_at(reader), bytes);
  bytes_copied_ += bytes;
  box.place = place;
  box.become(kind::moved);
  return true;
}

}  // namespace taquin::detail
