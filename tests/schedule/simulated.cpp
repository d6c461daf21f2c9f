// Every algorithm that has a schedule, for all ranks of many communicators in one process.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "simulation/runner.hpp"
#include "support/simulated_run.hpp"

namespace taquin::test {
namespace {

using detail::delivery;
using form = exchange::form;

std::vector<const detail::algorithm*> scheduled() {
  std::vector<const detail::algorithm*> all;
  for (const auto* a : detail::algorithms())
    if (a->build != nullptr) all.push_back(a);
  return all;
}

class simulated : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  /// Runs it where the algorithm serves it.
  void verify(problem x, const workload& w, count_t most, const options& o = {}) {
    std::mt19937 random(x.seed);
    x.counts = w.make(x.p, most, random);
    if (x.in_place && x.symmetric) make_symmetric(x.counts);
    const auto& a = *GetParam();
    if (!a.supports(shape_of(x))) return;
    for (const auto how : {delivery::eager, delivery::rendezvous}) {
      if (x.p > 9 && (how == delivery::eager) != (turn_ % 2 == 0)) continue;  // one after the other
      ASSERT_EQ(simulated_error(a, x, o, how), "")
          << fmt::format("p {}, workload {}, form {}, radix {}, in flight {}, {}, {}", x.p, w.name,
                         static_cast<int>(x.kind), o.bruck.radix.value_or(0), o.in_flight,
                         x.in_place ? "in place" : "out of place", how == delivery::eager ? "eager" : "rendezvous");
    }
    ++turn_;
  }

  static std::vector<type_pair> make_types() {
    std::vector<type_pair> types;
    types.push_back({plain_type(3, 5), plain_type(3, 3)});
    types.push_back({plain_type(1, 1), plain_type(1, 4)});
    types.push_back({plain_type(8, 8), plain_type(8, 8)});
    return types;
  }

  std::vector<type_pair> types_ = make_types();
  unsigned turn_ = 0;
};

TEST_P(simulated, is_right_for_every_p_up_to_64) {
  for (int p = 1; p <= 64; ++p)
    for (const auto kind : {form::alltoall, form::alltoallv, form::alltoallw})
      for (const bool in_place : {false, true}) {
        const auto number = static_cast<std::size_t>(p);
        // Small p with all workloads, larger with one after the other.
        for (std::size_t w = 0; w < all_workloads.size(); ++w)
          if (kind == form::alltoall ? w == 0 : p <= 9 || w == number % all_workloads.size())
            verify({.kind = kind,
                    .p = p,
                    .counts = {},
                    .seed = static_cast<unsigned>(p),
                    .in_place = in_place,
                    .types = &types_},
                   all_workloads[w], 5);
      }
}

TEST_P(simulated, is_right_for_every_radix_and_number_in_flight) {
  for (const int p : {2, 3, 7, 8, 9, 16, 27, 31, 64})
    for (const int radix : {2, 3, 4, 5, 8, 64})
      for (const int in_flight : {0, 1, 2, 5}) {
        if (p > 9 && radix > 2 && in_flight != 0 && in_flight != radix % 3) continue;
        const problem x{.kind = form::alltoallv, .p = p, .counts = {}, .seed = 5, .types = &types_};
        verify(x, all_workloads[1], 3, {.in_flight = in_flight, .bruck = {.radix = radix}});
      }
}

TEST_P(simulated, is_right_for_many_ranks) {
  std::vector<type_pair> bytes;
  bytes.push_back({plain_type(1, 1), plain_type(1, 1)});
  for (const int p : {100, 243, 300}) {
    verify({.kind = form::alltoall, .p = p, .counts = {}, .seed = 3, .types = &bytes}, all_workloads[0], 1);
    verify({.kind = form::alltoallv, .p = p, .counts = {}, .seed = 3, .types = &bytes}, all_workloads[2], 9);
  }
}

TEST_P(simulated, is_right_for_any_exchange) {
  const auto& a = *GetParam();
  const bool held = rc::check(std::string(a.name) + " moves every byte to its receiver", [&] {
    problem x{.p = *rc::gen::inRange(1, 20), .counts = {}, .types = &types_};
    x.kind = *rc::gen::element(form::alltoallv, form::alltoallw);
    x.seed = *rc::gen::arbitrary<unsigned>();
    const auto cells = *rc::gen::container<std::vector<int>>(at(x.p) * at(x.p), rc::gen::inRange(0, 6));
    for (int i = 0; i < x.p; ++i) {
      x.counts.emplace_back();
      for (int j = 0; j < x.p; ++j) x.counts.back().push_back(cells[at(i) * at(x.p) + at(j)]);
    }
    const options o{.in_flight = *rc::gen::inRange(0, 5), .bruck = {.radix = *rc::gen::inRange(2, 7)}};
    if (!a.supports(shape_of(x))) {  // those for equal blocks get equal blocks
      x.kind = form::alltoall;
      x.counts.assign(at(x.p), std::vector<count_t>(at(x.p), cells[0]));
      RC_PRE(a.supports(shape_of(x)));
    }
    const auto how = *rc::gen::element(delivery::eager, delivery::rendezvous);
    RC_ASSERT(simulated_error(a, x, o, how) == "");
  });
  EXPECT_TRUE(held);
}

std::string name_of(const testing::TestParamInfo<const detail::algorithm*>& info) {
  return std::string(info.param->name);
}

INSTANTIATE_TEST_SUITE_P(list, simulated, testing::ValuesIn(scheduled()), name_of);

}  // namespace
}  // namespace taquin::test
