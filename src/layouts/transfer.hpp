// Moves an array from one layout to another in a bounded number of chunks at a time.
//
// Rounds:  none; every rank sends its chunks to rank + 1, rank + 2, … and receives from rank − 1, rank − 2, …, and then
//          copies its own elements.
// Memory:  `slots` chunks that are sent and as many that are received, and three walks; nothing per rank or block.
// Ends:    sends are complete when they are received. Of all ranks with a pending transfer, take one whose receiver
//          has received from all sources that precede it: both have reached that chunk, and it moves.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/raw_buffer.hpp"
#include "call/operation.hpp"
#include "layouts/chunk_walk.hpp"
#include "layouts/copy_chunk.hpp"
#include "layouts/number_change.hpp"
#include "layouts/shape.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/request_set.hpp"

namespace taquin::detail {

/// Sizes that are the same on all ranks.
struct transfer_sizes {
  count_t elements = 1;     ///< of a chunk
  std::size_t runs = 1;     ///< of a chunk, in each dimension
  std::size_t buffers = 1;  ///< chunks in flight, in each direction

  /// Bytes that a transfer takes from its memory.
  [[nodiscard]] std::size_t bytes(std::size_t axes, std::size_t element) const noexcept;
  /// As large as is worth it within `memory`, or the least.
  static transfer_sizes within(std::size_t memory, std::size_t axes, std::size_t element, int in_flight) noexcept;
  /// The least memory within which they are as large as without a limit.
  static std::size_t enough(std::size_t axes, std::size_t element, int in_flight) noexcept;
};

/// Chunks that are in their places, in the order in which they arrive.
struct chunks_done {
  std::uint64_t received = 0;  ///< from other ranks
  std::uint64_t copied = 0;    ///< of this rank's own
};

class layout_transfer final : public operation, private mpi::awaited {
 public:
  layout_transfer(const layout_shape& shape, const transfer_sizes& sizes, std::size_t element, const written_part& part,
                  const number_change& change, mpi::communicator& comm, int tag, std::pmr::memory_resource* memory);

  /// Before start(): the arrays.
  void set_arrays(const local_array& from, const local_array& to) noexcept {
    from_ = from;
    to_ = to;
  }
  void start() override;
  bool test() override;
  void wait() override;
  void account(statistics& s) const override;
  void begin_again() noexcept { done_ = {}; }
  /// Since the last start, or since begin_again().
  [[nodiscard]] const chunks_done& done() const noexcept { return done_; }

 private:
  // The chunks that this rank sends, or receives, in order.
  class stream {
   public:
    stream(const layout_transfer& all, bool sends, std::pmr::memory_resource* memory);
    static std::size_t bytes(std::size_t axes, std::size_t runs) noexcept {
      return chunk_walk::bytes(axes, runs) + 2 * axes * sizeof(int);
    }
    /// To the first chunk; those of this rank itself come last.
    void begin();
    void next();
    [[nodiscard]] bool at_end() const noexcept { return step_ > all_.comm_.size(); }
    [[nodiscard]] bool own() const noexcept { return step_ == all_.comm_.size(); }
    [[nodiscard]] int peer() const noexcept;
    chunk_walk walk;

   private:
    void find();
    const layout_transfer& all_;
    bool sends_;
    int step_ = 0;  // ranks away
    std::pmr::vector<int> mine_;
    std::pmr::vector<int> theirs_;
  };
  friend struct transfer_sizes;

  bool progress();
  bool receive();
  bool send();
  [[nodiscard]] std::size_t chunk_bytes(const stream& s) const noexcept {
    return static_cast<std::size_t>(s.walk.elements()) * element_;
  }
  [[nodiscard]] std::byte* buffer(std::size_t number) const noexcept {
    return staging_.data() + number * buffer_bytes_;
  }
  void describe(mpi::wait_record& to) const override;

  const layout_shape& shape_;
  transfer_sizes sizes_;
  std::size_t element_;
  std::size_t buffer_bytes_;
  mpi::communicator& comm_;
  int tag_;
  local_array from_;
  local_array to_;
  stream sent_;
  stream posted_;    // receives
  stream unpacked_;  // behind posted_
  chunk_copier copier_;
  number_change change_;  // by the sender
  raw_buffer staging_;    // of sends, then of receives
  mpi::request_set requests_;
  std::size_t next_send_ = 0;  // slots, used in turn
  std::size_t next_post_ = 0;
  std::size_t next_unpack_ = 0;
  std::size_t waiting_ = 0;  // chunks posted and not unpacked
  chunks_done done_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_copied_ = 0;
};

}  // namespace taquin::detail
