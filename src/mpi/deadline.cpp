#include "mpi/deadline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/collective_error.hpp"
#include "mpi/progress_record.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

constinit progress_record here;
constinit thread_local deadline* deadline::current_ = nullptr;
constinit thread_local const abort_source* set_up_scope::current_ = nullptr;

void wait_record::miss(int rank) {
  if (std::ranges::find(missing, rank) == missing.end()) missing.push_back(rank);
}

std::uint32_t next_identity() noexcept {
  constexpr std::uint32_t odd = 0x9E3779B1U;  // so that all numbers come before one comes again
  static constinit std::atomic<std::uint32_t> made{0};
  return (made.fetch_add(1, std::memory_order_relaxed) + 1) * odd;
}

void refuse_nested(const call_record& r) {
  detail::throw_on_all_ranks([&] {
    return usage_error(
        fmt::format(
            "a function that an operation on {}{}{} has called makes another call on it: the operation is pending "
            "until the function has returned; calls on other communicators are allowed",
            r.name[0] != '\0' ? "'" : "", r.name[0] != '\0' ? r.name.data() : "this communicator",
            r.name[0] != '\0' ? "'" : ""),
        MPI_ERR_COMM);
  });
}

deadline::deadline(double seconds) : outer_(current_), seconds_(seconds) {
  begin();
  current_ = this;
}

double deadline::waited() const { return PMPI_Wtime() - started_at_; }

deadline::all_are_here::all_are_here() noexcept : deadline_(current_) {
  constexpr double least = 5;
  if (deadline_ != nullptr) deadline_->not_before_ = PMPI_Wtime() + std::max(deadline_->seconds_, least);
}

deadline::all_are_here::~all_are_here() {
  if (deadline_ == nullptr) return;
  deadline_->not_before_ = 0;
  deadline_->begin();
}

void deadline::poll_clock(const awaited* what) {
  const double longest_gap = seconds_ / 10;
  const double now = PMPI_Wtime();
  started_at_ += std::max(now - polled_ - longest_gap, 0.0);
  polled_ = now;
  if (reported_ || waited() < seconds_ || (not_before_ > 0 && PMPI_Wtime() < not_before_)) return;
  reported_ = true;
  expired(what);
}

}  // namespace taquin::mpi
