#include "bench/regret/cell.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <stdexcept>

namespace taquin::regret {

namespace {

constexpr double most_bytes = 8 << 20;

// Each field once, by its name.
template <class Cell, class Visit>
void each_field(Cell& c, Visit visit) {
  visit("use", c.use);
  visit("form", c.form);
  visit("workload", c.workload);
  visit("bytes", c.bytes);
  visit("memory", c.memory);
  visit("pace", c.pace);
  visit("skew", c.skew);
  visit("types", c.types);
  visit("buffers", c.buffers);
  visit("sizes", c.sizes);
  visit("life", c.life);
  visit("seed", c.seed);
}

template <class Value>
Value one_of(std::mt19937_64& random, std::initializer_list<Value> values) {
  return values.begin()[random() % values.size()];
}

bool chance(std::mt19937_64& random, unsigned percent) { return random() % 100 < percent; }

}  // namespace

std::string to_text(const cell& c) {
  const cell simplest;
  std::ostringstream text;
  each_field(c, [&](const char* name, const auto& value) {
    bool needed = false;
    each_field(simplest, [&](const std::string& other, const auto& by_default) {
      if constexpr (std::is_same_v<decltype(by_default), decltype(value)>)
        if (other == name) needed = !(value == by_default);
    });
    const std::string_view n(name);
    if (needed || n == "use" || n == "bytes") text << (text.tellp() > 0 ? " " : "") << name << '=' << value;
  });
  return text.str();
}

cell parse_cell(const std::string& text) {
  cell c;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    bool known = false;
    each_field(c, [&](const std::string& name, auto& value) {
      if (equals == std::string::npos || word.substr(0, equals) != name) return;
      std::istringstream in(word.substr(equals + 1));
      known = (in >> value) && in.peek() == std::char_traits<char>::eof();
    });
    if (!known) throw std::invalid_argument("'" + word + "' says nothing of a call");
  }
  return c;
}

cell random_cell(std::mt19937_64& random, int ranks) {
  cell c;
  const double share = static_cast<double>(random() >> 11U) / 9007199254740992.0;  // 2^53
  c.bytes = static_cast<count_t>(std::exp2(share * std::log2(most_bytes)));
  c.seed = random() % 1000 + 1;
  c.use = one_of<std::string>(
      random, {"call", "call", "call", "call", "plan", "plan", "overlap", "in_place", "in_place", "blocks"});
  if (c.use == "blocks") {
    c.workload = one_of<std::string>(random, {"shift", "transpose", "one_empty", "one_cycle", "random"});
    c.bytes = std::max<count_t>(c.bytes, count_t{64} << 10U);
    c.buffers = one_of<std::string>(random, {"ordinary", "ordinary", "shared"});
    return c;
  }
  const bool in_place = c.use == "in_place";
  c.form = in_place ? "alltoallv" : one_of<std::string>(random, {"alltoall", "alltoallv", "alltoallv", "alltoallw"});
  if (c.form != "alltoall")
    c.workload = one_of<std::string>(random, {"uniform", "random", "random", "zipf", "sparse:1", "sparse:2", "powerlaw",
                                              "ring", "shift", "all_to_one", "one_empty", "hot:1", "self", "empty"});
  if (c.form == "alltoall") c.bytes = std::max<count_t>(c.bytes, ranks);
  if (c.form == "alltoallw" && chance(random, 30)) c.types = "strided";
  if (in_place) c.memory = one_of<count_t>(random, {0, count_t{64} << 10U, count_t{1} << 20U});
  if (chance(random, 30)) c.pace = "barrier";
  if (chance(random, 15)) c.skew = one_of(random, {10, 100, 1000});
  if (c.types == "bytes")
    c.buffers = one_of<std::string>(random, {"ordinary", "ordinary", "ordinary", "shared", "mpi"});
  if (chance(random, 20)) c.sizes = "change";
  if (c.use == "call" && chance(random, 15)) c.life = one_of(random, {1, 2, 3, 5, 20});
  return c;
}

std::vector<cell> simpler(const cell& c) {
  const cell simplest;
  std::vector<cell> all;
  const auto with = [&](auto change) {
    cell other = c;
    change(other);
    if (!(other == c)) all.push_back(std::move(other));
  };
  with([&](cell& x) { x.skew = 0; });
  with([&](cell& x) { x.sizes = simplest.sizes; });
  with([&](cell& x) { x.buffers = simplest.buffers; });
  with([&](cell& x) { x.types = simplest.types; });
  with([&](cell& x) { x.life = 0; });
  with([&](cell& x) { x.pace = simplest.pace; });
  with([&](cell& x) { x.memory = 0; });
  if (c.use == "overlap" || c.use == "plan") with([&](cell& x) { x.use = x.use == "overlap" ? "plan" : "call"; });
  if (c.form == "alltoallw") with([&](cell& x) { x.form = "alltoallv"; });
  if (c.form == "alltoallv" && c.use != "in_place" && c.workload == "uniform")
    with([&](cell& x) { x.form = "alltoall"; });
  if (c.use != "blocks" && c.workload != "empty" && c.workload != "self")
    with([&](cell& x) { x.workload = simplest.workload; });
  if (c.bytes > 1) with([&](cell& x) { x.bytes /= 2; });
  return all;
}

}  // namespace taquin::regret
