// How the ranks of a communicator make the memory of their slots without waiting for each other. In their first call
// they start one nonblocking collective, in which each publishes its part. In a later start the first rank of the node
// makes the memory, and the others map it: they find its key in memory that the node shares.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "interpose/neighbourhood/key_directory.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"
#include "interpose/neighbourhood/pending_collective.hpp"
#include "interpose/neighbourhood/remembered.hpp"
#include "mpi/communicator.hpp"
#include "node/mapping.hpp"

namespace taquin::interpose {

class neighbourhood_making {
 public:
  /// One rank of a communicator.
  struct member {
    int rank = 0;
    std::vector<int> places;  ///< of all ranks, in the communicator of messages
    std::vector<int> here;    ///< the ranks of this one's node, itself included, in ascending order
    neighbourhood::neighbours edges;
    std::size_t user_bytes = 0;     ///< as in neighbourhood::member
    bool each_with_each = false;    ///< each rank is a neighbour of each, itself included; all are on one node
    remembered outcomes{};          ///< of this rank
    key_directory* keys = nullptr;  ///< of the ranks of `messages`; none where the memory is made by finish() alone
  };

  /// Local.
  explicit neighbourhood_making(member m) : member_(std::move(m)), all_(member_.places.size()) {}
  neighbourhood_making(const neighbourhood_making&) = delete;
  neighbourhood_making& operator=(const neighbourhood_making&) = delete;
  ~neighbourhood_making() { give_up(); }

  /// Publishes this rank's part. A negative tag: this rank cannot take part, and nothing is made. All ranks call it at
  /// the same place in the order of their collectives on `comm`. Does not wait.
  void begin(MPI_Comm comm, mpi::communicator::lease messages, int tag);
  /// Whether all ranks have published. Local, does not wait.
  [[nodiscard]] bool all_have_published();
  /// After that: what all ranks remember. The same on all of them.
  [[nodiscard]] const remembered& outcomes() const noexcept { return agreed_; }
  /// After that, in a start: the first rank of the node makes the memory; the others map it once they find it. Local,
  /// does not wait: joined_one() is null until then, and for ever if `done()`.
  void join();
  /// The same, waiting for it, and all ranks agree on whether all of them have the memory and know their edges: null on
  /// all ranks where one does not. Collective, in a blocking call on `comm` of this number; the waits have the timeout
  /// of calls.
  [[nodiscard]] std::shared_ptr<neighbourhood> finish(MPI_Comm comm, std::uint64_t number);
  [[nodiscard]] bool has_begun() const noexcept { return stage_ != stage::first; }
  /// Null where this rank has not joined. Local.
  [[nodiscard]] const std::shared_ptr<neighbourhood>& joined_one() const noexcept { return joined_; }
  /// All ranks have: others can no longer map the memory.
  void all_have_joined() noexcept { close_key(); }
  /// This rank cannot join: ranks of a node share no memory, a rank cannot take part, or ranks are on several nodes and
  /// none has a neighbour on its own.
  [[nodiscard]] bool done() const noexcept { return stage_ == stage::done; }
  /// Bytes of this rank's memory, at most.
  [[nodiscard]] std::size_t most_bytes() const noexcept {
    return neighbourhood::most_bytes(static_cast<int>(member_.here.size()), member_.user_bytes);
  }
  /// Completes pending operations. Nothing is made.
  void give_up() noexcept;
  /// A wait had an error: the MPI library still reads and writes this object, which must stay.
  [[nodiscard]] bool must_stay() const noexcept { return in_progress_.must_stay(); }

 private:
  enum class stage : std::uint8_t { first, publishing, published, joined, done };
  // The record of each rank for all others.
  struct reported {
    std::int32_t tag = -1;  // of its incoming messages; −1: it cannot take part
    std::int32_t here = 0;  // destinations on its node
    remembered outcomes;
    detail::mapping_key key;  // of the memory of its node: of the first rank there, in finish()
  };

  void publish(MPI_Comm comm);
  void published() noexcept;
  [[nodiscard]] bool all_can() const noexcept;
  [[nodiscard]] const reported& first_here() const noexcept { return all_[detail::as_size(member_.here.front())]; }
  [[nodiscard]] bool is_first_here() const noexcept { return member_.rank == member_.here.front(); }
  void make_memory();
  void attach(const detail::mapping_key& key);
  void close_key() noexcept;
  [[nodiscard]] bool all(MPI_Comm comm, std::uint64_t number, bool good);
  void end() noexcept;

  member member_;
  stage stage_ = stage::first;
  mpi::communicator::lease messages_;
  reported mine_;
  std::vector<reported> all_;
  remembered agreed_;
  bool key_is_known_ = false;  // this rank's: to others of its node
  std::int32_t good_ = 0, all_good_ = 0;
  detail::mapping memory_;
  pending_collective in_progress_;
  std::shared_ptr<neighbourhood> joined_;
};

}  // namespace taquin::interpose
