#include "interpose/serve/agreed_slots.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "interpose/reasons.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/groups.hpp"
#include "node/detect.hpp"

namespace taquin::interpose {

using detail::as_size;

namespace {

constexpr int most_ranks = 512;  // of a communicator; to find the places of many more takes MPI libraries long

// The common part of all slots of the process. Never destroyed: calls may be made while the program ends.
struct common {
  std::mutex mutex;
  mpi::communicator::lease messages;  // of all ranks
  std::unique_ptr<key_directory> keys;
  std::vector<int> node;  // the ranks there that share a node with this one, in order
  int next_tag = 0;       // of messages to this rank; none is given out twice
  std::vector<agreed_slots*> alive;
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
  if (found == 0 || c.next_tag + neighbourhood::tags > *static_cast<int*>(value)) return -1;
  return std::exchange(c.next_tag, c.next_tag + neighbourhood::tags);
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  return rank;
}

int size_of(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  return ranks;
}

std::vector<int> places_of(MPI_Comm comm, int ranks) {
  std::vector<int> places(as_size(ranks));
  mpi::translate_ranks(comm, 0, shared().messages->get(), places);
  return places;
}

std::optional<bool> no_choice() { return std::nullopt; }

bool is_on_node(int place) { return std::ranges::binary_search(shared().node, place); }

}  // namespace

void agreed_slots::begin_all() {
  const detail::environment& e = detail::environment::get();
  if (size_of(MPI_COMM_WORLD) == 1 || !settings::get().route || e.algorithm == "native" || !e.shared_memory) return;
  mpi::communicator::lease messages;
  mpi::make_everywhere(MPI_COMM_WORLD, [&] {
    static_cast<void>(shared());
    messages = mpi::communicator::adopt(MPI_COMM_NULL);
    messages->record = mpi::make_call_record(MPI_COMM_WORLD);
  });
  shared().node = detail::ranks_of_node(MPI_COMM_WORLD);
  if (shared().node.empty()) return;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_dup(MPI_COMM_WORLD, &made));  // which has no attributes yet
  messages->own(made);
  shared().keys = key_directory::make(made, shared().node);
  if (shared().keys == nullptr) return;
  shared().messages = std::move(messages);
  // The report of a wait: its exchanges are on the program's communicators, its ranks those of this one.
  static constexpr std::string_view name = "slots, by the ranks of MPI_COMM_WORLD";
  static_assert(name.size() < std::tuple_size_v<decltype(mpi::call_record::name)>);
  *std::ranges::copy(name, shared().messages->record->name.begin()).out = '\0';
}

// The agreed part is removed first: while the MPI library waits for it, it may free communicators, and with them
// their slots.
void agreed_slots::end_all() noexcept {
  common& c = shared();
  for (bool more = true; more;) {
    std::unique_ptr<neighbourhood_making> one;
    {
      const std::lock_guard lock(c.mutex);
      const auto at = std::ranges::find_if(c.alive, [](const agreed_slots* a) { return a->making_ != nullptr; });
      more = at != c.alive.end();
      if (more) {
        one = std::move((*at)->making_);
        (*at)->done_ = true;
      }
    }
    if (one != nullptr && one->must_stay()) static_cast<void>(one.release());
  }
  // Slots of communicators that the program does not free keep it.
  if (c.messages != nullptr && !c.messages->record->lost) c.messages->complete_failure_receives();
  c.messages.reset();
  c.keys.reset();
}

bool agreed_slots::possible() noexcept { return shared().messages != nullptr; }

const char* agreed_slots::reason_without() noexcept {
  if (!settings::get().route) return reasons::only_recorded;
  if (detail::environment::get().algorithm == "native") return reasons::by_settings;
  return size_of(MPI_COMM_WORLD) == 1 ? reasons::ranks : reasons::no_memory;
}

const char* agreed_slots::reason() const noexcept {
  if (refused_ != nullptr) return refused_;
  if (!possible()) return reason_without();
  return done_ && made_ == nullptr ? reasons::no_memory : reasons::agreeing;
}

bool agreed_slots::on_one_node(MPI_Comm comm) {
  const int ranks = size_of(comm);
  return possible() && ranks <= most_ranks && std::ranges::all_of(places_of(comm, ranks), is_on_node);
}

mpi::communicator& agreed_slots::messages() noexcept { return *shared().messages; }

agreed_slots::~agreed_slots() {
  common& c = shared();
  const std::lock_guard lock(c.mutex);
  std::erase(c.alive, this);
}

agreed_slots::control& agreed_slots::control_of(const neighbourhood& n, int nth) noexcept {
  return *reinterpret_cast<control*>(n.user_area(nth));
}

