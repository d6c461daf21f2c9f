#include "node/channel.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/failure.hpp"
#include "node/peer_records.hpp"
#include "node/single_copy.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t block_payload = 32768;  // for each block of a step
constexpr std::size_t least_payload = std::size_t{96} << 10U;
constexpr std::size_t most_payload = std::size_t{512} << 10U;

void relax() noexcept {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

std::size_t channel::default_payload_bytes(int ranks) noexcept {
  return std::clamp(as_size(ranks) * block_payload, least_payload, most_payload);
}

std::size_t channel::share(int ranks, std::size_t payload) noexcept {
  const auto p = as_size(ranks);
  return up_to_page(arena_parts::overhead(p) + up_to_line(head_bytes(p)) + 2 * up_to_page(payload));
}

std::size_t channel::bookkeeping(int ranks) noexcept { return as_size(ranks) * sizeof(node_member); }

#ifdef TAQUIN_SMPI
// Simulated ranks are one process, whose time stands still while one of them waits for memory to change.
channel channel::make(MPI_Comm, std::size_t, bool, mpi::call_record*, peer_records*, std::span<node_member>) {
  return {};
}
#else
namespace {

// Oversubscribed ranks must yield cores to each other.
bool more_than_processors(std::span<const node_member> all) {
  const auto widest = std::ranges::max(all, {}, &node_member::processors).processors;
  if (widest > 1) return all.size() > as_size(widest);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (all[i].processor == all[j].processor) return true;
  return false;
}

void describe_processors(node_member& me) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  me.processors = 1;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  me.processors = CPU_COUNT(&set);
  while (me.processor < CPU_SETSIZE && !CPU_ISSET(as_size(me.processor), &set)) ++me.processor;
}

// The word that neighbours read and write back to find out whether single copies are permitted. It lives as long as the
// process, because a rank that aborts does not wait for a neighbour that is about to write here.
std::uint64_t& probe_word() {
  static std::uint64_t word = host_id();
  return word;
}

// Reads a word of another rank's and writes it back as it was.
bool can_copy(const node_member& other) noexcept {
  std::uint64_t seen = 0;
  return single_copy(other.process, other.probe, &seen, sizeof seen) == 0 && seen == other.host &&
         single_copy_back(other.process, &seen, other.probe, sizeof seen) == 0;
}

// Whether all ranks are on the machine of rank 0, and all have memory and want to share it.
bool are_on_one_node(std::span<const node_member> all) {
  return std::ranges::all_of(
      all, [&](const node_member& m) { return m.host == all[0].host && m.enabled != 0 && !m.part.empty(); });
}

// Where the progress records of this machine's ranks can be read.
void fill_records(std::span<const node_member> all, std::uint64_t host, peer_records& records) {
  std::ranges::transform(all, records.of.begin(), [&](const node_member& m) {
    return peer_record{m.host == host ? m.process : -1, m.last, m.calls, m.identity};
  });
}

}  // namespace

channel channel::make(MPI_Comm comm, std::size_t payload, bool wanted, mpi::call_record* calls, peer_records* records,
                      std::span<node_member> all) {
  channel c;
  c.calls_ = calls;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &c.rank_));
  TAQUIN_MPI(PMPI_Comm_size(comm, &c.size_));
  c.payload_bytes_ = up_to_page(payload);
  c.head_ = up_to_line(head_bytes(as_size(c.size_)));

  node_member me;
  me.host = host_id();
  me.probe = reinterpret_cast<std::uint64_t>(&probe_word());
  me.process = getpid();
  describe_processors(me);
  me.last = reinterpret_cast<std::uint64_t>(&mpi::here);
  me.calls = reinterpret_cast<std::uint64_t>(c.calls_);
  if (calls != nullptr) me.identity = calls->identity;
  if (wanted) me.enabled = environment::get().single_copy ? 3 : 1;
  if (wanted) c.parts_ = arena_parts::make(c.rank_, c.size_, c.head_ + 2 * c.payload_bytes_, me.part);
  if (!c.empty()) {
    std::fill_n(c.part(c.rank_), c.head_, std::byte{0});
    c.word(c.rank_, process_word) = static_cast<std::uint64_t>(me.process);
  }
  if (me.enabled == 3) admit_siblings();
  mpi::allgather(me, all, comm);
  if (records != nullptr) fill_records(all, me.host, *records);
  if (!are_on_one_node(all)) {
    c.parts_.take_back();
    return {};
  }
  c.set_polls(all);
  if (c.join(all)) return c;
  static_cast<void>(mpi::holds_everywhere(false, comm));  // until then others may poll this rank's part
  c.parts_.take_back();
  return {};
}

