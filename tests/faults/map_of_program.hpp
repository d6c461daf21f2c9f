// The map after a failure as a program uses it: from C as from C++, and with data that outlive the failed call.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "taquin/failure.hpp"
#include "taquin/taquin.h"

namespace taquin::test {

/// An MPI library may still send from the data that a failed call has sent from, and does so whenever it is called: a
/// program keeps such data as long as its communicators.
template <class T>
T& kept(T&& made) {
  static std::vector<std::unique_ptr<std::decay_t<T>>> all;
  all.push_back(std::make_unique<std::decay_t<T>>(std::forward<T>(made)));
  return *all.back();
}

/// The C API's map is the same.
inline bool same_in_c(const failure::block_map& map) {
  TAQUIN_Block_map c;
  const auto same = [](const TAQUIN_Part* parts, MPI_Count n, const std::vector<failure::part>& list) {
    bool identical = n == static_cast<MPI_Count>(list.size());
    for (std::size_t k = 0; identical && k < list.size(); ++k)
      identical = parts[k].state == static_cast<int>(list[k].what) && parts[k].peer == list[k].peer &&
                  parts[k].offset == list[k].offset && parts[k].length == list[k].length && parts[k].at == list[k].at;
    return identical;
  };
  return TAQUIN_Failure_blocks(&c) == MPI_SUCCESS && c.known == 1 && c.unit_bytes == map.unit_bytes &&
         same(c.outgoing, c.outgoing_size, map.outgoing) && same(c.incoming, c.incoming_size, map.incoming) &&
         c.staged_units * c.unit_bytes == static_cast<MPI_Count>(map.staged.size()) &&
         (map.staged.empty() || std::memcmp(c.staged, map.staged.data(), map.staged.size()) == 0);
}

}  // namespace taquin::test
