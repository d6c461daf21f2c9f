#include "node/requested_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

using kind = mailbox::kind;

// The request that a reader writes into a mailbox.
struct request {
  std::uint64_t address;
  std::uint32_t bytes;
  std::uint32_t swap;
};
static_assert(sizeof(request) <= mailbox::capacity);

std::byte* part_for(const channel& c, int owner, int reader) noexcept {
  return c.other_payload(owner) + as_size(reader) * requested_copy::part_bytes(c);
}

}  // namespace

bool is_refusal(int code) noexcept { return code != 0 && code != EFAULT && code != ESRCH; }

std::size_t requested_copy::part_bytes(const channel& c) noexcept {
  return c.payload_bytes() / as_size(c.size()) / cache_line * cache_line;
}

requested_copy::requested_copy(channel& c, int owner, std::uint64_t address, std::size_t bytes,
                               const std::byte* back) noexcept
    : c_(c),
      owner_(owner),
      address_(address),
      bytes_(bytes),
      back_(back),
      was_(c.from(owner).what()),
      data_(c.from(owner).data) {
  post_request();
}

void requested_copy::post_request() noexcept {
  const std::size_t n = std::min(bytes_ - taken_, part_bytes(c_));
  if (n == 0) return end();
  if (back_ != nullptr) copy_bytes(part_for(c_, owner_, c_.rank()), back_ + taken_, n);
  const request r{address_ + taken_, static_cast<std::uint32_t>(n), back_ != nullptr ? 1U : 0U};
  mailbox& box = c_.from(owner_);
  std::memcpy(box.data.data(), &r, sizeof r);
  box.become(kind::requested);
}

void requested_copy::end() noexcept {
  mailbox& box = c_.from(owner_);
  box.data = data_;
  box.become(was_);
  done_ = true;
}

// The part before is complete when the caller returns.
std::span<const std::byte> requested_copy::next() noexcept {
  if (done_) return {};
  if (offset_ < taken_) {
    offset_ = taken_;
    post_request();
    if (done_) return {};
  }
  if (c_.from(owner_).what() != kind::given) return {};
  const std::size_t n = std::min(bytes_ - taken_, part_bytes(c_));
  taken_ += n;
  return {part_for(c_, owner_, c_.rank()), n};
}

void channel::give_what_is_requested() const noexcept {
  if (written_ == nullptr) return;
  for (int reader = 0; reader < size(); ++reader) {
    mailbox& box = to(reader);
    if (box.what() != kind::requested) continue;
    for (int other = 0; other < size(); ++other)  // may still read the other buffer
      if (other != rank_ && !has_arrived(other)) return;
    request r{};
    std::memcpy(&r, box.data.data(), sizeof r);
    auto* const mine = reinterpret_cast<std::byte*>(r.address);  // NOLINT(performance-no-int-to-ptr)
    std::byte* const part = part_for(*this, rank_, reader);
    if (r.swap != 0)
      std::swap_ranges(mine, mine + r.bytes, part);
    else
      copy_bytes(part, mine, r.bytes);
    box.become(kind::given);
  }
}

}  // namespace taquin::detail
