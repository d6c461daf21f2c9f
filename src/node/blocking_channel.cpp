#include "node/blocking_channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/pair_weights.hpp"
#include "base/sizes.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/failure.hpp"
#include "mpi/simulated_time.hpp"
#include "node/comm_channel.hpp"
#include "node/lives.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

int on_delete(MPI_Comm comm, int, void* value, void*) noexcept {
  auto* const a = static_cast<comm_channel*>(value);
  a->record->shown = nullptr;
  if (a->first_calls > 0)
    lives::of_process().learn(as_size(a->first_calls) + a->record->calls.load(std::memory_order_relaxed),
                              as_size(a->for_library) >> (2 * a->steps));
  channels_of_process::get().remove(*a);
  channels_of_process::get().keep(comm, *a);
  delete a;
  return MPI_SUCCESS;
}

const mpi::attribute<comm_channel>& kept() {
  static const mpi::attribute<comm_channel> all(on_delete);
  return all;
}

// Whether there is memory for one more channel. If not, a warning is printed once.
bool room_for(std::size_t bytes) {
  if (bytes_of_channels + bytes <= most_channel_bytes) return true;
  channels_of_process::get().drop_all();
  if (bytes_of_channels + bytes <= most_channel_bytes) return true;
  static const int once = std::fprintf(
      stderr, "taquin: shared memory for %zu MiB of channels is in use; further communicators send messages\n",
      most_channel_bytes >> 20U);
  static_cast<void>(once);
  return false;
}

