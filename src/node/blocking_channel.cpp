#include "node/blocking_channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/pair_weights.hpp"
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
  std::uint64_t token = 0;  // of the channel's memory
  int first_calls = 0;      // calls that went to the MPI library
  bool made = false;        // all that a communicator has; before that it counts such calls, or is lost
  void no_longer_of_user() const noexcept {
    if (record == nullptr) return;
    record->shown = nullptr;
    mpi::forget_user(*record);
  }
  ~attribute() {
    no_longer_of_user();
    taken -= bytes;
    ++freed_so_far;
  }
};

// Channels of freed communicators, kept for later communicators of the same ranks. Some programs and libraries make
// communicators again and again, for a few calls each, and the system takes long to share and clear memory. With a
// channel its ranks' records of calls are kept: the other ranks know their addresses.
class spare_channels {
 public:
  static spare_channels& of_process() {
    static auto* const all = new spare_channels;  // its groups cannot be freed after MPI_Finalize
    return *all;
  }
  // Keeps the attribute's channel if it can serve again.
  void keep(MPI_Comm comm, attribute& a) noexcept {
    if (comm == MPI_COMM_WORLD || a.record->lost.load(std::memory_order_relaxed) || !a.shared.may_be_spare()) return;
    if (a.bytes > most_bytes) return;
    try {
      const std::scoped_lock lock(mutex_);
      if (all_.size() == most) drop_first();
      all_.reserve(most);
      MPI_Group group = MPI_GROUP_NULL;
      if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return;
      a.no_longer_of_user();
      all_.push_back({group, std::move(a.shared), std::move(a.record), std::move(a.places), a.bytes, a.token});
      a.bytes = 0;
    } catch (const std::bad_alloc&) {
    }
  }
  struct one {
    MPI_Group group = MPI_GROUP_NULL;
    channel shared;
    std::shared_ptr<mpi::call_record> record;
    std::shared_ptr<rank_places> places;
    std::size_t bytes = 0;
    std::uint64_t token = 0;  // of the memory
    // The same on ranks that have the same memory and have gone through the same steps.
    [[nodiscard]] std::uint64_t known_as() const noexcept {
      return shared.empty() ? 0 : token + shared.step() * 0x9e3779b97f4a7c15U;
    }
    // Nothing of the freed communicator's uses its record any more.
    [[nodiscard]] bool is_whole() const noexcept { return !shared.empty() && record.use_count() == 1; }
  };
  // Takes the last channel of the same ranks in the same order; empty if there is none. Its memory is no longer
  // counted. The group is the caller's.
  one take(MPI_Comm comm) {
    const std::scoped_lock lock(mutex_);
    if (all_.empty()) return {};
    MPI_Group group = MPI_GROUP_NULL;
    TAQUIN_MPI(PMPI_Comm_group(comm, &group));
    one found;
    for (std::size_t i = all_.size(); i-- > 0 && found.shared.empty();) {
      int alike = MPI_UNEQUAL;
      TAQUIN_MPI(PMPI_Group_compare(all_[i].group, group, &alike));
      if (alike != MPI_IDENT) continue;
      found = std::move(all_[i]);
      taken -= found.bytes;
      all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    TAQUIN_MPI(PMPI_Group_free(&group));
    return found;
  }
  // What take() gave, where it is not used.
  void give_back(one spare) noexcept {
    if (spare.shared.empty()) return;
    const std::scoped_lock lock(mutex_);
    taken += spare.bytes;
    if (all_.size() == most) drop_first();
    all_.push_back(std::move(spare));  // there is room for it, as before
  }
  void drop_all() {
    const std::scoped_lock lock(mutex_);
    while (!all_.empty()) drop_first();
  }

 private:
  static constexpr std::size_t most = 4;
  static constexpr std::size_t most_bytes = std::size_t{2} << 20U;  // of each
  void drop_first() {
    taken -= all_[0].bytes;
    PMPI_Group_free(&all_[0].group);
    all_.erase(all_.begin());
  }

  std::mutex mutex_;
  std::vector<one> all_;
};

int on_delete(MPI_Comm comm, int, void* value, void*) noexcept {
  auto* const a = static_cast<attribute*>(value);
  a->record->shown = nullptr;
  spare_channels::of_process().keep(comm, *a);
  delete a;
  return MPI_SUCCESS;
}

const mpi::attribute<attribute>& kept() {
  static const mpi::attribute<attribute> all(on_delete);
  return all;
}

// Whether there is memory for one more channel. If not, a warning is printed once.
bool room_for(std::size_t bytes) {
  if (taken + bytes <= most_channel_bytes) return true;
  spare_channels::of_process().drop_all();
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

// The records that ranks exchange while a channel is made. For few ranks they are on the stack, so that a rank without
// memory can tell the others.
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

// All memory that a communicator's first call takes and keeps; null if there is none.
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

// A spare channel that may serve a communicator from its first call on. All its ranks must have the same.
class spare_from_the_start {
 public:
  // Another thread may let go of the record at any time: whether the spare is whole is asked once.
  explicit spare_from_the_start(MPI_Comm comm)
      : spare_(spare_channels::of_process().take(comm)), known_as_(spare_.is_whole() ? spare_.known_as() : 0) {}
  spare_from_the_start(const spare_from_the_start&) = delete;
  spare_from_the_start& operator=(const spare_from_the_start&) = delete;
  ~spare_from_the_start() { spare_channels::of_process().give_back(std::move(spare_)); }
  // The sum of this over all ranks is 0 if all have the same, and otherwise only by a rare chance.
  [[nodiscard]] std::uint64_t differs(int rank, int ranks) const noexcept {
    return known_as_ * (pair_weights::sender(rank) - pair_weights::sender(rank + 1 < ranks ? rank + 1 : 0));
  }
  [[nodiscard]] bool is_there() const noexcept { return known_as_ != 0; }
  // Everything that `fresh`, the attribute of the new communicator, would get from make().
  void serve(attribute& fresh) noexcept {
    spare_.record->renew(*fresh.record);
    fresh.record = std::move(spare_.record);
    fresh.places = std::move(spare_.places);
    fresh.shared = std::move(spare_.shared);
    fresh.shared.serve(fresh.record.get());
    fresh.record->shown = &fresh.shared.note(fresh.shared.rank());
    fresh.token = spare_.token;
    taken += fresh.bytes = spare_.bytes;
    fresh.made = true;
    PMPI_Group_free(&spare_.group);
    spare_ = {};
  }

 private:
  spare_channels::one spare_;
  std::uint64_t known_as_ = 0;
};

enum class way { library, spare, to_make };

// One reduction, the same in all calls until the channel is made, so that ranks in different calls learn of it.
way first_way(MPI_Comm comm, attribute*& a, first_call* call) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  if (mpi::simulated || ranks == 1 || (a != nullptr && a->first_calls == first_call::most(ranks))) return way::to_make;
  std::unique_ptr<attribute> fresh;
  try {
    if (a == nullptr) fresh = unshared(comm);
  } catch (const std::bad_alloc&) {
    if (call != nullptr && call->unasked()) throw;
    call = nullptr;
  }
  if (call == nullptr || !call->unasked()) {
    std::optional<spare_from_the_start> spare;
    if (fresh != nullptr) spare.emplace(comm);
    const bool can = call != nullptr && call->prepare(rank, ranks);
    std::array<std::uint64_t, 3> all{can ? 0U : 1U, can ? call->differs() : 0U,
                                     spare ? spare->differs(rank, ranks) : 0U};
    mpi::allreduce(std::span<std::uint64_t>(all), MPI_SUM, comm);
    if (spare && spare->is_there() && all[2] == 0) {
      spare->serve(*fresh);
      a = keep(comm, std::move(fresh));
      return way::spare;
    }
    if (all[0] != 0 || all[1] != 0) return way::to_make;
  }
  if (a == nullptr) a = keep(comm, std::move(fresh));
  ++a->first_calls;
  call->by_library = true;
  return way::library;
}

attribute* make(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  auto a = with_memory(comm, ranks);
  members told(ranks);
  const auto fail = [] {
    throw on_all_ranks(usage_error("out of memory on a rank, in the first call on a communicator", MPI_ERR_NO_MEM));
  };
  // Ranks do not know each other yet: after this point none could tell the others of an error.
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
    auto spare = spare_channels::of_process().take(comm);
    const std::uint64_t known_as = spare.known_as();
    if (spare.group != MPI_GROUP_NULL) PMPI_Group_free(&spare.group);
    channel made = channel::make(comm, room, a != nullptr && wanted(), calls, places, told.all(),
                                 std::move(spare.shared), known_as);
    const auto all = told.all();
    if (!tell_first && std::ranges::find(all, std::uint64_t{0}, &node_member::calls) != all.end()) fail();
    a->shared = std::move(made);
    a->token = all[0].spare != 0 && all[0].spare == known_as ? spare.token : all[0].key.token;
  }
  if (!a->shared.empty()) {
    taken += a->bytes = bytes;
    a->record->shown = &a->shared.note(a->shared.rank());
  }
  a->made = true;
  return keep(comm, std::move(a));
}

}  // namespace

namespace {

// Most calls are on the same communicator as the call before.
struct found_last {
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint64_t freed = 0;
  channel* shared = nullptr;
  [[nodiscard]] bool of(MPI_Comm other) const noexcept {
    return comm == other && comm != MPI_COMM_NULL && freed == freed_so_far.load(std::memory_order_acquire);
  }
};
thread_local found_last last;

}  // namespace

bool known_to_have_none(MPI_Comm comm) noexcept { return last.of(comm) && last.shared == nullptr; }

channel* blocking_channel(MPI_Comm comm, first_call* first) {
  if (last.of(comm)) return last.shared;
  const std::uint64_t freed = freed_so_far.load(std::memory_order_acquire);
  attribute* a = kept().find(comm);
  if (a == nullptr && mpi::is_inter(comm)) return nullptr;
  if (a != nullptr && a->record->lost.load(std::memory_order_relaxed)) mpi::refuse_lost(*a->record);
  if (a == nullptr || !a->made) {
    const way w = first_way(comm, a, first);
    if (w == way::library) return nullptr;
    if (w == way::to_make) a = make(comm);
  }
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
  } catch (const error&) {  // there is no private communicator for it
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace taquin::detail
