#include "mpi/communicator.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/collective_error.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/deadline.hpp"
#include "mpi/failure.hpp"
#include "mpi/request_set.hpp"
#include "mpi/retired.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

namespace {

std::atomic<int> private_communicators{0};

int read_limit(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<int>(std::clamp(std::strtol(text, nullptr, 10), 0L, 1L << 30U));
}

// The largest tag.
int largest_tag(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&value), &found));
  constexpr int guaranteed = 32767;
  return found != 0 ? *static_cast<int*>(value) : guaranteed;
}

// Sets of tags for plans: the MPI library's tags less those of calls. TAQUIN_TAG_LIMIT lowers it, for tests. The
// largest tag of all, and those of groups below it, are in no set.
int sets_of_plans(MPI_Comm comm) {
  static const int limit = read_limit("TAQUIN_TAG_LIMIT", std::numeric_limits<int>::max());
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  const int most = std::min(largest_tag(comm) - ranks - 1, limit);
  return std::max(most / communicator::tags_per_plan - communicator::tag_sets_of_calls, 1);
}

// While this lives, errors of calls on the user's communicator are returned as codes.
class quiet {
 public:
  explicit quiet(MPI_Comm comm) : comm_(comm) {
    TAQUIN_MPI(PMPI_Comm_get_errhandler(comm, &before_));
    TAQUIN_MPI(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;
  ~quiet() {
    PMPI_Comm_set_errhandler(comm_, before_);
    PMPI_Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// Not a duplicate: that would call the copy functions of the user's attributes.
MPI_Comm same_ranks(MPI_Comm user) {
  MPI_Group group = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(user, &group));
  MPI_Comm made = MPI_COMM_NULL;
  if (PMPI_Comm_create(user, group, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
  PMPI_Group_free(&group);
  return made;
}

// Null on all ranks if any rank has none. A rank without memory reports it before another waits for it. As in
// together(), ranks synchronize once more if one of them has a timeout.
MPI_Comm make_private(MPI_Comm user, bool has_memory, int& sets) {
  const quiet q(user);
  communicator::free_retired();
  free_retired_at_end();
  std::array<std::int32_t, 3> good{has_memory, private_communicators < communicator::limit(), !deadline::on()};
  allreduce(std::span<std::int32_t>(good), MPI_MIN, user);
  if (good[0] == 0) refuse_without_memory();
  if (good[1] == 0) return MPI_COMM_NULL;
  const deadline::all_are_here unhurried;
  if (good[2] == 0) barrier(user);
  MPI_Comm made = same_ranks(user);
  // As long as unused tags are left, all ranks give out the same ones without communication.
  sets = made != MPI_COMM_NULL ? sets_of_plans(made) : 0;
  allreduce(sets, MPI_MIN, user);
  if (sets > 0) return made;
  if (made != MPI_COMM_NULL) PMPI_Comm_free(&made);
  return MPI_COMM_NULL;
}

// Allocated while there is memory for it: a rank with a different error could not notify the others, because ranks do
// not know each other before their first call has ended.
const std::exception_ptr lack_of_memory = std::make_exception_ptr(
    on_all_ranks(usage_error("out of memory on a rank, in the first call on a communicator", MPI_ERR_NO_MEM)));

}  // namespace

void refuse_without_memory() { std::rethrow_exception(lack_of_memory); }

int communicator::limit() {
  constexpr int otherwise = 256;
  static const int most = read_limit("TAQUIN_COMMUNICATOR_LIMIT", otherwise);
  return most;
}

constinit thread_local int communicator::late_frees::alive_ = 0;
constinit thread_local communicator* communicator::late_frees::waiting_ = nullptr;

int communicator::on_delete(MPI_Comm, int, void* value, void*) {
  auto* const state = static_cast<communicator*>(value);
  state->has_user_.store(false, std::memory_order_relaxed);
  if (late_frees::alive_ == 0) return state->drop();
  state->next_ = std::exchange(late_frees::waiting_, state);
  return MPI_SUCCESS;
}

void communicator::late_frees::free_all() noexcept {
  while (waiting_ != nullptr) {
    communicator* const state = waiting_;
    waiting_ = std::exchange(state->next_, nullptr);
    state->drop();
  }
}

int communicator::drop() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) > 1) return MPI_SUCCESS;
  if ((outlives_ || left_ || (record != nullptr && record->lost)) && !finalized()) {
    if (is_revoked(comm_)) kept.clear();  // no rank can still access the node's memory
    keep_for_ever();
    return MPI_SUCCESS;
  }
  if (finalized() || comm_ == MPI_COMM_NULL) {
    if (count_ != nullptr) --*count_;
    delete this;
    return MPI_SUCCESS;
  }
  complete_failure_receives();
  if (count_ == nullptr) return free();
  --*count_;
  kept.clear();
  return retire();
}

// A duplicate of the user's communicator starts without the attribute and gets its own state.
const attribute<communicator>& communicator::states() {
  static const attribute<communicator> all(&communicator::on_delete);
  return all;
}

void communicator::own(MPI_Comm made) {
  comm_ = made;
  if (made == MPI_COMM_NULL) return;
  // Errors inside the library are returned as codes and become exceptions; the C API calls the user's error handler.
  TAQUIN_MPI(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  TAQUIN_MPI(PMPI_Comm_rank(comm_, &rank_));
  TAQUIN_MPI(PMPI_Comm_size(comm_, &size_));
  sets_of_plans_ = sets_of_plans(comm_);
  abort_tag_ = largest_tag(comm_);
}

void communicator::abort(const std::exception& why) noexcept {
  if (left_.exchange(true)) return;
  const abort_reason r(why, rank_);
  abort_message_.rank = r.first;
  std::ranges::copy(r.why.substr(0, abort_message_.why.size() - 1), abort_message_.why.begin());
  if (record != nullptr) record->abort(r.first, r.why);
  if (comm_ == MPI_COMM_NULL || finalized()) return;
  for (int k = 1; k < size_; ++k) {
    MPI_Request sent = MPI_REQUEST_NULL;
    if (PMPI_Isend(&abort_message_, sizeof abort_message_, MPI_BYTE, (rank_ + k) % size_, abort_tag_, comm_, &sent) ==
        MPI_SUCCESS)
      hand_to_library(sent);
  }
  revoke_after(why, comm_);
}

// The receive for failure notifications, for one thread at a time.
class communicator::failure_poll {
 public:
  explicit failure_poll(communicator& c) : c_(c), on_(!c.one_thread_polls_.exchange(true, std::memory_order_acquire)) {
    if (on_ && c.hears_ == MPI_REQUEST_NULL && c.heard_.rank < 0) c.post_failure_receive();
  }
  failure_poll(const failure_poll&) = delete;
  failure_poll& operator=(const failure_poll&) = delete;
  ~failure_poll() {
    if (on_) c_.one_thread_polls_.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool on() const noexcept { return on_; }
  [[noreturn]] void refuse() const { refuse_without(c_.heard_.rank, c_.heard_.why.data(), c_.calls()); }

 private:
  communicator& c_;
  bool on_;
};

void communicator::check_for_aborts() {
  if (record != nullptr) check_for_failures(*record);
  const failure_poll l(*this);
  if (!l.on()) return;
  int heard = 1;
  TAQUIN_MPI(PMPI_Test(&hears_, &heard, MPI_STATUS_IGNORE));
  if (heard != 0) l.refuse();
}

void communicator::poll_again(const failure_poll& l) {
  int heard = 0;
  TAQUIN_MPI(PMPI_Test(&hears_, &heard, MPI_STATUS_IGNORE));
  if (heard != 0) l.refuse();
  if (record != nullptr) check_for_failures(*record);
}

int communicator::wait(MPI_Request& request, MPI_Status* status) {
  const failure_poll l(*this);
  if (!l.on()) return PMPI_Wait(&request, status);
  if (hears_ == MPI_REQUEST_NULL) l.refuse();
  if (survives_failures()) {  // a wait inside the library does not poll for failure notifications
    for (int done = 0;; sched_yield()) {
      const int code = PMPI_Test(&request, &done, status);
      if (code != MPI_SUCCESS || done != 0) return code;
      poll_again(l);
    }
  }
  std::array<MPI_Request, 2> both{request, hears_};
  int which = 0;
  const int code = PMPI_Waitany(static_cast<int>(both.size()), both.data(), &which, status);
  request = both[0];
  hears_ = both[1];
  if (which == 1) l.refuse();
  return code;
}

int communicator::wait_some(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses) {
  const failure_poll l(*this);
  if (!l.on()) return PMPI_Waitsome(n, requests, done, numbers, statuses);
  if (hears_ == MPI_REQUEST_NULL) l.refuse();
  if (survives_failures()) {
    for (;; sched_yield()) {
      const int code = PMPI_Testsome(n, requests, done, numbers, statuses);
      if (code != MPI_SUCCESS || *done != 0) return code;
      poll_again(l);
    }
  }
  std::array<MPI_Request, most_waited_for + 1> all;
  std::array<MPI_Status, most_waited_for + 1> ends;
  std::array<int, most_waited_for + 1> which;
  std::copy_n(requests, n, all.begin());
  all[detail::as_size(n)] = hears_;
  const int code = PMPI_Waitsome(n + 1, all.data(), done, which.data(), ends.data());
  std::copy_n(all.begin(), n, requests);
  hears_ = all[detail::as_size(n)];
  const int ended = *done == MPI_UNDEFINED ? 0 : *done;
  *done = 0;
  for (int k = 0; k < ended; ++k) {
    const auto at = detail::as_size(k);
    if (which[at] == n) continue;  // others first
    numbers[*done] = which[at];
    statuses[(*done)++] = ends[at];
  }
  if (ended > 0 && *done == 0) l.refuse();
  return code;
}

namespace {

// Of the list of states that have posted a receive for failure notifications. A thread posts one in its first wait.
constinit std::mutex receives_guard;

}  // namespace

constinit communicator* communicator::receives_ = nullptr;

void communicator::post_failure_receive() {
  TAQUIN_MPI(PMPI_Irecv(&heard_, sizeof heard_, MPI_BYTE, MPI_ANY_SOURCE, abort_tag_, comm_, &hears_));
  const std::scoped_lock lock(receives_guard);
  if (receive_before_ != nullptr || receives_ == this) return;
  next_receive_ = std::exchange(receives_, this);
  if (next_receive_ != nullptr) next_receive_->receive_before_ = this;
}

void communicator::forget_receive() noexcept {
  const std::scoped_lock lock(receives_guard);
  if (receive_before_ == nullptr && receives_ != this) return;
  (receive_before_ != nullptr ? receive_before_->next_receive_ : receives_) = next_receive_;
  if (next_receive_ != nullptr) next_receive_->receive_before_ = receive_before_;
}

void communicator::complete_failure_receives() noexcept {
  if (hears_ == MPI_REQUEST_NULL) return;
  PMPI_Cancel(&hears_);
  PMPI_Wait(&hears_, MPI_STATUS_IGNORE);
}

// Those of a call that was aborted may still be matched: they stay.
void communicator::complete_all_failure_receives() noexcept {
  const std::scoped_lock lock(receives_guard);
  for (communicator* c = receives_; c != nullptr; c = c->next_receive_) {
    if (c->outlives_ || c->left_ || (c->record != nullptr && c->record->lost)) continue;
    if (c->one_thread_polls_.exchange(true, std::memory_order_acquire)) continue;
    c->complete_failure_receives();
    c->one_thread_polls_.store(false, std::memory_order_release);
  }
}

std::shared_ptr<call_record> make_call_record(MPI_Comm user) {
  auto record = std::make_shared<call_record>();
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  if (PMPI_Comm_get_name(user, name.data(), &length) == MPI_SUCCESS)
    std::copy_n(name.begin(), record->name.size() - 1, record->name.begin());
  return record;
}

namespace {

std::string name_of(const call_record& r) {
  return r.name[0] != '\0' ? fmt::format("'{}'", r.name.data()) : "this communicator";
}

}  // namespace

void refuse_lost(const call_record& r) {
  check_for_failures(r, true);
  throw usage_error(
      fmt::format(
          "an earlier call on {} failed on this rank, by a timeout or an error: taquin cannot use the communicator "
          "any more, a duplicate is usable",
          name_of(r)),
      MPI_ERR_COMM);
}

void refuse_without(int who, std::string_view why, const call_record& r) {
  refuse_if_failed(why, r);
  throw peer_aborted(fmt::format("rank {} has aborted a call on {}{}{}; taquin cannot use the communicator any more",
                                 who, name_of(r), why.empty() ? "" : ": ", why),
                     MPI_ERR_OTHER, who, why);
}

void call_record::abort(int first, std::string_view why) noexcept {
  if (lost.exchange(true)) return;
  abort_record* const to = shown.load();
  if (to == nullptr) return;
  std::ranges::copy(why.substr(0, to->why.size() - 1), to->why.begin());
  to->first.store(static_cast<std::uint64_t>(first) + 1, std::memory_order_release);
}

abort_reason::abort_reason(const std::exception& e, int rank) noexcept : first(rank), why(e.what()) {
  if (const auto* const other = dynamic_cast<const peer_aborted*>(&e); other != nullptr) {
    first = other->rank();
    why = other->reason();
  } else if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
    why = "out of memory";
  }
}

constinit thread_local communicator* present::current_ = nullptr;

// Calls the MPI library only now and then, because that costs more than a poll of memory.
void present::check_for_aborts() {
  constexpr unsigned every = 8;
  static thread_local unsigned polls = 0;
  if (++polls % every == 0) current_->check_for_aborts();
}

namespace {

// The error of all ranks, in the first call on a communicator and later.
[[noreturn]] void refuse_without_private() {
  detail::throw_on_all_ranks([&] {
    return usage_error(
        fmt::format("there is no private communicator for this one: taquin has {} (at most {}), or the MPI library has "
                    "none left",
                    private_communicators.load(), communicator::limit()),
        MPI_ERR_UNSUPPORTED_OPERATION);
  });
}

}  // namespace

communicator* communicator::find(MPI_Comm user) {
  communicator* const state = states().find(user);
  return state != nullptr && state->comm_ != MPI_COMM_NULL ? state : nullptr;
}

communicator& communicator::get_or_create(MPI_Comm user) {
  if (communicator* const before = states().find(user); before != nullptr) {
    if (before->comm_ == MPI_COMM_NULL) refuse_without_private();
    return *before;
  }
  lease state;
  try {
    state = adopt(MPI_COMM_NULL);
    state->record = make_call_record(user);
  } catch (const std::bad_alloc&) {
    state.reset();
  }
  int sets = 0;
  const MPI_Comm made = make_private(user, state != nullptr, sets);
  // cppcheck-suppress nullPointer ; make_private has thrown where a rank has no memory
  communicator& fresh = *state;
  fresh.own(made);
  fresh.sets_of_plans_ = sets;
  if (fresh.comm_ != MPI_COMM_NULL) {
    fresh.count_ = &private_communicators;
    ++private_communicators;
  }
  states().set(user, state.get());
  fresh.has_user_.store(true, std::memory_order_relaxed);
  static_cast<void>(state.release());  // the communicator's now
  return get_or_create(user);
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  TAQUIN_MPI(PMPI_Comm_test_inter(comm, &inter));
  return inter != 0;
}

}  // namespace taquin::mpi
