// taquin calibrate: measure messages and copies, fit the cost models, write a profile.
#include "simulation/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "harness/output.hpp"
#include "harness/plot.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "select/profile.hpp"

namespace taquin::cli {

namespace {

struct calibrate_arguments {
  std::string file;
  std::string drawing;
  std::string most = "4M";
};

constexpr std::array level_names{"within a node", "between nodes"};

std::string parameters(const link_model& l, model_kind kind) {
  const auto t = show_seconds;
  const auto per_byte = [](double s) { return fmt::format("{:.3f} ns/B", s * 1e9); };
  switch (kind) {
    case model_kind::hockney:
      return fmt::format("tau {}, mu {}", t(l.hockney.tau), per_byte(l.hockney.mu));
    case model_kind::logp:
      return fmt::format("L {}, o {}, g {} per {}", t(l.logp.latency), t(l.logp.overhead), t(l.logp.gap),
                         show_size(l.logp.packet));
    case model_kind::loggp:
      return fmt::format("L {}, o {}, g {}, G {}", t(l.loggp.latency), t(l.loggp.overhead), t(l.loggp.gap),
                         per_byte(l.loggp.per_byte));
    case model_kind::plogp:
      break;
  }
  return fmt::format("L {}, g(1) {}, {} points", t(l.plogp.latency), t(l.plogp.at(1).gap), l.plogp.points.size());
}

void print(const detail::calibration& c, const detail::profile& p) {
  const machine_model& m = c.model;
  fmt::print("{}\n{} ranks, {:.3g} per core\n", words_of(p.made_on), m.ranks, m.ranks_per_core);
  for (std::size_t level = 0; level < c.samples.size(); ++level) {
    if (c.samples[level].empty()) {
      fmt::print("\n{}: not measured, no such pair of ranks\n", level_names[level]);
      continue;
    }
    fmt::print("\n{}\n{:<9} {:>12} {:>12}  {}\n", level_names[level], "model", "median error", "90% below", "fit");
    for (const detail::fit_quality& f : p.fits)
      if (f.level == static_cast<int>(level))
        fmt::print("{:<9} {:>11.1f}% {:>11.1f}%  {}{}\n", name_of(f.kind), 100 * f.median, 100 * f.p90,
                   parameters(m.levels[level], f.kind), f.median > detail::poor_fit ? "  (poor)" : "");
  }
  fmt::print("\nErrors are those of {} messages of sizes that were not fitted.\n{}",
             c.checks[0].size() + c.checks[1].size(), detail::doubts(c));
  fmt::print(
      "\ncopy {} + {:.3f} ns/B, pack {} + {:.3f} ns/B, a line of shared memory {:.1f} ns, waiting for others {} per "
      "round\n",
      show_seconds(m.copy.each), m.copy.per_byte * 1e9, show_seconds(m.pack.each), m.pack.per_byte * 1e9, m.line * 1e9,
      show_seconds(m.wait));
}

void draw(const std::string& file, const detail::calibration& c) {
  drawing d{"One message: measured and fitted, " + c.model.machine, "bytes", "time", {}};
  for (std::size_t level = 0; level < c.samples.size(); ++level) {
    if (c.samples[level].empty()) continue;
    curve measured{fmt::format("measured {}", level_names[level]), {}, true};
    for (const auto* some : {&c.samples[level], &c.checks[level]})
      for (const auto& s : *some) measured.points.emplace_back(s.bytes, s.one_way);
    std::ranges::sort(measured.points);
    d.curves.push_back(measured);
    for (const model_kind kind : all_models) {
      curve fitted{fmt::format("{} {}", name_of(kind), level_names[level]), {}, false};
      for (const auto& s : c.samples[level])
        for (const double factor : {1.0, 2.0}) {
          const auto bytes = static_cast<count_t>(static_cast<double>(s.bytes) * factor);
          fitted.points.emplace_back(bytes, c.model.levels[level].time(kind, bytes));
        }
      d.curves.push_back(fitted);
    }
  }
  plot(file, d);
}

// On rank 0. An error there becomes an error on all ranks.
void on_rank_0(int rank, const std::function<void()>& work) {
  std::optional<std::string> fault;
  if (rank == 0) {
    try {
      work();
    } catch (const failure& e) {
      fault = e.what();
    } catch (const detail::profile_error& e) {
      fault = e.what();
    }
  }
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw harness::failure(*any);
}

int execute_calibrate(const calibrate_arguments& a, count_t most, int rank, int ranks) {
  if (ranks < 2)
    throw usage("calibrate measures messages: it needs at least 2 ranks (mpirun -n 2 taquin calibrate ...)");
  on_rank_0(rank, [&] {  // before the measurement, not after
    if (!a.drawing.empty()) check_plotter();
  });
  if (!a.file.empty()) check_writable(a.file, rank);
  const auto c = detail::calibrate(MPI_COMM_WORLD, most);
  on_rank_0(rank, [&] {
    const detail::profile p = detail::profile_of(c);
    print(c, p);
    std::fflush(stdout);
    fmt::print(stderr, "{}", detail::poor_fits(c.model.kind, p.fits));
    if (!a.file.empty()) {
      detail::write_profile(a.file, p);
      fmt::print("written to {}: set TAQUIN_PROFILE to it\n", a.file);
    }
    if (!a.drawing.empty()) draw(a.drawing, c);
  });
  return 0;
}

std::function<int()> set_up_calibrate(CLI::App& app) {
  auto a = std::make_shared<calibrate_arguments>();
  app.add_option("-o,--output", a->file, "write the profile here, as JSON")->type_name("FILE");
  app.add_option("--plot", a->drawing, "draw measured against fitted times (needs gnuplot)")->type_name("FILE.svg");
  app.add_option("--most", a->most, "largest message, at most 64M")->capture_default_str();
  app.footer(
      R"(Rank 0 measures with the nearest rank of its node and with one of another node, where there is one; about two seconds
each. The models are fitted to every second power of two and compared with the others. PLogP is measured as by Kielmann
et al.: gaps with saturated links, overheads with delayed round trips. Programs take the profile from the environment variable TAQUIN_PROFILE.

Example:
  mpirun -n 4 taquin calibrate -o machine.json --plot machine.svg)");
  return [a] {
    const count_t most = parse_size(a->most);
    if (most < 64 || most > count_t{64} << 20) throw usage(fmt::format("--most {} is not within 64 and 64M", a->most));
    return in_session([&](int rank, int ranks) { return execute_calibrate(*a, most, rank, ranks); });
  };
}

}  // namespace

const command calibrate_command{"calibrate", "measure messages and fit the cost models", set_up_calibrate};

}  // namespace taquin::cli
