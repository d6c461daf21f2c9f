#include "node/comm_channel.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/groups.hpp"
#include "mpi/threads.hpp"

namespace taquin::detail {

bool arrive_in_one_order() {
  static const bool one_thread = !mpi::has_many_threads();
  return one_thread;
}

// With several threads only a reduction finds cached channels: a state published here races with other threads' steps.
void channels_of_process::add(comm_channel& a) noexcept {
  if (!one_order_) a.shared.publish_never();
  const std::scoped_lock lock(mutex_);
  a.after = in_use_;
  if (in_use_ != nullptr) in_use_->before = &a;
  in_use_ = &a;
}

void channels_of_process::remove(comm_channel& a) noexcept {
  const std::scoped_lock lock(mutex_);
  if (a.after != nullptr) a.after->before = a.before;
  if (a.before != nullptr) a.before->after = a.after;
  if (in_use_ == &a) in_use_ = a.after;
  a.before = a.after = nullptr;
}

void channels_of_process::keep(MPI_Comm comm, comm_channel& a) noexcept {
  if (!a.shared.empty() && !keeps(comm, a) && one_order_) a.shared.publish_gone();
}

bool channels_of_process::keeps(MPI_Comm comm, comm_channel& a) noexcept {
  if (!a.for_others || a.record->lost.load(std::memory_order_relaxed) || !a.shared.may_be_cached()) return false;
  if (one_order_ && a.shared.published_gone()) return false;
  if (comm == MPI_COMM_WORLD || a.ranks == 0 || a.bytes > most_bytes) return false;
  const std::scoped_lock lock(mutex_);
  try {
    cached_.reserve(most);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (cached_.size() == most) drop_at(0);
  a.no_longer_of_user();
  if (one_order_) a.shared.publish_kept();
  cached_.push_back(std::move(static_cast<kept_channel&>(a)));
  a.bytes = 0;
  return true;
}

void channels_of_process::publish_in_use(std::uint64_t ranks) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!one_order_) return;
  for (const comm_channel* a = in_use_; a != nullptr; a = a->after)
    if (a->ranks == ranks) a->shared.publish_gone();
}

void channels_of_process::drop(std::uint64_t ranks) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = cached_.size(); i-- > 0;)
    if (cached_[i].ranks == ranks) drop_at(i);
}

std::uint64_t number_of_ranks(MPI_Comm comm) {
  std::array<int, 64> in_world{};
  int size = 0;
  TAQUIN_MPI(PMPI_Comm_size(comm, &size));
  fingerprint all;
  for (int begin = 0; begin < size; begin += static_cast<int>(in_world.size())) {
    const auto part = std::span(in_world).first(std::min(in_world.size(), as_size(size - begin)));
    mpi::translate_ranks(comm, begin, MPI_COMM_WORLD, part);
    if (std::ranges::find(part, MPI_UNDEFINED) != part.end()) return 0;
    for (const int rank : part) all.add(rank);
  }
  return all.value() | 1U;
}

}  // namespace taquin::detail
