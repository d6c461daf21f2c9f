// Which of two algorithms was the faster in earlier runs on machines like this one: a small file in the user's cache
// directory. Blocking calls between nodes that find their kind there need not measure both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {

class winners {
 public:
  static constexpr std::size_t most = 1000;
  static constexpr int most_days = 30;  ///< that one is believed: networks change

  winners() = default;
  /// From a file's text. What is damaged or unknown is left out.
  explicit winners(std::string_view text);
  /// Those that are too old, or from the future. `today` in days since 1970.
  void forget_old(int today);

  /// The one for a kind of call, or null.
  [[nodiscard]] const algorithm* of(std::uint64_t kind) const noexcept;
  /// The oldest goes where there are too many.
  void add(std::uint64_t kind, const algorithm* fastest, int day);
  void add(const winners& others);
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  struct entry {
    const algorithm* fastest = nullptr;
    int day = 0;
  };
  std::map<std::uint64_t, entry> all_;
};

/// Today, in days since 1970.
int today() noexcept;
/// The file for machines like this one; empty where there is no cache directory (XDG_CACHE_HOME, otherwise .cache in
/// HOME). Local.
std::filesystem::path file_of_winners();
/// Its text; empty where it cannot be read. Local.
std::string read_winners(const std::filesystem::path& file) noexcept;
/// Adds to the file, which other programs may do at the same time: it is replaced as a whole. Nothing is said where it
/// cannot be written. Local.
void remember_winners(const std::filesystem::path& file, const winners& news) noexcept;

}  // namespace taquin::detail
