// The C API's migration: of an array, or of several whose items belong together.
#include "taquin/migrate.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "base/invalid_argument.hpp"
#include "base/sizes.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "datatypes/committed.hpp"
#include "taquin/taquin.h"

using taquin::detail::as_size;
using taquin::detail::guarded;
using taquin::detail::migrated_array;

namespace {

// The arguments of one rank. Those that are wrong stay out, and `invalid_text` says so to all ranks.
struct given {
  const char* invalid_text;
  std::size_t items = 0;
  std::size_t capacity = 0;
  std::vector<migrated_array> arrays{};
  std::vector<void*> data{};

  given(std::span<const TAQUIN_Array> all, MPI_Count count, bool lacks_list, const int* destinations,
        const MPI_Count* arrived)
      : invalid_text(taquin::detail::take_invalid_text()) {
    if (invalid_text == nullptr && lacks_list) invalid_text = "no arrays: a null list, or fewer than 1";
    if (invalid_text == nullptr && count < 0) invalid_text = "the number of items must be 0 or more";
    if (invalid_text == nullptr && count > 0 && destinations == nullptr) invalid_text = "null destinations";
    if (invalid_text == nullptr && arrived == nullptr) invalid_text = "null address for the number of items";
    for (const TAQUIN_Array& a : all)
      if (invalid_text == nullptr) invalid_text = invalid_text_of(a, count);
    if (invalid_text != nullptr) return;
    try {
      take(all);
      items = as_size(count);
    } catch (const std::bad_alloc&) {
      invalid_text = taquin::detail::lacks_memory_text;
    }
  }

 private:
  static const char* invalid_text_of(const TAQUIN_Array& a, MPI_Count count) noexcept {
    if (a.capacity < count) return "an array has room for fewer items than there are";
    if (a.item_length < 0) return "the elements of an item must be 0 or more";
    if (a.data == nullptr && a.capacity > 0 && a.item_length > 0) return "null address of an array";
    return taquin::detail::invalid_text_of(a.type);
  }
  void take(std::span<const TAQUIN_Array> all) {
    capacity = std::numeric_limits<std::size_t>::max();
    arrays.reserve(all.size());
    data.reserve(all.size());
    for (const TAQUIN_Array& a : all) {
      arrays.push_back({static_cast<taquin::count_t>(a.item_length), a.type});
      data.push_back(a.data);
      capacity = std::min(capacity, as_size(a.capacity));
    }
  }
};

void migrate(const given& mine, const int* destinations, MPI_Comm comm, MPI_Count* arrived) {
  const taquin::options of_comm = taquin::detail::options_of(comm);
  const taquin::redistribute_options o{.memory = of_comm.memory,
                                       .stats = of_comm.stats,
                                       .on_timeout = of_comm.on_timeout,
                                       .timeout = of_comm.timeout,
                                       .in_flight = of_comm.in_flight};
  taquin::detail::migration m(mine.items, mine.arrays, true, comm, o);
  std::copy_n(destinations, mine.items, m.destinations().begin());
  try {
    const std::size_t n = m.plan(mine.invalid_text, mine.capacity, std::nullopt);
    m.ready(nullptr, MPI_SUCCESS);
    m.run(mine.data);
    if (arrived != nullptr) *arrived = static_cast<MPI_Count>(n);  // never null: all ranks have thrown
  } catch (...) {
    if (arrived != nullptr) *arrived = static_cast<MPI_Count>(m.incoming());
    throw;
  }
}

}  // namespace

extern "C" {

int TAQUIN_Migrate(void* data, MPI_Count items, MPI_Count capacity, MPI_Count item_length, MPI_Datatype type,
                   const int destinations[], MPI_Comm comm, MPI_Count* arrived) {
  return guarded(comm, [&] {
    const TAQUIN_Array array{data, item_length, type, capacity};
    if (arrived != nullptr) *arrived = 0;
    migrate(given(std::span(&array, 1), items, false, destinations, arrived), destinations, comm, arrived);
  });
}

int TAQUIN_Migrate_arrays(int narrays, const TAQUIN_Array arrays[], MPI_Count items, const int destinations[],
                          MPI_Comm comm, MPI_Count* arrived) {
  return guarded(comm, [&] {
    const bool lacks_list = arrays == nullptr || narrays < 1;
    const std::span<const TAQUIN_Array> all(arrays, lacks_list ? 0 : as_size(narrays));
    if (arrived != nullptr) *arrived = 0;
    migrate(given(all, items, lacks_list, destinations, arrived), destinations, comm, arrived);
  });
}

}  // extern "C"
