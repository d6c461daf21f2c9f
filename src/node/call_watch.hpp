// Says, once, what a call waits for that has waited longer than its timeout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mpi/communicator.hpp"
#include "mpi/watch.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// How long calls of these options may wait, and what follows; TAQUIN_TIMEOUT where they do not say.
struct patience {
  float seconds = 0;  ///< 0: for ever
  after_timeout then = after_timeout::wait;
  [[nodiscard]] static patience of(const options& o) noexcept;
};

/// From the beginning of a call, or of a plan's start, test or wait, to its end.
class call_watch final : public mpi::watch {
 public:
  /// `facts`: as in mpi::whereabouts; `algorithm` may still be empty, and must outlive this.
  call_watch(mpi::communicator& comm, std::uint64_t facts, std::uint64_t number, const std::string_view& algorithm,
             patience p)
      : watch(p.seconds), comm_(comm), facts_(facts), number_(number), algorithm_(algorithm), then_(p.then) {}

 private:
  void expired(const mpi::awaited* what) override;
  [[nodiscard]] std::string report(const mpi::awaited* what) const;
  void miss_by_places(mpi::wait_note& note) const;

  mpi::communicator& comm_;
  std::uint64_t facts_;
  std::uint64_t number_;
  const std::string_view& algorithm_;
  after_timeout then_;
};

/// The beginning of a call whose ranks meet on their communicator for the first time: who has come is not known yet.
class meeting_watch final : public mpi::watch {
 public:
  meeting_watch(MPI_Comm user, std::uint64_t facts, patience p)
      : watch(p.seconds), comm_(user), facts_(facts), then_(p.then) {}

 private:
  void expired(const mpi::awaited* what) override;

  MPI_Comm comm_;
  std::uint64_t facts_;
  after_timeout then_;
};

}  // namespace taquin::detail
