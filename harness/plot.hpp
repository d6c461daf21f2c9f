// Drawings as SVG files, by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace taquin::harness {

struct curve {
  std::string title;
  std::vector<std::pair<double, double>> points;
  bool marks = false;  ///< measured points rather than a line
};

struct drawing {
  std::string title;
  std::string x;
  std::string y;
  std::vector<curve> curves;  ///< on logarithmic axes; points that are not above 0 are left out
};

/// Throws failure where there is no gnuplot.
void check_plotter();
/// Throws failure when gnuplot fails or the file cannot be written.
void plot(const std::string& file, const drawing& d);

}  // namespace taquin::harness
