// One trial: which ranks call what, and which of them is lost, how and when. All follows from a seed and the ranks
// that are alive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "faults/hostile_recipe.hpp"
#include "soak/random.hpp"

namespace taquin::soak {

/// How a rank is lost.
enum class harm : std::uint8_t {
  kill,
  stop,  ///< and continues after a while: no rank may abandon it
  exit,
  abort,
  exception,  ///< out of the program's own code, to its end
  kinds
};
inline constexpr std::array<const char*, static_cast<std::size_t>(harm::kinds)> harm_names{"kill", "stop", "exit",
                                                                                           "abort", "exception"};

struct trial {
  std::uint64_t seed = 0;
  std::vector<int> members;  ///< in order; ranks of all that are alive
  harm how = harm::kill;
  int offender = 0;       ///< a rank of the members
  int call = 0;           ///< in which it is lost, counted from 0
  int n = 0;              ///< at that step of it (see faults/layer.hpp), or, of an exception, before that part of it
  bool by_clock = false;  ///< or after `microseconds`, wherever it is then
  int microseconds = 0;
  int asleep = 0;        ///< milliseconds for which it is stopped
  bool revokes = false;  ///< the others revoke the communicator before they go on

  [[nodiscard]] int p() const noexcept { return static_cast<int>(members.size()); }
  [[nodiscard]] bool loses() const noexcept { return how != harm::stop; }
};

/// One of `harms`.
inline trial make_trial(std::uint64_t seed, int alive, int p, const std::vector<harm>& harms) {
  source s(seed);
  trial t;
  t.seed = seed;
  t.members.resize(static_cast<std::size_t>(alive));
  std::iota(t.members.begin(), t.members.end(), 0);
  while (static_cast<int>(t.members.size()) > p)
    t.members.erase(t.members.begin() + static_cast<std::ptrdiff_t>(s.below(t.members.size())));
  t.how = harms[s.below(harms.size())];
  t.offender = static_cast<int>(s.below(static_cast<std::uint64_t>(t.p())));
  t.call = static_cast<int>(s.any_size(12));
  t.n = static_cast<int>(t.how == harm::exception ? s.below(4) : static_cast<std::uint64_t>(s.any_size(3000)));
  t.by_clock = t.how != harm::exit && t.how != harm::exception && s.one_in(3);
  t.microseconds = 1 + static_cast<int>(s.any_size(20000));
  t.asleep = s.between(20, 400);
  t.revokes = s.one_in(2);
  return t;
}

/// The trial's call of that number, or, from 1000 on, one of those that the others make afterwards.
inline hostile_recipe make_mortal_call(const trial& t, int number, int p) {
  hostile_recipe r = make_hostile_recipe(hash(t.seed, static_cast<std::uint64_t>(number)), p);
  r.harm = offence::none;
  constexpr count_t most = 20000;  // oversubscribed ranks
  if (r.most > most) r.most = most;
  if (t.how == harm::exception && number == t.call && (r.what == called::migration || r.what == called::sparse))
    r.harm = offence::thrown, r.offender = t.offender;
  return r;
}

inline std::string describe(const trial& t) {
  std::string text = harm_names.at(static_cast<std::size_t>(t.how));
  text +=
      " of rank " + std::to_string(t.offender) + " of " + std::to_string(t.p()) + " in call " + std::to_string(t.call);
  text += t.by_clock ? " after " + std::to_string(t.microseconds) + " us" : " at step " + std::to_string(t.n);
  return text + (t.revokes ? ", revoked" : "");
}

}  // namespace taquin::soak
