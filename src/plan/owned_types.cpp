#include "plan/owned_types.hpp"

#include "datatypes/envelope.hpp"
#include "mpi/check.hpp"

namespace taquin::detail {

namespace {

// A duplicate of a derived type; nothing for a predefined one.
mpi::datatype duplicate([[maybe_unused]] MPI_Datatype type) {
#ifdef TAQUIN_NO_TYPE_DUPLICATES
  return {};
#else
  if (type == MPI_DATATYPE_NULL) return {};
  if (envelope(type).combiner == MPI_COMBINER_NAMED) return {};
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_dup(type, &copy));
  return mpi::datatype(copy);
#endif
}

// Replaces the type of `e` by a duplicate.
void replace(element& e, mpi::datatype& slot) {
  slot = duplicate(e.type);
  if (slot) e = element::of(slot.get());
}

}  // namespace

void owned_types::keep(exchange& x, std::pmr::vector<element>& elements) {
  if (x.kind != exchange::form::alltoallw) {
    const bool identical = x.send.element.type == x.recv.element.type;
    replace(x.recv.element, of_sides_[0]);
    if (identical) {
      x.send.element = x.recv.element;
    } else {
      replace(x.send.element, of_sides_[1]);
    }
    return;
  }
  of_blocks_.reserve(elements.size());
  MPI_Datatype before = MPI_DATATYPE_NULL;  // many have one type for all
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const MPI_Datatype given = elements[i].type;
    if (given != MPI_DATATYPE_NULL && given == before) {
      elements[i] = elements[i - 1];
    } else {
      replace(elements[i], of_blocks_.emplace_back());
    }
    before = given;
  }
}

}  // namespace taquin::detail
