// A protocol over MPI as an operation: started, tested, waited for.
#pragma once

#include <memory_resource>
#include <optional>

#include "call/operation.hpp"
#include "protocol/mpi_port.hpp"
#include "protocol/task.hpp"

namespace taquin::detail {

/// Owns the task; the derived class owns its port and the rest. A start allocates nothing: the frame of the task is
/// used again.
class mpi_operation : public operation {
 public:
  void start() final {
    port().begin_run();
    if (!ready_) prepare();
    ready_ = false;
    running_ = true;
    task_->start();
  }
  bool test() final {
    or_failed([&] {
      if (running_ && port().test(*task_)) running_ = false;
      if (running_) mpi::present::poll();
    });
    return !running_;
  }
  void wait() final {
    or_failed([&] {
      if (running_) port().wait(*task_);
    });
    running_ = false;
  }

 protected:
  explicit mpi_operation(std::pmr::memory_resource* memory) : frame_(memory) {}
  /// Makes the task of the next start.
  void prepare() {
    task_.reset();
    task_.emplace(make_task());
    ready_ = true;
  }
  [[nodiscard]] frame_memory* frame() noexcept { return &frame_; }

  virtual mpi_port& port() noexcept = 0;
  virtual task make_task() = 0;

 private:
  template <class Step>
  void or_failed(Step step) {
    try {
      step();
    } catch (...) {
      failed();
      throw;
    }
  }

  frame_memory frame_;
  std::optional<task> task_;
  bool ready_ = false;
  bool running_ = false;
};

}  // namespace taquin::detail
