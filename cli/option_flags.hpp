// Flags of the command for the library's options, made of their list.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string_view>

#include "base/option_table.hpp"

namespace taquin::cli {

/// A flag for each option that is named, or, where none is, for all but the algorithm and the memory, which commands
/// take in ways of their own. `into` must live as long as `app`.
void add_option_flags(CLI::App& app, detail::owned_options& into, std::initializer_list<std::string_view> names = {});

}  // namespace taquin::cli
