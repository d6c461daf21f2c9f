// The server of the starts of a persistent exchange: the MPI library, or a plan.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "interpose/serve/served_exchange.hpp"
#include "select/trial.hpp"
#include "taquin/exchange.hpp"
#include "taquin/plan.hpp"

namespace taquin::interpose {

/// A plan beside the MPI library's own request for the same exchange. Unless the plan is to do all, both do a few
/// starts in turn; in the start after these all ranks exchange their times, and then the faster one does the
/// rest. The times travel as the exchange does, between its start and its completion: no rank waits for another
/// one's completion.
class persistent_service final : public served_exchange {
 public:
  static constexpr int tries = 3;

  /// Prepares `x`. Collective; throws as taquin::plan does, also where the plan would need its rank between start and
  /// completion: programs may be elsewhere then. A rule's choice does all starts. Null where it would be the MPI
  /// library's own exchange.
  static std::unique_ptr<persistent_service> make(const exchange& x, std::size_t memory, bool measured);

  [[nodiscard]] bool is_next() override;
  [[nodiscard]] bool lost() const noexcept override { return decided_ && !wins_; }
  [[nodiscard]] bool settled() const noexcept override { return decided_; }
  void start() override;
  [[nodiscard]] bool test() override;
  void wait() override;
  void completed(double seconds) override;
  [[nodiscard]] outcome by_taquin() const override;
  [[nodiscard]] outcome by_library() const override;

 private:
  explicit persistent_service(plan&& p) : plan_(std::move(p)) {}

  [[nodiscard]] bool reports() const noexcept;

  plan plan_;
  std::optional<plan> publishing_;  // of the times; null once it is decided
  detail::trial mine_;
  std::vector<double> all_;
  std::uint64_t starts_ = 0;
  bool decided_ = false;
  bool wins_ = true;
  trial_times times_{};  // once it is decided by them
  bool done_ = false;    // the plan's exchange
  std::exception_ptr failure_;
};

}  // namespace taquin::interpose
