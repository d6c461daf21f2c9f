// The stages of a blocking exchange, and of a plan, from set-up to prepare.
#pragma once

#include <cstddef>
#include <string_view>

#include "algorithms/algorithm.hpp"
#include "call/agree.hpp"
#include "plan/plan_state.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class preparation {
 public:
  preparation(plan_state& made, const exchange& x, const options& o, bool reused)
      : p_(made), x_(x), o_(o), reused_(reused) {}

  /// All stages; the plan has a body then. Collective. With `lacks_memory` it throws on all ranks.
  void run(bool lacks_memory);

 private:
  /// This rank's contribution to the agreement.
  void describe(bool lacks_memory);
  void agree();
  /// Uses only values that are the same on all ranks.
  void choose();
  void prepare();

  // If there is a step between nodes it carries the small blocks of a blocking call.
  void piggyback(agreement_path& path);
  bool may_piggyback(const agreement_path& path);
  [[nodiscard]] bool is_done_by_step() const noexcept;

  void describe_shape();
  void choose_freely();
  [[nodiscard]] bool stays_local() const noexcept;
  void check_memory() const;
  bool tune();
  void set_aside_for_native();
  void synchronize_before_native();
  void choose_without_shared_memory(context& c);

  [[nodiscard]] mpi::communicator* comm() const noexcept { return p_.running.comm(); }
  [[nodiscard]] bool inter() const noexcept { return comm() == nullptr; }
  [[nodiscard]] bool free_choice() const noexcept;
  [[nodiscard]] std::size_t memory_left() const noexcept;

  plan_state& p_;
  exchange x_;
  options o_;
  bool reused_;
  int ranks_ = 0;
  std::string_view name_;          // of the algorithm, as the caller specified it
  std::size_t element_bytes_ = 0;  // memory that is used whatever the algorithm
  proposal mine_;
  int tag_ = 0;
  agreed all_;
  bool took_heap_ = false;  // since the agreement, on all ranks
};

}  // namespace taquin::detail
