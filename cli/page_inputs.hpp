// The inputs of the page of `taquin report`: files read, told apart, checked, and converted for the page.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "workloads/traffic.hpp"

namespace taquin::cli {

/// A file that cannot be shown, and why: one line.
class invalid_file : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One file as the page reads it: {"name", "kind", "data"}. Kinds: "traffic", "records", "predictions", "profile",
/// "plan", "report". `per_node`: ranks of a node, 0 where unknown. Throws invalid_file.
nlohmann::json read_page_input(const std::filesystem::path& path, int per_node);

/// A recording as the page shows it: calls by site (communicator and kind), matrices, of many ranks in groups.
nlohmann::json page_traffic(const workloads::traffic& t, int per_node);

/// JSON inside an HTML script element: no character of it can end the element or begin another.
std::string html_safe(const nlohmann::json& j);

/// Text without control characters, not longer than a few lines.
std::string one_line(std::string text);

}  // namespace taquin::cli
