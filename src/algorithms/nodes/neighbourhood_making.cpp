#include "algorithms/nodes/neighbourhood_making.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/watch.hpp"
#include "node/call_watch.hpp"

namespace taquin::detail {

// Whether all ranks are on one machine and have what is needed, and how to reach the memory.
void neighbourhood_making::begin(MPI_Comm comm, mpi::communicator::lease messages, int tag) {
  const environment& e = environment::get();
  const bool known = std::ranges::find(places_, MPI_UNDEFINED) == places_.end();
  messages_ = std::move(messages);
  if (known && messages_ != nullptr && e.shared_memory && e.nodes.empty() && has_no_rank_twice(edges_.sources) &&
      has_no_rank_twice(edges_.destinations))
    tag_ = tag;
  if (rank_ == 0 && tag_ >= 0) memory_ = mapping::create(places_.size() * most_bytes(), key_, mapping::pages::in_parts);
  const auto host = static_cast<std::int64_t>(host_id() >> 1U);
  asked_ = {tag_ >= 0 && (rank_ > 0 || !memory_.empty()) ? 1 : 0, host, -host,
            -static_cast<std::int64_t>(edges_.destinations.size())};
  from_ = key_;
  TAQUIN_MPI(PMPI_Iallreduce(asked_.data(), answer_.data(), static_cast<int>(asked_.size()), MPI_INT64_T, MPI_MIN, comm,
                             &pending_[0]));
  TAQUIN_MPI(PMPI_Ibcast(&from_, sizeof from_, MPI_BYTE, 0, comm, &pending_[1]));
  stage_ = stage::asking;
}

void neighbourhood_making::go_on(MPI_Comm comm, std::uint64_t number) {
  settle(comm, number);
  switch (stage_) {
    case stage::asking:
      return answer_[0] != 0 && answer_[1] == -answer_[2] ? attach(comm) : end();
    case stage::attaching:
      mapping::close(key_);
      return all_good_ != 0 ? compare(comm) : end();
    case stage::comparing:
      if (all_good_ != 0) made_ = std::move(making_);
      return end();
    case stage::first:
    case stage::over:
      break;
  }
}

void neighbourhood_making::attach(MPI_Comm comm) {
  if (rank_ > 0) memory_ = mapping::attach(from_);
  try {
    if (!memory_.empty())
      making_ = neighbourhood::make({.messages = std::move(messages_),
                                     .rank = rank_,
                                     .places = places_,
                                     .tag = tag_,
                                     .edges = edges_,
                                     .widest = static_cast<std::size_t>(-answer_[3]),
                                     .notes = notes_,
                                     .whole = each_with_each_},
                                    std::move(memory_));
  } catch (const std::bad_alloc&) {
    making_.reset();
  }
  agree(comm, making_ != nullptr);
  stage_ = stage::attaching;
}

// Where each rank has all as its neighbours, all edges are known.
void neighbourhood_making::compare(MPI_Comm comm) {
  const bool known = making_->all_have_come();
  stage_ = stage::comparing;
  if (!each_with_each_) return agree(comm, known);
  made_ = std::move(making_);
  end();
}

void neighbourhood_making::agree(MPI_Comm comm, bool good) {
  good_ = good ? 1 : 0;
  TAQUIN_MPI(PMPI_Iallreduce(&good_, &all_good_, 1, MPI_INT32_T, MPI_MIN, comm, pending_.data()));
}

void neighbourhood_making::settle(MPI_Comm comm, std::uint64_t number) {
  static constexpr std::string_view name = "neighbour_slots";
  struct others final : mpi::awaited {
    void describe(mpi::wait_note& note) const override { note.what = "agreement with ranks that are behind"; }
  };
  const others what;
  std::shared_ptr<mpi::call_record> record;
  std::optional<call_watch> clock;
  if (const patience p = patience::of({}); p.seconds > 0) {
    record = mpi::make_call_record(comm);
    clock.emplace(known_comm{comm, record.get(), nullptr}, mpi::whereabouts::of(mpi::call_kind::alltoallv), number,
                  name, p);
  }
  must_stay_ = true;
  for (mpi::backoff waiting(&what);; waiting.pause()) {
    int done = 0;
    TAQUIN_MPI(PMPI_Testall(static_cast<int>(pending_.size()), pending_.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0) break;
  }
  must_stay_ = false;
}

// Frees what is only needed while it is made.
void neighbourhood_making::end() noexcept {
  stage_ = stage::over;
  making_.reset();
  memory_ = {};
  messages_.reset();
  mapping::close(key_);
}

void neighbourhood_making::give_up() noexcept {
  int over = 0;
  if (PMPI_Finalized(&over) == MPI_SUCCESS && over == 0)
    PMPI_Waitall(static_cast<int>(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE);
  end();
}

}  // namespace taquin::detail
