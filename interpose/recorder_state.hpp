// What a process keeps of the program's calls.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "interpose/call_site.hpp"
#include "interpose/clock.hpp"
#include "interpose/log.hpp"
#include "interpose/recorder.hpp"

namespace taquin::interpose {

/// Entries of a communicator until waiting is told apart.
inline constexpr std::size_t most_open = 512;

/// A communicator whose name is on its way: its first call was one that waits for no other rank.
struct naming {
  MPI_Request request = MPI_REQUEST_NULL;
  std::array<int, 2> name{};
  std::size_t comm = 0;  // index into rank_log::comms
};

struct recorder_state {
  std::mutex mutex;
  log_writer writer;
  std::vector<std::vector<entry>> open;  // by communicator
  std::vector<std::uint64_t> calls;      // by communicator
  std::deque<naming> names;
  using site_key = std::tuple<const place*, std::uint32_t, workloads::call_kind, call_form>;
  std::map<site_key, std::uint32_t> sites;
  std::pair<site_key, std::uint32_t> last_site{};
  struct {
    std::uint32_t site = 0;
    std::string_view name;  // an algorithm's
    std::uint64_t* calls = nullptr;
  } last_algorithm;
  int keyval = MPI_KEYVAL_INVALID;
  int named = 0;  // communicators that this rank has named
  int node = 0;
  int in_flight = 0;  // calls that are begun and not complete
  double offset = 0;  // of this rank's clock from rank 0's
  double begin = 0;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(other_call::kinds)> counts{};

  static recorder_state& get();
};

}  // namespace taquin::interpose
