// expected_traffic FILE RANKS: the record of program.c on so many ranks, matrix by matrix.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "workloads/traffic.hpp"

namespace {

using namespace taquin::workloads;

struct expected_call {
  std::vector<int> world_ranks;
  call_kind kind;
  bool in_place;
  taquin::count_t element_bytes;
  std::uint64_t repeats;
  taquin::count_t (*bytes)(int from, int to);
};

std::vector<expected_call> expected(int ranks) {
  std::vector<int> world;
  std::vector<int> even;
  std::vector<int> odd;
  for (int i = 0; i < ranks; ++i) world.push_back(i);
  for (int i = ranks - 1; i >= 0; --i) (i % 2 != 0 ? odd : even).push_back(i);
  const auto irregular = [](int i, int j) -> taquin::count_t { return 4 * ((7 * i + 3 * j) % 5); };
  const auto one = [](int, int) -> taquin::count_t { return 4; };
  constexpr taquin::count_t none = 1;  // a rank alone sends nothing in these two

  std::vector<expected_call> calls{
      {world, call_kind::alltoall, false, 4, 5, [](int, int) -> taquin::count_t { return 12; }},
      {world, call_kind::alltoall, true, 4, 1, [](int, int) -> taquin::count_t { return 8; }},
      {world, call_kind::alltoallv, false, ranks > 1 ? 4 : none, 2, irregular},
      {world, call_kind::alltoallv, true, ranks > 1 ? 4 : none, 1,
       [](int i, int j) -> taquin::count_t { return 4 * ((i + j) % 4); }},
      {world, call_kind::alltoallw, false, 4, 1,
       [](int i, int j) -> taquin::count_t { return (i + j) % 2 != 0 ? 24 : 12; }},
  };
  for (int i = 0; i < 2; ++i) {
    for (const auto& members : {even, odd})
      if (!members.empty())
        calls.push_back({members, call_kind::alltoallv, false, members.size() > 1 ? 4 : none, 1, irregular});
    calls.push_back({world, call_kind::alltoall, false, 4, i == 0 ? 1U : 2U, one});
  }
  calls.push_back({world, call_kind::alltoallv, false, 4, 2,
                   [](int i, int j) -> taquin::count_t { return 4 * (i == 0 ? j + 1 : 2); }});
  calls.push_back({world, call_kind::alltoallv, false, 4, 2,
                   [](int i, int j) -> taquin::count_t { return 4 * (i == 0 ? j + 2 : 2); }});
  return calls;
}

int faults = 0;

template <class A, class B>
void same(const A& got, const B& wanted, const std::string& what) {
  if (got == wanted) return;
  fmt::print("{}: {} is recorded, {} was sent\n", what, got, wanted);
  ++faults;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[2]);
  traffic t = read_traffic(argv[1]);
  // A call that MPICH 5 says is good after its error handler has returned: it has a negative count, and sent nothing.
  std::erase_if(t.calls, [&](const recorded_call& c) {
    const byte_matrix& m = t.matrices[c.matrix];
    bool any = false;
    for (int from = 0; from < m.ranks(); ++from)
      for (int to = 0; to < m.ranks(); ++to) any = any || m.at(from, to) > 0;
    return ranks > 1 && m.ranks() == ranks && c.kind == call_kind::alltoallv && c.element_bytes == 1 && !any;
  });
  const auto calls = expected(ranks);
  same(t.ranks, ranks, "ranks");
  same(t.program.find("interpose_program") != std::string::npos, true, "program");
  same(t.communicators.size(), ranks > 1 ? 3U : 1U, "communicators");
  same(t.calls.size(), calls.size(), "calls");
  if (faults > 0) return 1;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const recorded_call& got = t.calls[i];
    const expected_call& want = calls[i];
    const std::string where = fmt::format("calls[{}]", i);
    same(fmt::format("{}", fmt::join(t.communicators[got.communicator], " ")),
         fmt::format("{}", fmt::join(want.world_ranks, " ")), where + " ranks");
    same(name_of(got.kind), name_of(want.kind), where + " kind");
    same(got.in_place, want.in_place, where + " in_place");
    same(got.element_bytes, want.element_bytes, where + " element_bytes");
    same(got.repeats, want.repeats, where + " repeats");
    same(got.seconds.min > 0 && got.seconds.min <= got.seconds.max && got.seconds.mean <= got.seconds.max, true,
         where + " seconds");
    const byte_matrix& m = t.matrices[got.matrix];
    for (int from = 0; from < m.ranks(); ++from)
      for (int to = 0; to < m.ranks(); ++to)
        same(m.at(from, to), want.bytes(from, to), fmt::format("{} bytes from {} to {}", where, from, to));
  }
  return faults > 0 ? 1 : 0;
}
