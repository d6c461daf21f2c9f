// A rank that is in a call of a redistribution or a migration: its peers can find out, and its waits have its timeout.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "exchange/meet.hpp"
#include "mpi/communicator.hpp"
#include "mpi/whereabouts.hpp"
#include "node/call_watch.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

inline patience patience_of(const redistribute_options& o) noexcept {
  return patience::of({.on_timeout = o.on_timeout, .timeout = o.timeout});
}

/// A call begins on the communicator.
inline meeting meet(MPI_Comm user, const redistribute_options& o) {
  return meet(user, mpi::whereabouts::of(mpi::call_kind::redistribution), patience_of(o));
}

/// From the beginning of the communicator's call `number` to its end; `algorithm` may still be empty.
class in_redistribution {
 public:
  static constexpr std::uint64_t facts = mpi::whereabouts::of(mpi::call_kind::redistribution);

  in_redistribution(mpi::communicator& comm, std::uint64_t number, const std::string_view& algorithm,
                    const redistribute_options& o)
      : here_(&comm.calls(), facts), present_(&comm) {
    if (const patience p = patience_of(o); p.seconds > 0) [[unlikely]]
      clock_.emplace(comm, facts, number, algorithm, p);
  }
  /// A call of its own.
  in_redistribution(mpi::communicator& comm, const std::string_view& algorithm, const redistribute_options& o)
      : in_redistribution(comm, mpi::count_call(comm.calls()), algorithm, o) {}

 private:
  mpi::in_call here_;
  mpi::present present_;
  std::optional<call_watch> clock_;
};

}  // namespace taquin::detail
