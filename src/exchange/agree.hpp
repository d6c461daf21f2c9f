// Agreement: what ranks must decide alike they learn in one reduction, before anything is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/shape.hpp"
#include "exchange/validate.hpp"
#include "mpi/communicator.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// What one rank brings: its defect if any, its figures, and its choices, which must be the same everywhere.
struct proposal {
  std::optional<defect> bad;
  std::uint64_t choices = 0;  ///< a fingerprint of everything that must be alike
  std::size_t memory = unlimited;
  std::uint64_t max_block_bytes = 0;
  std::uint64_t min_block_bytes = 0;
  std::uint64_t rank_bytes = 0;
  bool large = false;
};

/// What all ranks know afterwards.
struct agreed {
  std::size_t memory = unlimited;  ///< the smallest limit of any rank
  std::uint64_t max_block_bytes = 0;
  std::uint64_t max_rank_bytes = 0;
  bool uniform = true;
  bool large = false;
};

/// One reduction. Collective. Throws usage_error on every rank when any rank brings a defect (its text and rank are
/// then broadcast) or when the choices differ.
agreed agree(mpi::communicator& comm, const proposal& mine);

/// Throws the same usage_error on every rank when `bad` is set on any. Collective; one reduction, and a broadcast when
/// something is wrong.
void agree_on_defect(mpi::communicator& comm, const std::optional<defect>& bad);

/// The optional check: what rank i sends to j is what j expects from i. Collective: one exchange of p numbers and one
/// reduction. Throws usage_error on every rank, naming the two ranks and both sizes.
/// Takes check_bytes(p) from `memory` and gives them back.
void check_sizes(mpi::communicator& comm, const exchange& x, std::pmr::memory_resource* memory);

constexpr std::size_t check_bytes(int ranks) noexcept {
  return 2 * sizeof(std::int64_t) * static_cast<std::size_t>(ranks);
}

}  // namespace taquin::detail
