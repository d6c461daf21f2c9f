// The report of a call that has waited longer than its timeout: the ranks and messages that it waits for. Printed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mpi/communicator.hpp"
#include "mpi/watch.hpp"
#include "node/places.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The timeout of calls with these options and the reaction to it; by default the values of TAQUIN_TIMEOUT.
struct patience {
  float seconds = 0;  ///< 0: for ever
  after_timeout then = after_timeout::wait;
  [[nodiscard]] static patience of(const options& o) noexcept;
};

/// Properties of the communicator that a call is on.
struct known_comm {
  MPI_Comm comm = MPI_COMM_NULL;
  const mpi::call_record* calls = nullptr;  ///< null: its ranks have not synchronized
  const rank_places* places = nullptr;      ///< null: its ranks have no readable progress records

  static known_comm of(const mpi::communicator& c) noexcept {
    return {c.get(), &c.calls(), c.kept.get(rank_places::kept_as)};
  }
};

/// From the beginning of a call, or of a plan's start, test or wait, to its end.
class call_watch final : public mpi::watch {
 public:
  /// `facts`: as in `mpi::whereabouts`; `algorithm` may still be empty, and must outlive this.
  call_watch(const known_comm& on, std::uint64_t facts, std::uint64_t number, const std::string_view& algorithm,
             patience p)
      : watch(p.seconds), on_(on), facts_(facts), number_(number), algorithm_(algorithm), then_(p.then) {}

  /// The ranks have synchronized, in the call `number`.
  void meet(const mpi::call_record* calls, const rank_places* places, std::uint64_t number) noexcept {
    on_.calls = calls;
    on_.places = places;
    number_ = number;
  }

 private:
  void expired(const mpi::awaited* what) override;
  [[nodiscard]] std::string report(const mpi::awaited* what) const;
  void miss_by_places(mpi::wait_note& note) const;

  known_comm on_;
  std::uint64_t facts_;
  std::uint64_t number_;
  const std::string_view& algorithm_;
  after_timeout then_;
};

}  // namespace taquin::detail
