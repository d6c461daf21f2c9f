// Gathers the records of all ranks on rank 0.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "interpose/event.hpp"
#include "interpose/observe/metrics.hpp"
#include "interpose/observe/recorder_state.hpp"
#include "interpose/observe/report.hpp"
#include "interpose/observe/trace_file.hpp"
#include "interpose/say.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

namespace {

void send_all(const std::vector<std::uint8_t>& bytes, MPI_Comm comm) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::uint64_t size = bytes.size();
  TAQUIN_MPI(PMPI_Send(&size, 1, MPI_UINT64_T, 0, 0, comm));
  for (std::size_t at = 0; at < bytes.size(); at += most)
    TAQUIN_MPI(PMPI_Send(bytes.data() + at, static_cast<int>(std::min(most, bytes.size() - at)), MPI_BYTE, 0, 0, comm));
}

std::vector<std::uint8_t> receive_all(int from, MPI_Comm comm) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::uint64_t size = 0;
  TAQUIN_MPI(PMPI_Recv(&size, 1, MPI_UINT64_T, from, 0, comm, MPI_STATUS_IGNORE));
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t at = 0; at < bytes.size(); at += most)
    TAQUIN_MPI(PMPI_Recv(bytes.data() + at, static_cast<int>(std::min(most, bytes.size() - at)), MPI_BYTE, from, 0,
                         comm, MPI_STATUS_IGNORE));
  return bytes;
}

std::vector<std::uint8_t> bytes_of(const std::vector<traced_event>& events) {
  std::vector<std::uint8_t> bytes(events.size() * sizeof(traced_event));
  if (!bytes.empty()) std::memcpy(bytes.data(), events.data(), bytes.size());
  return bytes;
}

std::vector<traced_event> events_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<traced_event> events(bytes.size() / sizeof(traced_event));
  if (!bytes.empty()) std::memcpy(events.data(), bytes.data(), bytes.size());
  return events;
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

void report_what_else(const std::vector<rank_log>& logs) {
  std::array<std::uint64_t, static_cast<std::size_t>(other_call::kinds)> all{};
  for (const rank_log& log : logs)
    for (std::size_t i = 0; i < all.size() && i < log.others.size(); ++i) all[i] += log.others[i];
  print_message(
      "the program made no all-to-all calls: the recording is empty. On all ranks it sent " + std::to_string(all[0]) +
      " messages point to point" +
      (all[1] > 0 ? ", " + std::to_string(all[1]) + " of them by MPI_Sendrecv, which taquin cannot serve" : ""));
}

}  // namespace

void write_observations() noexcept {
  const settings& given = settings::get();
  try {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    TAQUIN_MPI(PMPI_Comm_dup(MPI_COMM_WORLD, &comm));
    TAQUIN_MPI(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
    TAQUIN_MPI(PMPI_Comm_size(comm, &size));
    recorder_state& s = recorder_state::get();
    complete_names(s);
    rank_log& own = s.writer.log();
    own.seconds = now() - s.begin;
    own.node = s.node;
    s.known.flush(s);
    keep_open_entries(s);
    for (const auto& c : s.counts) own.others.push_back(c.load());
    s.traced.hand_over(s, own);
    if (rank > 0) {
      send_all(own.packed(), comm);
      send_all(bytes_of(own.events), comm);
    } else {
      own.program = command_line();
      std::vector<rank_log> logs(static_cast<std::size_t>(size));
      for (int from = 1; from < size; ++from) {
        rank_log& log = logs[static_cast<std::size_t>(from)] = rank_log::unpacked(receive_all(from, comm));
        log.events = events_of(receive_all(from, comm));
      }
      logs.front() = std::move(own);
      close_entries(logs);
      if (!given.record.empty()) {
        try {
          const workloads::traffic traffic = assemble(logs);
          if (traffic.calls.empty()) report_what_else(logs);
          write_traffic(traffic, given.record);
          print_message("recording written to " + given.record);
        } catch (const std::exception& e) {
          print_message("nothing is recorded: ", e.what());
        }
      }
      if (!given.trace.empty()) write_trace(logs, given.trace_limit, given.trace);
      if (!given.metrics.empty()) write_metrics(logs, given.metrics);
      if (given.at_end != settings::report::none) write_report(logs);
    }
    TAQUIN_MPI(PMPI_Comm_free(&comm));
  } catch (const std::exception& e) {
    print_message("the observations are lost: ", e.what());
  }
}

}  // namespace taquin::interpose
