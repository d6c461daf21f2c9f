#include "cli/layout_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cli/command.hpp"
#include "harness/sizes.hpp"

namespace taquin::cli {

namespace {

std::vector<count_t> numbers(std::string_view text, const char* of) {
  std::vector<count_t> all;
  for (;;) {
    count_t n = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc{} || n < 0) throw usage(fmt::format("{}: '{}' is no number", of, text));
    all.push_back(n);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty()) return all;
    if (text.front() != 'x') throw usage(fmt::format("{}: '{}' where an x is expected", of, text));
    text.remove_prefix(1);
  }
}

// GRID[/BLOCKS][:f], as in the help.
layout read_layout(std::string text, const std::vector<count_t>& shape, const char* of) {
  storage_order order = storage_order::c;
  if (text.ends_with(":f")) {
    order = storage_order::fortran;
    text.resize(text.size() - 2);
  }
  const auto slash = text.find('/');
  const auto grid = numbers(std::string_view(text).substr(0, slash), of);
  const auto blocks = slash == std::string::npos ? std::vector<count_t>(shape.size(), 0)
                                                 : numbers(std::string_view(text).substr(slash + 1), of);
  if (grid.size() != shape.size() || blocks.size() != shape.size())
    throw usage(fmt::format("{}: '{}' for {} dimensions", of, text, shape.size()));
  std::vector<dimension> dimensions;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const int processes = static_cast<int>(std::min<count_t>(grid[d], 1 << 30));
    dimensions.push_back(blocks[d] > 0 ? dimension::block_cyclic(shape[d], processes, blocks[d])
                                       : dimension::even(shape[d], processes));
  }
  return layout(std::move(dimensions), order, order);
}

// The extents of the target.
std::vector<count_t> permuted(const std::vector<count_t>& shape, const std::vector<int>& axes) {
  std::vector<count_t> there = shape;
  if (axes.empty()) return there;
  std::vector<int> sorted = axes;
  std::ranges::sort(sorted);
  for (std::size_t d = 0; d < std::max(shape.size(), sorted.size()); ++d)
    if (sorted.size() != shape.size() || sorted[d] != static_cast<int>(d))
      throw usage(fmt::format("--axes is no permutation of 0 to {}", shape.size() - 1));
  for (std::size_t d = 0; d < shape.size(); ++d) there[static_cast<std::size_t>(axes[d])] = shape[d];
  return there;
}

}  // namespace

std::string layout_help() {
  return R"(A layout is a process grid, then after a slash the block lengths of a block-cyclic distribution (0: one even block for
each process), then :f for Fortran's order in memory and of ranks:)";
}

CLI::Option* layout_flags::add_to(CLI::App& app) {
  auto* option = app.add_option("--from", from, "the layout of an array, see below")->type_name("LAYOUT");
  app.add_option("--to", to, "the layout that it is brought to")->type_name("LAYOUT");
  app.add_option("--shape", shape, "extents of the array")->capture_default_str();
  app.add_option("--element", element, "bytes of an element")->capture_default_str();
  app.add_option("--axes", axes, "the dimension of the target that each of the source's becomes")->delimiter(',');
  return option;
}

layout_move::layout_move(const layout_flags& flags) {
  if (flags.from.empty() || flags.to.empty()) throw usage("--from and --to belong together");
  const auto shape = numbers(flags.shape, "--shape");
  from = read_layout(flags.from, shape, "--from");
  to = read_layout(flags.to, permuted(shape, flags.axes), "--to");
  options.axes = flags.axes;
  const count_t bytes = harness::parse_size(flags.element);
  if (bytes < 1 || bytes > (1 << 20)) throw usage("an element has 1 byte to 1 MiB");
  element = static_cast<std::size_t>(bytes);
}

void layout_move::check(int ranks) const {
  for (const auto* l : {&from, &to})
    if (const auto wrong = l->invalid_on(ranks); !wrong.empty())
      throw usage(fmt::format("{}: {}", l == &from ? "--from" : "--to", wrong));
}

count_t layout_move::bytes_moved(const layout& there) const {
  return elements_moved(from, there, options) * static_cast<count_t>(element);
}

}  // namespace taquin::cli
