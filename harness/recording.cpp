#include "harness/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/sizes.hpp"
#include "harness/errors.hpp"
#include "harness/session.hpp"

namespace taquin::harness {

workloads::traffic read_recording(const std::string& path, std::optional<int> ranks) {
  workloads::traffic t;
  std::optional<std::string> fault;
  try {
    t = workloads::read_traffic(path);
    const auto sparse = std::erase_if(t.calls, [](const auto& c) { return c.kind == workloads::call_kind::sparse; });
    if (t.calls.empty() && sparse > 0) {
      fault = fmt::format(
          "{} holds sparse exchanges only, which are not replayed: 'taquin run --collective sparse' measures them",
          path);
    } else if (t.calls.empty()) {
      fault = fmt::format("{} holds no calls: its program made none that are recorded", path);
    } else if (ranks && t.ranks != *ranks) {
      fault = fmt::format("{} was recorded on {} ranks and can only be replayed on as many, not on {}", path, t.ranks,
                          *ranks);
    }
  } catch (const workloads::traffic_error& e) {
    fault = e.what();
  }
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw failure(*any);
  return t;
}

time_in_calls busiest_rank(const workloads::traffic& t) {
  std::vector<time_in_calls> ranks(detail::as_size(t.ranks));
  for (const auto& c : t.calls)
    for (const int rank : t.communicators[c.communicator]) {
      time_in_calls& mine = ranks[detail::as_size(rank)];
      mine.seconds += static_cast<double>(c.repeats) * c.seconds.mean;
      mine.waiting += static_cast<double>(c.repeats) * c.seconds.waiting;
    }
  return ranks.empty() ? time_in_calls{} : *std::ranges::max_element(ranks, {}, &time_in_calls::seconds);
}

}  // namespace taquin::harness
