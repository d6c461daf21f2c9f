#include "interpose/serve/request_array.hpp"

#include <algorithm>
#include <utility>

namespace taquin::interpose {

found poll_at(int at, MPI_Request* program) noexcept {
  auto t = tracked(*program);
  const bool by_plan = t != nullptr && t->active_by_plan();
  return {at, program, *program, std::move(t), by_plan};
}

request_array::request_array(int n, MPI_Request* requests)
    : program_(requests), passed_(requests, requests + std::max(n, 0)) {
  for (int i = 0; i < n; ++i) {
    const found one = poll_at(i, requests + i);
    if (one.request == nullptr) continue;
    if (one.request->active()) all_.push_back(one);
    if (one.by_plan) ++plans_;
    if (!one.by_plan && one.request->active()) continue;
    passed_[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
    kept_.push_back(i);
  }
}

void request_array::copy_back() noexcept {
  auto kept = kept_.begin();
  for (std::size_t i = 0; i < passed_.size(); ++i) {
    if (kept != kept_.end() && *kept == static_cast<int>(i))
      ++kept;
    else
      program_[i] = passed_[i];
  }
}

const found* request_array::at(int index) const noexcept {
  const auto it = std::ranges::find(all_, index, &found::at);
  return it == all_.end() ? nullptr : &*it;
}

}  // namespace taquin::interpose
