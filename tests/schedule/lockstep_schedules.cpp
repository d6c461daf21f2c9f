// Every algorithm that has a schedule, for all ranks of many communicators in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "schedule/lockstep.hpp"

namespace taquin::detail {
namespace {

// counts[i][j]: elements from rank i to rank j, random with many zeros.
std::vector<std::vector<count_t>> random_counts(int p, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<count_t>> counts(static_cast<std::size_t>(p),
                                           std::vector<count_t>(static_cast<std::size_t>(p)));
  for (auto& row : counts)
    for (auto& c : row) c = std::max(0, static_cast<int>(random() % 9) - 3);
  return counts;
}

struct rank_data {
  std::vector<count_t> scounts, sdispls, rcounts, rdispls;
  std::vector<std::byte> send, recv, expected;
  std::unique_ptr<schedule> plan;
};

void fill_displacements(const std::vector<count_t>& counts, std::vector<count_t>& displs) {
  count_t at = 1;  // a guard element in front, and one after each block
  for (const count_t c : counts) {
    displs.push_back(at);
    at += c + 1;
  }
}

std::byte data_byte(int from, int to, count_t i) { return static_cast<std::byte>(from * 31 + to * 17 + i * 7 + 1); }

void run(const algorithm& a, int p, const std::vector<std::vector<count_t>>& counts, const element& e, delivery how) {
  std::vector<rank_data> ranks(static_cast<std::size_t>(p));
  std::vector<lockstep_rank> lock;
  shape sh{.ranks = p, .kind = exchange::form::alltoallv, .uniform = false};
  for (int r = 0; r < p; ++r) {
    auto& d = ranks[static_cast<std::size_t>(r)];
    d.scounts = counts[static_cast<std::size_t>(r)];
    for (const auto& row : counts) d.rcounts.push_back(row[static_cast<std::size_t>(r)]);
    fill_displacements(d.scounts, d.sdispls);
    fill_displacements(d.rcounts, d.rdispls);
    d.send.resize(static_cast<std::size_t>((d.sdispls.back() + d.scounts.back() + 1) * e.extent));
    d.recv.resize(static_cast<std::size_t>((d.rdispls.back() + d.rcounts.back() + 1) * e.extent), std::byte{0xee});
    d.expected = d.recv;
    for (int j = 0; j < p; ++j) {
      const auto k = static_cast<std::size_t>(j);
      for (count_t i = 0; i < d.scounts[k] * e.size; ++i)
        d.send[static_cast<std::size_t>((d.sdispls[k] + i / e.size) * e.extent + i % e.size)] = data_byte(r, j, i);
      for (count_t i = 0; i < d.rcounts[k] * e.size; ++i)
        d.expected[static_cast<std::size_t>((d.rdispls[k] + i / e.size) * e.extent + i % e.size)] = data_byte(j, r, i);
    }
    local_exchange x{.rank = r, .ranks = p};
    x.send = {d.send.data(), count_view(d.scounts.data()), count_view(d.sdispls.data()), e.extent, e};
    x.recv = {d.recv.data(), count_view(d.rcounts.data()), count_view(d.rdispls.data()), e.extent, e};
    memory_budget budget;
    d.plan = std::make_unique<schedule>(a.build(x, sh, options{}, std::pmr::new_delete_resource()));
    lock.push_back({d.plan.get(), d.send.data(), d.recv.data()});
  }
  run_lockstep(lock, how);
  for (int r = 0; r < p; ++r) {
    const auto& d = ranks[static_cast<std::size_t>(r)];
    ASSERT_EQ(d.recv, d.expected) << a.name << " p " << p << " rank " << r;
  }
}

TEST(lockstep, every_schedule_for_every_p_up_to_64) {
  for (const algorithm* a : algorithms()) {
    if (a->build == nullptr || !a->supports({.kind = exchange::form::alltoallv, .uniform = false})) continue;
    for (int p = 1; p <= 64; ++p)
      for (const auto how : {delivery::eager, delivery::rendezvous})
        for (const auto& e : {element::bytes(1), element{MPI_BYTE, 3, 5, 0, 3}})
          run(*a, p, random_counts(p, static_cast<unsigned>(p)), e, how);
  }
}

}  // namespace
}  // namespace taquin::detail
