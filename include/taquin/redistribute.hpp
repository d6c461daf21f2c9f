// Redistribution of blocks, in place: each rank holds an array of equal blocks, and every block goes to a place of its
// own in some rank's array.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "taquin/exchange.hpp"
#include "taquin/failure.hpp"
#include "taquin/options.hpp"
#include "taquin/types.hpp"

namespace taquin {

namespace detail {
struct redistribution_access;
}

/// Choices for a redistribution. Everything but `stats` must be the same on all ranks, except that `memory` may
/// differ: the smallest one rules.
struct redistribute_options {
  /// A name that `taquin list --redistribution` prints; default: the one that is expected to be the fastest.
  std::string_view algorithm = "auto";
  /// Extra bytes per rank that taquin may take. Default: for blocks of more than 16 KiB tables, and buffers of 1% of
  /// the data, at least 64 KiB; for smaller ones the largest buffers. Of migrate() see there.
  std::size_t memory = unlimited;
  /// Whether a call checks, before anything moves, that no two blocks go to one place. It takes one more reduction.
  /// Default: it does.
  bool check = true;
  /// The least part, 0 to 1, of the blocks left that a round must bring to their ranks. After a round below it `slots`
  /// takes over. Default: 0, which no round is below.
  double least_progress = 0;
  /// Filled when set; must outlive the redistribution. Default: none.
  statistics* stats = nullptr;
  /// Selects what progresses it between its start and its wait: calls of taquin, and with `thread` a thread of the
  /// process as well. The MPI library alone cannot, so `library` means `calls`, or `thread` where
  /// TAQUIN_PROGRESS_THREAD=1.
  progress_by progress = progress_by::library;
  /// After `timeout`; default: the rank continues to wait.
  after_timeout on_timeout = after_timeout::wait;
  /// As in taquin::options: seconds, or a std::chrono duration; 0, the default: the value of TAQUIN_TIMEOUT, or never.
  time_limit timeout{};
  /// The most requests of a rank, and blocks that it has requested, in flight, and the most unexpected messages at a
  /// rank; docs/internals/flow-control.md has the exceptions. 0, the default: 32. A large number lifts the limit.
  int in_flight = 0;
  /// Of migrate: the function for destinations is called once for each element, and the elements of a source keep their
  /// order. Otherwise see there. Default: it is.
  bool once = true;
};

/// An array of blocks that can be redistributed again and again. Move-only.
///
/// Scratch memory on a rank of p with m blocks of l data bytes, taken when the object is made (buffers) and during a
/// call (tables of the blocks): tables of at most 21504 + 300·p + 16·m bytes, and buffers. By default buffers have at
/// most 1% of the data, or if that is less 1.5 MiB (64 KiB for blocks of more than 16 KiB). The least memory is
/// 21504 + 300·p + 16·m·n + 3·l/n. Where the memory is too small for whole blocks, those of 8 KiB or more are divided
/// into n equal parts of at least 4 KiB: n divides a block's elements, or where elements have no gaps its bytes. Where
/// `o.memory` is too small budget_exceeded names exactly the bytes that are needed, and those that are as good as no
/// limit.
class redistribution {
 public:
  /// `blocks` blocks (at most 10^9 on each rank, any number on each) of `block_length` elements of `type` at `data`.
  /// Collective; all ranks give the same block length, a type of the same size, and the same options.
  /// Throws on every rank: `usage_error` for bad arguments, `budget_exceeded` when `o.memory` is too small.
  redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                 const redistribute_options& o = {});
  /// Takes the other's array; the other can only be destroyed or assigned to.
  redistribution(redistribution&&) noexcept;
  /// The same; the previous content of this object is freed.
  redistribution& operator=(redistribution&&) noexcept;
  /// Frees its buffers. Local.
  ~redistribution();

