// What is kept of the program's calls, for a recording and for the report at the end.
#pragma once

#include <string>
#include <string_view>

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
struct rows {
  std::vector<count_t> sent;      ///< bytes to each rank of the communicator
  std::vector<count_t> received;  ///< and from each
  count_t element_bytes = 0;      ///< divides all that is sent
};

/// One call of the program, from its begin on. The first one on a communicator is collective: it agrees on the
/// communicator's name; so is each 512th, which tells how long each rank waited for the last one.
class observed_call {
 public:
  observed_call(MPI_Comm comm, workloads::call_kind kind, call_form form, const void* site);
  /// The MPI library is to do this one, so that a full report can compare. The same on all ranks.
  [[nodiscard]] bool sampled() const noexcept { return sampled_; }
  /// It has ended well.
  void end(const exchange& x, const outcome& o);
  void end(const outcome& o, bool in_place, const rows& r);

 private:
  MPI_Comm call_comm_;
  workloads::call_kind kind_;
  call_form form_;
  const void* site_;
  std::size_t comm_ = 0;
  std::size_t entry_ = 0;
  bool known_ = false;
  bool sampled_ = false;
  bool waits_ = false;
  double begin_ = 0;
  double seconds_ = -1;
};

/// Counts calls that nobody serves: for a recording that stays empty.
enum class other_call : int { point_to_point, nonblocking, neighbourhood, persistent, kinds };
void count(other_call what) noexcept;

/// Gathers what all ranks kept on rank 0 of MPI_COMM_WORLD, which writes the files and the summary. Collective; before
/// MPI is finalised. Failures are told on standard error and change nothing else.
void write_observations() noexcept;

}  // namespace taquin::interpose
