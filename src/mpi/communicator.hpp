// The state that taquin keeps per communicator of the user's, as an attribute of it and freed with it.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/outliving.hpp"
#include "mpi/attribute.hpp"
#include "mpi/progress_record.hpp"
#include "mpi/slots.hpp"

namespace taquin::mpi {

class plan_tags;

/// The first rank that has aborted a call, and its error, given that `e` makes `rank` abort. The text is that of the
/// exception.
struct abort_reason {
  abort_reason(const std::exception& e, int rank) noexcept;
  int first;
  std::string_view why;
};

/// A private communicator of the same ranks, so that taquin's messages never match the user's, and properties of the
/// group.
class communicator final : public detail::outliving {
 public:
  /// The state that `of` has made before; null where it has thrown, too. Local.
  static communicator* find(MPI_Comm user);
  /// The state of an intracommunicator. The first call for a communicator is collective: it makes the private
  /// communicator. MPI libraries have few communicators, and the program needs some. If taquin has `limit()` already,
  /// or the MPI library has none left, throws usage_error (MPI_ERR_UNSUPPORTED_OPERATION) on all ranks, then and later.
  static communicator& get_or_create(MPI_Comm user);
  /// Private communicators that a process may have at a time: 256, or the value of TAQUIN_COMMUNICATOR_LIMIT.
  static int limit();

  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;
  ~communicator() { forget_receive(); }

