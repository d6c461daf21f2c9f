// The known word that was most probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace taquin::harness {

/// The nearest of `known` by Damerau's distance (letters added, left out, exchanged, or swapped with their
/// neighbour), if it is at most 2 and shorter than the word itself; otherwise empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace taquin::harness
