// A plan: an exchange prepared once and started as often as wanted.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin {

class plan;

namespace detail {
struct plan_state;
bool completes_alone(const plan& p) noexcept;
}  // namespace detail

/// An exchange that can be run again and again on the same buffers, counts and types. Move-only.
class plan {
 public:
  /// Prepares the exchange. Collective over `x.comm`; all ranks give the same options.
  /// Throws on every rank: `usage_error` for bad arguments, `budget_exceeded` when `o.memory` is too small.
  /// Nothing has been sent then, and the buffers are untouched.
  explicit plan(const exchange& x, const options& o = {});
  /// Takes the other's exchange; the other can only be destroyed or assigned to.
  plan(plan&&) noexcept;
  /// The same; the previous content of this object is freed.
  plan& operator=(plan&&) noexcept;
  /// Frees the plan's memory. Local. A started plan must have been waited for.
  ~plan();

  /// Begins the exchange. Nonblocking, local; all ranks start their plans in the same order.
  /// Throws `usage_error` when the plan is started already. Allocates nothing.
  void start();
  /// Progresses; true when the exchange is complete (or none is started). Nonblocking, local.
  [[nodiscard]] bool test();
  /// Completes the exchange. Blocking.
  void wait();
  /// start() and wait().
  void run();

  /// The algorithm's name; of the exchange started last, where the plan tunes itself.
  [[nodiscard]] std::string_view algorithm() const noexcept;
  /// Scratch bytes in use now. Local.
  [[nodiscard]] std::size_t memory() const noexcept;
  /// The most scratch bytes in use at any time. Local.
  [[nodiscard]] std::size_t peak_memory() const noexcept;

 private:
  friend bool detail::completes_alone(const plan& p) noexcept;
  std::unique_ptr<detail::plan_state> state_;
};

}  // namespace taquin