  /// Keeps the state alive even if the user frees the communicator meanwhile, as MPI does for pending operations.
  struct release {
    void operator()(communicator* state) const noexcept { state->drop(); }
  };
  using lease = std::unique_ptr<communicator, release>;
  /// The state of a communicator that has no other user; freed with the last lease. Local.
  static lease adopt(MPI_Comm made) {
    lease state(new communicator);
    state->own(made);
    return state;
  }
  /// `made` becomes the communicator of this state, which was made with none. Local, allocates nothing.
  void own(MPI_Comm made);
  [[nodiscard]] lease keep() noexcept {
    users_.fetch_add(1, std::memory_order_relaxed);
    return lease(this);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// The user's communicator of this state has not been freed.
  [[nodiscard]] bool has_user() const noexcept { return has_user_.load(std::memory_order_relaxed); }

  /// Objects that upper layers keep with the communicator.
  slots kept;

  /// The calls on the user's communicator.
  std::shared_ptr<call_record> record;
  [[nodiscard]] call_record& calls() const noexcept { return *record; }

  /// Memory for a message of an agreement, one at a time, that the MPI library may read for as long as the communicator
  /// is there.
  template <std::size_t Bytes>
  void* message() noexcept {
    static_assert(Bytes <= sizeof message_);
    return message_.data();
  }
  /// Neither it nor the objects made from it are ever freed from now on.
  void outlive() noexcept override { outlives_ = true; }

  /// Called when an error makes this rank abort a call. The rank cannot use the communicator any more. All others are
  /// notified, and their waits end with peer_aborted. Does nothing the second time.
  void abort(const std::exception& why) noexcept;
  /// Throws peer_aborted if another rank is known to have aborted.
  void check_for_aborts();
  /// MPI_Wait for a request of this thread's, which may also end with peer_aborted; returns MPI's result.
  int wait(MPI_Request& request, MPI_Status* status);
  /// Completes the requests that waits have posted for failure notifications. There are no more waits.
  void complete_failure_receives() noexcept;
  /// MPI_Waitsome with the same polling.
  int wait_some(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses);

  /// Frees communicators that all ranks are known to have freed. Local.
  static void free_retired() noexcept;
  /// Completes the receives for failure notifications that are left when MPI ends, because plans are alive.
  static void complete_all_failure_receives() noexcept;
  /// How many this rank has freed of which that is not known. If a rank has aborted a call there, it never will be.
  static int retired() noexcept;

  /// While one is alive in a thread, states whose attributes the MPI library deletes there are kept, and freed when it
  /// ends: MPICH 4.2 deletes the attributes of a communicator while it frees the last persistent collective, and must
  /// not be called then.
  class late_frees {
   public:
    late_frees() noexcept { ++alive_; }
    late_frees(const late_frees&) = delete;
    late_frees& operator=(const late_frees&) = delete;
    ~late_frees() {
      if (--alive_ == 0 && waiting_ != nullptr) free_all();
    }

   private:
    friend class communicator;
    static void free_all() noexcept;
    static constinit thread_local int alive_;
    static constinit thread_local communicator* waiting_;
  };

  /// Concurrent operations use disjoint tags: `tags_per_plan` from the given one.
  static constexpr int tags_per_plan = 32;
  static constexpr int agreement_tag = tags_per_plan - 1;  ///< of those, the agreement's
  static constexpr int gate_tag = tags_per_plan - 2;       ///< that of a barrier before messages may be sent
  /// Tags for a call that is complete before this rank enters the next one. They repeat after `tag_sets_of_calls`
  /// calls: a rank is ahead of others by at most two calls.
  static constexpr int tag_sets_of_calls = 64;
  [[nodiscard]] int next_tag() noexcept {
    const int tag = next_call_ * tags_per_plan;
    next_call_ = (next_call_ + 1) % tag_sets_of_calls;
    return tag;
  }

  /// For the creation of communicators of its ranks: one of size() + 1 tags that no exchange has.
  [[nodiscard]] int tag_of_groups(int number) const noexcept { return abort_tag_ - 1 - number; }

 private:
  friend class plan_tags;
  communicator() noexcept = default;
  static const attribute<communicator>& states();
  int drop() noexcept;
  static int on_delete(MPI_Comm, int, void* value, void*);
  void keep_for_ever() noexcept;
  class queue;
  int free() noexcept;
  int retire() noexcept;
  void post_failure_receive();
  void forget_receive() noexcept;
  class failure_poll;
  /// For a wait: polls for failure notifications if it is this thread's turn.
  void poll_again(const failure_poll& l);

  /// The message of an aborting rank to all others.
  struct abort_message {
    int rank = -1;                ///< the first that has left
    std::array<char, 156> why{};  ///< its error
  };

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int next_call_ = 0;
  int next_plan_ = 0;                  // sets of plans' tags that were assigned, until there were no more
  int sets_of_plans_ = 0;              // how many there are
  std::mutex guard_;                   // of the fields that follow: plans may be freed by any thread
  plan_tags* plans_ = nullptr;         // those that have tags
  std::atomic<int> users_{1};          // the attribute and the leases
  std::atomic<int>* count_ = nullptr;  // of the private communicators, where this is one of them
  communicator* next_ = nullptr;       // of those that will be freed later, or never
  int abort_tag_ = 0;                  // no other message has it
  std::atomic<bool> has_user_{false};
  std::atomic<bool> left_{false};
  std::atomic<bool> outlives_{false};
  alignas(std::max_align_t) std::array<std::byte, 512> message_{};
  abort_message abort_message_;           // sent without waiting: kept like the communicator
  abort_message heard_;                   // of the first that is received
  MPI_Request hears_ = MPI_REQUEST_NULL;  // from the first wait on
  communicator* next_receive_ = nullptr;  // of those that have posted one
  communicator* receive_before_ = nullptr;
  static communicator* receives_;
  MPI_Request retires_ = MPI_REQUEST_NULL;     // a barrier of the ranks that free it
  std::atomic<bool> one_thread_polls_{false};  // one thread at a time
};

/// The tags of a plan, which no other plan of the communicator has at the same time. Returned by its destructor.
class plan_tags {
 public:
  plan_tags() noexcept = default;
  plan_tags(const plan_tags&) = delete;
  plan_tags& operator=(const plan_tags&) = delete;
  ~plan_tags();

  /// Takes `sets` times communicator::tags_per_plan tags, to be called once, and returns the first. Collective. Plans
  /// are made in the same order on all ranks but freed in any order. While there are tags that no plan has had, ranks
  /// choose the same without communication; later they agree on tags that are free on all ranks. Throws usage_error on
  /// all ranks when there are none.
  int take(communicator& comm, int sets = 1);

 private:
  [[nodiscard]] static bool is_free(const communicator& comm, int set, int sets) noexcept;
  [[nodiscard]] static int agree(communicator& comm, int sets);

  communicator* comm_ = nullptr;
  int set_ = 0;
  int sets_ = 0;
  plan_tags* next_ = nullptr;
  plan_tags* before_ = nullptr;
};

/// With the communicator's name.
std::shared_ptr<call_record> make_call_record(MPI_Comm user);

/// The error of all ranks if one has no memory for the first call on a communicator. Allocates nothing.
[[noreturn]] void refuse_without_memory();

/// True for an intercommunicator.
bool is_inter(MPI_Comm comm);

}  // namespace taquin::mpi
