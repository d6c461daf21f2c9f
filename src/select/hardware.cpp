#include "select/hardware.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "mpi/check.hpp"
#include "select/profile.hpp"

namespace taquin::detail {

namespace {

namespace fs = std::filesystem;

// "key : value" of /proc, without blanks at the ends of both.
bool split(const std::string& line, std::string& key, std::string& value) {
  const auto colon = line.find(':');
  if (colon == std::string::npos) return false;
  const auto trimmed = [](const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  key = trimmed(line.substr(0, colon));
  value = trimmed(line.substr(colon + 1));
  return true;
}

std::uint64_t leading_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : 0;
}

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

// In order of their names: a directory has none.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> all;
  for (fs::directory_iterator i(folder, failed), end; !failed && i != end; i.increment(failed))
    all.push_back(i->path());
  std::ranges::sort(all);
  return all;
}

}  // namespace

hardware core_of(std::istream& cpuinfo, std::istream& meminfo) {
  hardware h;
  std::set<std::string> packages;
  std::string line;
  std::string key;
  std::string value;
  while (std::getline(cpuinfo, line)) {
    if (!split(line, key, value)) continue;
    if (key == "physical id") packages.insert(value);
    // Arm cores have a number instead of a name there.
    if (h.processor.empty() && (key == "model name" || key == "CPU part" || key == "cpu")) h.processor = value;
  }
  h.sockets = static_cast<int>(packages.size());
  constexpr std::uint64_t kilobyte = 1024;
  while (std::getline(meminfo, line))
    if (split(line, key, value) && key == "MemTotal") h.memory = leading_number(value) * kilobyte;
  return h;
}

std::string link_of(const fs::path& classes) {
  for (const fs::path& device : entries(classes / "infiniband"))
    for (const fs::path& port : entries(device / "ports"))
      if (const std::string rate = first_line(port / "rate"); !rate.empty())
        return fmt::format("{} {}", device.filename().string(), rate);
  std::string best;
  std::uint64_t speed = 0;
  for (const fs::path& interface : entries(classes / "net")) {
    const std::string name = interface.filename().string();
    if (name == "lo" || first_line(interface / "operstate") == "down") continue;
    const std::uint64_t megabits = leading_number(first_line(interface / "speed"));
    if (!best.empty() && megabits <= speed) continue;
    speed = megabits;
    best = megabits > 0 ? fmt::format("{} {} Mbit/s", name, megabits) : name;
  }
  return best;
}

hardware this_hardware() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::ifstream meminfo("/proc/meminfo");
  hardware h = core_of(cpuinfo, meminfo);
  h.cores = static_cast<int>(std::thread::hardware_concurrency());
  int version = 0;
  int subversion = 0;
  TAQUIN_MPI(PMPI_Get_version(&version, &subversion));
  h.mpi = fmt::format("{}, MPI {}.{}", library_name(), version, subversion);
  h.link = link_of("/sys/class");
  return h;
}

std::string words_of(const hardware& h) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!h.processor.empty()) add(h.processor);
  if (h.sockets > 0) add(fmt::format("{} socket{}", h.sockets, h.sockets == 1 ? "" : "s"));
  if (h.cores > 0) add(fmt::format("{} core{}", h.cores, h.cores == 1 ? "" : "s"));
  constexpr double gibibyte = 1024.0 * 1024 * 1024;
  if (h.memory > 0) add(fmt::format("{:.0f} GiB", static_cast<double>(h.memory) / gibibyte));
  if (!h.mpi.empty()) add(h.mpi);
  if (!h.link.empty()) add(h.link);
  return text;
}

std::string made_elsewhere(const profile& p) {
  if (p.model.machine.empty()) return {};  // rules alone
  const std::string here = machine_name();
  if (p.model.machine != here) return fmt::format("made on '{}', this is '{}'", p.model.machine, here);
  if (p.made_on.processor.empty()) return {};
  const hardware now = this_hardware();
  if (p.made_on.processor == now.processor && p.made_on.sockets == now.sockets) return {};
  return fmt::format("made on '{}', this is '{}'", words_of(p.made_on), words_of(now));
}

}  // namespace taquin::detail
