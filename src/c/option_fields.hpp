// The options of C and of C++, field by field of options.def.
#pragma once

#include "base/option_table.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

/// Throws usage_error for a value that no rank can mean: a choice without a name, a time below 0.
owned_options from_c(const TAQUIN_Options& given);

/// Texts and lists stay in `o`, which must outlive the result.
TAQUIN_Options to_c(const owned_options& o);

/// `text` as the value of the option that `row` describes. Throws usage_error when it is none.
void read_hint(const option_row& row, const char* text, owned_options& into);

}  // namespace taquin::detail
