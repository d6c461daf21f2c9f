// Protocol buffers' wire format, as much of it as a trace needs (https://protobuf.dev/programming-guides/encoding).
// Own code: libprotobuf in a preloaded library could conflict with the program's own, of another version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace taquin::interpose {

/// A message that fields are added to.
class protobuf {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(key(field, 0));
    varint(value);
  }
  void fixed(std::uint32_t field, std::uint64_t value) {
    varint(key(field, 1));
    constexpr unsigned bits = 64;
    constexpr unsigned byte = 8;
    for (unsigned at = 0; at < bits; at += byte) bytes_.push_back(static_cast<char>(value >> at & 0xffU));
  }
  void text(std::uint32_t field, std::string_view value) {
    varint(key(field, 2));
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const protobuf& value) { text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint64_t key(std::uint32_t field, std::uint32_t type) noexcept {
    return std::uint64_t{field} << 3U | type;
  }
  void varint(std::uint64_t value) {
    constexpr std::uint64_t more = 0x80;
    for (; value >= more; value >>= 7U) bytes_.push_back(static_cast<char>(value | more));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace taquin::interpose
