#include "node/blocking_channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/failure.hpp"
#include "mpi/simulated_time.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

std::atomic<std::size_t> taken{0};           // by all channels of this process, its own parts
std::atomic<std::uint64_t> freed_so_far{0};  // a handle may mean another communicator once this has grown

struct attribute {
  channel shared;
  std::shared_ptr<mpi::call_record> record;
  std::shared_ptr<rank_places> places;
  std::size_t bytes = 0;
  ~attribute() {
    if (record != nullptr) {
      record->shown = nullptr;
      mpi::forget_user(*record);
    }
    taken -= bytes;
    ++freed_so_far;
  }
};

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<attribute*>(value);
  return MPI_SUCCESS;
}

const mpi::attribute<attribute>& kept() {
  static const mpi::attribute<attribute> all(on_delete);
  return all;
}

// Whether there is memory for one more; said once where there is not.
bool room_for(std::size_t bytes) {
  if (taken + bytes <= most_channel_bytes) return true;
  static const int once = std::fprintf(
      stderr, "taquin: shared memory for %zu MiB of channels is in use; further communicators send messages\n",
      most_channel_bytes >> 20U);
  static_cast<void>(once);
  return false;
}

std::unique_ptr<attribute> unshared(MPI_Comm comm) {
  auto a = std::make_unique<attribute>();
  a->record = mpi::make_call_record(comm);
  return a;
}

// What ranks tell each other while a channel is made: in an array on the stack where they are few, so that a rank that
// has no memory can say so.
class members {
 public:
  explicit members(int ranks) noexcept : ranks_(as_size(ranks)) {
    if (!are_few()) more_.reset(new (std::nothrow) node_member[ranks_]);
  }
  [[nodiscard]] bool are_few() const noexcept { return ranks_ <= few_.size(); }
  [[nodiscard]] bool have_room() const noexcept { return are_few() || more_ != nullptr; }
  [[nodiscard]] std::span<node_member> all() noexcept { return {are_few() ? few_.data() : more_.get(), ranks_}; }

 private:
  std::size_t ranks_;
  std::array<node_member, 64> few_;
  std::unique_ptr<node_member[]> more_;
};

// All that a communicator's first call takes for good; null where there is no memory for it.
std::unique_ptr<attribute> with_memory(MPI_Comm comm, int ranks) noexcept {
  try {
    environment::get();
    auto a = unshared(comm);
    a->places = std::make_shared<rank_places>();
    a->places->of.resize(as_size(ranks));
    return a;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// As an attribute of the communicator.
attribute* keep(MPI_Comm comm, std::unique_ptr<attribute> a) {
  kept().set(comm, a.get());
  if (a->record != nullptr) mpi::know_user(*a->record, comm);
  return a.release();
}

attribute* make(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  auto a = with_memory(comm, ranks);
  members told(ranks);
  const auto fail = [] {
    throw on_all_ranks(usage_error("out of memory on a rank, in the first call on a communicator", MPI_ERR_NO_MEM));
  };
  // Ranks do not know each other yet, so none could tell the others later.
  const bool tell_first = mpi::simulated || ranks == 1 || !told.are_few();
  if (tell_first && !mpi::holds_everywhere(a != nullptr && told.have_room(), comm)) fail();
  const std::size_t room = channel::default_room(ranks);
  const std::size_t bytes = channel::share(ranks, room);
  const auto wanted = [&] {
    const environment& e = environment::get();
    return e.shared_memory && e.nodes.empty() && room_for(bytes);
  };
  if (ranks > 1) {
    mpi::call_record* const calls = a == nullptr ? nullptr : a->record.get();
    rank_places* const places = a == nullptr ? nullptr : a->places.get();
    channel made = channel::make(comm, room, a != nullptr && wanted(), calls, places, told.all());
    const auto all = told.all();
    if (!tell_first && std::ranges::find(all, std::uint64_t{0}, &node_member::calls) != all.end()) fail();
    a->shared = std::move(made);
  }
  if (!a->shared.empty()) {
    taken += a->bytes = bytes;
    a->record->shown = &a->shared.note(a->shared.rank());
  }
  return keep(comm, std::move(a));
}

}  // namespace

channel* blocking_channel(MPI_Comm comm) {
  // Most calls are on the communicator of the call before.
  thread_local struct {
    MPI_Comm comm = MPI_COMM_NULL;
    std::uint64_t freed = 0;
    channel* shared = nullptr;
  } last;
  const std::uint64_t freed = freed_so_far.load(std::memory_order_acquire);
  if (last.comm == comm && last.freed == freed && comm != MPI_COMM_NULL) return last.shared;
  attribute* a = kept().find(comm);
  if (a == nullptr) {
    int inter = 0;
    TAQUIN_MPI(PMPI_Comm_test_inter(comm, &inter));
    if (inter != 0) return nullptr;
    a = make(comm);
  }
  if (a->record->lost.load(std::memory_order_relaxed)) mpi::refuse_lost(*a->record);
  channel* shared = a->shared.empty() ? nullptr : &a->shared;
  last = {comm, freed, shared};
  return shared;
}

void share_calls(MPI_Comm comm, mpi::communicator& state) {
  const attribute* const a = kept().find(comm);
  if (a == nullptr || state.record == a->record) return;
  state.record = a->record;
  state.kept.put(rank_places::kept_as, std::shared_ptr<const rank_places>(a->places));
}

const rank_places* places_of(MPI_Comm comm) {
  const attribute* const a = kept().find(comm);
  return a == nullptr ? nullptr : a->places.get();
}

void leave(MPI_Comm comm, const std::exception& why) noexcept {
  try {
    attribute* a = kept().find(comm);
    if (mpi::communicator* const state = mpi::communicator::known(comm)) state->leave(why);
    if (a == nullptr && comm != MPI_COMM_NULL && !mpi::is_inter(comm)) a = keep(comm, unshared(comm));
    if (a == nullptr) return;
    int rank = 0;
    TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
    const mpi::reason_to_leave r(why, rank);
    a->record->leave(r.first, r.why);
  } catch (const error&) {  // it has no private communicator, and will not get one
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace taquin::detail
