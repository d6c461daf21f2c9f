// Runs a schedule over MPI: start, test, wait. Requests, derived types and staging are made once; a started plan
// allocates nothing.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/arrays.hpp"
#include "base/raw_buffer.hpp"
#include "call/operation.hpp"
#include "mpi/owned.hpp"
#include "mpi/request_set.hpp"
#include "node/shared_scratch.hpp"
#include "schedule/gate.hpp"
#include "schedule/schedule.hpp"
#include "schedule/walk.hpp"

namespace taquin::detail {

/// Where and how a schedule runs.
struct execution {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;
  void* send = nullptr;
  void* recv = nullptr;
  bool reused = false;               ///< persistent requests; otherwise each message is posted once, as it is
  MPI_Op op = MPI_OP_NULL;           ///< of copies that combine
  shared_scratch* shared = nullptr;  ///< where the schedule has place::shared; outlives the executor
  int in_flight = std::numeric_limits<int>::max();  ///< most unexpected messages at a rank; the same on all
  int ranks = 0;  ///< of the communicator, if all of them run the schedule and in_flight must hold
};

class executor final : public operation, private mpi::awaited {
 public:
  /// Everything is taken from `memory`, which must outlive the executor. Local.
  executor(schedule&& s, const execution& where, std::pmr::memory_resource* memory);
  ~executor() override;

  void start() override;
  bool test() override;
  void wait() override;
  void account(statistics& s) const override;

  /// The most bytes that an executor takes for a schedule of this size, the schedule and its scratch included;
  /// `staging` is the most bytes of packed messages in one round, `derived_regions` the most regions in a message that
  /// goes as a derived datatype.
  static std::size_t footprint(const schedule_size& size, std::size_t scratch, std::size_t staging = 0,
                               std::size_t derived_regions = 0) noexcept;

 private:
  /// A message as arguments of an MPI call.
  struct wire {
    void* data = nullptr;
    int count = 0;
    std::uint32_t reported = 0;  // the argument for completes()
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::byte* staging = nullptr;  // packed messages only
  };

  /// How much of everything there is beside the schedule.
  struct sizes {
    std::size_t scratch = 0;
    std::size_t staging = 0;
    std::size_t messages = 0;
    std::size_t derived = 0;   // types
    std::size_t requests = 0;  // persistent ones
    std::size_t slots = 0;
  };
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const sizes& s) {
    each(&executor::scratch_, s.scratch);
    each(&executor::staging_, s.staging);
    each(&executor::wires_, at_most{s.messages});
    each(&executor::derived_, at_most{s.derived});
    each(&executor::persistent_, at_most{s.requests});
    each(&executor::requests_, s.slots);
    each(&executor::message_of_, s.slots);
  }

  [[nodiscard]] std::byte* at(const region& r) const noexcept;
  [[nodiscard]] bool simple(const message& m) const noexcept;
  [[nodiscard]] bool indexed(const message& m) const noexcept;
  sizes measure();
  void make_wires();
  wire make_wire(const message& m, std::byte*& staging);
  wire make_derived(const message& m);
  MPI_Datatype make_indexed(const message& m);
  MPI_Datatype make_struct(const message& m);
  void make_requests();
  void pack_message(std::uint32_t m);
  void unpack_message(std::uint32_t m);
  void taken(std::uint32_t m);
  void report_complete(std::uint32_t m) const noexcept;
  void post(std::uint32_t number, std::uint32_t i);
  void copy_locally();
  void enter();
  void begin();
  [[nodiscard]] bool floods() const noexcept { return where_.ranks - 1 > where_.in_flight; }
  [[nodiscard]] std::uint32_t answered_starts() const noexcept;
  void post_ahead();
  bool walked(std::uint32_t i);
  [[nodiscard]] bool over() const noexcept;
  void post_more(std::size_t lane, std::uint32_t number);
  void leave();
  [[nodiscard]] bool arrived() const noexcept;
  bool synchronize(bool block);
  [[nodiscard]] count_t capacity(std::size_t number) const noexcept {
    return schedule_.bytes(schedule_.messages[message_of_[number] & ~unsolicited]);
  }
  void complete_some(bool block);
  bool advance(bool block);
  void check_sizes();
  void describe(mpi::wait_record& to) const override;

  schedule schedule_;
  walk walk_;
  execution where_;
  std::array<std::byte*, 4> base_{};
  raw_buffer scratch_;
  raw_buffer staging_;
  std::pmr::vector<wire> wires_;
  std::pmr::vector<mpi::datatype> derived_;
  std::pmr::vector<MPI_Request> persistent_;    // one per message, where the plan is reused; null for small ones
  mpi::request_set requests_;                   // the messages in flight
  std::pmr::vector<std::uint32_t> message_of_;  // which message a slot holds
  // If more ranks than may be in flight could send to this one: receives are posted ahead, message i in slot i, and
  // nothing is sent until all ranks have done so.
  std::optional<gate> gate_;
  static constexpr std::uint32_t unsolicited = 1U << 31U;  // in in_slot_: the walk does not wait for the receive
  std::uint32_t starts_ = 0;
  statistics totals_;           // of one exchange
  std::uint32_t reported_ = 0;  // of the round
};

}  // namespace taquin::detail