std::unique_ptr<comm_channel> unshared(MPI_Comm comm) {
  auto a = std::make_unique<comm_channel>();
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
std::unique_ptr<comm_channel> with_memory(MPI_Comm comm, int ranks) noexcept {
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
comm_channel* keep(MPI_Comm comm, std::unique_ptr<comm_channel> a) {
  kept().set(comm, a.get());
  if (a->record != nullptr) mpi::know_user(*a->record, comm);
  if (!a->shared.empty()) channels_of_process::get().add(*a);
  return a.release();
}

// Everything that `fresh`, which a new communicator will have, would get from make().
void serve(kept_channel spare, comm_channel& fresh) noexcept {
  spare.record->renew(*fresh.record);
  static_cast<kept_channel&>(fresh) = std::move(spare);
  fresh.shared.serve(fresh.record.get());
  fresh.record->shown = &fresh.shared.note(fresh.shared.rank());
  bytes_of_channels += fresh.bytes;
  fresh.made = true;
}

// A spare channel, for a communicator whose ranks come in one order; null where there is none, or where another rank is
// known to have none. It is provisional where the call `finds_out` by itself.
comm_channel* by_spare(MPI_Comm comm, std::uint64_t ranks, std::unique_ptr<comm_channel>& fresh, bool finds_out) {
  auto& all = channels_of_process::get();
  auto spare = ranks == 0 ? kept_channel() : all.take(ranks);
  const bool whole = spare.is_whole();
  if (!whole) {
    spare.shared.say_gone();
    all.drop(ranks);
    return nullptr;
  }
  spare.shared.say_here();
  serve(std::move(spare), *fresh);
  if (!finds_out && !fresh->shared.meet_again()) {
    all.drop(ranks);
    fresh->shared.say_gone();
    fresh = unshared(comm);
    return nullptr;
  }
  return keep(comm, std::move(fresh));
}

// A spare channel that all ranks of a communicator may have, which a reduction finds out.
class spare_to_agree_on {
 public:
  // Another thread may let go of the record at any time: whether the spare is whole is asked once.
  explicit spare_to_agree_on(std::uint64_t ranks) noexcept
      : spare_(channels_of_process::get().take(ranks)), known_as_(spare_.is_whole() ? spare_.known_as() : 0) {}
  spare_to_agree_on(const spare_to_agree_on&) = delete;
  spare_to_agree_on& operator=(const spare_to_agree_on&) = delete;
  ~spare_to_agree_on() { channels_of_process::get().give_back(std::move(spare_)); }
  // The sum of this over all ranks is 0 if all have the same, and otherwise only by a rare chance.
  [[nodiscard]] std::uint64_t differs(int rank, int ranks) const noexcept {
    return known_as_ * (pair_weights::sender(rank) - pair_weights::sender(rank + 1 < ranks ? rank + 1 : 0));
  }
  [[nodiscard]] bool is_there() const noexcept { return known_as_ != 0; }
  void serve(comm_channel& fresh) noexcept {
    detail::serve(std::move(spare_), fresh);
    spare_ = {};
  }

 private:
  kept_channel spare_;
  std::uint64_t known_as_ = 0;
};

enum class way { library, spare, to_make };

// What a communicator has planned of its first calls, and what ranks have agreed on in one of them.
struct first_plan {
  explicit first_plan(const comm_channel* a, int ranks) noexcept
      : made(a == nullptr ? 0 : a->first_calls),
        planned(a == nullptr ? first_call::most(ranks) : a->for_library),
        steps(a == nullptr ? 0 : a->steps),
        record(a == nullptr ? first_agreement::least_record : a->first_record) {}
  int made;     // first calls so far
  int planned;  // and in all
  int steps;
  std::size_t record;  // of the agreement
  bool told = false;
  bool more = false;
  std::size_t next_record = first_agreement::least_record;

  void keep_in(comm_channel& a) const noexcept {
    a.first_calls = made + 1;
    a.for_library = more ? planned * static_cast<int>(lives::factor) : planned;
    a.steps = more ? steps + 1 : steps;
    a.told = told && !more;
    a.first_record = next_record;
  }
};

// In the last of the calls that go to the MPI library ranks agree on whether further ones do. The spare may be null.
way agree_on_first(first_call* call, first_plan& plan, spare_to_agree_on* spare, int rank, int ranks, MPI_Comm comm) {
  const bool can = call != nullptr && call->prepare(rank, ranks);
  first_agreement agreement;
  const first_words all = agreement.sum({.cannot = can ? 0U : 1U,
                                         .differs = can ? call->differs() : 0U,
                                         .other_memory = spare != nullptr ? spare->differs(rank, ranks) : 0U,
                                         .goes_on = lives::of_process().end_soon(plan.steps) ? 0U : 1U},
                                        can ? call : nullptr, ranks, plan.record, comm);
  if (spare != nullptr && spare->is_there() && all.other_memory == 0) return way::spare;
  plan.told = plan.made + 1 >= plan.planned;
  plan.more = plan.told && all.goes_on == 0;
  plan.next_record = first_agreement::next_record(all, ranks);
  if (all.cannot != 0 || all.differs != 0 || (plan.made == plan.planned && !plan.more)) return way::to_make;
  agreement.deliver(*call, ranks);
  return way::library;
}

// One agreement, the same in all calls until the channel is made, so that ranks in different calls learn of it; none
// where a spare channel serves.
way first_way(MPI_Comm comm, comm_channel*& a, first_call* call) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  if (mpi::simulated || ranks == 1 || (a != nullptr && a->told && a->first_calls == a->for_library))
    return way::to_make;
  std::unique_ptr<comm_channel> fresh;
  std::uint64_t number = 0;
  if (a == nullptr) {
    number = number_of_ranks(comm);
    channels_of_process::get().say_in_use(number);
    try {
      fresh = unshared(comm);
      if (come_in_one_order()) a = by_spare(comm, number, fresh, call != nullptr);
      if (a != nullptr) return way::spare;
    } catch (const std::bad_alloc&) {
      channels_of_process::get().drop(number);
      if (call != nullptr && call->unasked()) throw;
      fresh = nullptr;
      call = nullptr;
    }
  }
  first_plan plan(a, ranks);
  if (call == nullptr || !call->unasked() || plan.made == plan.planned) {
    std::optional<spare_to_agree_on> spare;
    if (fresh != nullptr && number != 0) spare.emplace(number);
    const way next = agree_on_first(call, plan, spare ? &*spare : nullptr, rank, ranks, comm);
    if (next == way::spare) {
      spare->serve(*fresh);
      a = keep(comm, std::move(fresh));
    }
    if (next != way::library) return next;
  }
  if (a == nullptr) a = keep(comm, std::move(fresh));
  plan.keep_in(*a);
  call->by_library = true;
  return way::library;
}

// In place of `before`, which has counted first calls, or null.
comm_channel* make(MPI_Comm comm, comm_channel* before) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  auto a = with_memory(comm, ranks);
  members told(ranks);
  // Ranks do not know each other yet: after this point none could tell the others of an error.
  const bool tell_first = mpi::simulated || ranks == 1 || !told.are_few();
  if (tell_first && !mpi::holds_everywhere(a != nullptr && told.have_room(), comm)) mpi::refuse_without_memory();
  const std::size_t room = channel::default_room(ranks);
  const std::size_t bytes = channel::share(ranks, room);
  const auto wanted = [&] {
    const environment& e = environment::get();
    return e.shared_memory && e.nodes.empty() && room_for(bytes);
  };
  if (ranks > 1) {
    mpi::call_record* const calls = a == nullptr ? nullptr : a->record.get();
    rank_places* const places = a == nullptr ? nullptr : a->places.get();
    const std::uint64_t number = number_of_ranks(comm);
    auto spare = number == 0 ? kept_channel() : channels_of_process::get().take(number);
    const std::uint64_t known_as = spare.known_as();
    channel made = channel::make(comm, room, a != nullptr && wanted(), calls, places, told.all(),
                                 std::move(spare.shared), known_as);
    const auto all = told.all();
    if (!tell_first && std::ranges::find(all, std::uint64_t{0}, &node_member::calls) != all.end())
      mpi::refuse_without_memory();
    a->shared = std::move(made);
    a->ranks = number;
    a->token = all[0].spare != 0 && all[0].spare == known_as ? spare.token : all[0].key.token;
  }
  if (!a->shared.empty()) {
    bytes_of_channels += a->bytes = bytes;
    a->record->shown = &a->shared.note(a->shared.rank());
  }
  a->made = true;
  if (before != nullptr) {
    a->first_calls = std::exchange(before->first_calls, 0);
    a->for_library = before->for_library;
    a->steps = before->steps;
  }
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
    return comm == other && comm != MPI_COMM_NULL && freed == communicators_freed.load(std::memory_order_acquire);
  }
};
thread_local found_last last;

}  // namespace

