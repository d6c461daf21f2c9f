#include "harness/plot.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/replace_file.hpp"
#include "harness/errors.hpp"

namespace taquin::harness {

namespace {

// In gnuplot's single quotes.
std::string quoted(const std::string& text) {
  std::string q = "'";
  for (const char c : text) q += c == '\'' ? "''" : std::string(1, c);
  return q + "'";
}

std::string script(const std::string& file, const drawing& d) {
  std::string text = fmt::format(
      "set terminal svg size 800,500 background 'white' noenhanced\nset output {}\nset title {}\nset xlabel {}\n"
      "set ylabel {}\nset logscale xy\nset format y '%.0s %cs'\nset format x '%.0s%c'\nset key outside right top\nset "
      "grid\n",
      quoted(file), quoted(d.title), quoted(d.x), quoted(d.y));
  std::string commands;
  std::string data;
  for (std::size_t i = 0; i < d.curves.size(); ++i) {
    const curve& c = d.curves[i];
    data += fmt::format("$d{} << EOD\n", i);
    std::size_t shown = 0;
    for (const auto& [x, y] : c.points)
      if (x > 0 && y > 0) data += fmt::format("{} {}\n", x, y), ++shown;
    data += "EOD\n";
    if (shown > 0)
      commands += fmt::format("{}$d{} using 1:2 with {} lw 2 title {}", commands.empty() ? "plot " : ", ", i,
                              c.marks ? "points pt 7 ps 0.6" : "lines", quoted(c.title));
  }
  return text + data + commands + "\n";
}

}  // namespace

void check_plotter() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe, cert-env33-c): one thread; a fixed text
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0)
    throw failure("--plot needs gnuplot, which is not installed (Debian package gnuplot-nox)");
}

void plot(const std::string& file, const drawing& d) {
  if (const auto why = detail::cannot_replace(file)) throw failure(fmt::format("cannot write {}: {}", file, *why));
  std::FILE* gnuplot = popen("gnuplot >/dev/null 2>&1", "w");  // NOLINT(cert-env33-c): a fixed text
  if (gnuplot == nullptr) throw failure("cannot start gnuplot");
  const std::string text = script(file, d);
  const bool written = std::fwrite(text.data(), 1, text.size(), gnuplot) == text.size();
  if (pclose(gnuplot) != 0 || !written) throw failure(fmt::format("gnuplot could not draw {}", file));
  fmt::print(stderr, "drawing written to {}\n", file);
}

}  // namespace taquin::harness
