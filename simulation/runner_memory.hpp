// The memory that a node's ranks share, in simulation: every access is checked against the arrivals that order it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "simulation/runner.hpp"

namespace taquin::detail {

// A node's memory, and for each byte the rank that accessed it last. The arrivals that ranks wait for must order the
// accesses.
class node_memory {
 public:
  std::vector<std::byte> data;
  std::vector<int> arrivals;  // of each of the node's ranks, in no particular order

  void resize(std::size_t bytes) {
    data.resize(bytes);
    touched_.resize(bytes);
  }
  // `made` arrivals are the rank's own before the access, and it has waited for `awaited` arrivals of all.
  void read(int rank, std::size_t first, std::size_t n, int made, int awaited) {
    for (std::size_t i = first; i < first + n; ++i) {
      history& h = touched_[i];
      if (h.writer < 0)
        throw simulated_error(fmt::format("rank {} reads shared byte {}, which holds nothing", rank, i));
      if (h.writer != rank && h.written >= awaited)
        throw simulated_error(
            fmt::format("rank {} reads shared byte {} before rank {} has arrived", rank, i, h.writer));
      if (h.reader != rank && made >= h.read) {
        h.read_by_others = h.reader < 0 ? -1 : std::max(h.read_by_others, h.read);
        h.reader = rank;
        h.read = made;
      } else if (h.reader == rank) {
        h.read = std::max(h.read, made);
      } else {
        h.read_by_others = std::max(h.read_by_others, made);
      }
    }
  }
  void write(int rank, std::size_t first, std::size_t n, int made, int awaited) {
    for (std::size_t i = first; i < first + n; ++i) {
      history& h = touched_[i];
      const int others = h.reader == rank ? h.read_by_others : std::max(h.read, h.read_by_others);
      if ((h.writer >= 0 && h.writer != rank && h.written >= awaited) || others >= std::max(awaited, 0))
        throw simulated_error(fmt::format("rank {} writes shared byte {} before others have arrived", rank, i));
      h = {rank, made};
    }
  }

 private:
  struct history {
    int writer = -1;
    int written = 0;  // the writer's arrivals before
    int reader = -1;  // the one of most arrivals
    int read = -1;    // its arrivals before
    int read_by_others = -1;
  };
  std::vector<history> touched_;
};

}  // namespace taquin::detail
