#pragma once

namespace taquin::harness {

/// How often a contender is measured where no number is given.
constexpr int least_repetitions = 10;
constexpr int most_repetitions = 200;
constexpr double seconds_each = 2;  ///< per contender, verification included
constexpr double shortest = 1e-3;   ///< a repetition: so many exchanges that they take this long
constexpr int most_inner = 10000;   ///< exchanges of a repetition

}  // namespace taquin::harness
