// Every option of options.def at both ends of its range, in every kind of call: the call is right, or all ranks have
// the same error and the communicator serves on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/option_table.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

// False for an option without ends: a text, a list.
template <class Field>
bool set_to_end(Field& field, const detail::option_row& row, bool most) {
  if constexpr (std::is_same_v<Field, bool>) {
    field = most;
  } else if constexpr (std::is_same_v<Field, std::size_t>) {
    field = most ? std::numeric_limits<std::size_t>::max() - 1 : 1;
  } else if constexpr (std::is_enum_v<Field>) {
    field = static_cast<Field>(most ? row.most : row.least);
  } else if constexpr (std::is_same_v<Field, std::string_view> || requires { field.begin(); }) {
    return false;
  } else if (row.kind == detail::option_kind::seconds) {
    field = Field(most ? 1e9F : 0.0F);
  } else {
    field = most ? row.most : row.least;
  }
  return true;
}

struct extreme {
  std::string name;
  options o;
};

std::vector<extreme> extremes() {
  std::vector<extreme> all;
  for (const bool most : {false, true}) {
#define TAQUIN_OPTION(NAME, FIELD, KIND, DEFAULT, LEAST, MOST, RANKS, BELONGS, WORDS)               \
  if (options o; set_to_end(o.FIELD, detail::option_rows::NAME, most)) {                            \
    all.push_back({std::string(#NAME) + (most ? " at most" : " at least"), o});                     \
    if (detail::find_algorithm(#BELONGS) != nullptr) {                                              \
      o.algorithm = #BELONGS;                                                                       \
      all.push_back({std::string(#NAME) + (most ? " at most" : " at least") + " by " #BELONGS, o}); \
    }                                                                                               \
  }
#include "base/options.def"
  }
  return all;
}

struct extreme_options : testing::Test {
  scoped_comm comm{duplicate(MPI_COMM_WORLD)};
  int me = rank_in(comm.get());
  int p = size_of(comm.get());
  int before = (me + p - 1) % p;
  std::array<int, 1> to{(me + 1) % p};

  bool exchange_is_served(const options& o, bool by_plan) const {
    std::vector<int> in(at(p), -1);
    const std::vector<int> out(at(p), me);
    const exchange x = exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm.get());
    if (by_plan) {
      plan made(x, o);
      made.start();
      made.wait();
    } else {
      run(x, o);
    }
    return in[at(before)] == before;
  }
  bool in_place_is_served(const options& o) const {
    std::vector<int> data(at(p), me);
    const std::vector<count_t> counts(at(p), 1);
    std::vector<count_t> displs;
    for (int i = 0; i < p; ++i) displs.push_back(i);
    alltoallv_in_place(data.data(), counts.data(), displs.data(), counts.data(), displs.data(), MPI_INT, comm.get(), o);
    return data[at(before)] == before;
  }
  bool sparse_is_served(const options& o, int n) const {
    const auto arrived = sparse_exchange(to, std::array{n}, std::vector<int>(at(n), me), comm.get(), o);
    return arrived.data == std::vector<int>(at(n), before);
  }
  bool chunks_are_served(const options& o, int n, int chunk) const {
    count_t arrived = 0;
    sparse_exchange_chunks(
        to, std::array{n}, std::vector<int>(at(n), me), chunk,
        [&](int from, std::span<const int> some) {
          if (from == before) arrived += std::ranges::count(some, before);
        },
        comm.get(), o);
    return arrived == n;
  }
  bool redistribution_is_served(const options& o) const {
    std::array<int, 2> data{me, me};
    redistribution moved(data.data(), 2, 1, MPI_INT, comm.get(),
                         {.memory = o.memory, .timeout = o.timeout, .in_flight = o.in_flight});
    moved(std::array{to[0], me}, std::array{0, 1});
    return data[0] == before;
  }
};

TEST_F(extreme_options, are_served_or_refused_on_all_ranks_by_every_call) {
  const std::vector<std::pair<std::string_view, std::function<bool(options)>>> calls{
      {"exchange", [&](const options& o) { return exchange_is_served(o, false); }},
      {"plan", [&](const options& o) { return exchange_is_served(o, true); }},
      {"in place", [&](const options& o) { return in_place_is_served(o); }},
      {"sparse exchange",
       [&](options o) {
         o.algorithm = "auto";
         return sparse_is_served(o, 5);
       }},
      {"large sparse exchange",
       [&](options o) {
         o.algorithm = "auto";
         return sparse_is_served(o, 50000);
       }},
      {"sparse exchange in chunks",
       [&](options o) {
         o.algorithm = "auto";
         return chunks_are_served(o, 5000, 10);
       }},
      {"redistribution", [&](const options& o) { return redistribution_is_served(o); }}};
  for (const auto& [name, o] : extremes()) {
    for (const auto& [what, call] : calls) {
      SCOPED_TRACE(name + ", " + std::string(what));
      try {
        EXPECT_TRUE(call(o));
      } catch (const error& e) {
        EXPECT_TRUE(e.collective()) << e.what();
        EXPECT_EQ(std::string_view(e.what()).find("-21474836"), std::string_view::npos) << e.what();
      } catch (const std::exception& e) {
        FAIL() << e.what();
      }
      ASSERT_TRUE(exchange_is_served({}, false));
    }
  }
}

TEST_F(extreme_options, in_flight_without_a_limit_takes_memory_by_what_is_moved) {
  for (const std::string_view algorithm : {"auto", "notify_tree"}) {
    statistics stats{};
    const options o{.algorithm = algorithm, .in_flight = std::numeric_limits<int>::max(), .stats = &stats};
    EXPECT_TRUE(sparse_is_served(o, 50000));
    EXPECT_TRUE(chunks_are_served(o, 50000, 50));
    EXPECT_LT(stats.peak_memory, std::size_t{1} << 20U);
  }
}

}  // namespace
}  // namespace taquin::test