// Reaches the parts of all others, and finds out whether all ranks do: the same on all of them, as a rank that does not
// reach some part knows it, and the others see its word.
bool channel::join(std::span<const node_member> all) {
  bool mapped = true;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) mapped = parts_.attach(rank, all[as_size(rank)].part) && mapped;
  const int next = (rank_ + 1) % size_;
  const auto ask = [&] { return can_copy(all[as_size(next)]); };
  single_copies_ =
      mapped && all[as_size(rank_)].enabled == 3 && (size_ == 1 ? ask() : arena::of_process().permits(part(next), ask));
  const reach mine = !mapped ? reach::none : single_copies_ ? reach::copies : reach::all;
  word(rank_, join_word).store(static_cast<std::uint64_t>(mine), std::memory_order_release);
  for (int k = 1; mapped && k < size_; ++k) {
    const auto& theirs = word((rank_ + k) % size_, join_word);
    wait([&] { return theirs.load(std::memory_order_acquire) != 0; });
    const auto reached = static_cast<reach>(theirs.load(std::memory_order_relaxed));
    mapped = reached != reach::none;
    single_copies_ = single_copies_ && reached == reach::copies;
  }
  return mapped;
}

void channel::set_polls(std::span<const node_member> all) noexcept {
  constexpr int most_polls = 2000;
  // Other processes of the job may need the cores as well.
  polls_ = more_than_processors(all) || mpi::polls_before_yielding() == 0 ? 0 : most_polls;
}

#endif

channel channel::make(MPI_Comm comm, std::size_t payload, bool wanted, std::pmr::memory_resource* memory) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  std::pmr::vector<node_member> all(as_size(ranks), memory);
  return make(comm, payload, wanted, nullptr, nullptr, all);
}

void channel::pause(int polls) const {
  constexpr int progress_every = 64;
  constexpr int abort_check_interval = 16;
  if (polls < polls_) {
    relax();
    return;
  }
  give_what_is_requested();
  if (calls_ != nullptr && (polls - polls_) % abort_check_interval == abort_check_interval - 1) check_for_aborts();
  if ((polls - polls_) % progress_every == progress_every - 1) {
    int any = 0;
    TAQUIN_MPI(PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE));
  }
  mpi::idle(this);
}

// Ranks whose mailboxes have not arrived; when all have, those that have not fetched the data offered to them. Before
// the first step there are no mailboxes, and any other rank may be the one that this rank waits for.
template <class F>
void channel::for_each_missing(F f) const {
  bool any = step_ == 0;
  for (int rank = 0; any && rank < size(); ++rank)
    if (rank != rank_) f(rank);
  if (any) return;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_ || has_arrived(rank)) continue;
    any = true;
    f(rank);
  }
  for (int rank = 0; !any && rank < size(); ++rank)
    if (rank != rank_ && mailbox::may_be_read(to(rank).what()) && !has_fetched(rank, step_)) f(rank);
}

// Finds processes that this rank waits for and that have ended. Process numbers are known to be valid on this node only
// where memory can be read by them.
void channel::check_for_ended() const {
  constexpr double every = 0.05;
  thread_local double last = 0;
  const double now = PMPI_Wtime();
  if (!single_copies_ || now - last < every) return;
  last = now;
  std::vector<int> gone;
  for_each_missing([&](int rank) {
    if (kill(process(rank), 0) != 0 && errno == ESRCH) gone.push_back(rank);
  });
  if (!gone.empty()) mpi::refuse_failed(gone, calls_);
}

void channel::check_for_aborts() const {
  poll_records();
  check_for_ended();
}

// The aborting rank may be one that this rank does not wait for: a third rank may wait for it, and be late for that
// reason.
void channel::poll_records() const {
  mpi::check_for_failures(*calls_);
  for (int rank = 0; rank < size(); ++rank)
    if (const std::uint64_t first = abort_of(rank).first.load(std::memory_order_acquire); first != 0 && rank != rank_)
      mpi::refuse_without(static_cast<int>(first) - 1, abort_of(rank).why.data(), *calls_);
}

void channel::describe(mpi::wait_record& to) const {
  to.what = "in shared memory";
  for_each_missing([&](int rank) { to.miss(rank); });
}

}  // namespace taquin::detail
