// Checks of members of JSON files from outside, with the place in the message.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace taquin::cli {

/// A value and where it stands in its file: "records[3].median_s". The functions throw invalid_file.
class checked {
 public:
  checked(const nlohmann::json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[nodiscard]] const nlohmann::json& value() const noexcept { return value_; }
  [[nodiscard]] bool has(const char* key) const;  ///< and it is not null
  [[nodiscard]] checked at(const char* key) const;
  [[nodiscard]] checked item(std::size_t index) const;
  [[nodiscard]] std::size_t size() const noexcept { return value_.size(); }

  void object() const;
  void array(std::size_t least = 0, std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void text() const;
  double number(double least, double most) const;
  double integer(double least, double most) const;

  /// The same for a member that may be missing or null.
  void maybe_number(const char* key, double least, double most) const;
  void maybe_text(const char* key) const;
  /// Each element of an array member, which may be missing.
  template <class F>
  void each(const char* key, F f) const {
    if (!has(key)) return;
    const checked list = at(key);
    list.array();
    for (std::size_t i = 0; i < list.size(); ++i) f(list.item(i));
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const;
  const nlohmann::json& value_;
  std::string where_;
};

constexpr double most_seconds = 1e9;
constexpr double most_bytes = 9.3e18;
constexpr double most_count = 9.3e18;
constexpr double most_ranks = 1 << 24;

}  // namespace taquin::cli