std::byte* agreed_slots::user_area(int nth) const noexcept { return made_->user_area(nth) + sizeof(control); }

void agreed_slots::set_up(MPI_Comm comm, demands d) {
  ranks_ = size_of(comm);
  rank_ = rank_in(comm);
  each_with_each_ = d.each_with_each;
  if (ranks_ > most_ranks) return give_up(reasons::ranks);
  neighbourhood_making::member mine{.rank = rank_,
                                    .places = places_of(comm, ranks_),
                                    .here = {},
                                    .edges = std::move(d.edges),
                                    .user_bytes = sizeof(control) + d.user_bytes,
                                    .each_with_each = d.each_with_each,
                                    .outcomes = d.outcomes,
                                    .keys = shared().keys.get()};
  for (int rank = 0; rank < ranks_; ++rank)
    if (is_on_node(mine.places[as_size(rank)])) mine.here.push_back(rank);
  auto making = std::make_unique<neighbourhood_making>(std::move(mine));
  {
    common& c = shared();
    const std::lock_guard lock(c.mutex);
    c.alive.push_back(this);
  }
  making_ = std::move(making);
  if (making_->most_bytes() > settings::get().memory) refused_ = reasons::memory;
}

// Where a rank has no memory for it, there are no slots on any. Collective.
bool agreed_slots::all_set_up(MPI_Comm comm, const std::function<void()>& one) {
  try {
    mpi::make_everywhere(comm, one);
    return true;
  } catch (const usage_error&) {
    finished_ = true;
    give_up(reasons::no_memory);
    return false;
  }
}

void agreed_slots::publish(MPI_Comm comm) {
  if (refused_ == nullptr && !messages().record->lost) tag_ = take_tag();
  making_->begin(comm, messages().keep(), tag_);
}

// In a start: on one node, where all ranks share the memory.
void agreed_slots::go_on(MPI_Comm comm) {
  if (!making_->has_begun()) publish(comm);
  const auto& joined_one = making_->joined_one();
  done_ = making_->done();
  if (joined_one == nullptr) return;
  neighbourhood& n = *joined_one;
  if (!know_edges(n)) return give_up();
  settle(handover::decide(control_of(n, 0).served, 1, starts_, [&]() -> std::optional<bool> {
    for (int r = 0; r < ranks_; ++r)
      if (control_of(n, r).stage.load(std::memory_order_acquire) != joined::edges) return std::nullopt;
    return true;
  }));
}

// False where a rank never will. A rank that has joined has announced its starts so far. With each rank as a neighbour
// of each it knows its edges then.
bool agreed_slots::know_edges(neighbourhood& n) {
  std::atomic<joined>& mine = control_of(n, rank_).stage;
  if (mine.load(std::memory_order_relaxed) == joined::no) {
    static_cast<void>(handover::decide(control_of(n, 0).served, 1, starts_, no_choice));
    mine.store(each_with_each_ ? joined::edges : joined::memory, std::memory_order_release);
  }
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    const joined one = control_of(n, r).stage.load(std::memory_order_acquire);
    if (one == joined::never) return false;
    all = all && one != joined::no;
  }
  if (all && mine.load(std::memory_order_relaxed) == joined::memory)
    mine.store(n.all_have_arrived() ? joined::edges : joined::never, std::memory_order_release);
  return mine.load(std::memory_order_relaxed) != joined::never;
}

void agreed_slots::settle(const handover::decision& d) noexcept {
  if (!d.closed) return;
  if (d.chosen) made_ = making_->joined_one();
  if (d.chosen && each_with_each_) static_cast<void>(made_->all_have_arrived());
  last_of_library_ = d.last;
  making_->all_have_joined();
  done_ = true;
}

// All ranks are in the same call. Where one knows that slots serve already, they do so on all.
void agreed_slots::finish(MPI_Comm comm) {
  finished_ = true;
  if (making_ == nullptr) return;
  const bool served = made_ != nullptr;
  try {
    if (!making_->has_begun()) publish(comm);
    made_ = making_->finish(comm, starts_);
  } catch (...) {
    give_up();
    throw;
  }
  if (!served) last_of_library_ = starts_;
  done_ = true;
}

// A rank that has joined closes the word: others may have found all ranks ready.
void agreed_slots::give_up(const char* why) noexcept {
  if (refused_ == nullptr) refused_ = why;
  if (!done_ && making_ != nullptr && making_->joined_one() != nullptr)
    settle(handover::decide(control_of(*making_->joined_one(), 0).served, 1, starts_,
                            [] { return std::optional(false); }));
  done_ = true;
  if (making_ == nullptr) return;
  making_->give_up();
  if (making_->must_stay()) static_cast<void>(making_.release());
  making_.reset();
}

}  // namespace taquin::interpose
