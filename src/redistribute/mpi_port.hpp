// The port over MPI. Every call makes progress; waiting yields the processor.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"
#include "redistribute/port.hpp"

namespace taquin::detail {

class mpi_port final : public port {
 public:
  /// Everything is taken from `memory`: footprint() bytes. Local.
  mpi_port(mpi::communicator& comm, block_store& store, const port_limits& limits, std::pmr::memory_resource* memory);
  /// All messages must have been received; see finish().
  ~mpi_port() override = default;

  void post(int to, std::span<const word> words) override;
  using port::receive;
  void receive(int from, std::span<const slot_range> into, std::uint32_t id) override;
  bool send(int to, std::span<const slot_range> from) override;

  /// Waits for what is still on its way from this rank.
  void finish();

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_; }

  static std::size_t footprint(const port_limits& limits, std::size_t block_bytes, int ranks) noexcept;

 private:
  struct transfer {
    bool incoming = false;
    int peer = -1;
    std::uint32_t id = 0;
    slot_range run;
    mpi::datatype scattered;   // instead of a run: several, at absolute addresses
    std::uint64_t number = 0;  // of a receive that is not posted yet, in order

    [[nodiscard]] bool waits() const noexcept { return peer >= 0 && incoming && number > 0; }
  };

  bool wait_event() override;
  event take_event() override;
  bool begin(const collective& c) override;
  bool poll();
  [[nodiscard]] std::size_t free_transfer() const;
  [[nodiscard]] std::size_t free_slot(std::pmr::vector<MPI_Request>& requests);
  void start(std::size_t t);
  [[nodiscard]] std::size_t oldest_receive(int from) const;
  void post_receive(std::size_t t);
  void post_receives();
  bool admit();
  bool can_pack();

  mpi::communicator& comm_;
  block_store& store_;
  port_limits limits_;
  int tag_;
  std::pmr::vector<MPI_Request> requests_;  // of transfers
  std::pmr::vector<transfer> transfers_;
  std::uint32_t under_way_ = 0;     // transfers
  std::pmr::vector<int> complete_;  // indices of transfers that are complete and not yet told
  std::size_t told_ = 0;
  std::size_t untold_ = 0;
  std::uint64_t receives_ = 0;  // begun so far
  std::size_t unposted_ = 0;
  std::pmr::vector<MPI_Request> message_requests_;
  std::pmr::vector<word> message_words_;
  std::pmr::vector<MPI_Request> buffer_requests_;
  std::pmr::vector<std::byte> buffers_;
  std::pmr::vector<MPI_Aint> addresses_;  // of runs that are received into
  std::pmr::vector<int> lengths_;
  std::pmr::vector<word> incoming_;
  std::pmr::vector<int> counts_;  // of a collective
  event next_{};
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace taquin::detail
