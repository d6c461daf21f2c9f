// A thread's stream of random problems on a communicator of its own, its parts and its orders.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "soak/exchanges.hpp"
#include "soak/redistributions.hpp"
#include "soak/sparse_exchanges.hpp"

namespace taquin::soak {

struct settings {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;                                             ///< number of the first problem
  std::uint64_t problems = std::numeric_limits<std::uint64_t>::max();  ///< how many at most
  double seconds = std::numeric_limits<double>::infinity();
  double timeout = 120;  ///< seconds without an end of a problem
  double status = 60;    ///< seconds between two lines about the state
  int threads = 1;
  bool any_order = false;       ///< started plans are waited for in another order on each rank
  bool in_flight = false;       ///< after each problem: no more unexpected messages than `in_flight` permits
  std::vector<int> simplified;  ///< simplifications of each problem, by number: to find out what a hang needs
  bool shows = false;           ///< prints each problem
};

class worker {
 public:
  /// Collective over `base`, which is the caller's.
  worker(MPI_Comm base, const settings& s, std::uint64_t stream, progress& at);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() { drop_epoch(); }

  /// Runs problems until there are enough of them. Collective.
  void run();
  [[nodiscard]] const tally& sum() const noexcept { return sum_; }
  [[nodiscard]] int failures() const noexcept { return failures_; }

 private:
  struct part {
    MPI_Comm comm = MPI_COMM_NULL;  // null where this rank is not in it
    int rank = 0;
    int size = 0;
    std::uint64_t group = 0;  // of several that the call made
  };
  struct kept_plan {
    bool made = false;
    const part* where = nullptr;
    recipe what;
    buffers data;
    std::optional<plan> p;
  };
  struct flight {
    turn where;
    recipe what;
    buffers data;
    std::optional<plan> p;
  };

  void begin_epoch(std::uint64_t number);
  void drop_epoch();
  void add_part(int color, int key);
  const part& pick_part(source& s) const;
  turn turn_on(const part& where);
  recipe recipe_for(std::uint64_t seed, const part& where) const;
  void show(const std::string& what, const part& where) const;
  void count_problem(int kind, const turn& t);
  void permit(int in_flight, int ranks, int more);
  void permit(const recipe& r, int more = 0);
  std::string flood() const;

  std::string problem(std::uint64_t index);
  std::string exchange_problem(std::uint64_t seed, const part& where);
  std::string short_lived(std::uint64_t seed, const part& where);
  std::string block_problem(std::uint64_t seed, const part& where);
  std::string checked_problem(std::uint64_t seed, const part& where);
  std::string sparse_problem(std::uint64_t seed, const part& where);
  std::string plans_in_flight(std::uint64_t seed);
  std::string complete_all(source& s, std::uint64_t seed, std::uint64_t round, int n);
  std::string kept_problem(std::uint64_t seed, std::uint64_t index);
  bool make_kept(kept_plan& k, std::size_t number);

  bool any_rank(bool mine) const;
  void report(std::uint64_t index, const std::string& fault);
  template <class Recipe, class Run>
  std::string shrink(Recipe r, int ways, Run run);

  MPI_Comm base_;
  const settings& settings_;
  std::uint64_t seed_;
  progress& at_;
  int rank_ = 0;
  int size_ = 1;
  std::uint64_t epoch_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<part> parts_;
  std::array<kept_plan, 4> kept_;
  std::array<flight, 4> flights_;
  buffers data_;
  block_arrays blocks_;
  sparse_arrays sparse_;
  tally sum_;
  int failures_ = 0;
  std::int64_t permitted_ = 0;  // unexpected messages permitted in this problem
  double begin_ = 0;
};

/// Prints what all ranks have done. Collective over MPI_COMM_WORLD.
void print_totals(const tally& mine, double seconds, bool short_form);

}  // namespace taquin::soak
