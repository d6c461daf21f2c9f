#include "layouts/failed_move.hpp"

#include <algorithm>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "call/failure_map.hpp"
#include "layouts/access.hpp"
#include "layouts/axis.hpp"
#include "layouts/chunk_walk.hpp"
#include "layouts/shape.hpp"

namespace taquin::detail {

namespace {

using failure::block_map;
using failure::part;
using failure::state;

// In order of their places in the array that they belong to; parts that continue each other are one.
std::vector<part> in_order(std::vector<part> parts) {
  std::ranges::stable_sort(parts, {}, [](const part& p) { return std::pair(p.peer, p.offset); });
  std::vector<part> joined;
  for (const part& p : parts) append(joined, p);
  std::ranges::stable_sort(joined, {}, &part::offset);
  return joined;
}

class move_problem {
 public:
  explicit move_problem(const failed_move& m)
      : move_(m),
        to_(m.to),
        shape_(m.from, to_, m.options, std::pmr::get_default_resource()),
        sender_(axes(), 0),
        receiver_(axes(), 0),
        target_(axes(), std::pmr::get_default_resource()) {}
  move_problem(const move_problem&) = delete;
  move_problem& operator=(const move_problem&) = delete;

  /// False if one of them is in no grid.
  bool select(int sender, int receiver) {
    shape_.sender(sender, sender_);
    shape_.receiver(receiver, receiver_);
    if (sender_.front() == outside_grid || receiver_.front() == outside_grid) return false;
    shape_.set_to(target_, receiver, move_.element);
    return true;
  }
  /// Leading dimensions are each rank's own: those of other ranks are not known.
  void forget_leading_dimensions() { to_.allocated({}); }

  [[nodiscard]] std::size_t axes() const { return move_.from.dimensions().size(); }
  [[nodiscard]] const layout_problem& problem() const { return shape_.problem; }
  [[nodiscard]] std::span<const int> sender() const { return sender_; }
  [[nodiscard]] std::span<const int> receiver() const { return receiver_; }
  /// Bytes from one index to the next along an axis of the receiver's array, and before its first element.
  [[nodiscard]] count_t stride(std::size_t axis) const { return target_.strides[axis]; }
  [[nodiscard]] count_t first() const { return target_.first; }

 private:
  const failed_move& move_;
  layout to_;
  layout_shape shape_;
  std::vector<int> sender_;
  std::vector<int> receiver_;
  local_side target_;
};

// The elements of a chunk as runs of bytes of the receiver's array.
class chunk_places {
 public:
  chunk_places(const move_problem& move, const chunk_walk& chunk, count_t element)
      : move_(move), chunk_(chunk), element_(element), order_(move.axes()) {
    for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = k;
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](std::size_t d) { return move_.stride(d); });
    const auto fastest = std::ranges::find(order_, as_size(move.problem().fastest_there));
    std::rotate(fastest, fastest + 1, order_.end());
  }

  template <class F>
  void each(F f) const {
    walk(0, move_.first(), f);
  }

 private:
  template <class F>
  void walk(std::size_t k, count_t place, F& f) const {
    const std::size_t d = order_[k];
    const count_t stride = move_.stride(d);
    for (const axis_run& r : chunk_.runs(d)) {
      if (k + 1 == order_.size() && stride == element_) {
        f(place + r.to * stride, r.length * element_);
        continue;
      }
      for (count_t i = 0; i < r.length; ++i) {
        const count_t at = place + (r.to + i) * stride;
        k + 1 == order_.size() ? f(at, element_) : walk(k + 1, at, f);
      }
    }
  }

  const move_problem& move_;
  const chunk_walk& chunk_;
  count_t element_;
  std::vector<std::size_t> order_;
};

// The elements that one rank sends to another, in the order of the source's memory.
class stream_places {
 public:
  stream_places(const move_problem& move, count_t element) : first_(move.first()), element_(element) {
    const layout_problem& p = move.problem();
    for (const int o : p.order) {
      const auto d = as_size(o);
      axis a{.stride = move.stride(d)};
      for (axis_walk walk(p.axes[d], move.sender()[d], move.receiver()[d]); !walk.at_end();) {
        axis_run r = walk.next(p.axes[d].extent);
        r.at = a.length;
        a.length += r.length;
        a.runs.push_back(r);
      }
      axes_.push_back(std::move(a));
    }
    count_t inner = element;
    for (std::size_t k = axes_.size(); k-- > 0;) {
      axes_[k].inner = inner;
      inner *= axes_[k].length;
    }
  }

