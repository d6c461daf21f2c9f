// The environment variables as a table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace taquin::cli {

enum class used_by { library, preload, tests };

struct variable_row {
  std::string_view name;
  std::string_view values;
  std::string_view by_default;
  used_by user;
  std::string_view words;
};

std::span<const variable_row> variables() noexcept;

/// As text or as a table in Markdown.
std::string variables_text();
std::string variables_markdown();

}  // namespace taquin::cli
