// Every algorithm of the list against the plain permutation: all forms of the call, workloads and datatypes; blocking
// and as a plan that is started again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "support/world.hpp"

namespace taquin::test {
namespace {

std::set<std::string_view>& served() {
  static std::set<std::string_view> names;
  return names;
}

using form = exchange::form;

// SMPI 3.32's own calls leave out a rank's own block (alltoallw), or abort (in place); simulated ranks have no
// channels.
bool not_simulated([[maybe_unused]] const detail::algorithm& a) {
#ifdef TAQUIN_TEST_SIMULATED
  return a.name == "native" || a.name == "shared_memory";
#else
  return false;
#endif
}

struct form_case {
  std::string_view name;
  form kind;
  bool in_place;
  bool symmetric;
};

constexpr std::array forms{
    form_case{"alltoallv", form::alltoallv, false, true},
    form_case{"alltoallw", form::alltoallw, false, true},
    form_case{"alltoallv_symmetric_in_place", form::alltoallv, true, true},
    form_case{"alltoallw_symmetric_in_place", form::alltoallw, true, true},
    form_case{"alltoallv_in_place", form::alltoallv, true, false},
};

constexpr count_t most_elements = 7;
constexpr count_t most_elements_long = 3001;  // beyond both libraries' eager limits

problem make_problem(const form_case& f, const workload& w, std::vector<type_pair>& types, bool interleaves,
                     count_t most, unsigned seed) {
  std::mt19937 random(seed);
  const int p = size_of(MPI_COMM_WORLD);
  problem x{.kind = f.kind,
            .p = p,
            .counts = w.make(p, most, random),
            .seed = seed,
            .in_place = f.in_place,
            .symmetric = f.symmetric,
            .interleaves = interleaves,
            .types = &types};
  if (f.in_place && f.symmetric) make_symmetric(x.counts);
  return x;
}

class conformance : public testing::TestWithParam<std::tuple<const detail::algorithm*, form_case, workload>> {
 protected:
  void verify(const problem& x, std::string_view types) {
    SCOPED_TRACE(fmt::format("types {}, seed {}", types, x.seed));
    const auto* a = std::get<0>(GetParam());
    if (exchange_is_right(x, MPI_COMM_WORLD, {.algorithm = a->name})) served().insert(a->name);
  }
};

TEST_P(conformance, gives_every_byte_to_its_receiver_and_touches_no_other) {
  const auto& [a, f, w] = GetParam();
  const std::size_t number_of_case = a->name.size() + f.name.size() + w.name.size();
  if (brief() && (number_of_case + at(size_of(MPI_COMM_WORLD))) % 4 != 0) GTEST_SKIP() << "one of four";
  if (not_simulated(*a)) GTEST_SKIP() << "not in simulation";
  unsigned seed = 100;
  const std::size_t pick = number_of_case % all_types.size();
  std::size_t number = 0;
  if (f.kind == form::alltoallw) {  // all types together
    std::vector<type_pair> types;
    for (const auto& t : all_types)
      if (!t.interleaves) types.push_back(t.make());
    verify(make_problem(f, w, types, false, most_elements, seed), "all");
  } else {
    for (const auto& t : all_types) {
      if (brief() && number++ % all_types.size() != pick) continue;
      std::vector<type_pair> types;
      types.push_back(t.make());
      verify(make_problem(f, w, types, t.interleaves, most_elements, ++seed), t.name);
    }
  }
  std::vector<type_pair> types;
  types.push_back(all_types[pick].interleaves ? all_types[0].make() : all_types[pick].make());
  verify(make_problem(f, w, types, false, most_elements_long, seed), "one, long");
}

std::string name_of(const testing::TestParamInfo<conformance::ParamType>& info) {
  const auto& [a, f, w] = info.param;
  return fmt::format("{}_{}_{}{}", a->name, f.name, w.name, np_suffix());
}

INSTANTIATE_TEST_SUITE_P(list, conformance,
                         testing::Combine(testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                                          testing::ValuesIn(forms), testing::ValuesIn(all_workloads)),
                         name_of);

class regular : public testing::TestWithParam<std::tuple<const detail::algorithm*, bool>> {};

TEST_P(regular, alltoall_is_right_for_every_type_and_size) {
  const auto& [a, in_place] = GetParam();
  if (not_simulated(*a)) GTEST_SKIP() << "not in simulation";
  unsigned seed = 500;
  const int p = size_of(MPI_COMM_WORLD);
  for (const auto& t : all_types) {
    std::vector<type_pair> types;
    types.push_back(t.make());
    for (const count_t count : {0, 1, 5, 30, 2000}) {
      if ((brief() && count % 5 != 0) || (t.interleaves && count * p > interleaved_elements)) continue;
      SCOPED_TRACE(fmt::format("type {}, count {}", t.name, count));
      const problem x{.kind = form::alltoall,
                      .p = p,
                      .counts = count_matrix(at(p), std::vector<count_t>(at(p), count)),
                      .seed = ++seed,
                      .in_place = in_place,
                      .symmetric = true,
                      .interleaves = t.interleaves,
                      .types = &types};
      if (exchange_is_right(x, MPI_COMM_WORLD, {.algorithm = a->name})) served().insert(a->name);
    }
  }
}

std::string regular_name(const testing::TestParamInfo<regular::ParamType>& info) {
  return fmt::format("{}_alltoall{}{}", std::get<0>(info.param)->name, std::get<1>(info.param) ? "_in_place" : "",
                     np_suffix());
}

INSTANTIATE_TEST_SUITE_P(list, regular,
                         testing::Combine(testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                                          testing::Bool()),
                         regular_name);

// Instantiated last, so that it runs after the others.
class coverage : public testing::TestWithParam<const detail::algorithm*> {};

TEST_P(coverage, has_served_something) {
  if (testing::GTEST_FLAG(filter) != "*" || size_of(MPI_COMM_WORLD) < 2 || not_simulated(*GetParam())) GTEST_SKIP();
  EXPECT_TRUE(served().contains(GetParam()->name));
}

INSTANTIATE_TEST_SUITE_P(list, coverage, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

TEST(list, every_algorithm_has_its_tests) {
  const auto* all = testing::UnitTest::GetInstance();
  for (const auto* a : detail::algorithms())
    for (const auto& [suite, expected] :
         {std::pair{std::string("list/conformance"), forms.size() * all_workloads.size()},
          std::pair{std::string("list/regular"), std::size_t{2}}}) {
      std::size_t found = 0;
      for (int s = 0; s < all->total_test_suite_count(); ++s) {
        const auto* tests = all->GetTestSuite(s);
        if (tests->name() != suite) continue;
        for (int i = 0; i < tests->total_test_count(); ++i) {
          const std::string name = tests->GetTestInfo(i)->name();
          const auto slash = name.find('/');
          found += name.substr(slash + 1).starts_with(std::string(a->name) + "_alltoall");
        }
      }
      EXPECT_EQ(found, expected) << a->name << " in " << suite;
    }
}

}  // namespace
}  // namespace taquin::test
