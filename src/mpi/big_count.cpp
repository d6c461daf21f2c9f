#include "mpi/big_count.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "mpi/check.hpp"

namespace taquin::mpi {

namespace {

count_t read_count_limit() {
  constexpr count_t most = std::numeric_limits<int>::max();
  const char* text = std::getenv("TAQUIN_COUNT_LIMIT");
  return text == nullptr ? most : std::clamp<count_t>(std::strtoll(text, nullptr, 10), 1, most);
}

}  // namespace

count_t count_limit() {
  static const count_t limit = read_count_limit();
  return limit;
}

#if MPI_VERSION >= 4
#define TAQUIN_LARGE(name) PMPI_##name##_c
#else
#define TAQUIN_LARGE(name) PMPI_##name##_x
#endif

count_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  check(TAQUIN_LARGE(Type_size)(type, &size), "MPI_Type_size_x");
  return size;
}

span_of_type extent_of(MPI_Datatype type) {
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  check(TAQUIN_LARGE(Type_get_extent)(type, &lb, &extent), "MPI_Type_get_extent_x");
  return {lb, extent};
}

span_of_type true_extent_of(MPI_Datatype type) {
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  check(TAQUIN_LARGE(Type_get_true_extent)(type, &lb, &extent), "MPI_Type_get_true_extent_x");
  return {lb, extent};
}

count_t bytes_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  MPI_Status own = status;  // SMPI's parameter is not const
  check(TAQUIN_LARGE(Get_elements)(&own, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  return bytes;
}

// chunks × limit + rest: full chunks as contiguous types of contiguous types, and a struct that adds the rest. A vector
// of chunks would be equivalent, but Open MPI 4.1 makes one that is empty where chunks × limit does not fit 32 bits.
// With a lowered limit the number of chunks may exceed the limit as well; it still fits an int.
datatype contiguous(count_t count, MPI_Datatype type) {
  const count_t limit = count_limit();
  const auto chunks = static_cast<int>(count / limit);
  const auto rest = static_cast<int>(count % limit);
  MPI_Datatype all = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_contiguous(chunks == 0 ? rest : static_cast<int>(limit), type, &all));
  if (chunks > 0) {
    const datatype chunk(all);
    TAQUIN_MPI(PMPI_Type_contiguous(chunks, chunk.get(), &all));
  }
  datatype head(all);
  if (chunks > 0 && rest > 0) {
    const std::array<int, 2> lengths{1, rest};
    const std::array<MPI_Aint, 2> places{0, extent_of(type).extent * limit * chunks};
    const std::array<MPI_Datatype, 2> types{head.get(), type};
    MPI_Datatype both = MPI_DATATYPE_NULL;
    TAQUIN_MPI(PMPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &both));
    head = datatype(both);
  }
  MPI_Datatype committed = head.get();
  TAQUIN_MPI(PMPI_Type_commit(&committed));
  return head;
}

counted make_counted(count_t count, MPI_Datatype type) {
  if (count <= count_limit()) return {static_cast<int>(count), type, {}};
  counted result{1, MPI_DATATYPE_NULL, contiguous(count, type)};
  result.type = result.owner.get();
  return result;
}

}  // namespace taquin::mpi
