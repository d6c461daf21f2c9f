#include "taquin/memory_budget.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "taquin/error.hpp"

namespace taquin {

budget_exceeded::budget_exceeded(const std::string& what, std::size_t requested, std::size_t used, std::size_t limit)
    : error(what, MPI_ERR_NO_MEM), requested_(requested), used_(used), limit_(limit) {}

void memory_budget::charge(std::size_t bytes) {
  if (bytes > limit_ - used_)
    throw budget_exceeded(fmt::format("{} bytes asked for with {} of {} bytes in use", bytes, used_, limit_), bytes,
                          used_, limit_);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
}

void* memory_budget::do_allocate(std::size_t bytes, std::size_t alignment) {
  charge(bytes);
  try {
    return upstream_->allocate(bytes, alignment);
  } catch (...) {
    discharge(bytes);
    throw;
  }
}

void memory_budget::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  upstream_->deallocate(memory, bytes, alignment);
  discharge(bytes);
}

}  // namespace taquin
