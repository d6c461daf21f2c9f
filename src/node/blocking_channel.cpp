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

/// Bytes of this process's parts of all channels.
std::atomic<std::size_t> bytes_of_channels{0};
/// A handle may mean another communicator once this has grown.
std::atomic<std::uint64_t> communicators_freed{0};

/// The memory and records of a communicator, as an attribute of it.
struct comm_channel {
  channel shared;
  std::shared_ptr<mpi::call_record> record;
  std::shared_ptr<peer_records> records;
  std::size_t bytes = 0;
  bool made = false;  // the communicator has all of its objects; before that it may be lost

  comm_channel() = default;
  comm_channel(const comm_channel&) = delete;
  comm_channel& operator=(const comm_channel&) = delete;
  ~comm_channel() {
    if (record != nullptr) {
      record->shown = nullptr;
      mpi::forget_user(*record);
    }
    bytes_of_channels -= bytes;
    ++communicators_freed;
  }
};

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<comm_channel*>(value);
  return MPI_SUCCESS;
}

const mpi::attribute<comm_channel>& kept() {
  static const mpi::attribute<comm_channel> all(on_delete);
  return all;
}

// Whether there is memory for one more channel. If not, a warning is printed once.
bool space_for(std::size_t bytes) {
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
// memory can still report it to the others.
class members {
 public:
  explicit members(int ranks) noexcept : ranks_(as_size(ranks)) {
    if (!are_few()) more_.reset(new (std::nothrow) node_member[ranks_]);
  }
  [[nodiscard]] bool are_few() const noexcept { return ranks_ <= few_.size(); }
  [[nodiscard]] bool have_space() const noexcept { return are_few() || more_ != nullptr; }
  [[nodiscard]] std::span<node_member> all() noexcept { return {are_few() ? few_.data() : more_.get(), ranks_}; }

 private:
  std::size_t ranks_;
  std::array<node_member, 64> few_;
  std::unique_ptr<node_member[]> more_;
};

// All memory that a communicator's first call allocates and keeps; null if there is none.
std::unique_ptr<comm_channel> with_memory(MPI_Comm comm, int ranks) noexcept {
  try {
    environment::get();
    auto a = unshared(comm);
    a->records = std::make_shared<peer_records>();
    a->records->of.resize(as_size(ranks));
    return a;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// As an attribute of the communicator.
comm_channel* keep(MPI_Comm comm, std::unique_ptr<comm_channel> a) {
  kept().set(comm, a.get());
  if (a->record != nullptr) mpi::know_user(*a->record, comm);
  return a.release();
}

comm_channel* make(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  auto a = with_memory(comm, ranks);
  members reported(ranks);
  // Ranks do not know each other yet: after this point no rank could report an error to the others.
  const bool report_first = mpi::simulated || ranks == 1 || !reported.are_few();
  if (report_first && !mpi::holds_everywhere(a != nullptr && reported.have_space(), comm)) mpi::refuse_without_memory();
  const std::size_t payload = channel::default_payload_bytes(ranks);
  const std::size_t bytes = channel::share(ranks, payload);
  const auto wanted = [&] {
    const environment& e = environment::get();
    return e.shared_memory && e.nodes.empty() && space_for(bytes);
  };
  if (ranks > 1) {
    mpi::call_record* const calls = a == nullptr ? nullptr : a->record.get();
    peer_records* const records = a == nullptr ? nullptr : a->records.get();
    channel made = channel::make(comm, payload, a != nullptr && wanted(), calls, records, reported.all());
    const auto all = reported.all();
    if (!report_first && std::ranges::find(all, std::uint64_t{0}, &node_member::calls) != all.end())
      mpi::refuse_without_memory();
    a->shared = std::move(made);
  }
  if (!a->shared.empty()) {
    bytes_of_channels += a->bytes = bytes;
    a->record->shown = &a->shared.abort_of(a->shared.rank());
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
    return comm == other && comm != MPI_COMM_NULL && freed == communicators_freed.load(std::memory_order_acquire);
  }
};
thread_local found_last last;

}  // namespace

channel* blocking_channel(MPI_Comm comm) {
  if (last.of(comm)) return last.shared;
  const std::uint64_t freed = communicators_freed.load(std::memory_order_acquire);
  comm_channel* a = kept().find(comm);
  if (a == nullptr && mpi::is_inter(comm)) return nullptr;
  if (a != nullptr && a->record->lost.load(std::memory_order_relaxed)) mpi::refuse_lost(*a->record);
  if (a == nullptr || !a->made) a = make(comm);
  channel* shared = a->shared.empty() ? nullptr : &a->shared;
  last = {comm, freed, shared};
  return shared;
}

void share_calls(MPI_Comm comm, mpi::communicator& state) {
  const comm_channel* const a = kept().find(comm);
  if (a == nullptr || state.record == a->record) return;
  state.record = a->record;
  state.kept.put(peer_records::kept_as, std::shared_ptr<const peer_records>(a->records));
}

const peer_records* records_of(MPI_Comm comm) {
  const comm_channel* const a = kept().find(comm);
  return a == nullptr ? nullptr : a->records.get();
}

void abort_call(MPI_Comm comm, const std::exception& why) noexcept {
  try {
    comm_channel* a = kept().find(comm);
    if (mpi::communicator* const state = mpi::communicator::find(comm)) state->abort(why);
    if (a == nullptr && comm != MPI_COMM_NULL && !mpi::is_inter(comm)) a = keep(comm, unshared(comm));
    if (a == nullptr) return;
    int rank = 0;
    TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
    const mpi::abort_reason r(why, rank);
    a->record->abort(r.first, r.why);
  } catch (const error&) {  // there is no private communicator for it
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace taquin::detail
