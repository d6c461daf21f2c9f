#include "cli/json_option.hpp"

#include <fmt/format.h>

#include "base/replace_file.hpp"

namespace taquin::cli {

CLI::Option* add_json_option(CLI::App& app, std::string& path, const std::string& what) {
  return app.add_option("--json", path, fmt::format("write {} to a file, or without one to standard output", what))
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("[FILE]");
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  if (const auto why = detail::replace_file(path, text))
    throw harness::failure(fmt::format("cannot write {}: {}", path, *why));
}

}  // namespace taquin::cli
