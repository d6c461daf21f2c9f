// A redistribution by the C API, used as one of C++.
#pragma once

#include <mpi.h>

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::test {

class redistribution_in_c {
 public:
  redistribution_in_c(void* data, count_t blocks, count_t length, MPI_Datatype type, MPI_Comm comm,
                      const redistribute_options& o) {
    check(TAQUIN_Redistribution_create(data, blocks, length, type, comm, o.algorithm.data(), TAQUIN_UNLIMITED, &r_));
  }
  redistribution_in_c(redistribution_in_c&& other) noexcept : r_(std::exchange(other.r_, nullptr)) {}
  redistribution_in_c& operator=(redistribution_in_c&&) = delete;
  ~redistribution_in_c() {
    if (r_ != nullptr) TAQUIN_Redistribution_free(&r_);
  }
  void operator()(std::span<const int> ranks, std::span<const int> places) {
    check(TAQUIN_Redistribution_redistribute(r_, static_cast<int>(ranks.size()), ranks.data(), places.data()));
  }
  failure::block_map repair(MPI_Comm survivors) {
    TAQUIN_Block_map map;
    check(TAQUIN_Redistribution_repair(r_, survivors, &map));
    return in_cpp(map);
  }
  failure::block_map roll_back(MPI_Comm survivors, std::span<const int> ranks, std::span<const int> places) {
    TAQUIN_Block_map map;
    check(TAQUIN_Redistribution_roll_back(r_, survivors, static_cast<int>(ranks.size()), ranks.data(), places.data(),
                                          &map));
    return in_cpp(map);
  }

 private:
  static void check(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error(TAQUIN_Last_error());
  }
  static failure::block_map in_cpp(const TAQUIN_Block_map& c) {
    failure::block_map map{.known = c.known == 1, .unit_bytes = c.unit_bytes};
    const auto read = [](std::vector<failure::part>& to, const TAQUIN_Part* parts, MPI_Count n) {
      for (const TAQUIN_Part& p : std::span(parts, static_cast<std::size_t>(n)))
        to.push_back({static_cast<failure::state>(p.state), p.peer, p.offset, p.length, p.at});
    };
    read(map.outgoing, c.outgoing, c.outgoing_size);
    read(map.incoming, c.incoming, c.incoming_size);
    const auto* const staged = static_cast<const std::byte*>(c.staged);
    map.staged.assign(staged, staged + c.staged_units * c.unit_bytes);
    return map;
  }

  TAQUIN_Redistribution r_ = TAQUIN_REDISTRIBUTION_NULL;
};

}  // namespace taquin::test
