// One exchange run by an algorithm's schedules of all ranks in this process, and every byte looked at.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <list>
#include <memory_resource>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "simulation/runner.hpp"
#include "support/problem.hpp"

namespace taquin::test {

/// Without MPI: `bytes` consecutive data bytes, then a gap up to `extent`.
inline test_type plain_type(count_t bytes, count_t extent) {
  test_type t{.type = MPI_BYTE, .bytes = {}, .extent = extent};
  for (count_t i = 0; i < bytes; ++i) t.bytes.push_back(i);
  return t;
}

/// One rank's part as schedules are built from it.
inline detail::local_exchange local_part(const problem& x, int rank, rank_buffers& mine,
                                         std::list<std::vector<element>>& elements) {
  const auto side = [&](const side_layout& s, std::byte* base) {
    const auto element_of = [](const test_type& t) { return element{t.type, t.size(), t.extent, 0, t.size()}; };
    blocks b{.base = base, .counts = count_view(s.counts.data()), .displs = count_view(s.displs.data())};
    if (x.kind == exchange::form::alltoallw) {
      auto& each = elements.emplace_back();
      for (const test_type* t : s.types) each.push_back(element_of(*t));
      b.elements = each.data();
    } else {
      b.element = element_of(*s.types[0]);
      b.displ_unit = b.element.extent;
      if (x.kind == exchange::form::alltoall) {
        b.counts = {s.counts[0], 0};
        b.displs = {0, s.counts[0]};
      }
    }
    return b;
  };
  detail::local_exchange local{.rank = rank, .ranks = x.p, .in_place = x.in_place};
  local.recv = side(mine.recv(), mine.recv_base());
  local.send = x.in_place && x.symmetric ? local.recv : side(mine.send(), mine.send_base());
  return local;
}

/// The error in the algorithm's schedules for this exchange; empty when there is none.
inline std::string simulated_error(const detail::algorithm& a, const problem& x, const options& o,
                                   detail::delivery how) {
  const detail::shape shape = shape_of(x);
  std::list<std::vector<element>> elements;
  std::list<rank_buffers> buffers;
  std::list<detail::schedule> schedules;
  std::vector<detail::simulated_rank> ranks;
  for (int rank = 0; rank < x.p; ++rank) {
    auto& mine = buffers.emplace_back(x, rank);
    mine.fill(7);
    const auto local = local_part(x, rank, mine, elements);
    detail::memory_budget budget;
    {
      const auto once = a.build(local, shape, o, &budget);
      if (budget.peak() > a.memory(shape, o))
        return fmt::format("rank {}: building took {} bytes, memory() says {}", rank, budget.peak(),
                           a.memory(shape, o));
      if (once.scratch_bytes + budget.used() > a.memory(shape, o))
        return fmt::format("rank {}: schedule and scratch take {} bytes, memory() says {}", rank,
                           once.scratch_bytes + budget.used(), a.memory(shape, o));
    }
    schedules.push_back(a.build(local, shape, o, std::pmr::new_delete_resource()));
    ranks.push_back({&schedules.back(), mine.send_base(), mine.recv_base()});
  }
  try {
    detail::run_simulated(ranks, how);
  } catch (const detail::simulated_error& e) {
    return e.what();
  }
  int rank = 0;
  for (const auto& mine : buffers) {
    if (const auto wrong = mine.wrong_bytes(); wrong > 0) return fmt::format("rank {}: {} wrong bytes", rank, wrong);
    ++rank;
  }
  return {};
}

}  // namespace taquin::test
