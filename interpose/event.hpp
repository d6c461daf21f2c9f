// The events of the program's calls, which connect serving with observing. serve/ makes a call_event when a call
// begins, and adds its result. observe/ decides which parts of it are kept.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/exchange.hpp"
#include "workloads/traffic.hpp"

namespace taquin::interpose {

using workloads::call_form;
using workloads::call_kind;

struct observed_comm;

/// In a full report each so many calls on a communicator go to the MPI library, to be measured.
inline constexpr std::uint64_t sampling = 16;

/// Seconds of the best timed calls, on the slowest rank.
struct trial_times {
  double library = 0;
  double taquin = 0;
};

/// The outcome of a call.
struct outcome {
  std::string_view algorithm = "native";  ///< taquin's, or this: the MPI library's own call
  const char* reason = nullptr;           ///< why it is the MPI library's own call (reasons.hpp); kept for ever
  std::size_t peak_memory = 0;
  trial_times trial{};  ///< that the MPI library has won
};

/// The same text, kept for ever: the reason of an outcome that is not one of reasons.hpp.
const char* keep_reason(const std::string& text);

/// The data that a call moved.
struct moved {
  std::vector<count_t> sent;      ///< bytes to each rank of the communicator
  std::vector<count_t> received;  ///< and from each, for a full report
  count_t element_bytes = 0;      ///< divides all that is sent
  bool in_place = false;
};
moved moved_by(const exchange& x);

/// The kind of a call, in one number.
class call_traits {
 public:
  call_traits() noexcept = default;
  call_traits(call_kind kind, call_form form) noexcept
      : bits_(static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(form) << form_at) {}
  [[nodiscard]] call_kind kind() const noexcept { return static_cast<call_kind>(bits_ & 0xffU); }
  [[nodiscard]] call_form form() const noexcept { return static_cast<call_form>(bits_ >> form_at & 0xffU); }
  [[nodiscard]] bool in_place() const noexcept { return (bits_ & in_place_bit) != 0; }
  /// The MPI library does it to be measured.
  [[nodiscard]] bool sampled() const noexcept { return (bits_ & sampled_bit) != 0; }
  void sample() noexcept { bits_ |= sampled_bit; }
  void set_in_place(bool yes) noexcept { bits_ |= yes ? in_place_bit : 0U; }
  bool operator==(const call_traits&) const noexcept = default;

 private:
  static constexpr unsigned form_at = 8;
  static constexpr std::uint32_t in_place_bit = 1U << 16U;
  static constexpr std::uint32_t sampled_bit = 1U << 17U;
  std::uint32_t bits_ = 0;
};

/// A call that has started and is not complete.
struct call_in_flight {
  bool known = false;
  bool sampled = false;
  std::uint32_t run = 0;   ///< in the log
  std::uint32_t site = 0;  ///< in the log
  double seconds = 0;      ///< so far, in MPI's calls
  std::uint32_t traced = 0;

  /// It has ended: its seconds count.
  void completed() const noexcept;
};

/// The agreed properties of a persistent call, from its creation. Its starts come in any order, maybe after its
/// communicator was freed, so nothing can be agreed on then.
struct persistent_call {
  observed_comm* comm = nullptr;
  std::uint64_t number = 0;  ///< among those of its communicator
};
/// Waits for no rank.
persistent_call name_persistent(MPI_Comm comm);

/// The program frees a communicator now. Waits for its name, where that is in flight.
void communicator_goes(MPI_Comm comm);

/// One call of the program, from its begin on. The first one on a communicator is collective, because ranks agree on
/// the communicator's name; only a blocking call waits for the others in it. Some later blocking calls are collective
/// as well, to find how long each rank waited for the last one.
struct call_event {
  call_event(MPI_Comm comm, call_kind kind, call_form form, const void* site);
  /// A start of a persistent call.
  call_event(const persistent_call& call, call_kind kind, const void* site, std::uint64_t start) noexcept;
  /// The MPI library is to do this one, so that a full report can compare. The same on all ranks.
  [[nodiscard]] bool sampled() const noexcept { return traits.sampled(); }
  /// It has ended well.
  void ended(const exchange& x, const outcome& o);
  void ended(const outcome& o, const moved& m);
  /// It has started, and ends later.
  call_in_flight started(const outcome& o, const moved& m);

  const void* site;               ///< the return address
  observed_comm* comm = nullptr;  ///< null: left out
  call_traits traits;
  std::int32_t entry = -1;   ///< among the communicator's entries that are open; −1: none
  std::uint64_t begin = 0;   ///< of the tick clock
  std::uint64_t number = 0;  ///< for a trace: of the call on its communicator, the same on all ranks
};

/// Calls that are not observed are only counted, so that an empty recording can say what the program does instead:
/// those of a kind that is not served (MPI_Sendrecv is a message point to point, too), and all-to-all calls that are
/// passed on before anything is known of them.
enum class other_call : int { point_to_point, sendrecv, switched_off, outside = switched_off + 3, kinds = outside + 3 };
void count(other_call what) noexcept;
/// The same call of a form: `what` has a count for each form.
inline void count(other_call what, call_form form) noexcept {
  count(static_cast<other_call>(static_cast<int>(what) + static_cast<int>(form)));
}

/// A recording or a report is requested, and the program has started.
extern bool observes;
inline bool observing() noexcept { return observes; }

/// Begins, where a recording or a report is requested. Between ranks of different nodes clocks differ: measured here.
/// Collective over the world; after agree_to_serve.
void start_observing();

/// Gathers what all ranks kept on rank 0 of MPI_COMM_WORLD, which writes the files and the summary. Collective; before
/// MPI is finalised. Failures are reported on standard error and change nothing else.
void write_observations() noexcept;

}  // namespace taquin::interpose
