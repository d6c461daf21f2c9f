// How ranks find the sources of a sparse exchange, and the one list of the ways to do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/sparse/notices.hpp"
#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

/// Notices under way. A rank that has no memory for them goes on without any, and tells the others at the end.
struct finding {
  mpi::communicator& comm;
  int tag;
  notice_rounds& notices;
  std::size_t lacking = 0;  ///< bytes that this rank needs; 0: it had enough
  bool exhausted = false;   ///< the system has no memory
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool failed() const noexcept { return lacking > 0 || exhausted; }
  /// Does what takes memory, unless this rank has failed.
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
    if (failed()) notices.drop();
  }
};

struct sparse_algorithm {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view rounds;
  /// Afterwards each rank has the notices for it. Collective. Null: of what is tried before anything else.
  void (*find)(finding& f);
  /// Of such a one: what it serves.
  std::string_view needs{};
};
#define TAQUIN_SPARSE(NAME) extern const sparse_algorithm NAME;
#include "algorithms/sparse/sparse.def"
#undef TAQUIN_SPARSE

/// The list.
std::span<const sparse_algorithm* const> sparse_algorithms() noexcept;
/// The least extra memory of a rank with so many blocks on either side.
std::size_t sparse_memory(std::size_t blocks) noexcept;
/// By name; "auto" is the one for ranks that have agreed. Null when it is unknown.
const sparse_algorithm* find_sparse(std::string_view name) noexcept;
/// All names, separated by commas.
std::string sparse_names();

}  // namespace taquin::detail
