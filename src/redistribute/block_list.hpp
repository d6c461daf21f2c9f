// The numbers of blocks in a request: a word for each, two for a run of them.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "protocol/port.hpp"

namespace taquin::detail {

class block_list {
 public:
  explicit block_list(std::pmr::memory_resource* memory) : words_(memory) {}
  static constexpr std::size_t bytes(std::size_t most) noexcept { return most * sizeof(word); }
  /// At most `most` words from now on.
  void reset(std::size_t most) {
    most_ = most;
    words_.reserve(most);
  }

  void clear() noexcept {
    words_.clear();
    first_ = 0;
  }
  /// An empty list is marked: readers know that from lists which are not.
  void mark() {
    words_.push_back(marker);
    first_ = 1;
  }
  [[nodiscard]] static bool is_marked(std::span<const word> words) noexcept {
    return !words.empty() && words.front() == marker;
  }
  /// Adds block `k`, below 2^31. False when there is no room for it.
  bool add(std::uint32_t k) {
    const std::size_t n = words_.size();
    const bool in_run = n >= first_ + 2 && (words_[n - 2] & run) != 0;
    if (in_run && (words_[n - 2] & ~run) + words_[n - 1] == k) {
      ++words_[n - 1];
      return true;
    }
    if (n == most_) return false;
    if (n > first_ && !in_run && words_[n - 1] + 1 == k) {
      words_[n - 1] |= run;
      words_.push_back(2);
    } else {
      words_.push_back(k);
    }
    return true;
  }
  [[nodiscard]] std::span<const word> words() const noexcept { return words_; }

  /// Calls visit(first, count) for each run of a list, and soon(k) with the word some positions ahead, which is a
  /// block's number or a count: for prefetching.
  template <class Visit, class Soon>
  static void read(std::span<const word> words, std::size_t ahead, Visit visit, Soon soon) {
    for (std::size_t i = is_marked(words) ? 1 : 0; i < words.size(); ++i) {
      if (i + ahead < words.size()) soon(words[i + ahead] & ~run);
      const bool many = (words[i] & run) != 0;
      const word first = words[i] & ~run;
      visit(first, many ? words[++i] : 1);
    }
  }

 private:
  static constexpr word run = 0x80000000U;
  static constexpr word marker = 0xffffffffU;
  std::size_t most_ = 0;
  std::size_t first_ = 0;  // word that is no marker
  std::pmr::vector<word> words_;
};

}  // namespace taquin::detail
