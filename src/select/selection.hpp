// Which algorithm: the least predicted time among those that serve the problem within the memory allowed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "exchange/shape.hpp"
#include "select/hardware.hpp"
#include "taquin/cost_model.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// As profiles name it.
constexpr std::string_view name_of(exchange::form f) noexcept {
  constexpr std::array<std::string_view, 3> names{"alltoall", "alltoallv", "alltoallw"};
  return names[static_cast<std::size_t>(f)];
}

/// One measured time of one algorithm, from `taquin tune`.
struct measured_point {
  std::string algorithm;
  int ranks = 1;
  exchange::form kind = exchange::form::alltoallv;
  bool in_place = false;
  bool symmetric = true;
  bool reused = false;  ///< start and wait of a plan, rather than a blocking call
  int skew = 0;         ///< skew_of its shape
  double bytes = 0;     ///< of the rank that sends or receives most
  seconds time = 0;
  seconds predicted = 0;  ///< by the model when it was measured, for drawings; 0: not known
  seconds low = 0;        ///< 95% interval of the time; 0 and 0: not known
  seconds high = 0;
};

/// The algorithm for some calls, whatever the model predicts. Only the given members narrow a rule.
struct rule {
  std::string algorithm;
  std::optional<exchange::form> kind{};
  std::optional<bool> in_place{};
  std::optional<bool> reused{};  ///< plans, or blocking calls
  int ranks = 0;                 ///< of the communicator; 0: any
  int nodes = 0;                 ///< that they are on; 0: any
  double least_bytes = 0;        ///< of the rank that sends or receives most
  double most_bytes = std::numeric_limits<double>::infinity();
  /// The preloaded library's: a function, or FILE:LINE, where the program calls.
  std::string site{};
};

/// Median errors above this are a poor fit: predictions mean little then.
inline constexpr double poor_fit = 0.25;

/// The distance of a fitted model from the messages that it was fitted to: relative errors of their times.
struct fit_quality {
  model_kind kind = model_kind::loggp;
  int level = 0;  ///< 0 within a node, 1 between nodes
  double median = 0;
  double p90 = 0;
};

/// The knowledge of a machine: a model of its parts, and whole exchanges that were measured on it.
struct profile {
  machine_model model = machine_model::built_in();
  std::vector<measured_point> points;
  std::vector<rule> rules{};  ///< the first that fits counts
  std::vector<fit_quality> fits{};
  hardware made_on{};  ///< of older profiles unknown
  bool given = false;  ///< it was read from a file; otherwise the built-in model is used
};

/// Sets in the model that `on_node` ranks share `cores` cores, and, unless it was measured, the cost of waiting then.
void share_cores(machine_model& m, int on_node, int cores) noexcept;

/// How uneven blocks are: 0 all equal, 1 largest below 4 times the mean, 2 more (sparse, or a few large blocks).
int skew_of(const shape& s) noexcept;

/// The step of a blocking call has carried the small blocks of `a`.
bool piggybacked_on_agreement(const algorithm& a, const shape& s) noexcept;

/// The time of one exchange with `a`. Where this algorithm was measured on as many ranks with a problem of the same
/// kind and skew, between the nearest sizes (linear in the logarithms; beyond the ends the model's growth); otherwise
/// by the algorithm's closed formulas. The agreement of a blocking call is in no prediction: all pay it.
seconds predict(const algorithm& a, const shape& s, const options& o, bool reused, const profile& p);

/// An algorithm as selection sees it.
struct candidate {
  const algorithm* what = nullptr;
  bool supported = false;
  std::size_t memory = 0;  ///< scratch bytes of the algorithm
  seconds time = 0;        ///< by which it is compared
  bool measured = false;   ///< the time is from measured points
  seconds predicted = 0;   ///< by the closed formulas, measured or not
};

/// All algorithms of the list, in its order. Where some that serve the problem have been measured, those that have not
/// are not candidates for selection: their predictions do not compare.
std::vector<candidate> candidates(const shape& s, const options& o, bool reused, const profile& p);

/// Those that serve within `limit` bytes, by ascending time; ties in the order of the list.
/// `step`, or null, has its memory already.
std::vector<const algorithm*> ranking(const shape& s, const options& o, bool reused, std::size_t limit,
                                      const profile& p, const algorithm* step = nullptr);

/// The rules with a site that are for this thread's calls meanwhile, by their numbers in the profile's list; without
/// one of these no such rule fits. Ranks agree on them.
class calls_from {
 public:
  explicit calls_from(std::span<const int> rules) noexcept;
  calls_from(const calls_from&) = delete;
  calls_from& operator=(const calls_from&) = delete;
  ~calls_from();

  static std::span<const int> rules() noexcept;

 private:
  std::span<const int> before_;
};

/// The algorithm of the first rule that fits the shape and serves it within `limit` bytes; null if there is none. A
/// plan that the MPI library must complete gets none that it cannot.
const algorithm* ruled(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p,
                       const algorithm* step = nullptr);

/// A rule's algorithm; else the best of the candidates that need at most `limit` bytes; ties go by the order of the
/// list. Null when none serves. When all that serve need more, the one that needs least.
const algorithm* select(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p);

/// The decision of `auto`.
struct decision {
  enum class reason : std::uint8_t { step, rule, time, least_memory };

  const algorithm* what = nullptr;   ///< null: none serves
  const algorithm* rival = nullptr;  ///< not null: calls are timed, with both in turn, and the faster one stays
  reason why = reason::time;
};

/// The choice of `auto`; calls and `taquin explain` both ask this. `step` is the algorithm of the collective step to
/// which all ranks bring their blocks in a blocking call, or null where the call has no such step.
decision decide(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p,
                const algorithm* step);

/// A plan in which no rank has data for another: it must not make ranks wait. `moves`: one has.
bool stays_local(const shape& s, bool reused, bool moves) noexcept;

/// The key by which a choice is remembered: the shape with its sizes to a quarter of an octave, the options that costs
/// depend on, and the limit.
std::uint64_t choice_key(const shape& s, const options& o, bool reused, std::size_t limit);

}  // namespace taquin::detail
