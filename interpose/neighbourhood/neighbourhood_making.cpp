#include "interpose/neighbourhood/neighbourhood_making.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

namespace {

constexpr std::string_view name = "neighbour_slots";  // the report of a wait that exceeds the timeout

}  // namespace

// Whether all ranks take part, and what they remember.
void neighbourhood_making::begin(MPI_Comm comm, mpi::communicator::lease messages, int tag) {
  const bool known = std::ranges::find(member_.places, MPI_UNDEFINED) == member_.places.end();
  messages_ = std::move(messages);
  if (known && messages_ != nullptr && detail::environment::get().shared_memory &&
      has_no_rank_twice(member_.edges.sources) && has_no_rank_twice(member_.edges.destinations))
    mine_.tag = tag;
  mine_.outcomes = member_.outcomes;
  mine_.here = static_cast<std::int32_t>(std::ranges::count_if(
      member_.edges.destinations, [this](int peer) { return std::ranges::binary_search(member_.here, peer); }));
  publish(comm);
  stage_ = stage::publishing;
}

void neighbourhood_making::publish(MPI_Comm comm) {
  TAQUIN_MPI(PMPI_Iallgather(&mine_, sizeof mine_, MPI_BYTE, all_.data(), sizeof mine_, MPI_BYTE, comm,
                             in_progress_.request()));
}

bool neighbourhood_making::all_have_published() {
  if (stage_ == stage::publishing && in_progress_.test()) published();
  return stage_ > stage::publishing;
}

void neighbourhood_making::published() noexcept {
  stage_ = stage::published;
  agreed_ = mine_.outcomes;
  for (const reported& one : all_) agreed_ = agreed_ & one.outcomes;
  if (!all_can()) end();
}

void neighbourhood_making::join() {
  if (stage_ != stage::published || member_.keys == nullptr) return;
  const int number = first_here().tag / neighbourhood::tags;
  if (is_first_here()) {
    make_memory();
    key_is_known_ = member_.keys->publish(number, mine_.key);
    if (key_is_known_) attach(mine_.key);
  } else if (const auto key = member_.keys->find(member_.places[detail::as_size(member_.here.front())], number)) {
    attach(*key);
  }
}

std::shared_ptr<neighbourhood> neighbourhood_making::finish(MPI_Comm comm, std::uint64_t number) {
  if (stage_ == stage::publishing) {
    in_progress_.wait(comm, number, name);
    published();
  }
  make_memory();
  publish(comm);
  in_progress_.wait(comm, number, name);
  if (stage_ == stage::published) attach(first_here().key);
  if (!all(comm, number, joined_ != nullptr) || !all(comm, number, joined_->all_have_arrived())) return nullptr;
  close_key();
  return joined_;
}

bool neighbourhood_making::all(MPI_Comm comm, std::uint64_t number, bool good) {
  good_ = good ? 1 : 0;
  TAQUIN_MPI(PMPI_Iallreduce(&good_, &all_good_, 1, MPI_INT32_T, MPI_MIN, comm, in_progress_.request()));
  in_progress_.wait(comm, number, name);
  return all_good_ != 0;
}

// The same on all ranks.
bool neighbourhood_making::all_can() const noexcept {
  return std::ranges::all_of(all_, [](const reported& t) { return t.tag >= 0; }) &&
         (member_.here.size() == all_.size() ||
          std::ranges::any_of(all_, [](const reported& t) { return t.here > 0; }));
}

// On the first rank of the node. Without memory the key has none.
void neighbourhood_making::make_memory() {
  if (stage_ != stage::published || !is_first_here() || !memory_.empty()) return;
  memory_ = detail::mapping::create(member_.here.size() * most_bytes(), mine_.key, detail::mapping::pages::in_parts);
}

void neighbourhood_making::attach(const detail::mapping_key& key) {
  if (!is_first_here()) memory_ = detail::mapping::attach(key);
  std::int32_t widest = 0;
  for (const int rank : member_.here) widest = std::max(widest, all_[detail::as_size(rank)].here);
  try {
    std::vector<int> tags(all_.size());
    std::ranges::transform(all_, tags.begin(), &reported::tag);
    if (!memory_.empty())
      joined_ = neighbourhood::make({.messages = std::move(messages_),
                                     .rank = member_.rank,
                                     .places = member_.places,
                                     .tags = tags,
                                     .here = member_.here,
                                     .edges = member_.edges,
                                     .widest = detail::as_size(widest),
                                     .user_bytes = member_.user_bytes,
                                     .whole = member_.each_with_each},
                                    std::move(memory_));
  } catch (const std::bad_alloc&) {
    joined_.reset();
  }
  if (joined_ == nullptr) return end();
  stage_ = stage::joined;
}

// Frees the parts that are only needed while it is made.
void neighbourhood_making::end() noexcept {
  stage_ = stage::done;
  joined_.reset();
  memory_ = {};
  messages_.reset();
  close_key();
}

void neighbourhood_making::close_key() noexcept {
  if (std::exchange(key_is_known_, false)) member_.keys->withdraw(mine_.tag / neighbourhood::tags);
  detail::mapping::close(mine_.key);
}

void neighbourhood_making::give_up() noexcept {
  in_progress_.give_up();
  end();
}

}  // namespace taquin::interpose
