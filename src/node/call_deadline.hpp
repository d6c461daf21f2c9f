// The report of a call that has waited longer than its timeout: the ranks and messages that it waits for. Printed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "node/peer_records.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The timeout of calls with these options and the reaction to it; by default the values of TAQUIN_TIMEOUT.
struct call_timeout {
  float seconds = 0;  ///< 0: for ever
  after_timeout then = after_timeout::wait;
  [[nodiscard]] static call_timeout of(const options& o) noexcept;
};

/// Properties of the communicator that a call is on.
struct known_comm {
  MPI_Comm comm = MPI_COMM_NULL;
  const mpi::call_record* calls = nullptr;  ///< null: its ranks have not synchronized
  const peer_records* records = nullptr;    ///< null: its ranks have no readable progress records

  static known_comm of(const mpi::communicator& c) noexcept {
    return {c.get(), &c.calls(), c.kept.get(peer_records::kept_as)};
  }
};

/// From the beginning of a call, or of a plan's start, test or wait, to its end.
class call_deadline final : public mpi::deadline {
 public:
  /// `call_word`: as in `mpi::progress_record`; `algorithm` may still be empty, and must outlive this.
  call_deadline(const known_comm& on, std::uint64_t call_word, std::uint64_t number, const std::string_view& algorithm,
                call_timeout p)
      : deadline(p.seconds), on_(on), call_word_(call_word), number_(number), algorithm_(algorithm), then_(p.then) {}

  /// The ranks have synchronized, in the call `number`.
  void entered(const mpi::call_record* calls, const peer_records* records, std::uint64_t number) noexcept {
    on_.calls = calls;
    on_.records = records;
    number_ = number;
  }

 private:
  void expired(const mpi::awaited* what) override;
  [[nodiscard]] std::string report(const mpi::awaited* what) const;
  void find_missing(mpi::wait_record& found) const;

  known_comm on_;
  std::uint64_t call_word_;
  std::uint64_t number_;
  const std::string_view& algorithm_;
  after_timeout then_;
};

}  // namespace taquin::detail
