// taquin explain --from LAYOUT --to LAYOUT: the bytes that change ranks, and the bytes that other ranks would save.
#pragma once

#include <string>

#include "cli/layout_flags.hpp"

namespace taquin::cli {

/// Prints it for so many ranks, or writes a JSON array. Throws usage. Local.
void explain_layouts(const layout_flags& flags, int ranks, const std::string& json);

}  // namespace taquin::cli
