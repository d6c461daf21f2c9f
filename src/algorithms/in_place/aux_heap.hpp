// Auxiliary memory as a heap of units: any length from any free run, returned in parts.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/arrays.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

class aux_heap {
 public:
  /// `runs`: the most free runs that there can be: one more than the most allocations at a time.
  aux_heap(std::size_t runs, std::pmr::memory_resource* memory) : free_(memory) { array_list::take(*this, runs); }

  void reset(count_t size) {
    free_.clear();
    if (size > 0) free_.push_back({0, size});
  }
  /// The longest run that take() can give.
  [[nodiscard]] count_t longest() const noexcept;
  /// Takes from the shortest free run that is long enough. `length` must not exceed longest().
  count_t take(count_t length);
  /// Takes up to `wanted` units from `at` on, as many as are free there; returns their number.
  count_t take_at(count_t at, count_t wanted);
  void give_back(count_t at, count_t length);

  static constexpr std::size_t bytes(std::size_t runs) noexcept { return array_list::bytes<aux_heap>(runs); }

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t runs) {
    each(&aux_heap::free_, at_most{runs});
  }

  struct run {
    count_t at;
    count_t length;
  };
  std::pmr::vector<run> free_;  // in order, no two adjacent
};

}  // namespace taquin::detail
