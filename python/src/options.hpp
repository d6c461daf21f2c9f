// The one place that knows the library's options and statistics: what Python gives, as the library takes it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>

#include "taquin/options.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::python {

/// Keywords of a call, checked on the Python side. Owns what the library's options refer to.
struct choices {
  std::string algorithm = "auto";
  std::size_t memory = unlimited;
  bool check = false;
  bool scratch_sends = false;
  bool tune = false;
  progress_by progress = progress_by::library;
  after_timeout on_timeout = after_timeout::wait;
  float timeout = 0;
  std::string fault{};  ///< what is wrong with this rank's arguments; empty: nothing
  statistics stats{};

  choices() = default;
  choices(const choices&) = delete;
  choices& operator=(const choices&) = delete;

  [[nodiscard]] const char* fault_or_null() const noexcept { return fault.empty() ? nullptr : fault.c_str(); }
  /// Refer to this object, which must outlive the plan or the redistribution.
  [[nodiscard]] options for_exchange();
  [[nodiscard]] redistribute_options for_redistribution();
};

/// From a dict of the keywords, all of which may be missing.
void read(choices& into, const pybind11::dict& keywords);
/// The fields of taquin.Statistics.
pybind11::dict to_python(const statistics& s);

}  // namespace taquin::python
