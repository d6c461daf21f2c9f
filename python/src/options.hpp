// The one place that knows the library's options and statistics: conversion from Python's values.
#pragma once

#include <pybind11/pybind11.h>

#include <complex>
#include <string>

#include "base/option_table.hpp"
#include "taquin/layout.hpp"
#include "taquin/options.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::python {

/// Keywords of a call, checked on the Python side. Owns the texts and lists of the library's options.
struct choices : detail::owned_options {
  std::string invalid_text{};            ///< the error in this rank's arguments; empty: none
  std::string elements{};                ///< of this rank's array; empty: not known
  std::complex<double> scale{1.0, 0.0};  ///< of numbers that go to another layout
  bool conjugate = false;
  std::string numbers{};  ///< their kind and bytes, as NumPy writes them ("c16"); empty: no numbers, or not wanted
  statistics stats{};

  choices() = default;
  choices(const choices&) = delete;
  choices& operator=(const choices&) = delete;

  [[nodiscard]] const char* invalid_text_or_null() const noexcept {
    return invalid_text.empty() ? nullptr : invalid_text.c_str();
  }
  /// Refer to this object, which must outlive the plan or the redistribution.
  [[nodiscard]] options for_exchange();
  [[nodiscard]] redistribute_options for_redistribution();
  [[nodiscard]] layout_options for_layouts();
};

/// From a dict of the keywords, all of which may be missing.
void read(choices& into, const pybind11::dict& keywords);
/// The rows of options.def, for the checks on the Python side: name to kind and words of a choice.
pybind11::dict table();
/// The fields of taquin.Statistics.
pybind11::dict to_python(const statistics& s);

}  // namespace taquin::python
