// Agreement: one reduction, before any data are sent, of all values on which ranks must base identical decisions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>

#include "exchange/properties.hpp"
#include "exchange/shape.hpp"
#include "exchange/validate.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "node/internode.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The contribution of one rank: an error in its arguments, if any; its figures; and its choices, which must be the
/// same on all ranks.
struct proposal : rank_properties {
  std::optional<invalid_argument> invalid;
  std::uint64_t call_word = 0;  ///< which call it is, as in `mpi::progress_record`
  std::uint64_t number = 0;     ///< its number on the communicator
  std::string_view algorithm;   ///< as the caller specified it
  std::string_view elements;    ///< known_elements (call/elements.hpp)
  bool full_record = false;     ///< with the part that exchanges in place and sparse ones need
};

/// The result of an agreement, known to all ranks.
struct agreed : rank_properties {
  bool uniform = true;
};

class forwarded_blocks;

/// The radix of the agreement's rounds: among up to four ranks one round suffices; otherwise the least power of two
/// with which two do, at most 8. With more ranks than cores, measurements show that fewer rounds are faster than fewer
/// messages, until a round has many messages. With a power of two each rank has few peers in a round if p is one as
/// well.
int agreement_radix(int ranks) noexcept;
/// A rank's blocks for the others, which the agreement transfers.
class piggybacked_blocks {
 public:
  piggybacked_blocks() = default;
  piggybacked_blocks(const piggybacked_blocks&) = delete;
  piggybacked_blocks& operator=(const piggybacked_blocks&) = delete;
  virtual ~piggybacked_blocks() = default;
  /// Writes them for all ranks, in their step's order.
  virtual void write() = 0;
};

/// The most bytes that a call uses outside its budget, whatever the number of ranks: copies of arguments for
/// collectives of the MPI library.
constexpr std::size_t uncounted_bytes = mpi::collectives::chunks * mpi::collectives::most_at_once;
static_assert(uncounted_bytes <= std::size_t{96} << 10U);

/// How ranks agree. If all are on one node: through its memory. Otherwise in a step between nodes, or by messages
/// between all ranks. Their messages also carry blocks if all ranks have some to carry.
struct agreement_path {
  channel* node = nullptr;
  internode* between = nullptr;
  piggybacked_blocks* blocks = nullptr;   ///< with `between` or `forwarded`
  forwarded_blocks* forwarded = nullptr;  ///< of messages between all ranks
};

/// The method of agreement on a communicator whose blocking calls have the channel `node`, or null. The first call is
/// collective.
inline agreement_path path_of(mpi::communicator& comm, channel* node) {
  return {.node = node, .between = node == nullptr ? internode::get_or_create(comm) : nullptr};
}

/// One reduction to all: a step of `path`, or dissemination in ⌈log_r p⌉ rounds on tag `tag`. Collective. Throws
/// usage_error on every rank when any rank brings an invalid argument (its text and rank are then broadcast) or when
/// the choices differ.
agreed agree(mpi::communicator& comm, int tag, const proposal& mine, const agreement_path& path,
             std::pmr::memory_resource* memory);

/// Waits until all ranks of the channel are here. A rank that entered its step with the blocks of an exchange
/// (plan/on_node.cpp) sees that others did not, and enters this step too. Collective.
void synchronize_on_node(channel& node);

/// An invalid argument as one rank publishes it to the others.
struct invalid_argument_record {
  std::array<char, 448> text{};
  std::int32_t mpi_class = MPI_ERR_ARG;
  std::int32_t peer = -1;
};
invalid_argument_record report(const std::optional<invalid_argument>& invalid) noexcept;
/// Stands for a rank's number where all ranks have the same invalid argument.
inline constexpr int all_ranks = -1;
/// Throws the usage_error that `rank` has published.
[[noreturn]] void refuse(int rank, const invalid_argument_record& reported);

/// Throws the same usage_error on every rank if any has `invalid`. Collective; one reduction, and a broadcast after an
/// error.
void agree_on_invalid_argument(mpi::communicator& comm, const std::optional<invalid_argument>& invalid);

/// After an agreement whose ranks send other sizes than their peers expect: throws usage_error on every rank, naming
/// the two ranks and both sizes. Collective, in p − 1 messages of each rank, with the agreement's tag.
[[noreturn]] void refuse_mismatch(mpi::communicator& comm, int tag, const exchange& x);

}  // namespace taquin::detail
