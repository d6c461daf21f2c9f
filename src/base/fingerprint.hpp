// A hash of several values: FNV-1a, so that it is the same on all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace taquin::detail {

class fingerprint {
 public:
  void add(std::string_view text) noexcept {
    step(text.size());
    for (const char c : text) step(static_cast<unsigned char>(c));
  }
  void add(std::span<const int> numbers) noexcept {
    step(numbers.size());
    for (const int n : numbers) step(static_cast<std::uint64_t>(n));
  }
  /// No number is as 0.
  void add(std::optional<int> number) noexcept { step(static_cast<std::uint64_t>(number.value_or(0))); }
  template <class Value>
  requires(std::is_integral_v<Value> || std::is_enum_v<Value>) void add(Value value) noexcept {
    step(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  void step(std::uint64_t v) noexcept { value_ = (value_ ^ v) * 1099511628211ULL; }
  std::uint64_t value_ = 14695981039346656037ULL;
};

}  // namespace taquin::detail
