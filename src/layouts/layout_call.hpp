// The common beginning of all redistributions between layouts: the agreement on layouts, element and memory.
#pragma once

#include <cstddef>

#include "base/collective_error.hpp"
#include "base/memory_budget.hpp"
#include "call/call.hpp"
#include "call/failure_map.hpp"
#include "layouts/arguments.hpp"
#include "layouts/failed_move.hpp"
#include "layouts/number_change.hpp"
#include "redistribute/choices.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

struct layout_call {
  explicit layout_call(const layout_options& o);

  /// Synchronizes, agrees, and calls prepare(element, the agreed values). Collective.
  template <class Prepare>
  void enter(const layout_arguments& x, const layout_options& o, bool lacks_memory, Prepare prepare) {
    running.algorithm = "layouts";
    forget_map();
    running.set_up(x.comm);
    running.stage([&] {
      const element e = x.type != MPI_DATATYPE_NULL ? element::of(x.type) : element{};
      prepare(e, agree(x, o, e, lacks_memory));
    });
  }
  /// Copies the layouts and options. Throws on all ranks if the arguments of one are wrong, or ranks differ.
  /// Collective; in a stage.
  agreed agree(const layout_arguments& x, const layout_options& o, const element& e, bool lacks_memory);
  /// Bytes of the copies, outside this object.
  [[nodiscard]] std::size_t copies() const noexcept;
  /// Throws budget_exceeded on all ranks where fewer bytes are allowed than `needed`. `usual()`: those that are as good
  /// as no limit. All ranks have the same values; the text names the rank whose limit it is.
  template <class Usual>
  void need(std::size_t needed, std::size_t allowed, Usual usual) const {
    if (needed > allowed) refuse(needed, usual(), allowed);
  }
  /// For the map of whole data after a failure, of elements of so many bytes.
  [[nodiscard]] failed_move failed(std::size_t element) const {
    return {from, to, options, static_cast<count_t>(element), running.comm()->rank(), running.comm()->size()};
  }
  static redistribute_options choices(const layout_options& o);

  call running;  // first: the members that follow use its communicator
  memory_budget budget;
  layout from;
  layout to;
  layout_options options;
  number_change change;

 private:
  proposal describe(const layout_arguments& x, const layout_options& o, const element& e, bool lacks_memory);
  [[noreturn]] void refuse(std::size_t needed, std::size_t usual, std::size_t allowed) const;
};

}  // namespace taquin::detail
