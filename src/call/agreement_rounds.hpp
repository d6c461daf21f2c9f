// The rounds in which ranks agree by messages, and how a sum over ranks goes through them.
#pragma once

#include <algorithm>

#include "call/agree.hpp"
#include "exchange/properties.hpp"

namespace taquin::detail {

/// In a round of weight w rank u sends its record of before the round to u + j·w, for j = 1 … digits; w is a power of
/// the radix.
///
/// Sums must have each rank once, but where p is no power of the radix the last messages bring ranks again. So a record
/// after rounds of weights up to w / radix has two sums, of the w ranks up to this one and of p mod w of them, which
/// follow from those of the round before: with d, the digit of p at w, the second is of d·w ranks by d first sums, and
/// of p mod w more by the second sum of the rank d·w before this one. After the last round p mod w is p.
class agreement_rounds {
 public:
  explicit agreement_rounds(int ranks) noexcept : ranks_(ranks), radix_(agreement_radix(ranks)) {}

  [[nodiscard]] bool done() const noexcept { return width_ >= ranks_; }
  void next() noexcept { width_ *= radix_; }
  [[nodiscard]] int width() const noexcept { return width_; }
  [[nodiscard]] int radix() const noexcept { return radix_; }
  [[nodiscard]] int digits() const noexcept { return std::min(radix_ - 1, (ranks_ - 1) / width_); }

  /// A round begins: `v` is this rank's record, and the one that it has sent.
  void begin(property_record& v) noexcept {
    digit_ = ranks_ / width_ % radix_;
    if (digit_ != 0) v.unmatched_rest = v.unmatched;
  }
  /// After the message of `digit` was merged into `v`.
  void add_up(property_record& v, int digit, const property_record& theirs) const noexcept {
    if (digit < digit_) v.unmatched_rest += theirs.unmatched;
    if (digit == digit_) v.unmatched_rest += theirs.unmatched_rest;
  }
  /// After the last round.
  void end(property_record& v) const noexcept {
    if (width_ > ranks_) v.unmatched = v.unmatched_rest;
  }

 private:
  int ranks_;
  int radix_;
  int width_ = 1;
  int digit_ = 0;  // of p, at the round's weight
};

}  // namespace taquin::detail
