// Permutations and collectives in simulation, for all ranks of many communicators; the traps; the cost formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "schedule/collectives.hpp"
#include "schedule/permutations.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {

using patterns::permutation;

namespace {

struct world {
  std::vector<schedule> schedules;
  std::vector<std::vector<std::byte>> send;
  std::vector<std::vector<std::byte>> recv;
  std::vector<simulated_rank> ranks;

  void add(schedule s, std::vector<std::byte> input, std::size_t output) {
    schedules.push_back(std::move(s));
    send.push_back(std::move(input));
    recv.emplace_back(output, std::byte{0xee});
  }
  simulated_result run(delivery how, const combiner& op = {}) {
    ranks.clear();
    for (std::size_t i = 0; i < schedules.size(); ++i) ranks.push_back({&schedules[i], send[i].data(), recv[i].data()});
    return run_simulated(ranks, how, op);
  }
};

world permuted(permutation kind, ordering order, int p, int k) {
  world w;
  for (int r = 0; r < p; ++r)
    w.add(permute(kind, order, r, p, k, 4, element::bytes(1), std::pmr::new_delete_resource()),
          std::vector<std::byte>(4, static_cast<std::byte>(r)), 4);
  return w;
}

TEST(permutations, together_bring_each_message_in_one_step) {
  for (const auto kind : {permutation::shift, permutation::ring, permutation::hypercube})
    for (int p = 2; p <= 20; ++p)
      for (const int k : {1, 2, 4, -1, -3}) {
        if (kind == permutation::hypercube && k < 0) continue;
        world w = permuted(kind, ordering::together, p, k);
        EXPECT_LE(w.run(delivery::rendezvous).steps, 1U);
        for (int r = 0; r < p; ++r) {
          int from = kind == permutation::hypercube ? r ^ k : r - k;
          if (kind == permutation::ring) from = ((from % p) + p) % p;
          const bool exists = from >= 0 && from < p;
          EXPECT_EQ(w.recv[static_cast<std::size_t>(r)][3], exists ? static_cast<std::byte>(from) : std::byte{0xee});
        }
      }
}

// MPI primitives §3 asks which implementation destroys the parallelism of a shift: sending before receiving. Only the
// last rank of the line receives immediately, and messages too large for MPI's buffers go one after the other.
TEST(permutations, a_shift_that_sends_first_serialises_on_rendezvous_messages) {
  for (const int p : {2, 5, 16}) {
    EXPECT_EQ(permuted(permutation::shift, ordering::send_first, p, -1).run(delivery::rendezvous).steps,
              static_cast<std::size_t>(p - 1));
    EXPECT_EQ(permuted(permutation::shift, ordering::send_first, p, -1).run(delivery::eager).steps, 1U);
  }
}

// … and which implementation of a ring deadlocks: the same.
TEST(permutations, a_ring_or_hypercube_that_sends_first_deadlocks_on_rendezvous_messages) {
  EXPECT_THROW(permuted(permutation::ring, ordering::send_first, 5, 1).run(delivery::rendezvous), simulated_error);
  EXPECT_NO_THROW(permuted(permutation::ring, ordering::send_first, 5, 1).run(delivery::eager));
  EXPECT_THROW(permuted(permutation::hypercube, ordering::send_first, 8, 2).run(delivery::rendezvous), simulated_error);
  EXPECT_NO_THROW(permuted(permutation::hypercube, ordering::send_first, 8, 2).run(delivery::eager));
}

// Affine maps x -> a·x + b modulo 251, composed: associative, not commutative. One element is a pair of bytes.
struct affine {
  unsigned a, b;
};
affine after(affine f, affine g) { return {f.a * g.a % 251, (f.a * g.b + f.b) % 251}; }  // f ⊗ g
affine map_of(int rank, count_t i) {
  return {static_cast<unsigned>(rank * 5 + i + 2) % 250 + 1, static_cast<unsigned>(rank * 3 + i * 11) % 251};
}
affine load(const std::byte* p) { return {std::to_integer<unsigned>(p[0]), std::to_integer<unsigned>(p[1])}; }
void store(affine f, std::byte* p) { p[0] = static_cast<std::byte>(f.a), p[1] = static_cast<std::byte>(f.b); }
void compose(const std::byte* from, std::byte* to, count_t count) {
  for (count_t i = 0; i < count; ++i) store(after(load(from + 2 * i), load(to + 2 * i)), to + 2 * i);
}

std::vector<std::byte> maps(int first, int last, count_t count) {
  std::vector<std::byte> data(static_cast<std::size_t>(2 * count));
  for (count_t i = 0; i < count; ++i) {
    affine f = map_of(first, i);
    for (int r = first + 1; r < last; ++r) f = after(f, map_of(r, i));
    store(f, data.data() + 2 * i);
  }
  return data;
}

// The data that `rank` must hold afterwards; empty when none.
std::vector<std::byte> expected(collective what, int rank, int p, int root, count_t count) {
  std::vector<std::byte> all;
  for (int r = 0; r < p; ++r) {
    const auto part = maps(r, r + 1, count);
    all.insert(all.end(), part.begin(), part.end());
  }
  switch (what) {
    case collective::broadcast:
      return maps(root, root + 1, count);
    case collective::reduce:
      return rank == root ? maps(0, p, count) : std::vector<std::byte>{};
    case collective::allreduce:
      return maps(0, p, count);
    case collective::gather:
      return rank == root ? all : std::vector<std::byte>{};
    case collective::allgather:
      return all;
    case collective::scatter: {
      const auto at = all.begin() + rank * 2 * count;
      return {at, at + 2 * count};
    }
    case collective::scan:
      return maps(0, rank + 1, count);
    case collective::barrier:
      break;
  }
  return {};
}

world collected(collective what, int p, int root, count_t count) {
  world w;
  for (int r = 0; r < p; ++r) {
    auto input = maps(r, r + 1, count);
    if (what == collective::scatter && r == root) input = expected(collective::allgather, r, p, root, count);
    const std::size_t output =
        what == collective::broadcast ? static_cast<std::size_t>(2 * count) : expected(what, r, p, root, count).size();
    w.add(build_collective(what, r, p, root, count, element::bytes(2), std::pmr::new_delete_resource()), input, output);
    if (what == collective::broadcast && r == root) w.recv.back() = input;
  }
  return w;
}

TEST(collectives, give_every_rank_its_result_for_any_p_and_root) {
  for (const collective what : all_collectives)
    for (int p = 1; p <= 33; ++p)
      for (const int root : {0, p / 2, p - 1})
        for (const auto how : {delivery::eager, delivery::rendezvous}) {
          world w = collected(what, p, root, 3);
          w.run(how, compose);
          for (int r = 0; r < p; ++r)
            ASSERT_EQ(w.recv[static_cast<std::size_t>(r)], expected(what, r, p, root, 3))
                << name_of(what) << " p " << p << " root " << root << " rank " << r;
        }
}

TEST(collectives, take_a_logarithm_of_steps) {
  for (const collective what : all_collectives)
    for (int p = 2; p <= 64; ++p) {
      const auto lg = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(p - 1)));
      const bool cube = std::has_single_bit(static_cast<unsigned>(p));
      const std::size_t most = what == collective::allreduce && !cube ? lg + 1 : lg;
      EXPECT_LE(collected(what, p, 0, 1).run(delivery::rendezvous, compose).steps, most) << name_of(what) << " p " << p;
    }
}

TEST(collectives, cost_what_the_closed_forms_say) {
  machine_model m;
  m.levels[0].hockney = {3e-6, 1e-9};
  m.kind = model_kind::hockney;
  for (const collective what : all_collectives)
    for (int p = 2; p <= 64; p *= 2)
      for (const count_t count : {1, 5000}) {
        const world w = collected(what, p, 0, count);
        std::vector<const schedule*> all;
        for (const auto& s : w.schedules) all.push_back(&s);
        const seconds time = evaluate_slowest(all, m);
        EXPECT_NEAR(time, closed_form(what, p, 2 * count, m.levels[0].hockney), 1e-11) << name_of(what) << " p " << p;
      }
}

}  // namespace
}  // namespace taquin::detail
