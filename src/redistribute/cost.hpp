// The terms of the redistribution algorithms' cost formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "exchange/shape.hpp"
#include "model/terms.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/machine.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

class redistribution_terms {
 public:
  redistribution_terms(const redistribution_load& l, const machine_model& m) noexcept
      : ranks_(l.ranks), bytes_(l.block_bytes), terms_({.ranks = l.ranks}, m) {}

  [[nodiscard]] double log_rounds() const noexcept { return std::ceil(std::log2(std::max(ranks_, 1))); }
  /// A collective in log rounds whose messages have so many words.
  [[nodiscard]] seconds collective(double words) const noexcept {
    return terms_.rounds(log_rounds(), 1, words * sizeof(word), words * sizeof(word));
  }
  /// `count` rounds of `messages` messages that have `words` words each.
  [[nodiscard]] seconds control(double count, double messages, double words) const noexcept {
    return terms_.rounds(count, messages, messages * words * sizeof(word), words * sizeof(word));
  }
  /// `count` rounds of `messages` messages that have `blocks` blocks together.
  [[nodiscard]] seconds transfer(double count, double messages, double blocks) const noexcept {
    if (messages <= 0) return 0;
    return terms_.rounds(count, messages, blocks * bytes_, blocks * bytes_ / messages);
  }
  [[nodiscard]] seconds copies(double blocks) const noexcept { return terms_.copies(blocks, blocks * bytes_); }
  /// learn_sources.
  [[nodiscard]] seconds targets(double blocks) const noexcept {
    return collective(0.5 * ranks_) + collective(2) + collective(0.5 * blocks);
  }

 private:
  int ranks_;
  double bytes_;
  terms terms_;
};

/// Of a problem whose map is not known: each rank is taken to send equal parts of its blocks to all
/// ranks, and to have no free block. Pure.
redistribution_load load_of(const redistribution_problem& p, const buffer_sizes& buffers) noexcept;

}  // namespace taquin::detail
