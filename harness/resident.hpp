// Resident memory of this process: how much more than at a given time it has had.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace taquin::harness {

/// Measures from its construction on. Linux only. Memory that the allocator has kept from earlier is returned first.
class resident_memory {
 public:
  resident_memory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins at what there is now
    before_ = bytes("VmRSS");
  }
  /// The most bytes beyond those at the beginning.
  [[nodiscard]] std::size_t most_more() const {
    const std::size_t peak = bytes("VmHWM");
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  static std::size_t bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(key + ":")) return std::stoul(line.substr(key.size() + 1)) * 1024;
    return 0;
  }

  std::size_t before_ = 0;
};

}  // namespace taquin::harness
