#include "cli/explain_layouts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/json_option.hpp"
#include "harness/sizes.hpp"
#include "layouts/access.hpp"

namespace taquin::cli {

void explain_layouts(const layout_flags& flags, int ranks, const std::string& json) {
  const layout_move move(flags);
  move.check(ranks);
  const layout better = move.to.relabelled(move.from, ranks, move.options);
  const count_t as_given = move.bytes_moved(move.to);
  const count_t relabelled = move.bytes_moved(better);
  auto all = static_cast<count_t>(move.element);
  for (const dimension& d : move.from.dimensions()) all *= d.extent;
  std::vector<int> of_positions;
  for (std::size_t k = 0; k < static_cast<std::size_t>(better.processes()); ++k)
    of_positions.push_back(detail::layout_access::rank_at(better, k));
  if (!json.empty()) {
    write_text(json, nlohmann::json::array({{{"shape", flags.shape},
                                             {"from", flags.from},
                                             {"to", flags.to},
                                             {"axes", flags.axes},
                                             {"element", move.element},
                                             {"ranks", ranks},
                                             {"bytes", all},
                                             {"bytes_moved", as_given},
                                             {"bytes_moved_relabelled", relabelled},
                                             {"ranks_relabelled", of_positions}}})
                             .dump(2) +
                         "\n");
    return;
  }
  fmt::print("{} elements of {} B from {} to {}, {} ranks\n", flags.shape, move.element, flags.from, flags.to, ranks);
  fmt::print("bytes of the array       {:>12}\n", harness::show_size(all));
  fmt::print("that change ranks        {:>12}\n", harness::show_size(as_given));
  fmt::print("by layout::relabelled    {:>12}\n", harness::show_size(relabelled));
  fmt::print("saved                    {:>12}\n", harness::show_size(as_given - relabelled));
  constexpr std::size_t most_shown = 64;
  if (relabelled < as_given && of_positions.size() <= most_shown)
    fmt::print("ranks of the target's positions: {}\n", fmt::join(of_positions, " "));
}

}  // namespace taquin::cli
