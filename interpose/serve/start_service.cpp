#include "interpose/serve/start_service.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "interpose/serve/device.hpp"
#include "interpose/settings.hpp"
#include "mpi/attribute.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/groups.hpp"
#include "mpi/threads.hpp"

namespace taquin::interpose {

using detail::as_size;

namespace {

using kept_service = std::shared_ptr<start_service>;

constexpr int most_ranks = 64;  // with more, slots have room for few bytes
constexpr int tags_of_one = 2;

const mpi::attribute<kept_service>& kept() {
  static const mpi::attribute<kept_service> all([](MPI_Comm, int, void* value, void*) {
    delete static_cast<kept_service*>(value);
    return MPI_SUCCESS;
  });
  return all;
}

// What all services of the process have in common. Never destroyed: calls may come while the program ends.
struct common {
  std::mutex mutex;
  mpi::communicator::lease messages;  // of all ranks
  int next_tag = 0;                   // of what comes to this rank; none is given out twice
  std::vector<start_service*> alive;
};

common& shared() {
  static auto* const one = new common;
  return *one;
}

// The largest tag is that of ranks that leave.
int take_tag() {
  common& c = shared();
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(c.messages->get(), MPI_TAG_UB, static_cast<void*>(&value), &found));
  const std::lock_guard lock(c.mutex);
  if (found == 0 || c.next_tag + tags_of_one > *static_cast<int*>(value)) return -1;
  return std::exchange(c.next_tag, c.next_tag + tags_of_one);
}

}  // namespace

void start_service::begin_all() {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const detail::environment& e = detail::environment::get();
  if (ranks == 1 || !settings::get().route || e.algorithm == "native" || !e.shared_memory || !e.nodes.empty()) return;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_dup(MPI_COMM_WORLD, &made));  // which has no attributes yet
  shared().messages = mpi::communicator::adopt(made);
  shared().messages->record = mpi::make_call_record(MPI_COMM_WORLD);
}

void start_service::end_all() noexcept {
  common& c = shared();
  const std::lock_guard lock(c.mutex);
  for (start_service* const one : c.alive) {
    PMPI_Waitall(static_cast<int>(one->pending_.size()), one->pending_.data(), MPI_STATUSES_IGNORE);
    detail::mapping::close(one->key_);
  }
}

std::shared_ptr<start_service> start_service::of(MPI_Comm comm) {
#ifndef OPEN_MPI  // as with neighbourhoods
  return nullptr;
#endif
  if (shared().messages == nullptr || may_have_device_memory()) return nullptr;
  if (const kept_service* const found = kept().find(comm)) return *found;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  if (ranks == 1 || ranks > most_ranks) return nullptr;
  std::shared_ptr<start_service> made(new start_service);
  TAQUIN_MPI(PMPI_Comm_rank(comm, &made->rank_));
  made->places_.resize(as_size(ranks));
  mpi::translate_ranks(comm, 0, shared().messages->get(), made->places_);
  {
    common& c = shared();
    const std::lock_guard lock(c.mutex);
    c.alive.push_back(made.get());
  }
  auto entry = std::make_unique<kept_service>(made);
  kept().set(comm, entry.get());
  static_cast<void>(entry.release());
  return made;
}

