#include "node/blocking_channel.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>

#include "base/environment.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

std::atomic<std::size_t> taken{0};           // by all channels of this process, its own parts
std::atomic<std::uint64_t> freed_so_far{0};  // a handle may mean another communicator once this has grown

struct attribute {
  channel shared;
  std::shared_ptr<mpi::call_record> record;
  std::shared_ptr<const rank_places> places;
  std::size_t bytes = 0;
  ~attribute() {
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

// As an attribute of the communicator.
attribute* keep(MPI_Comm comm, std::unique_ptr<attribute> a) {
  kept().set(comm, a.get());
  return a.release();
}

attribute* make(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  auto a = unshared(comm);
  const environment& e = environment::get();
  const std::size_t room = channel::default_room(ranks);
  const std::size_t bytes = channel::share(ranks, room);
  const bool wanted = e.shared_memory && e.nodes.empty() && room_for(bytes);
  if (ranks > 1)
    a->shared = channel::make(comm, room, wanted, std::pmr::new_delete_resource(), a->record.get(), &a->places);
  if (!a->shared.empty()) taken += a->bytes = bytes;
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
  state.places = a->places;
}

void lose(MPI_Comm comm) noexcept {
  try {
    attribute* a = kept().find(comm);
    if (a == nullptr && comm != MPI_COMM_NULL && !mpi::is_inter(comm)) a = keep(comm, unshared(comm));
    if (a != nullptr) a->record->lost = true;
    if (mpi::communicator* const state = mpi::communicator::known(comm)) state->calls().lost = true;
  } catch (const error&) {  // it has no private communicator, and will not get one
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace taquin::detail
