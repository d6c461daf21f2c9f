#include "bench/regret/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/records.hpp"
#include "harness/statistics.hpp"
#include "select/read_json.hpp"

namespace taquin::regret {

namespace {

// A family, and the ratio that most of its cells are to stay below.
struct family {
  const char* name;
  const char* text;
  double bound;
};
constexpr std::array families{family{"calls", "calls and plans", 1.05}, family{"in_place", "in place", 1.1},
                              family{"blocks", "redistribution, 16 KiB blocks", 1.25},
                              family{"choice", "auto against the best by name", 1.1}};

constexpr std::size_t most_shown = 10;

double ratio_of(const nlohmann::json& r) { return r.at("ratio_to_rival").get<double>(); }

nlohmann::json records_of(const std::string& file) {
  constexpr int most_depth = 32;
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  try {
    auto records = detail::parse_json<std::runtime_error>(text.str(), most_depth);
    if (!records.is_array()) throw std::runtime_error("holds no records");
    return records;
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: {}", file, e.what()));
  }
}

}  // namespace

std::string family_of(const cell& c, bool choice) {
  if (choice) return "choice";
  return c.use == "in_place" || c.use == "blocks" ? c.use : "calls";
}

std::string line_of(const nlohmann::json& r) {
  const auto text = [&](const char* key) { return r.at(key).get<std::string>(); };
  if (r.contains("reason")) return fmt::format("not measured: {}   {}", text("reason"), text("command"));
  const auto ci = r.at("ratio_ci95").get<std::array<double, 2>>();
  return fmt::format("{:.2f} [{:.2f}, {:.2f}] {} by {}, {} by {}{}   {}", ratio_of(r), ci[0], ci[1],
                     harness::show_seconds(r.at("median_s").get<double>()), text("algorithm"),
                     harness::show_seconds(r.at("rival_s").get<double>()), text("rival"),
                     r.at("wrong_bytes") != 0 ? fmt::format(", {} WRONG BYTES", r.at("wrong_bytes").dump()) : "",
                     text("command"));
}

void print_summary(std::FILE* out, const std::vector<nlohmann::json>& records) {
  fmt::print(out, "| | cells | median | at most | share | 95% at most | worst |\n|---|---|---|---|---|---|---|\n");
  for (const family& f : families) {
    std::vector<double> ratios;
    for (const auto& r : records)
      if (r.at("family") == f.name && !r.contains("reason")) ratios.push_back(ratio_of(r));
    if (ratios.empty()) continue;
    std::ranges::sort(ratios);
    const auto good = std::ranges::count_if(ratios, [&](double x) { return x <= f.bound; });
    fmt::print(out, "| {} | {} | {:.2f} | {} | {:.1f}% | {:.2f} | {:.2f} |\n", f.text, ratios.size(),
               harness::quantile(ratios, 0.5), f.bound,
               100.0 * static_cast<double>(good) / static_cast<double>(ratios.size()), harness::quantile(ratios, 0.95),
               ratios.back());
  }
  std::vector<const nlohmann::json*> worst;
  for (const auto& r : records)
    if (!r.contains("reason") && ratio_of(r) > 1.05) worst.push_back(&r);
  std::ranges::sort(worst, std::greater{}, [](const auto* r) { return ratio_of(*r); });
  if (worst.size() > most_shown) worst.resize(most_shown);
  if (!worst.empty()) fmt::print(out, "\nThe worst, and what they were made to where they were made simpler:\n");
  for (const auto* r : worst) {
    fmt::print(out, "{}\n", line_of(*r));
    if (r->contains("simplest")) fmt::print(out, "  simpler: {}\n", line_of(r->at("simplest")));
  }
}

int summarise_files(const std::vector<std::string>& files, const std::string& json) {
  std::vector<nlohmann::json> all;
  for (const std::string& file : files) {
    const auto records = records_of(file);
    all.insert(all.end(), records.begin(), records.end());
  }
  try {
    print_summary(json == "-" ? stderr : stdout, all);
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("not records of random calls: {}", detail::words_of(e)));
  }
  if (json.empty()) return 0;
  const std::string text = nlohmann::json(all).dump(1);
  if (json == "-") {
    fmt::print("{}\n", text);
    return 0;
  }
  std::ofstream out(json);
  out << text << '\n' << std::flush;
  if (!out) throw std::runtime_error("cannot write " + json);
  return 0;
}

}  // namespace taquin::regret
