// The facts that ranks agree on before a call, of one rank or of all, and the record that carries them. All of it is
// generated from facts.def.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "taquin/options.hpp"

namespace taquin::detail {

/// How figures combine. Records hold numbers that are maximised over the ranks; a minimum is the maximum of the
/// negative.
namespace combine {

constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t narrow(std::uint64_t v) noexcept {
  return static_cast<std::int64_t>(std::min(v, static_cast<std::uint64_t>(longest)));
}

struct most {
  static constexpr std::uint64_t neutral = 0;
  static constexpr int slots = 1;
  static void put(std::int64_t* to, std::uint64_t v) noexcept { *to = narrow(v); }
  static std::uint64_t get(const std::int64_t* from) noexcept { return static_cast<std::uint64_t>(*from); }
};
struct least_of {
  static constexpr int slots = 1;
  static void put(std::int64_t* to, std::uint64_t v) noexcept { *to = -narrow(v); }
  static std::uint64_t get(const std::int64_t* from) noexcept {
    return *from == -longest ? unlimited : static_cast<std::uint64_t>(-*from);
  }
};
struct least : least_of {
  static constexpr std::uint64_t neutral = 0;
};
struct limit : least_of {
  static constexpr std::uint64_t neutral = unlimited;
};
struct identical {
  static constexpr std::uint64_t neutral = 0;
  static constexpr int slots = 2;
  // All bits count: the second number is the first one's complement, whose maximum is that of the least first one.
  static void put(std::int64_t* to, std::uint64_t v) noexcept {
    to[0] = static_cast<std::int64_t>(v);
    to[1] = ~to[0];
  }
  static bool holds(const std::int64_t* from) noexcept { return from[0] == ~from[1]; }
  static std::uint64_t get(const std::int64_t* from) noexcept {
    return holds(from) ? static_cast<std::uint64_t>(from[0]) : 0;
  }
};
// Flags: a bit is set when any rank sets it.
struct any {
  static constexpr bool reported = true;
};
struct all {
  static constexpr bool reported = false;
};

}  // namespace combine

/// Of one rank before the agreement, of all ranks together afterwards.
struct rank_properties {
#define TAQUIN_PROPERTY(NAME, COMBINE) std::uint64_t NAME = combine::COMBINE::neutral;
#define TAQUIN_FLAG(NAME, COMBINE) bool NAME = false;
#include "exchange/properties.def"
  /// Of one rank: a sum over its blocks, of the bytes that it sends less those that it expects, each weighted by its
  /// pair of ranks (pair_weights). Over all ranks it is 0 if every rank sends what its peer expects, and with very high
  /// probability only then.
  std::uint64_t unmatched = 0;
};

/// The record in messages. Short messages have its head alone: Open MPI sends up to 256 bytes without a request of its
/// own.
struct property_record {
  // Where the numbers of each fact begin.
  enum slot : std::uint8_t {
#define TAQUIN_PROPERTY(NAME, COMBINE) NAME, last_of_##NAME = (NAME) + combine::COMBINE::slots - 1,
#define TAQUIN_IN_PLACE in_place_slots, last_of_head = in_place_slots - 1,
#include "exchange/properties.def"
    slots
  };
  enum bit : std::uint8_t {
#define TAQUIN_FLAG(NAME, COMBINE) NAME##_bit,
#include "exchange/properties.def"
  };

  std::int32_t invalid_rank = 0;  ///< 1 + a rank whose arguments are invalid; 0: none
  std::uint32_t flags = 0;
  /// The sum of rank_properties::unmatched over the ranks of this record: no rank may be added twice.
  std::uint64_t unmatched = 0;
  /// The same of fewer ranks, for a reduction in log rounds whose last messages bring ranks again
  /// (agreement_rounds.hpp).
  std::uint64_t unmatched_rest = 0;
  std::array<std::int64_t, slots> numbers{};

  /// Bytes of the record that all ranks send.
  static constexpr std::size_t head =
      2 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t) + in_place_slots * sizeof(std::int64_t);

  void report(const rank_properties& mine) noexcept {
#define TAQUIN_PROPERTY(NAME, COMBINE) combine::COMBINE::put(numbers.data() + (NAME), mine.NAME);
#define TAQUIN_FLAG(NAME, COMBINE) \
  if (mine.NAME == combine::COMBINE::reported) flags |= 1U << NAME##_bit;
#include "exchange/properties.def"
    unmatched = mine.unmatched;
  }
  void merge(const property_record& theirs) noexcept {
    for (std::size_t i = 0; i < slots; ++i) numbers[i] = std::max(numbers[i], theirs.numbers[i]);
    invalid_rank = std::max(invalid_rank, theirs.invalid_rank);
    flags |= theirs.flags;
    unmatched += theirs.unmatched;
  }
  [[nodiscard]] rank_properties of_all() const noexcept {
    rank_properties all;
#define TAQUIN_PROPERTY(NAME, COMBINE) all.NAME = combine::COMBINE::get(numbers.data() + (NAME));
#define TAQUIN_FLAG(NAME, COMBINE) all.NAME = ((flags >> NAME##_bit & 1U) != 0) == combine::COMBINE::reported;
#include "exchange/properties.def"
    all.unmatched = all.unpublished ? 0 : unmatched;
    return all;
  }
};

}  // namespace taquin::detail
