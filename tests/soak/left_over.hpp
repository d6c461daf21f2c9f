// What a process holds of the system's.
#pragma once

#include <dirent.h>

#include <fstream>
#include <string>

namespace taquin::soak {

/// Files that are open, and memory that is mapped from files of taquin's.
struct left_over {
  int files = 0;
  int mappings = 0;
  static left_over now() {
    left_over n;
    DIR* const files = opendir("/proc/self/fd");
    while (readdir(files) != nullptr) ++n.files;
    closedir(files);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("taquin") != std::string::npos && line.find("memfd") != std::string::npos) ++n.mappings;
    return n;
  }
};

}  // namespace taquin::soak
