// The assignment of tags to plans.
#include <fmt/format.h>

#include "base/collective_error.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

plan_tags::~plan_tags() {
  if (comm_ == nullptr) return;
  const std::scoped_lock lock(comm_->guard_);
  (before_ != nullptr ? before_->next_ : comm_->plans_) = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

bool plan_tags::is_free(const communicator& comm, int set, int sets) noexcept {
  for (const plan_tags* p = comm.plans_; p != nullptr; p = p->next_)
    if (set < p->set_ + p->sets_ && p->set_ < set + sets) return false;
  return true;
}

// The first consecutive sets that are free on all ranks.
int plan_tags::agree(communicator& comm, int sets) {
  for (int set = 0; set + sets <= comm.sets_of_plans_; ++set) {
    {
      const std::scoped_lock lock(comm.guard_);
      while (set + sets <= comm.sets_of_plans_ && !is_free(comm, set, sets)) ++set;
    }
    allreduce(set, MPI_MAX, comm.get());
    if (set + sets > comm.sets_of_plans_) break;
    bool free = false;
    {
      const std::scoped_lock lock(comm.guard_);
      free = is_free(comm, set, sets);
    }
    if (holds_everywhere(free, comm.get())) return set;
  }
  detail::throw_on_all_ranks([&] {
    return usage_error(
        fmt::format("all tags are in use: a communicator has them for {} plans at a time", comm.sets_of_plans_),
        MPI_ERR_OTHER);
  });
}

int plan_tags::take(communicator& comm, int sets) {
  int set = comm.next_plan_;
  if (sets <= comm.sets_of_plans_ - set) {
    comm.next_plan_ += sets;
  } else {
    set = agree(comm, sets);
  }
  const std::scoped_lock lock(comm.guard_);
  comm_ = &comm;
  set_ = set;
  sets_ = sets;
  next_ = comm.plans_;
  if (next_ != nullptr) next_->before_ = this;
  comm.plans_ = this;
  return (communicator::tag_sets_of_calls + set) * communicator::tags_per_plan;
}

}  // namespace taquin::mpi
