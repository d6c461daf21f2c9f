// The algorithms of the levels of a multilevel exchange for which options::levels has "auto".
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "exchange/shape.hpp"
#include "taquin/cost_model.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Names of levels, as options::levels has them.
class level_names {
 public:
  void add(std::string_view name, int radix = 0) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
  /// To broadcast: the text and its size.
  [[nodiscard]] std::array<char, 256>& text() noexcept { return text_; }
  void cut_at_zero() noexcept { size_ = std::string_view(text_.data()).size(); }

 private:
  std::array<char, 256> text_{};
  std::size_t size_ = 0;
};

/// Whether any level is "auto".
bool any_automatic(std::string_view levels) noexcept;

/// The options' levels, with each "auto" replaced by the algorithm and the radix of the least predicted time at that
/// level. Only algorithms for blocks of any sizes are considered, because groups may differ in size.
level_names choose_levels(const shape& s, const options& o, const machine_model& m) noexcept;

/// The options, with levels that are "auto" chosen as above; `names` holds their text.
options with_levels(const shape& s, const options& o, const machine_model& m, level_names& names) noexcept;

/// Predicted time of all levels, one after the other, for the bytes that an average rank of the largest group sends.
/// `names`: no level is "auto"; `between`: the first is one between nodes.
seconds cost_of_levels(const shape& s, const options& o, const machine_model& m, std::string_view names,
                       bool between) noexcept;

}  // namespace taquin::detail
