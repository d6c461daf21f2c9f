// The root's part of `cyclic`: Fig. 2 of Siegel & Siegel. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "protocol/port.hpp"
#include "redistribute/block_map.hpp"

namespace taquin::detail {

/// "Send `blocks` to `to` and receive as many from `from`, `increment` at a time." −1: no such part.
struct cyclic_action {
  int from = -1;
  int to = -1;
  slot blocks = 0;
  slot increment = 1;
};

class cyclic_planner {
 public:
  /// `space`: free blocks on every rank; −1 (as a word) where one block more is held than there are places.
  cyclic_planner(std::span<const word> space, std::pmr::memory_resource* memory)
      : nodes_(memory), stack_(memory), missing_(static_cast<int>(space.size())) {
    array_list::take(*this, space.size());
    for (std::size_t r = 0; r < space.size(); ++r) nodes_[r].space = static_cast<std::int32_t>(space[r]);
  }

  /// The next edge of a rank; `to` −1 when it has none left.
  void edge(int from, int to, word weight) {
    node& n = at(from);
    n.known = true;
    n.to = to;
    n.weight = weight;
    --missing_;
  }

  /// Searches until it needs an edge that is missing, or `may()` is false. It calls `may()` before each cycle or chain,
  /// which schedule at most one action per rank. `act(rank, action)` schedules, `more(rank)` requests an edge.
  template <class May, class Act, class More>
  void search(May may, Act act, More more) {
    if (!started_ && missing_ > 0) return;
    started_ = true;
    const auto ranks = static_cast<int>(nodes_.size());
    while (next_ < ranks && may()) {
      if (stack_.empty()) {
        if (!at(next_).known) return;
        if (at(next_).to < 0) {
          ++next_;
          continue;
        }
        push(next_);
      }
      const node& top = at(stack_.back());
      if (!top.known) return;
      if (top.to < 0) {
        shift(act, more);
      } else if (at(top.to).position < 0) {
        push(top.to);
      } else {
        cycle(at(top.to).position, act, more);
      }
    }
  }

  /// No edge is missing.
  [[nodiscard]] bool quiet() const noexcept { return missing_ == 0; }
  [[nodiscard]] bool done() const noexcept { return started_ && next_ == static_cast<int>(nodes_.size()); }

 private:
  struct node {
    int to = -1;
    word weight = 0;
    std::int32_t space = 0;
    int position = -1;  // on the stack
    bool known = false;
  };

  [[nodiscard]] word space_of(int rank) const { return static_cast<word>(std::max(nodes_[as_size(rank)].space, 0)); }
  node& at(int rank) { return nodes_[as_size(rank)]; }
  void push(int rank) {
    at(rank).position = static_cast<int>(stack_.size());
    stack_.push_back(rank);
  }
  void pop() {
    at(stack_.back()).position = -1;
    stack_.pop_back();
  }
  template <class More>
  void spend(int rank, word blocks, More more) {
    node& n = at(rank);
    n.weight -= blocks;
    if (n.weight > 0) return;
    n.known = false;
    ++missing_;
    more(rank);
  }

  template <class Act, class More>
  void cycle(int begin, Act act, More more) {
    const auto first = as_size(begin);
    word q = no_slot;
    word c = no_slot;
    for (std::size_t i = first; i < stack_.size(); ++i) {
      q = std::min(q, at(stack_[i]).weight);
      c = std::min(c, space_of(stack_[i]));
    }
    c = std::min(q, std::max<word>(1, c));
    for (std::size_t i = first; i < stack_.size(); ++i) {
      const int before = stack_[i == first ? stack_.size() - 1 : i - 1];
      act(stack_[i], cyclic_action{before, at(stack_[i]).to, q, c});
    }
    while (stack_.size() > first) {
      const int r = stack_.back();
      pop();
      spend(r, q, more);
    }
  }

  // A chain that ends at a rank with nothing to send; by the count of blocks it has space for all that is sent to it.
  template <class Act, class More>
  void shift(Act act, More more) {
    if (stack_.size() == 1) return pop();
    word q = space_of(stack_.back());
    word c = no_slot;
    for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
      q = std::min(q, at(stack_[i]).weight);
      if (i > 0) c = std::min(c, space_of(stack_[i]));
    }
    c = std::min(q, std::max<word>(1, c));
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      const bool last = i + 1 == stack_.size();
      act(stack_[i], cyclic_action{i == 0 ? -1 : stack_[i - 1], last ? -1 : at(stack_[i]).to, q, c});
    }
    at(stack_.front()).space += static_cast<std::int32_t>(q);
    at(stack_.back()).space -= static_cast<std::int32_t>(q);
    pop();
    while (!stack_.empty()) {
      const int r = stack_.back();
      pop();
      spend(r, q, more);
    }
  }

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&cyclic_planner::nodes_, ranks);
    each(&cyclic_planner::stack_, at_most{ranks});
  }

  std::pmr::vector<node> nodes_;
  std::pmr::vector<int> stack_;
  int missing_;
  int next_ = 0;
  bool started_ = false;
};

}  // namespace taquin::detail
