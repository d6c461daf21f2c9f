// Notices in transit through other ranks, in bounded memory: a pure state machine of one rank.
//
// With radix r, the path of a notice, (destination − rank) mod p, has digits; it takes a hop for each that is not 0,
// the lowest first: digit d at r^k is a hop in class k to rank + d·r^k. Each hop has a channel, with one message in
// flight and the buffer for one in each rank. A channel's last message is marked, and is sent when nothing more can
// arrive for it: the rank's own blocks are done, and so are all incoming channels of lower classes. So few notices need
// one message for each channel, as in a Bruck exchange, and many need as many as they fill.
//
// It ends: notices of class k continue in higher classes only, and those of the last class are for this rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/sparse/headers.hpp"
#include "base/arrays.hpp"
#include "base/copy_bytes.hpp"
#include "base/raw_buffer.hpp"

namespace taquin::detail {

class header_router {
 public:
  static constexpr std::size_t head = sizeof(std::uint64_t);  ///< of a message: whether it is its channel's last

  header_router(int rank, int ranks, int radix, std::size_t message_bytes, own_headers& mine, count_t element_bytes,
                std::pmr::memory_resource* memory);
  static std::size_t footprint(int ranks, int radix, std::size_t message_bytes) noexcept;
  /// Channels of a rank, as many in as out.
  static int channels(int ranks, int radix) noexcept;
  static int classes(int ranks, int radix) noexcept;
  /// The greatest power of two up to `most` with which a rank has no more channels than `in_flight`; 2 at least.
  static int radix_for(int ranks, int most, std::size_t in_flight) noexcept;

  /// Sends and receives as far as possible now. `deliver(notice)` receives the notices for this rank.
  template <class Deliver>
  void advance(Deliver deliver) {
    for (std::size_t k = in_.size(); k-- > 0;) forward(k, deliver);
    while (!mine_.done() && inject(deliver)) {
    }
    for (out& c : out_)
      if (!c.last && nothing_before(c.of)) c.last = true;
  }
  /// The last message of every channel was sent and has arrived, and all notices are where they belong.
  [[nodiscard]] bool done() const noexcept {
    return mine_.done() && std::ranges::all_of(out_, &out::ended) &&
           std::ranges::all_of(in_, [](const in& i) { return i.open == 0 && i.at == i.end; });
  }

  [[nodiscard]] std::size_t outgoing() const noexcept { return out_.size(); }
  [[nodiscard]] int receiver(std::size_t c) const noexcept { return out_[c].to; }
  [[nodiscard]] int class_of(std::size_t c) const noexcept { return static_cast<int>(out_[c].of); }
  /// A message of the channel must be sent, and is not in flight yet.
  [[nodiscard]] bool ready(std::size_t c) const noexcept {
    return !out_[c].leaves && !out_[c].ended && (out_[c].full || out_[c].last);
  }
  /// Another message of the channel follows it.
  [[nodiscard]] bool followed(std::size_t c) const noexcept { return out_[c].full; }
  /// Takes it; it stays as it is until sent().
  std::span<const std::byte> begin(std::size_t c) noexcept;
  void sent(std::size_t c) noexcept;

  [[nodiscard]] std::size_t incoming() const noexcept { return in_.size(); }
  /// A message in class k can be received, from any rank.
  [[nodiscard]] bool wants(std::size_t k) const noexcept { return in_[k].open > 0 && in_[k].at == in_[k].end; }
  [[nodiscard]] std::span<std::byte> buffer(std::size_t k) noexcept { return {place(out_.size() + k), message_bytes_}; }
  /// So many bytes of a message have arrived there.
  void arrived(std::size_t k, std::size_t bytes) noexcept;

 private:
  struct out {
    int to = 0;
    std::uint32_t used = head;  // bytes
    std::uint16_t of = 0;       // its class
    bool leaves = false;
    bool full = false;
    bool last = false;
    bool ended = false;  // the last one has left
  };
  struct in {
    int open = 0;  // channels whose last message has not arrived
    std::uint32_t at = 0;
    std::uint32_t end = 0;
  };
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t outgoing, std::size_t incoming, std::size_t message_bytes) {
    each(&header_router::out_, outgoing);
    each(&header_router::in_, incoming);
    each(&header_router::buffers_, (outgoing + incoming + 1) * message_bytes);
  }

  [[nodiscard]] std::byte* place(std::size_t i) const noexcept { return buffers_.data() + i * message_bytes_; }
  [[nodiscard]] bool nothing_before(std::size_t k) const noexcept {
    return mine_.done() && std::all_of(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(k),
                                       [](const in& i) { return i.open == 0 && i.at == i.end; });
  }
  // The channel of a notice in class `least` or above; outgoing(): it is here.
  [[nodiscard]] std::size_t channel_for(int to, std::size_t least) const noexcept;
  // Where so many bytes go in a channel's message; null: not now.
  std::byte* append(std::size_t c, std::size_t bytes) noexcept;

  template <class Deliver>
  void forward(std::size_t k, Deliver& deliver) {
    in& i = in_[k];
    while (i.at < i.end) {
      const std::span<const std::byte> rest(buffer(k).subspan(i.at, i.end - i.at));
      const header_fields h = header_fields::of(rest);
      const auto one = rest.first(h.bytes(element_bytes_));
      const std::size_t c = channel_for(h.to, k + 1);
      if (c == outgoing()) {
        deliver(one);
      } else {
        std::byte* const to = append(c, one.size());
        if (to == nullptr) return;
        copy_bytes(to, one.data(), one.size());
      }
      i.at += static_cast<std::uint32_t>(one.size());
    }
  }
  template <class Deliver>
  bool inject(Deliver& deliver) {
    const std::size_t n = mine_.bytes();
    const std::size_t c = channel_for(mine_.head().to, 0);
    if (c == outgoing()) {
      std::byte* const own = place(out_.size() + in_.size());
      mine_.write(own);
      deliver(std::span<const std::byte>(own, n));
      return true;
    }
    std::byte* const to = append(c, n);
    if (to != nullptr) mine_.write(to);
    return to != nullptr;
  }

  int rank_;
  int ranks_;
  int radix_;
  std::size_t message_bytes_;
  own_headers& mine_;
  count_t element_bytes_;
  std::pmr::vector<out> out_;  // by class, then by digit
  std::pmr::vector<in> in_;    // by class
  raw_buffer buffers_;         // a message of each channel, one of each class, and a block of this rank for itself
};

}  // namespace taquin::detail
