// The common parts of the regular Bruck algorithms: digits, layouts, and lists of regions that join adjacent or equally
// spaced blocks.
//
// Notation, as in the paper: p ranks, radix r, element = the block of one peer. Element j moves a distance of j ranks
// in all; in the round of weight w = r^d it moves z·w ranks, where z is digit d of j, or stays where z is 0. The
// messages of one round, one for each digit z ≠ 0, travel together.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"
#include "taquin/options.hpp"

namespace taquin::detail::bruck {

/// The radix: that of the options, otherwise the least power of two with which two rounds are enough, at most 16.
/// Radices beyond p are p.
int radix_of(const options& o, int ranks) noexcept;

/// Calls f(w) with each round's weight.
template <class F>
void for_each_weight(int ranks, int radix, F f) {
  for (count_t weight = 1; weight < ranks; weight *= radix) f(weight);
}

/// Calls f(z) with each digit that has a message in the round of weight `weight`.
template <class F>
void for_each_digit(int ranks, int radix, count_t weight, F f) {
  for (count_t digit = 1; digit < radix && digit * weight < ranks; ++digit) f(digit);
}

/// Calls f(first, end) with each run of consecutive elements whose digit of weight `weight` is `digit`, in increasing
/// order. Of a run only the first element has no digit of lower weight.
template <class F>
void for_each_row(int ranks, int radix, count_t weight, count_t digit, F f) {
  for (count_t first = digit * weight; first < ranks; first += radix * weight)
    f(static_cast<int>(first), static_cast<int>(first + weight < ranks ? first + weight : ranks));
}

/// Calls f(j) with each element 0 < j < p whose digit of weight `weight` is `digit`, in increasing order.
template <class F>
void for_each_element(int ranks, int radix, count_t weight, count_t digit, F f) {
  for_each_row(ranks, radix, weight, digit, [&](int first, int end) {
    for (int j = first; j < end; ++j) f(j);
  });
}

/// How many they are.
constexpr std::size_t message_elements(int ranks, int radix, count_t weight, count_t digit) noexcept {
  std::size_t n = 0;
  for (count_t first = digit * weight; first < ranks; first += radix * weight)
    n += as_size(first + weight < ranks ? weight : ranks - first);
  return n;
}

/// The messages of each rank in an exchange with radix r.
struct figures {
  std::size_t rounds = 0;            ///< ⌈log_r p⌉
  std::size_t messages = 0;          ///< in all rounds
  std::size_t elements = 0;          ///< in all rounds
  std::size_t round_elements = 0;    ///< in the round with the most
  std::size_t message_elements = 0;  ///< in the longest message
};
figures count(int ranks, int radix) noexcept;

/// True when every block has the size of every other and may pass through its place.
bool serves(const shape& s) noexcept;

/// The most regions that one side's messages have in all, if the elements of each form `rows` sequences of blocks.
std::size_t most_regions(bruck_layout layout, const figures& f, std::size_t rows) noexcept;

/// How a layout's messages travel.
constexpr packing packing_of(bruck_layout layout) noexcept {
  if (layout == bruck_layout::packed) return packing::packed;
  return layout == bruck_layout::elements || layout == bruck_layout::blocks ? packing::structured : packing::datatype;
}

/// The type of blocks in intermediate storage, and one block there.
std::uint32_t add_intermediate_type(schedule& s, const local_exchange& x);
region intermediate_block(const schedule& s, std::uint32_t type, count_t block_bytes, count_t slot);

/// Adds a copy, joined with the one before where their regions are adjacent or equally spaced. `first` is the round's
/// first copy.
void add_joined_copy(schedule& s, std::size_t first, const region& from, const region& to);

/// The regions of one message, joined as the layout allows.
class region_list {
 public:
  region_list(const schedule& s, bruck_layout layout, std::size_t most, std::pmr::memory_resource* memory)
      : schedule_(s), layout_(layout), list_(memory) {
    array_list::take(*this, most);
  }
  static constexpr std::size_t bytes(std::size_t most) noexcept { return array_list::bytes<region_list>(most); }
  void clear();
  void add(const region& r);
  /// The complete list.
  const std::pmr::vector<region>& finish();

 private:
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t most) {
    each(&region_list::list_, at_most{most});
  }
  void flush();

  const schedule& schedule_;
  bruck_layout layout_;
  std::pmr::vector<region> list_;
  region row_{};  // blocks one after the other
  bool open_ = false;
};

/// The rounds of basic and modified Bruck, whose blocks keep their place: element j lies in the receive block of rank
/// origin + j (mod p) and moves `direction` (1 or −1) times its distance.
struct fixed_places {
  int ranks = 1;
  int radix = 2;
  bruck_layout layout = bruck_layout::packed;
  figures sent;

  fixed_places(int p, const options& o) noexcept;
  [[nodiscard]] bool packed() const noexcept { return layout == bruck_layout::packed; }
  /// Their parts of a schedule.
  [[nodiscard]] schedule_size size() const noexcept;
  /// Blocks in the buffer that the rounds receive into.
  [[nodiscard]] std::size_t scratch_blocks() const noexcept { return packed() ? 0 : sent.round_elements; }
  /// The bytes of a whole plan with that schedule and that many blocks of scratch.
  [[nodiscard]] std::size_t memory(const schedule_size& all, std::size_t scratch,
                                   std::size_t block_bytes) const noexcept;
  void add_rounds(schedule& s, const local_exchange& x, std::uint32_t intermediate, count_t block_bytes, int origin,
                  int direction) const;
};

/// Predicted time of the rounds, and of `passes` local copies of all blocks.
seconds cost(const shape& s, const options& o, const machine_model& m, double passes) noexcept;

/// A member of the family: its own parts, and the local copies of all blocks that it makes.
struct member {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::size_t (*memory)(const shape&, const options&) noexcept;
  schedule (*build)(const local_exchange&, const shape&, const options&, std::pmr::memory_resource*);
};
template <int passes>
constexpr algorithm regular(const member& m) noexcept {
  algorithm a{.name = m.name, .summary = m.summary, .source = m.source, .rounds = "⌈log_r p⌉"};
  a.serves_inside = true;
  a.supports = serves;
  a.memory = m.memory;
  a.cost = [](const shape& s, const options& o, const machine_model& model) noexcept {
    return cost(s, o, model, passes);
  };
  a.build = m.build;
  return a;
}

}  // namespace taquin::detail::bruck
