// The options that all programs here have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace taquin::soak {

/// For settings of the program's own; `what`: a problem, or a trial.
template <class Settings>
void add_common_options(CLI::App& app, Settings& s, const std::string& what) {
  app.add_option("--seed", s.seed, "what everything follows from");
  app.add_option("--first", s.first, "number of the first " + what);
  app.add_option("--timeout", s.timeout, "seconds after which a " + what + " hangs");
  app.add_flag("--show", s.shows, "print every " + what);
}

}  // namespace taquin::soak
