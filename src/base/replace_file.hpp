// Output files that are complete or not there: written beside their place and renamed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace taquin::detail {

/// Treatment of a symbolic link at the path of an output file.
enum class links : bool {
  followed,  ///< the file that it leads to is replaced
  replaced   ///< the link itself is replaced: another user may have put it there, in a folder that all can write
};

/// Replaces the file `path` by one that holds `text`. An interrupted write leaves the old file as it was. Files that
/// are not regular (a device, a pipe), and paths in /dev or /proc, are written directly; the reader of a pipe has 5 s
/// to open it, and 5 s for each part. Returns the reason of a failure.
std::optional<std::string> replace_file(const std::string& path, std::string_view text, links at = links::followed);

/// Writes `text` to a new file: `stem` and `extension`, or with -1, -2, … between them. `path` is its name. Returns the
/// reason of a failure.
std::optional<std::string> create_file(const std::string& stem, const std::string& extension, std::string_view text,
                                       std::string& path);

/// The reason why replace_file(path, …) would fail, as far as that can be known before there is a text. Writes nothing.
std::optional<std::string> cannot_replace(const std::string& path);

}  // namespace taquin::detail
