// The requests of a program's call that starts or completes several.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "interpose/serve/requests.hpp"

namespace taquin::interpose {

/// A place in the program's array. `request` is null for one that is not tracked.
struct found {
  int at;
  MPI_Request* program;  ///< where the program has its handle
  MPI_Request handle;
  std::shared_ptr<tracked_request> request;
  bool by_plan;

  [[nodiscard]] bool is_inactive() const noexcept { return request != nullptr && !request->active(); }
};
found poll_at(int at, MPI_Request* program) noexcept;

/// The program's array as it is passed on: MPI_REQUEST_NULL stands where a plan runs, and for inactive requests.
class request_array {
 public:
  request_array(int n, MPI_Request* requests);

  [[nodiscard]] MPI_Request* data() noexcept { return passed_.data(); }
  /// Served requests that are active.
  [[nodiscard]] const std::vector<found>& all() const noexcept { return all_; }
  [[nodiscard]] bool has_plans() const noexcept { return plans_ > 0; }
  /// Those that a plan runs for, or those of the MPI library.
  template <class F>
  void each(bool by_plan, F f) const {
    for (const found& one : all_)
      if (one.by_plan == by_plan) f(one);
  }
  /// After the MPI library's call: copies its handles to the program's.
  void copy_back() noexcept;
  /// Null if none is served.
  [[nodiscard]] const found* at(int index) const noexcept;

 private:
  MPI_Request* program_;
  std::vector<MPI_Request> passed_;
  std::vector<found> all_;
  std::vector<int> kept_;  // places where the MPI library sees a null request
  int plans_ = 0;
};

}  // namespace taquin::interpose
