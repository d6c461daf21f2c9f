// Runs a schedule over MPI: start, test, wait. Requests, derived types and staging are made once; a started plan
// allocates nothing.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/raw_buffer.hpp"
#include "mpi/datatype.hpp"
#include "mpi/request_set.hpp"
#include "node/shared_segment.hpp"
#include "schedule/operation.hpp"
#include "schedule/schedule.hpp"

namespace taquin::detail {

/// Where and how a schedule runs.
struct execution {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;
  void* send = nullptr;
  void* recv = nullptr;
  bool reused = false;               ///< persistent requests; otherwise each message is posted once, as it is
  MPI_Op op = MPI_OP_NULL;           ///< of copies that combine
  shared_segment* shared = nullptr;  ///< where the schedule has place::shared; outlives the executor
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
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::byte* staging = nullptr;  // packed messages only
  };

  /// Where a lane of the current round stands.
  struct lane {
    std::uint32_t next = 0;        // its next message
    std::uint32_t end = 0;         // one past its last
    std::uint32_t first_slot = 0;  // its own, as many as its widest stage has messages
    std::uint32_t pending = 0;
  };

  [[nodiscard]] std::byte* at(const region& r) const noexcept;
  [[nodiscard]] bool simple(const message& m) const noexcept;
  [[nodiscard]] bool indexed(const message& m) const noexcept;
  [[nodiscard]] std::uint32_t first_message() const noexcept;
  void measure();
  void make_wires();
  wire make_wire(const message& m, std::byte*& staging);
  wire make_derived(const message& m);
  MPI_Datatype make_indexed(const message& m);
  MPI_Datatype make_struct(const message& m);
  void make_requests();
  [[nodiscard]] std::uint32_t measure_lanes(std::uint32_t from, std::uint32_t to) const noexcept;
  void pack_message(std::uint32_t m);
  void unpack_message(std::uint32_t m);
  void post(std::uint32_t slot, std::uint32_t i);
  void copy_locally();
  void enter(std::size_t r);
  void begin();
  void leave();
  [[nodiscard]] bool arrived() const noexcept;
  bool meet(bool block);
  [[nodiscard]] count_t room(std::size_t slot) const noexcept {
    return schedule_.bytes(schedule_.messages[in_slot_[slot]]);
  }
  template <class Done>
  void complete_some(bool block, Done done);
  bool advance(bool block);
  void check_sizes();
  void describe(mpi::wait_note& note) const override;
  void enter_lanes();
  void post_stage(std::uint8_t lane);
  bool advance_lanes(bool block);

  schedule schedule_;
  execution where_;
  std::array<std::byte*, 4> base_{};
  raw_buffer scratch_;
  raw_buffer staging_;
  std::pmr::vector<wire> wires_;
  std::pmr::vector<mpi::datatype> derived_;
  std::pmr::vector<MPI_Request> persistent_;  // one per message, where the plan is reused; null for small ones
  mpi::request_set slots_;                    // the messages in flight
  std::pmr::vector<std::uint32_t> in_slot_;   // which message a slot holds
  std::pmr::vector<lane> lanes_;
  statistics totals_;  // of one exchange

  std::size_t round_ = 0;      // the round in progress; rounds.size() when idle
  std::uint32_t posted_ = 0;   // one past its last posted message
  std::uint32_t used_ = 0;     // slots that were filled in this round
  std::uint32_t pending_ = 0;  // messages in flight
  bool waiting_ = false;       // the round begins when the node's ranks have arrived
};

// Completes what has arrived, or waits until something has; then calls done(slot).
template <class Done>
void executor::complete_some(bool block, Done done) {
  const auto one = [&](std::size_t n, const MPI_Status&) {
    const auto slot = static_cast<std::uint32_t>(n);
    unpack_message(in_slot_[slot]);
    --pending_;
    done(slot);
  };
  const auto bytes = [&](std::size_t slot) { return room(slot); };
  block ? slots_.wait_some(one, bytes) : slots_.test_some(one, bytes);
}

}  // namespace taquin::detail
