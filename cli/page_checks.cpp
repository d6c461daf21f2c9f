#include "cli/page_checks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/page_inputs.hpp"

namespace taquin::cli {

void checked::wrong(const std::string& what) const { throw invalid_file(fmt::format("{} {}", where_, what)); }

bool checked::has(const char* key) const {
  const auto found = value_.find(key);
  return found != value_.end() && !found->is_null();
}

checked checked::at(const char* key) const {
  object();
  const auto found = value_.find(key);
  if (found == value_.end()) wrong(fmt::format("has no \"{}\"", key));
  return {*found, where_ == "the file" ? key : fmt::format("{}.{}", where_, key)};
}

checked checked::item(std::size_t index) const { return {value_[index], fmt::format("{}[{}]", where_, index)}; }

void checked::object() const {
  if (!value_.is_object()) wrong("is not an object");
}

void checked::array(std::size_t least, std::size_t most) const {
  if (!value_.is_array()) wrong("is not an array");
  if (value_.size() < least || value_.size() > most)
    wrong(fmt::format("has {} elements, not {} to {}", value_.size(), least, most));
}

void checked::text() const {
  if (!value_.is_string()) wrong("is not a text");
}

double checked::number(double least, double most) const {
  if (!value_.is_number())
    wrong(fmt::format("is not a number: {}",
                      value_.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 40)));
  const double v = value_.get<double>();
  if (!std::isfinite(v) || v < least || v > most) wrong(fmt::format("is {}, not within {} and {}", v, least, most));
  return v;
}

double checked::integer(double least, double most) const {
  const double v = number(least, most);
  if (v != std::floor(v)) wrong(fmt::format("is {}, not a whole number", v));
  return v;
}

void checked::maybe_number(const char* key, double least, double most) const {
  if (has(key)) static_cast<void>(at(key).number(least, most));
}

void checked::maybe_text(const char* key) const {
  if (has(key)) at(key).text();
}

}  // namespace taquin::cli
