// The schedule of an irregular Bruck plan that is reused: ranks exchange their sizes once, when it is made.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/bruck/bruck_v_state.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "taquin/options.hpp"

namespace taquin::detail::bruck {

/// A reused plan knows all sizes, so it reserves no capacity for larger ones.
inline route reused_route(int ranks, const options& o) noexcept {
  constexpr count_t longest = 1024;  // of blocks that take the log rounds
  return {ranks, radix_of(o, ranks), longest};
}

/// Sizes after each round, so that the schedule can be written when all are known. Its messages hold sizes alone,
/// and are unloaded in the order of their digits.
template <class Size>
class history_of {
 public:
  history_of(const local_exchange& x, const route& r, std::pmr::memory_resource* memory)
      : route_(r), now_(x, r, memory), receive_slot_(memory), moved_(memory) {
    array_list::take(*this, r);
  }
  static std::size_t bytes(const route& r) noexcept {
    return element_sizes<Size>::bytes(r) + array_list::bytes<history_of>(r);
  }
  /// Most bytes of a message.
  [[nodiscard]] std::size_t capacity() const noexcept { return route_.capacity(false, sizeof(Size)); }
  std::size_t load(count_t weight, count_t digit, std::span<std::byte> to) const {
    return now_.load(weight, digit, to);
  }
  [[nodiscard]] std::size_t outgoing() const noexcept { return as_size(route_.radix - 1) * capacity(); }
  [[nodiscard]] std::byte* receive_slot() noexcept { return receive_slot_.data(); }
  void unload(count_t weight, count_t digit, std::span<const std::byte> from) {
    now_.unload(weight, digit, from);
    for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) { moved_.push_back(now_[t]); });
  }
  [[nodiscard]] std::optional<invalid_argument> mismatch() const { return now_.mismatch(); }
  /// The sizes of received elements, in the order of rounds, digits and elements.
  [[nodiscard]] const std::pmr::vector<Size>& received() const noexcept { return moved_; }

 private:
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const route& r) {
    each(&history_of::receive_slot_, r.capacity(false, sizeof(Size)));
    each(&history_of::moved_, at_most{bruck::count(r.ranks, r.radix).elements});
  }

  route route_;
  element_sizes<Size> now_;
  raw_buffer receive_slot_;
  std::pmr::vector<Size> moved_;
};
using size_history = history_of<size_field>;

/// A bound on the parts of bruck_v_schedule, and on the bytes that building and running it take.
schedule_size bruck_v_schedule_size(const shape& s, const route& r) noexcept;
std::size_t bruck_v_schedule_memory(const shape& s, const route& r) noexcept;

/// The schedule of one rank, from the sizes of the elements that it receives in each round.
schedule bruck_v_schedule(const local_exchange& x, const shape& shape, const options& o, const route& r,
                          const std::pmr::vector<size_field>& received, std::pmr::memory_resource* memory);

}  // namespace taquin::detail::bruck
