// One rank's buffer and auxiliary memory in a lockstep run.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "algorithms/in_place/problem.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Units with their `size` data bytes first and then, up to `extent`, a hole, which is never copied. Without a buffer
/// nothing is copied at all: such a run only counts.
class simulated_memory {
 public:
  simulated_memory(std::byte* buffer, count_t aux, const element& unit) : buffer_(buffer), unit_(unit) {
    if (buffer != nullptr) aux_.resize(static_cast<std::size_t>(aux * unit.extent));
  }

  /// A copy of the units from `from` on.
  [[nodiscard]] std::vector<std::byte> read(const location& from, count_t units) {
    if (buffer_ == nullptr) return {};
    std::vector<std::byte> data(static_cast<std::size_t>(units * unit_.extent));
    copy(at(from), data.data(), units);
    return data;
  }
  void write(const std::vector<std::byte>& data, const location& to, count_t units) {
    if (buffer_ != nullptr) copy(data.data(), at(to), units);
  }
  void move(const local_move& m) { write(read(m.from, m.length), m.to, m.length); }

 private:
  [[nodiscard]] std::byte* at(const location& l) { return (l.aux ? aux_.data() : buffer_) + l.at * unit_.extent; }
  void copy(const std::byte* from, std::byte* to, count_t units) const {
    for (count_t i = 0; i < units; ++i)
      std::memcpy(to + i * unit_.extent, from + i * unit_.extent, static_cast<std::size_t>(unit_.size));
  }

  std::byte* buffer_;
  std::vector<std::byte> aux_;
  element unit_;
};

}  // namespace taquin::detail
