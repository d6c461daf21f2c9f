// How ranks find the sources of a sparse exchange, and the one list of algorithms for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/sparse/headers.hpp"
#include "mpi/communicator.hpp"
#include "taquin/error.hpp"
#include "taquin/options.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// The pending notices of a call. All values but this rank's own are the same on all ranks.
struct finding {
  static constexpr int first_tag =
      3;  ///< of notices, beside the call's first: those before are of its data (grants.hpp)
  mpi::communicator& comm;
  int tag;  // the first of the call's
  own_headers& mine;
  header_store& arrived;
  std::size_t message_bytes;  // of a message of notices at most; a multiple of 8
  std::size_t in_flight;      // messages of a rank that are sent and not yet received, at most
  count_t element_bytes;
  std::pmr::memory_resource* memory;
  std::size_t blocks = 0;   ///< whose notices have arrived, also after the memory was exhausted
  std::size_t lacking = 0;  ///< bytes that this rank needs; 0: it had enough
  bool exhausted = false;   ///< the system has no memory
  std::uint64_t rounds = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool failed() const noexcept { return lacking > 0 || exhausted; }
  /// Does all that allocates. A rank without memory continues without, and reports it to the others at the end.
  template <class Step>
  void attempt(Step step) {
    if (failed()) return;
    try {
      step();
    } catch (const budget_exceeded& e) {
      lacking = e.used() + e.requested();
    } catch (const std::bad_alloc&) {
      exhausted = true;
    }
    if (failed()) arrived.drop();
  }
  /// A notice for this rank, as a message has it.
  void add(std::span<const std::byte> one) {
    ++blocks;
    attempt([&] { arrived.add(one); });
  }
};

struct sparse_algorithm {
  /// Bytes of a message of notices: as many as half of the memory allows, between these.
  static constexpr std::size_t least_message = 64;
  static constexpr std::size_t most_message = 4096;

  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view rounds;
  /// Afterwards each rank has the notices for it. Collective. Null: of algorithms that are tried before ranks agree.
  void (*find)(finding& f);
  /// Bytes that it takes of a rank's memory for messages of so many bytes.
  std::size_t (*memory)(int ranks, std::size_t in_flight, std::size_t message_bytes) noexcept;
  /// Of an algorithm whose notices pass through other ranks: the radix of their paths (router.hpp).
  int (*radix)(int ranks, std::size_t in_flight) noexcept = nullptr;
  /// Of an algorithm that is tried before ranks agree: the calls that it serves.
  std::string_view needs{};
};
#define TAQUIN_SPARSE(NAME) extern const sparse_algorithm NAME;
#include "algorithms/sparse/sparse.def"
#undef TAQUIN_SPARSE

/// The list.
std::span<const sparse_algorithm* const> sparse_algorithms() noexcept;
/// The least scratch memory of a rank with so many blocks on either side.
std::size_t sparse_memory(std::size_t blocks) noexcept;
/// By name; "auto" is the default once ranks have agreed. Null when it is unknown.
const sparse_algorithm* find_sparse(std::string_view name) noexcept;
/// All names, separated by commas.
std::string sparse_names();

}  // namespace taquin::detail
