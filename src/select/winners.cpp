#include "select/winners.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "select/hardware.hpp"

namespace taquin::detail {

namespace {

constexpr std::string_view head = "taquin winners 1\n";
constexpr std::size_t most_bytes = std::size_t{256} << 10U;

// Up to the blank or the end of the line.
std::string_view take_word(std::string_view& line) noexcept {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

template <class Number>
bool read(std::string_view text, Number& value, int base) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

winners::winners(std::string_view text) {
  if (!text.starts_with(head)) return;
  text.remove_prefix(head.size());
  while (!text.empty() && all_.size() < most) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::uint64_t kind = 0;
    int day = 0;
    const auto first = take_word(line);
    const auto name = take_word(line);
    constexpr int hexadecimal = 16;
    constexpr int decimal = 10;
    if (!read(first, kind, hexadecimal) || !read(take_word(line), day, decimal)) continue;
    const algorithm* const fastest = find_algorithm(name);
    if (fastest != nullptr) all_[kind] = {fastest, day};
  }
}

void winners::forget_old(int today) {
  std::erase_if(all_, [&](const auto& one) { return one.second.day > today || one.second.day <= today - most_days; });
}

const algorithm* winners::of(std::uint64_t kind) const noexcept {
  const auto found = all_.find(kind);
  return found == all_.end() ? nullptr : found->second.fastest;
}

void winners::add(std::uint64_t kind, const algorithm* fastest, int day) {
  all_[kind] = {fastest, day};
  if (all_.size() > most)
    all_.erase(std::ranges::min_element(all_, {}, [](const auto& one) { return one.second.day; }));
}

void winners::add(const winners& others) {
  for (const auto& [kind, one] : others.all_) add(kind, one.fastest, one.day);
}

std::string winners::text() const {
  std::string text(head);
  for (const auto& [kind, one] : all_)
    fmt::format_to(std::back_inserter(text), "{:016x} {} {}\n", kind, one.fastest->name, one.day);
  return text;
}

int today() noexcept {
  using days = std::chrono::duration<int, std::ratio<86400>>;
  return std::chrono::floor<days>(std::chrono::system_clock::now()).time_since_epoch().count();
}

std::filesystem::path file_of_winners() {
  const auto folder = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::filesystem::path(text != nullptr ? text : "");
  };
  const auto cache = folder("XDG_CACHE_HOME");
  const auto home = folder("HOME");
  const auto base = cache.is_absolute() ? cache : home.is_absolute() ? home / ".cache" : std::filesystem::path();
  if (base.empty()) return {};
  fingerprint machine;
  machine.add(words_of(this_hardware()));
  machine.add(environment::get().nodes.empty());  // nodes that are none are not measured for others
  return base / "taquin" / fmt::format("winners-{:016x}", machine.value());
}

std::string read_winners(const std::filesystem::path& file) noexcept try {
  std::ifstream in(file);
  std::string text(most_bytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(as_size(in.gcount()));
  return text;
} catch (const std::exception&) {
  return {};
}

void remember_winners(const std::filesystem::path& file, const winners& news) noexcept try {
  if (file.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  winners all(read_winners(file));
  all.forget_old(today());
  all.add(news);
  auto other = file;
  other += fmt::format(".{}", getpid());
  std::ofstream out(other);
  out << all.text();
  out.close();
  if (out) std::filesystem::rename(other, file, failed);
  if (!out || failed) std::filesystem::remove(other, failed);
} catch (const std::exception&) {  // the next run measures again
}

}  // namespace taquin::detail
