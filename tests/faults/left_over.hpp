// The system's resources that a process holds.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

namespace taquin::soak {

/// Files that are open, threads, and memory that is mapped from files of taquin's.
struct left_over {
  int files = 0;
  int sockets = 0;  ///< of them; the MPI library's
  int threads = 0;
  int mappings = 0;
  static left_over now() {
    left_over n;
    DIR* const files = opendir("/proc/self/fd");
    for (const dirent* file = nullptr; (file = readdir(files)) != nullptr; ++n.files) {
      struct stat s {};
      if (fstatat(dirfd(files), file->d_name, &s, 0) == 0 && S_ISSOCK(s.st_mode)) ++n.sockets;
    }
    closedir(files);
    DIR* const threads = opendir("/proc/self/task");
    while (readdir(threads) != nullptr) ++n.threads;
    closedir(threads);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("taquin") != std::string::npos && line.find("memfd") != std::string::npos) ++n.mappings;
    return n;
  }
};

}  // namespace taquin::soak
