// This rank's contribution to the agreement on its call.
#pragma once

#include <memory_resource>
#include <string_view>

#include "call/agree.hpp"
#include "mpi/communicator.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The name that leaves the choice to taquin.
constexpr std::string_view automatic = "auto";

/// The kind of progress of a plan with these options; considers TAQUIN_PROGRESS_THREAD. Local.
progress_by progress_of(const options& o);

/// Checks the arguments and options of a call by the algorithm `name`, and finds its figures. `comm` is null on an
/// intercommunicator. Local.
proposal propose(const exchange& x, const options& o, std::string_view name, int ranks, const mpi::communicator* comm,
                 std::pmr::memory_resource* memory);
/// For a rank whose limit is too small to find its figures: the agreement then fails on all ranks.
proposal propose_nothing(const exchange& x, const options& o, std::string_view name);

}  // namespace taquin::detail
