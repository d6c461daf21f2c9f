// taquin report: recordings, reports of preloaded runs and records as one HTML page. Runs without MPI ranks.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/replace_file.hpp"
#include "cli/command.hpp"
#include "cli/page_inputs.hpp"
#include "harness/session.hpp"

namespace taquin::cli {

namespace {

struct report_page_arguments {
  std::vector<std::string> files;
  std::string output;
  int per_node = 0;
};

constexpr std::string_view place_of_data = "@TAQUIN_DATA@";

// Made when taquin was built, and found from the executable, so that a tree can be moved: share/taquin lies beside bin
// where it was built and where it is installed.
std::string empty_page() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw harness::failure(fmt::format("cannot determine the folder of this program: {}", failed.message()));
  const auto path = self.parent_path().parent_path() / "share" / "taquin" / "report.html";
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw harness::failure(
        "this build of taquin has no report page: it is made at build time with Node.js 18 or later and npm; install "
        "them, configure and build again");
  std::ostringstream text;
  text << in.rdbuf();
  std::string page = std::move(text).str();
  if (page.find(place_of_data) == std::string::npos)
    throw harness::failure(fmt::format("{} is damaged", path.string()));
  return page;
}

void write(const std::string& path, const std::string& text) {
  if (const auto why = detail::replace_file(path, text))
    throw harness::failure(fmt::format("cannot write {}: {}", path, *why));
}

int execute_report_page(const report_page_arguments& a) {
  std::string page = empty_page();
  nlohmann::json data{{"taquin_page", 1}, {"per_node", a.per_node}};
  data["files"] = nlohmann::json::array();
  data["problems"] = nlohmann::json::array();
  for (const std::string& file : a.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, a.output, ignored))
      throw usage(fmt::format("{} is both an input and the output: name another output with -o", file));
    try {
      data["files"].push_back(read_page_input(file, a.per_node));
    } catch (const invalid_file& e) {
      const std::string what = one_line(e.what());
      fmt::print(stderr, "taquin report: {}: {}\n", one_line(file), what);
      data["problems"].push_back({{"name", file}, {"what", what}});
    }
  }
  if (data["files"].empty()) throw harness::failure("no file that can be shown: no page is written");
  page.replace(page.find(place_of_data), place_of_data.size(), html_safe(data));
  write(a.output, page);
  fmt::print("{} written: {} of {} files, {} bytes\n", a.output, data["files"].size(), a.files.size(), page.size());
  return data["problems"].empty() ? 0 : failure_status;
}

std::function<int()> set_up_report_page(CLI::App& app) {
  auto a = std::make_shared<report_page_arguments>();
  app.add_option("files", a->files, "what taquin has written: see below")->required()->type_name("FILE...");
  app.add_option("-o,--output", a->output, "write the page here")->required()->type_name("FILE.html");
  app.add_option("--per-node", a->per_node, "ranks per node; heat maps of many ranks then show whole nodes")
      ->check(CLI::Range(1, 1 << 20));
  app.footer(R"(
Files: recordings (record), reports of preloaded runs (TAQUIN_REPORT), records (run --json, redistribute --json, make
regret), machine profiles with measured times (tune), predictions (simulate --json), schedules (plan --json). The page needs no network
and no other file. A file that cannot be shown is one line on standard error and on the page, and makes the exit status
1; the others are shown.

Examples:
  taquin report traffic.json -o page.html
  mpirun -n 4 taquin run -b 8..64K -a all --json times.json
  taquin plan -n 8 -a zero_copy_bruck --json bruck.json
  taquin report times.json bruck.json -o page.html)");
  return [a] { return execute_report_page(*a); };
}

}  // namespace

const command report_command{"report", "recordings and records as one HTML page", set_up_report_page};

}  // namespace taquin::cli
