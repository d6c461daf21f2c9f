// An exchange of which ranks have not agreed: every rank sends one message to every other, an empty one where there are no
// data, and receives one from every other. A rank that cannot take part, because an argument is invalid or its memory has
// run out, sends empty messages and takes what comes; a rank that gets an empty message where it expects data knows that
// something is wrong there. So nobody waits for ever, whatever goes wrong on a rank before it has sent.
//
// Rounds: 1, of p − 1 messages to rank+1, rank+2, …
// Bytes:  each block once.
// Memory: bookkeeping linear in p.
#pragma once

#include <memory_resource>
#include <optional>
#include <vector>

#include "base/invalid_argument.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/communicator.hpp"
#include "mpi/request_set.hpp"
#include "mpi/watch.hpp"
#include "schedule/operation.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class unasked_exchange final : public operation, private mpi::awaited {
 public:
  /// `bad`: why this rank does not take part. Otherwise `x` is valid, with separate buffers and types known.
  unasked_exchange(const exchange& x, mpi::communicator& comm, int tag, std::optional<invalid_argument> bad,
                   std::pmr::memory_resource* memory);
  static std::size_t footprint(int ranks) noexcept;

  /// Throws what is wrong on this rank, once the others have what they wait for.
  void start() override;
  bool test() override;
  /// Throws usage_error on the rank that has got too much, or nothing, from another.
  void wait() override;
  void account(statistics& s) const override;

 private:
  [[nodiscard]] std::size_t receive_from(int peer) const noexcept { return static_cast<std::size_t>(peer); }
  [[nodiscard]] std::size_t send_to(int peer) const noexcept {
    return static_cast<std::size_t>(comm_.size()) + static_cast<std::size_t>(peer);
  }
  void post(int distance);
  void refuse();
  void came(std::size_t number, const MPI_Status& status);
  void end();
  void describe(mpi::wait_note& note) const override;

  const exchange x_;
  mpi::communicator& comm_;
  int tag_;
  std::optional<invalid_argument> bad_;
  mpi::request_set requests_;              // receives by peer, then sends by peer
  std::pmr::vector<mpi::datatype> types_;  // of messages beyond what an int counts
  int silent_ = -1;                        // a peer that has sent nothing where data are expected
};

}  // namespace taquin::detail
