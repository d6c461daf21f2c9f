// From a workload or a traffic file to the calls that are measured.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/problem.hpp"
#include "workloads/traffic.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

/// Calls that are run one after the other, with the communicators that they need.
class test_case {
 public:
  /// One exchange of a workload on all ranks.
  test_case(const workloads::workload& w, exchange::form kind, buffering how, count_t bytes_per_rank,
            std::uint64_t seed);
  /// Every recorded call, in order, in the form that it had. `one_buffer` turns them all into blocking exchanges in one
  /// buffer. Collective over the world, which must have as many ranks as the recording's.
  test_case(const workloads::traffic& t, bool one_buffer);
  test_case(const test_case&) = delete;
  test_case& operator=(const test_case&) = delete;
  ~test_case();

  [[nodiscard]] const std::vector<problem>& calls() const noexcept { return calls_; }
  /// Most bytes that any rank sends in one call. Collective over the world.
  [[nodiscard]] count_t bytes_per_rank() const;
  /// Names of the algorithms, native aside, that serve at least one of the calls. Collective over the world.
  [[nodiscard]] std::vector<std::string> served_by() const;

 private:
  std::vector<problem> calls_;
  std::vector<MPI_Comm> owned_;
};

}  // namespace taquin::harness