  /// f(byte of the stream, place in the receiver's array, bytes) for bytes [begin, end) of the stream.
  template <class F>
  void each(count_t begin, count_t end, F f) const {
    if (begin < end) walk(0, 0, first_, {begin, end}, f);
  }

 private:
  struct axis {
    count_t stride = 0;
    count_t length = 0;  // common indices
    count_t inner = 0;   // bytes of the stream for each of them
    std::vector<axis_run> runs{};
  };
  struct interval {
    count_t begin, end;
  };

  // `at`: byte of the stream at which index 0 of axis k begins.
  template <class F>
  void walk(std::size_t k, count_t at, count_t place, interval wanted, F& f) const {
    const axis& a = axes_[k];
    const bool last = k + 1 == axes_.size();
    for (const axis_run& r : a.runs) {
      const count_t begin = std::max(r.at, (std::max(wanted.begin - at, count_t{0})) / a.inner);
      const count_t end = std::min(r.at + r.length, (wanted.end - at + a.inner - 1) / a.inner);
      if (begin >= end) continue;
      if (last && a.stride == element_) {
        bytes(at + begin * element_, place + (r.to + begin - r.at) * a.stride, (end - begin) * element_, wanted, f);
        continue;
      }
      for (count_t i = begin; i < end; ++i) {
        const count_t there = place + (r.to + i - r.at) * a.stride;
        last ? bytes(at + i * element_, there, element_, wanted, f) : walk(k + 1, at + i * a.inner, there, wanted, f);
      }
    }
  }
  template <class F>
  static void bytes(count_t at, count_t place, count_t length, interval wanted, F& f) {
    const count_t begin = std::max(at, wanted.begin);
    const count_t end = std::min(at + length, wanted.end);
    if (begin < end) f(begin, place + begin - at, end - begin);
  }

  count_t first_;
  count_t element_;
  std::vector<axis> axes_;
};

}  // namespace

block_map failed_move::between_arrays(const transfer_sizes& sizes, chunks_done done) const {
  block_map map{.known = true, .unit_bytes = 1};
  move_problem move(*this);
  chunk_walk chunk(move.problem(), sizes.elements, sizes.runs, std::pmr::get_default_resource());
  std::vector<part> parts;
  for (int step = 1; step <= ranks; ++step) {
    const int peer = (rank - step + ranks) % ranks;
    if (!move.select(peer, rank) || !chunk.begin(move.sender(), move.receiver())) continue;
    std::uint64_t& left = peer == rank ? done.copied : done.received;
    const chunk_places places(move, chunk, element);
    do {
      const state what = left > 0 ? state::arrived : state::missing;
      places.each([&](count_t place, count_t bytes) {
        append(parts, {what, peer, place, bytes, what == state::arrived ? place : -1});
      });
      left -= left > 0 ? 1 : 0;
    } while (chunk.next());
  }
  map.incoming = in_order(std::move(parts));
  return map;
}

block_map failed_move::in_one_array(block_map streams) const {
  block_map map{.known = true, .unit_bytes = 1};
  for (const bool sends : {true, false}) {
    move_problem move(*this);
    if (sends) move.forget_leading_dimensions();
    std::vector<part> parts;
    for (const part& p : sends ? streams.outgoing : streams.incoming) {
      if (!(sends ? move.select(rank, p.peer) : move.select(p.peer, rank))) continue;
      stream_places(move, element).each(p.offset, p.offset + p.length, [&](count_t byte, count_t place, count_t bytes) {
        append(parts, {p.what, p.peer, place, bytes, p.at < 0 ? -1 : p.at + byte - p.offset});
      });
    }
    (sends ? map.outgoing : map.incoming) = in_order(std::move(parts));
  }
  map.staged = std::move(streams.staged);
  return map;
}

}  // namespace taquin::detail
