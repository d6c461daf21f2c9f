// Output files that are complete or not there: written beside their place and renamed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace taquin::detail {

/// Replaces the file `path` by one that holds `text`. An interrupted write leaves the old file as it was. A symbolic
/// link keeps pointing at its file; what is no regular file (a device, a pipe) is written to directly. Returns the
/// reason where it fails.
std::optional<std::string> replace_file(const std::string& path, std::string_view text);

/// The reason why replace_file(path, …) would fail, as far as that can be known before there is a text. Writes nothing.
std::optional<std::string> cannot_replace(const std::string& path);

}  // namespace taquin::detail