  /// Begins to move block k to place `dest_indices[k]` of rank `dest_ranks[k]`, for k < `length`; a rank of −1 marks a
  /// dead block, whose index does not matter. Blocks from `length` on are dead. Destinations are read here and need not
  /// live on. Nonblocking; all ranks start their redistributions and plans in the same order. Throws `usage_error`
  /// where it is started already.
  void start(count_t length, const count_view& dest_ranks, const count_view& dest_indices);
  /// The same; each span's length is the number of blocks.
  void start(std::span<const int> dest_ranks, std::span<const int> dest_indices);
  /// The same with 64-bit indices.
  void start(std::span<const int> dest_ranks, std::span<const count_t> dest_indices);
  /// Progresses; true when all blocks of this rank are where they belong and its own are sent (or nothing is
  /// started). Nonblocking. Dead blocks, and places without a block, are unspecified then. Throws `usage_error` on
  /// every rank, naming rank and block, with the data untouched: a rank or an index out of range, more destinations
  /// than blocks, and (unless `check` is off) two blocks for one place. With `check` off such a map's result is not
  /// specified.
  [[nodiscard]] bool test();
  /// Completes a started redistribution. Throws as test() does.
  void wait();
  /// As start() and then wait(). Collective, blocking: either all ranks call this, or all call start(). With "auto", on
  /// one node and for few blocks, it takes two steps through the memory that the ranks share.
  void operator()(count_t length, const count_view& dest_ranks, const count_view& dest_indices);
  /// The same for spans of equal length.
  void operator()(std::span<const int> dest_ranks, std::span<const int> dest_indices);
  /// The same with 64-bit places.
  void operator()(std::span<const int> dest_ranks, std::span<const count_t> dest_indices);

  /// Sorts the blocks of this rank in place by destination rank, dead ones last, and the destinations with them. Each
  /// block is copied at most once, and one per closed cycle once more. One rank and one index for every block of the
  /// array, −1 for a dead one. Local. Throws on this rank, with everything as before: `usage_error` where the spans are
  /// longer or shorter, a rank does not exist, or it is started; `budget_exceeded` where there is no room to sort in.
  void sort(std::span<int> dest_ranks, std::span<int> dest_indices);

  /// After a failure: survivors agree on where each block is, and continue with the remaining blocks. Returns this
  /// rank's map; ranks in it are those of the communicator before. Every block that a survivor has is then on exactly
  /// one of them:
  /// - A block that had arrived stays in its place (`incoming`: arrived).
  /// - Any other block is with one rank that had it last (`outgoing`: stands; `incoming`: displaced). It is in that
  ///   rank's array, or, where the array is full, in the map (staged).
  /// - A block that is `missing` is lost: it was with a rank that has failed, or on its way.
  /// Where blocks were divided, a block here is a part of one, in the map (`unit_bytes` says so) as for the next
  /// start(): the object then has n times as many blocks, of one n-th each.
  /// Where this rank's part had ended well `incoming` may be empty: everything has arrived. The next start() moves
  /// blocks among the survivors, from where `outgoing` says they are. Collective over `survivors`, a communicator of
  /// ranks of the one before. The maps take memory on top of `memory`. Throws as the constructor does, and nothing is
  /// changed then.
  failure::block_map repair(MPI_Comm survivors);
  /// The reverse: the same, and the map has the place of each block before the start that has failed, whose
  /// destinations are given once more. The next start(), from the places in the map, returns them.
  /// - A block of this rank is in its place (`incoming`: arrived), elsewhere on this rank (displaced, or staged), lost
  ///   (missing; `peer` is the rank that it was for), or listed by the rank that has it.
  /// - A block of another rank is listed with that rank and its place there (`outgoing`: stands, or staged). Of a rank
  ///   that has failed: with peer and offset −1.
  /// Where this rank's part had ended well, blocks received from failed ranks are where they arrived,
  /// and are not listed.
  failure::block_map roll_back(MPI_Comm survivors, std::span<const int> dest_ranks, std::span<const int> dest_indices);
  /// The same with 64-bit indices.
  failure::block_map roll_back(MPI_Comm survivors, std::span<const int> dest_ranks,
                               std::span<const count_t> dest_indices);
  /// The same for the first `length` blocks.
  failure::block_map roll_back(MPI_Comm survivors, count_t length, const count_view& dest_ranks,
                               const count_view& dest_indices);

  /// Continues with another array of the same shape. Local.
  void set_data(void* data) noexcept;
  /// Scratch bytes in use now. Local.
  [[nodiscard]] std::size_t memory() const noexcept;
  /// The most scratch bytes in use at any time. Local.
  [[nodiscard]] std::size_t peak_memory() const noexcept;
  /// The algorithm's name, "auto" resolved.
  [[nodiscard]] std::string_view algorithm() const noexcept;

 private:
  friend struct detail::redistribution_access;
  redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                 const redistribute_options& o, const char* invalid_text);
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace taquin
