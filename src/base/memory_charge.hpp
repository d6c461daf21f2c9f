// Bytes of a budget that are allocated elsewhere: counted while this lives.
#pragma once

#include <cstddef>
#include <utility>

#include "base/memory_budget.hpp"

namespace taquin::detail {

class memory_charge {
 public:
  /// Throws budget_exceeded over the limit.
  memory_charge(memory_budget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) { budget.charge(bytes); }
  memory_charge(memory_charge&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  memory_charge& operator=(memory_charge&&) = delete;
  ~memory_charge() { budget_->discharge(bytes_); }

 private:
  memory_budget* budget_;
  std::size_t bytes_;
};

}  // namespace taquin::detail
