#include "plan/library_call.hpp"

#include <array>
#include <limits>
#include <vector>

#include "exchange/by_address.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"

namespace taquin::detail {

namespace {

bool fits(const count_view& v, int ranks) {
  if (v.narrow() != nullptr) return true;
  for (int i = 0; i < ranks; ++i)
    if (v[i] > std::numeric_limits<int>::max() || v[i] < std::numeric_limits<int>::min()) return false;
  return true;
}

// One side as MPI_Alltoallw takes it: displacements in bytes; where these exceed 32 bits the types have addresses.
class typed_side {
 public:
  typed_side(const blocks& b, int ranks, bool by_address, std::pmr::memory_resource* memory)
      : base(by_address ? MPI_BOTTOM : b.base), counts(memory), displs(memory), types(memory), owned_(memory) {
    if (by_address) {
      append_by_address(b, ranks, counts, types, owned_);
      displs.assign(static_cast<std::size_t>(ranks), 0);
      return;
    }
    for (auto* list : {&counts, &displs}) list->reserve(static_cast<std::size_t>(ranks));
    types.reserve(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i) {
      const block k = b[i];
      const bool any = k.bytes() > 0;
      counts.push_back(any ? static_cast<int>(k.count) : 0);
      displs.push_back(any ? static_cast<int>(k.offset) : 0);
      types.push_back(any ? k.element.type : MPI_BYTE);
    }
  }

  void* base;
  std::pmr::vector<int> counts;
  std::pmr::vector<int> displs;
  std::pmr::vector<MPI_Datatype> types;

 private:
  std::pmr::vector<mpi::datatype> owned_;
};

// Counts and displacements in bytes of all blocks that have data.
bool in_ints(const blocks& b, int ranks) {
  constexpr count_t most = std::numeric_limits<int>::max();
  for (int i = 0; i < ranks; ++i) {
    const block k = b[i];
    if (k.bytes() > 0 && (k.count > most || k.offset > most || k.offset < -most)) return false;
  }
  return true;
}

}  // namespace

bool library_can(const exchange& x, int ranks) {
  if (x.kind == exchange::form::alltoall) return fits(x.send.counts, 1) && fits(x.recv.counts, 1);
  return fits(x.send.counts, ranks) && fits(x.send.displs, ranks) && fits(x.recv.counts, ranks) &&
         fits(x.recv.displs, ranks);
}

library_call::side::side(const blocks& b, int ranks, std::pmr::memory_resource* memory)
    : base(b.base), type(b.element.type), numbers_(memory), types_(memory) {
  const auto p = static_cast<std::size_t>(ranks);
  if (b.counts.narrow() == nullptr || b.displs.narrow() == nullptr) {
    numbers_.resize(2 * p);
    for (int i = 0; i < ranks; ++i) {
      numbers_[static_cast<std::size_t>(i)] = static_cast<int>(b.counts[i]);
      numbers_[p + static_cast<std::size_t>(i)] = static_cast<int>(b.displs[i]);
    }
  }
  counts = numbers_.empty() ? b.counts.narrow() : numbers_.data();
  displs = numbers_.empty() ? b.displs.narrow() : numbers_.data() + p;
  types = b.types;
  for (int i = 0; b.types != nullptr && i < ranks; ++i) {
    if (b.types[i] != MPI_DATATYPE_NULL) continue;  // a null type is allowed for an empty block
    if (types_.empty()) types_.assign(b.types, b.types + ranks);
    types_[static_cast<std::size_t>(i)] = MPI_BYTE;
    types = types_.data();
  }
}

library_call::library_call(const exchange& x, int ranks, std::pmr::memory_resource* memory)
    : x_(x), send_(x.send, ranks, memory), recv_(x.recv, ranks, memory) {}

void library_call::run() const {
  const side& s = send_;
  const side& r = recv_;
  switch (x_.kind) {
    case exchange::form::alltoall:
      TAQUIN_MPI(PMPI_Alltoall(s.base, static_cast<int>(x_.send.counts[0]), s.type, r.base,
                               static_cast<int>(x_.recv.counts[0]), r.type, x_.comm));
      break;
    case exchange::form::alltoallv:
      TAQUIN_MPI(PMPI_Alltoallv(s.base, s.counts, s.displs, s.type, r.base, r.counts, r.displs, r.type, x_.comm));
      break;
    case exchange::form::alltoallw:
      TAQUIN_MPI(PMPI_Alltoallw(s.base, s.counts, s.displs, s.types, r.base, r.counts, r.displs, r.types, x_.comm));
      break;
  }
}

std::size_t bytes_by_types(int ranks) noexcept {
  return 2 * static_cast<std::size_t>(ranks) * (2 * sizeof(int) + sizeof(MPI_Datatype));
}

void call_library_by_types(const exchange& x, int ranks, std::pmr::memory_resource* memory) {
  const typed_side s(x.send, ranks, !in_ints(x.send, ranks), memory);
  const typed_side r(x.recv, ranks, !in_ints(x.recv, ranks), memory);
  TAQUIN_MPI(PMPI_Alltoallw(s.base, s.counts.data(), s.displs.data(), s.types.data(), r.base, r.counts.data(),
                            r.displs.data(), r.types.data(), x.comm));
}

bool call_library_for_itself(const exchange& x, int rank, int ranks) {
  struct lists {
    std::vector<int> counts, displs;
    std::vector<MPI_Datatype> types;
  };
  thread_local std::array<lists, 2> kept;  // all counts are 0, except this rank's own during a call
  constexpr count_t most = std::numeric_limits<int>::max();
  std::array<count_t, 2> bytes{};
  for (std::size_t i = 0; i < 2; ++i) {
    const blocks& b = i == 0 ? x.send : x.recv;
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank && b.counts[peer] != 0) return false;
    const count_t count = b.counts[rank];
    const MPI_Datatype type = b.types != nullptr ? b.types[rank] : b.element.type;
    const count_t offset = b.displs[rank] * b.displ_unit;
    if (count < 0 || count > most) return false;
    if (count > 0 && (b.base == nullptr || type == MPI_DATATYPE_NULL || offset > most || offset < -most)) return false;
    lists& l = kept[i];
    if (l.counts.size() < static_cast<std::size_t>(ranks)) {
      l.counts.resize(static_cast<std::size_t>(ranks), 0);
      l.displs.resize(static_cast<std::size_t>(ranks), 0);
      l.types.resize(static_cast<std::size_t>(ranks), MPI_BYTE);
    }
    if (count > 0) bytes[i] = count * element::of(type).size;
    const auto own = static_cast<std::size_t>(rank);
    l.counts[own] = static_cast<int>(count);
    l.displs[own] = count > 0 ? static_cast<int>(offset) : 0;
    l.types[own] = count > 0 ? type : MPI_BYTE;
  }
  const bool alike = bytes[0] == bytes[1];
  int result = MPI_SUCCESS;
  if (alike)
    result = PMPI_Alltoallw(x.send.base, kept[0].counts.data(), kept[0].displs.data(), kept[0].types.data(),
                            x.recv.base, kept[1].counts.data(), kept[1].displs.data(), kept[1].types.data(), x.comm);
  for (lists& l : kept) {
    const auto own = static_cast<std::size_t>(rank);
    l.counts[own] = l.displs[own] = 0;
    l.types[own] = MPI_BYTE;
  }
  if (alike) mpi::check(result, "MPI_Alltoallw");
  return alike;
}

}  // namespace taquin::detail