bool known_to_have_none(MPI_Comm comm) noexcept { return last.of(comm) && last.shared == nullptr; }

channel* blocking_channel(MPI_Comm comm, first_call* first) {
  if (last.of(comm)) return last.shared;
  const std::uint64_t freed = communicators_freed.load(std::memory_order_acquire);
  comm_channel* a = kept().find(comm);
  if (a == nullptr && mpi::is_inter(comm)) return nullptr;
  if (a != nullptr && a->record->lost.load(std::memory_order_relaxed)) mpi::refuse_lost(*a->record);
  if (a == nullptr || !a->made) {
    const way w = first_way(comm, a, first);
    if (w == way::library) return nullptr;
    if (w == way::to_make) a = make(comm, a);
    if (w == way::spare && a->shared.provisional()) return &a->shared;
  }
  channel* shared = a->shared.empty() ? nullptr : &a->shared;
  last = {comm, freed, shared};
  return shared;
}

bool meet_again(MPI_Comm comm) {
  channel& shared = kept().find(comm)->shared;
  if (!shared.provisional() || shared.meet_again()) return true;
  forget_spare(comm);
  return false;
}

void forget_spare(MPI_Comm comm) {
  comm_channel* const a = kept().find(comm);
  channels_of_process::get().drop(a->ranks);
  a->for_others = false;  // and its end says so
  kept().erase(comm);
}

void share_calls(MPI_Comm comm, mpi::communicator& state) {
  const comm_channel* const a = kept().find(comm);
  if (a == nullptr || state.record == a->record) return;
  state.record = a->record;
  state.kept.put(rank_places::kept_as, std::shared_ptr<const rank_places>(a->places));
}

const rank_places* places_of(MPI_Comm comm) {
  const comm_channel* const a = kept().find(comm);
  return a == nullptr ? nullptr : a->places.get();
}

void leave(MPI_Comm comm, const std::exception& why) noexcept {
  try {
    comm_channel* a = kept().find(comm);
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
