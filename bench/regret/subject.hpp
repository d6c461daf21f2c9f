// A cell made ready to run: the MPI library's call and taquin's, with their buffers, data and checks.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "bench/regret/cell.hpp"
#include "exchange/shape.hpp"
#include "harness/problem.hpp"

namespace taquin::regret {

/// All functions are called by all ranks.
class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;
  /// How many different calls it has, which are made in turn.
  [[nodiscard]] virtual std::size_t calls() const = 0;
  /// Call k by the MPI library; of an exchange in place, out of place with a ready buffer.
  virtual harness::operation native(std::size_t k) = 0;
  /// By taquin, as a call or a plan.
  virtual harness::operation ours(std::size_t k, const options& o) = 0;
  /// New data for call k.
  virtual void fill(std::size_t k, bool native) = 0;
  /// Bytes of call k on this rank that are not what they must be.
  virtual count_t wrong(std::size_t k, bool native) = 0;
  /// The properties of call k that all ranks know. Null: not known.
  virtual const detail::shape* shape(std::size_t k) = 0;
};

/// On the given communicator; of blocks, on the world.
std::unique_ptr<subject> make_subject(const cell& c, MPI_Comm comm);

}  // namespace taquin::regret