start_service::~start_service() {
  common& c = shared();
  {
    const std::lock_guard lock(c.mutex);
    std::erase(c.alive, this);
  }
  int over = 0;
  if (PMPI_Finalized(&over) != MPI_SUCCESS || over != 0) return;
  PMPI_Waitall(static_cast<int>(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE);
  detail::mapping::close(key_);
}

std::size_t start_service::kind_of(const exchange& x) noexcept {
  if (x.kind == exchange::form::alltoallv) return 0;
  if (x.kind == exchange::form::alltoallw) return 1;
  return std::min<std::size_t>(first_kinds + std::bit_width(static_cast<std::uint64_t>(x.send.bytes(0))), kinds - 1);
}

// Whether all ranks are on one machine and have what is needed, and how to reach the memory. Its pages are taken as
// they are written: it may be that nobody will.
void start_service::ask(MPI_Comm comm) {
  const int p = static_cast<int>(places_.size());
  const std::size_t bytes = detail::neighbourhood::bytes_among_all(p, sizeof(told) * kinds);
  const bool known = std::ranges::find(places_, MPI_UNDEFINED) == places_.end();
  const bool one_thread = !mpi::has_many_threads();  // several could complete exchanges of one communicator at once
  if (known && one_thread && bytes / as_size(p) <= settings::get().memory) tag_ = take_tag();
  if (rank_ == 0 && tag_ >= 0) memory_ = detail::mapping::create(bytes, key_, detail::mapping::pages::as_written);
  const auto host = static_cast<std::int64_t>(detail::host_id() >> 1U);
  asked_ = {tag_ >= 0 && (rank_ > 0 || !memory_.empty()) ? 1 : 0, host, -host};
  from_ = key_;
  TAQUIN_MPI(PMPI_Iallreduce(asked_.data(), answer_.data(), static_cast<int>(asked_.size()), MPI_INT64_T, MPI_MIN, comm,
                             &pending_[0]));
  TAQUIN_MPI(PMPI_Ibcast(&from_, sizeof from_, MPI_BYTE, 0, comm, &pending_[1]));
  stage_ = stage::asking;
}

void start_service::attach(MPI_Comm comm) {
  settle();
  if (answer_[0] == 0 || answer_[1] != -answer_[2]) {
    stage_ = stage::refused;
    memory_ = {};
    detail::mapping::close(key_);
    return;
  }
  if (rank_ > 0) memory_ = detail::mapping::attach(from_);
  attached_ = memory_.empty() ? 0 : 1;
  if (attached_ != 0)
    slots_ = detail::neighbourhood::among_all(shared().messages->keep(), std::move(memory_), rank_, places_, tag_,
                                              sizeof(told) * kinds);
  TAQUIN_MPI(PMPI_Iallreduce(&attached_, &all_attached_, 1, MPI_INT32_T, MPI_MIN, comm, &pending_[0]));
  stage_ = stage::attaching;
}

void start_service::begin_slots() {
  settle();
  detail::mapping::close(key_);
  stage_ = all_attached_ != 0 ? stage::ready : stage::refused;
  if (stage_ == stage::ready)
    slots_->all_have_come();
  else
    slots_.reset();
}

void start_service::settle() {
  for (mpi::backoff waiting;; waiting.pause()) {
    int done = 0;
    TAQUIN_MPI(PMPI_Testall(static_cast<int>(pending_.size()), pending_.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0) return;
  }
}

start_service::turn start_service::next(MPI_Comm comm, const exchange& x) {
  if (stage_ == stage::refused) return {};
  if (stage_ != stage::ready) {
    ++starts_;
    if (starts_ == tries + 1) ask(comm);
    if (starts_ == tries + 1 + ahead) attach(comm);
    if (stage_ == stage::attaching && starts_ == tries + 1 + 2 * ahead) begin_slots();
    if (stage_ != stage::ready) return {};
  }
  // Messages of the MPI library move such blocks either way.
  if (x.kind == exchange::form::alltoall && as_size(x.send.bytes(0)) > slots_->most_in_slot()) return {};
  turn t{.kind = kind_of(x)};
  contest& c = contests_[t.kind];
  if (c.decided && t.kind < first_kinds && ++c.starts == again) c = {.number = c.number + 1, .won = c.won};
  t.by_slots = c.won;
  t.of = c.number;
  if (c.decided) return t;
  const int number = c.starts++;
  if (number == 2 * tries + ahead / 2) tell(t.kind);
  if (number == 2 * tries + ahead) decide(t.kind);
  t.timed = number < 2 * tries;
  t.by_slots = t.timed ? number >= tries : c.won;
  return t;
}

void start_service::took(const turn& t, double seconds) noexcept {
  contest& c = contests_[t.kind];
  if (t.of != c.number) return;
  double& best = t.by_slots ? c.slots : c.library;
  best = std::min(best, seconds);
}

start_service::told::times& start_service::note(int rank, std::size_t kind) const noexcept {
  return reinterpret_cast<told*>(slots_->notes(rank))[kind].last[contests_[kind].number % 2];
}

// Also where this rank has not completed all of them yet.
void start_service::tell(std::size_t kind) noexcept {
  told::times& mine = note(rank_, kind);
  mine.library = contests_[kind].library;
  mine.slots = contests_[kind].slots;
  mine.of.store(contests_[kind].number, std::memory_order_release);
}

void start_service::decide(std::size_t kind) {
  contest& c = contests_[kind];
  double library = 0;
  double slots = 0;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const told::times& one = note(static_cast<int>(r), kind);
    mpi::backoff waiting(shared().messages->get(), tag_, nullptr);
    while (one.of.load(std::memory_order_acquire) != c.number) waiting.pause();
    library = std::max(library, one.library);
    slots = std::max(slots, one.slots);
  }
  c.decided = true;
  c.starts = 0;
  c.won = slots < library;
}

outcome start_service::by_slots() const { return {"neighbour_slots", {}, slots_->memory()}; }

}  // namespace taquin::interpose
