// Calls of taquin, and the operations that call functions of the program which make them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory_resource>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "support/world.hpp"
#include "taquin/patterns.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::test {

using inside_t = std::function<void()>;

/// A call on a communicator; true where its result is right.
using call_t = std::function<bool(MPI_Comm)>;

struct ring {
  explicit ring(MPI_Comm comm)
      : me(rank_in(comm)), p(size_of(comm)), next((me + 1) % p), before((me + p - 1) % p), to{next} {}
  int me;
  int p;
  int next;
  int before;
  std::array<int, 1> to;
};

inline bool alltoall_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> in(static_cast<std::size_t>(r.p), -1);
  const std::vector<int> out(in.size(), r.me);
  alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  for (int from = 0; from < r.p; ++from)
    if (in[static_cast<std::size_t>(from)] != from) return false;
  return true;
}

inline bool in_place_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> data(static_cast<std::size_t>(r.p), r.me);
  alltoall(MPI_IN_PLACE, 1, MPI_INT, data.data(), 1, MPI_INT, comm);
  return data[static_cast<std::size_t>(r.next)] == r.next && data[static_cast<std::size_t>(r.before)] == r.before;
}

inline bool plan_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> in(static_cast<std::size_t>(r.p), -1);
  const std::vector<int> out(in.size(), r.me);
  plan made(exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm), {});
  made.start();
  made.wait();
  return in[static_cast<std::size_t>(r.before)] == r.before;
}

inline bool redistribution_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::array<int, 2> data{r.me, r.me};
  redistribution moved(data.data(), 2, 1, MPI_INT, comm);
  moved(std::array<int, 2>{r.next, r.me}, std::array<int, 2>{0, 1});
  return data[0] == r.before && data[1] == r.me;
}

inline bool migration_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> elements{r.me};
  migrate(
      elements, [&](int) { return r.next; }, comm);
  return elements == std::vector<int>{r.before};
}

inline bool sparse_is_right(MPI_Comm comm) {
  const ring r(comm);
  const auto arrived = sparse_exchange(r.to, std::array<int, 1>{2}, std::vector<int>{r.me, r.me}, comm);
  return arrived.sources == std::vector<int>{r.before} && arrived.data == std::vector<int>{r.before, r.before};
}

inline bool sparse_in_pieces_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> arrived;
  sparse_exchange_chunks(
      r.to, std::array<int, 1>{3}, std::vector<int>(3, r.me), 2,
      [&](int, std::span<const int> chunk) { arrived.insert(arrived.end(), chunk.begin(), chunk.end()); }, comm);
  return arrived == std::vector<int>(3, r.before);
}

inline bool neighbours_are_right(MPI_Comm comm) {
  const ring r(comm);
  return neighbours(comm, r.to) == std::vector<int>{r.before};
}

inline bool pattern_is_right(MPI_Comm comm) {
  int one = 1;
  int sum = 0;
  patterns::allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum == size_of(comm);
}

inline bool library_is_right(MPI_Comm comm) {
  const ring r(comm);
  std::vector<int> in(static_cast<std::size_t>(r.p), -1);
  const std::vector<int> out(in.size(), r.me);
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  return in[static_cast<std::size_t>(r.before)] == r.before;
}

inline const std::map<std::string, call_t>& nested_calls() {
  static const std::map<std::string, call_t> all{{"alltoall", alltoall_is_right},
                                                 {"in_place", in_place_is_right},
                                                 {"plan", plan_is_right},
                                                 {"redistribution", redistribution_is_right},
                                                 {"migration", migration_is_right},
                                                 {"sparse", sparse_is_right},
                                                 {"sparse_in_chunks", sparse_in_pieces_is_right},
                                                 {"neighbours", neighbours_are_right},
                                                 {"pattern", pattern_is_right}};
  return all;
}

/// Calls `inside` from a function that an operation on the communicator calls, as often on all ranks. True where the
/// operation's own result is right.
using callback_t = std::function<bool(MPI_Comm, const inside_t&)>;

inline void* allocate_and_call(std::size_t bytes, void* inside) {
  (*static_cast<const inside_t*>(inside))();
  return std::malloc(std::max<std::size_t>(bytes, 1));
}

inline bool by_allocate(MPI_Comm comm, const inside_t& inside, int n) {
  const ring r(comm);
  const std::array<MPI_Count, 1> counts{n};
  const std::vector<int> data(static_cast<std::size_t>(n), r.me);
  int blocks = 0;
  int* sources = nullptr;
  MPI_Count* lengths = nullptr;
  int* in = nullptr;
  inside_t called = inside;
  const int code = TAQUIN_Sparse_exchange(data.data(), 1, r.to.data(), counts.data(), MPI_INT, comm, allocate_and_call,
                                          &called, &blocks, &sources, &lengths, &in);
  const bool right = code == MPI_SUCCESS && blocks == 1 && sources[0] == r.before && lengths[0] == n &&
                     std::all_of(in, in + n, [&](int x) { return x == r.before; });
  std::free(sources);
  std::free(lengths);
  std::free(in);
  return right;
}

inline bool by_taker(MPI_Comm comm, const inside_t& inside) {
  const ring r(comm);
  constexpr int chunks = 7;
  constexpr int each = 100;
  bool right = true;
  int called = 0;
  sparse_exchange_chunks(
      r.to, std::array<int, 1>{chunks * each}, std::vector<int>(chunks * each, r.me), each,
      [&](int from, std::span<const int> chunk) {
        ++called;
        inside();
        right = right && from == r.before && std::ranges::all_of(chunk, [&](int x) { return x == r.before; });
      },
      comm);
  return right && called == chunks;
}

inline bool by_destination(MPI_Comm comm, const inside_t& inside) {
  const ring r(comm);
  std::vector<int> elements(3, r.me);
  migrate(
      elements,
      [&](int) {
        inside();
        return r.next;
      },
      comm);
  return elements == std::vector<int>(3, r.before);
}

class calling_resource final : public std::pmr::memory_resource {
 public:
  const inside_t* inside = nullptr;

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    if (inside != nullptr) (*inside)();
    return std::malloc(bytes);
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { std::free(p); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// On rank 0, whose container grows, and on the others, whose function for destinations calls it as often.
inline bool by_container(MPI_Comm comm, const inside_t& inside) {
  const ring r(comm);
  calling_resource memory;
  int called = 0;
  const inside_t counted = [&] {
    ++called;
    inside();
  };
  std::pmr::vector<int> elements(1, r.me, &memory);
  memory.inside = &counted;
  migrate(
      elements, [&](int) { return 0; }, comm);
  memory.inside = nullptr;
  if (r.me != 0) return elements.empty() && called == 0;
  std::vector<int> all(static_cast<std::size_t>(r.p));
  std::iota(all.begin(), all.end(), 0);
  return std::ranges::equal(elements, all) && (called > 0 || r.p == 1);
}

inline const std::map<std::string, callback_t>& callbacks() {
  static const std::map<std::string, callback_t> all{
      {"allocate", [](MPI_Comm comm, const inside_t& inside) { return by_allocate(comm, inside, 5); }},
      {"allocate_for_much", [](MPI_Comm comm, const inside_t& inside) { return by_allocate(comm, inside, 50000); }},
      {"taker", by_taker},
      {"destination", by_destination}};
  return all;
}

}  // namespace taquin::test
