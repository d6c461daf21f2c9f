// What is kept of the program's calls, for a recording and for the report at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpose/log.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

using workloads::call_form;

/// What became of a call.
struct outcome {
  std::string_view algorithm{};  ///< taquin's; empty: the MPI library's own call
  std::string reason{};          ///< why taquin left a call to the MPI library that it should have served
  std::size_t peak_memory = 0;
};

/// A recording or a report is asked for.
bool observing() noexcept;

/// Between ranks of different nodes clocks differ: measured here. Collective over the world; after agree_to_serve.
void start_observing();

/// What a call moved.
struct moved {
  std::vector<count_t> sent;      ///< bytes to each rank of the communicator
  std::vector<count_t> received;  ///< and from each, for a full report
  count_t element_bytes = 0;      ///< divides all that is sent
  bool in_place = false;
};
moved moved_by(const exchange& x);

/// A call that has begun and is not complete.
struct call_in_flight {
  bool known = false;
  bool sampled = false;
  std::uint32_t run = 0;   ///< in the log
  std::uint32_t site = 0;  ///< in the log
  double seconds = 0;      ///< so far, in MPI's calls
};
/// It has ended: its seconds count.
void complete(const call_in_flight& c) noexcept;

/// Persistent calls are started in any order, maybe when their communicator is freed: its name is agreed upon when they
/// are made. Waits for no rank. What to give observed_call.
std::uintptr_t name_communicator(MPI_Comm comm);

/// One call of the program, from its begin on. The first one on a communicator is collective: it agrees on the
/// communicator's name, without waiting for the others unless the call is blocking; so is each 512th blocking one,
/// which tells how long each rank waited for the last one.
class observed_call {
 public:
  observed_call(MPI_Comm comm, workloads::call_kind kind, call_form form, const void* site);
  /// A start of a persistent call.
  observed_call(std::uintptr_t named, workloads::call_kind kind, const void* site) noexcept;
  /// The MPI library is to do this one, so that a full report can compare. The same on all ranks.
  [[nodiscard]] bool sampled() const noexcept { return sampled_; }
  void sample() noexcept { sampled_ = true; }
  /// It has ended well.
  void end(const exchange& x, const outcome& o);
  void end(const outcome& o, const moved& m);
  /// It has begun, and ends later.
  call_in_flight begun(const outcome& o, const moved& m);

 private:
  void end(const outcome& o, const moved& m, double seconds);
  std::pair<std::uint32_t, std::uint32_t> add(const outcome& o, const moved& m);

  MPI_Comm call_comm_ = MPI_COMM_NULL;
  workloads::call_kind kind_;
  call_form form_;
  const void* site_;
  std::size_t comm_ = 0;
  std::size_t entry_ = 0;
  bool known_ = false;
  bool sampled_ = false;
  bool waits_ = false;
  double begin_ = 0;
};

/// Counts calls that nobody serves: for a recording that stays empty.
enum class other_call : int { point_to_point, kinds };
void count(other_call what) noexcept;

/// Gathers what all ranks kept on rank 0 of MPI_COMM_WORLD, which writes the files and the summary. Collective; before
/// MPI is finalised. Failures are told on standard error and change nothing else.
void write_observations() noexcept;

}  // namespace taquin::interpose
