#include "soak/worker.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/in_flight.hpp"
#include "in_flight/layer.hpp"

namespace taquin::soak {

namespace {

constexpr std::uint64_t epoch_length = 16384;  // problems between two sets of communicators
constexpr std::uint64_t batch = 64;            // problems between two looks at the other ranks
constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
constexpr int most_failures = 5;
constexpr int most_block_messages = 16;  // of a redistribution, that a rank has requested
constexpr int most_notices = 16;         // of a sparse exchange

enum class kind : std::uint8_t { exchange, short_lived, plans, blocks, checked, sparse, kept };

// Of 1000 problems, by a number that is drawn for each.
kind kind_of(std::uint64_t drawn) {
  if (drawn < 480) return kind::exchange;
  if (drawn < 482) return kind::short_lived;
  if (drawn < 560) return kind::plans;
  if (drawn < 680) return kind::blocks;
  if (drawn < 690) return kind::checked;
  return drawn < 760 ? kind::sparse : kind::kept;
}

}  // namespace

worker::worker(MPI_Comm base, const settings& s, std::uint64_t stream, progress& at)
    : base_(base), settings_(s), seed_(stream == 0 ? s.seed : hash(s.seed, stream)), at_(at) {
  MPI_Comm_rank(base, &rank_);
  MPI_Comm_size(base, &size_);
}

void worker::add_part(int color, int key) {
  part made;
  MPI_Comm_split(base_, color, key, &made.comm);
  if (made.comm != MPI_COMM_NULL) {
    MPI_Comm_rank(made.comm, &made.rank);
    MPI_Comm_size(made.comm, &made.size);
  }
  made.group = static_cast<std::uint64_t>(color == MPI_UNDEFINED ? 0 : color);
  parts_.push_back(made);
}

// The communicators of many problems: the base, other orders of it, and parts that overlap.
void worker::begin_epoch(std::uint64_t number) {
  drop_epoch();
  epoch_ = number;
  at_.doing = "communicators";
  const std::uint64_t h = hash(seed_, number, 11);
  const auto of_rank = [&](std::uint64_t what, std::uint64_t n) {
    return static_cast<int>(hash(h, static_cast<std::uint64_t>(rank_), what) % n);
  };
  parts_.push_back({base_, rank_, size_, 0});
  add_part(0, -rank_);
  add_part(0, of_rank(1, 1000));
  add_part(rank_ % 2, of_rank(2, 1000));
  add_part(of_rank(3, 3), rank_);
  add_part(rank_ == size_ - 1 && size_ > 1 ? MPI_UNDEFINED : 0, rank_);
  add_part(rank_ == 0 && size_ > 1 ? MPI_UNDEFINED : 0, -rank_);
}

void worker::drop_epoch() {
  const bool plans_first = epoch_ % 2 == 0;  // they may outlive their communicator
  for (int step = 0; step < 2; ++step) {
    if ((step == 0) == plans_first)
      for (auto& k : kept_) k.p.reset(), k.made = false;
    else
      for (std::size_t i = 1; i < parts_.size(); ++i)
        if (parts_[i].comm != MPI_COMM_NULL) MPI_Comm_free(&parts_[i].comm);
  }
  parts_.clear();
}

const worker::part& worker::pick_part(source& s) const {
  return parts_[s.below(5) < 3 ? s.below(3) : s.below(parts_.size())];
}

turn worker::turn_on(const part& where) { return {where.comm, where.rank, where.size, &at_, &sum_}; }

void worker::show(const std::string& what, const part& where) const {
  if (where.rank == 0) fmt::print(stderr, "{}\n", what);
}

recipe worker::recipe_for(std::uint64_t seed, const part& where) const {
  recipe r = make_recipe(hash(seed, where.group), where.size);
  for (const int way : settings_.simplified) simplify(r, way);
  if (settings_.shows) show(describe(r), where);
  return r;
}

void worker::count_problem(int kind, const turn& t) {
  if (t.rank == 0) ++sum_.problems[static_cast<std::size_t>(kind)][static_cast<std::size_t>(t.size)];
}

// A call's own messages, those of two agreements, one of them of a call that a faster rank makes next, and `more`.
void worker::permit(int in_flight, int ranks, int more) {
  const int agreement = 7 * std::bit_width(static_cast<unsigned>(ranks - 1));
  permitted_ += std::max(detail::in_flight_bound(in_flight), ranks - 1) + 2 * std::min(agreement, ranks - 1) + more;
}

// In place there are requests for data beside the data.
void worker::permit(const recipe& r, int more) {
  const int requested = r.choices.in_flight;
  permit(requested, r.p, more + (r.in_place ? std::max(detail::in_flight_bound(requested), r.p - 1) : 0));
}

std::string worker::flood() const {
  MPI_Barrier(base_);
  const std::int64_t seen = test::flood::now().unexpected;
  return seen <= permitted_ ? std::string() : fmt::format("{} messages came unasked, {} may", seen, permitted_);
}

std::string worker::exchange_problem(std::uint64_t seed, const part& where) {
  if (where.comm == MPI_COMM_NULL) return {};
  const turn t = turn_on(where);
  const recipe r = recipe_for(seed, where);
  permit(r);
  count_problem(tally::kind_of(r), t);
  return run_exchange(r, t, data_);
}

std::string worker::short_lived(std::uint64_t seed, const part& where) {
  if (where.comm == MPI_COMM_NULL) return {};
  part copy = where;
  at_.doing = "duplicate";
  MPI_Comm_dup(where.comm, &copy.comm);
  std::string fault = exchange_problem(seed, copy);
  at_.doing = "free";
  MPI_Comm_free(&copy.comm);
  return fault;
}

std::string worker::block_problem(std::uint64_t seed, const part& where) {
  if (where.comm == MPI_COMM_NULL) return {};
  const turn t = turn_on(where);
  const block_recipe r = make_block_recipe(hash(seed, where.group), where.size);
  if (settings_.shows) show(describe(r), where);
  permit(0, where.size, most_block_messages);
  count_problem(r.migrates ? tally::migration : tally::redistribution, t);
  return blocks_.run(r, t);
}

std::string worker::checked_problem(std::uint64_t seed, const part& where) {
  if (where.comm == MPI_COMM_NULL) return {};
  const turn t = turn_on(where);
  count_problem(tally::checked, t);
  const recipe r = recipe_for(seed, where);
  permit(r, where.size - 1);  // counts are compared
  return run_checked(r, t, data_);
}

std::string worker::sparse_problem(std::uint64_t seed, const part& where) {
  if (where.comm == MPI_COMM_NULL) return {};
  const turn t = turn_on(where);
  const sparse_recipe r = make_sparse_recipe(hash(seed, where.group), where.size);
  if (settings_.shows) show(describe(r), where);
  permit(r.in_flight, where.size, most_notices + std::max(detail::in_flight_bound(r.in_flight), where.size - 1));
  count_problem(tally::sparse, t);
  return sparse_.run(r, t);
}

// Several plans, on communicators that may overlap, are made and started in one order.
std::string worker::plans_in_flight(std::uint64_t seed) {
  source s(seed);
  const int n = s.between(2, static_cast<int>(flights_.size()));
  const int rounds = s.between(1, 3);
  for (int i = 0; i < n; ++i) {
    flight& f = flights_[static_cast<std::size_t>(i)];
    const part& where = pick_part(s);
    f.where = turn_on(where);
    f.p.reset();
    if (where.comm == MPI_COMM_NULL) continue;
    f.what = recipe_for(hash(seed, 20, static_cast<std::uint64_t>(i)), where);
    f.what.memory = limit::none;
    f.data.prepare(f.what, where.rank);
    at_.doing = "plan";
    count_problem(tally::kind_of(f.what), f.where);
    permit(f.what);
    try {
      f.p.emplace(f.data.given(where.comm), options_of(f.what));
    } catch (const usage_error& e) {
      if (e.mpi_class() != MPI_ERR_UNSUPPORTED_OPERATION || !e.collective()) throw;
      ++sum_.refused;
    }
  }
  std::string fault;
  for (int round = 0; round < rounds && fault.empty(); ++round) {
    at_.doing = "start";
    for (int i = 0; i < n; ++i) {
      flight& f = flights_[static_cast<std::size_t>(i)];
      if (f.p) start(*f.p, f.data, static_cast<std::uint64_t>(round * 8 + i));
      if (f.what.delays) delay(seed, rank_, 50 + round * 8 + i);
    }
    fault = complete_all(s, seed, static_cast<std::uint64_t>(round), n);
  }
  for (int i = 0; i < n; ++i) flights_[static_cast<std::size_t>(i)].p.reset();
  return fault;
}

// By waiting in one order, or by testing all in an order of this rank's own.
std::string worker::complete_all(source& s, std::uint64_t seed, std::uint64_t round, int n) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  const bool tests = s.one_in(2);
  source own(hash(seed, static_cast<std::uint64_t>(rank_) + 100, round));
  source& how = tests || settings_.any_order ? own : s;
  for (std::size_t i = static_cast<std::size_t>(n) - 1; i > 0; --i) std::swap(order[i], order[how.below(i + 1)]);
  const std::span<const std::size_t> all(order.data(), static_cast<std::size_t>(n));
  at_.doing = tests ? "test all" : "wait for all";
  for (bool done = false; tests && !done;) {
    done = true;
    for (const std::size_t i : all)
      if (flights_[i].p) done = flights_[i].p->test() && done;
    if (!done) sched_yield();
  }
  std::string fault;
  for (const std::size_t i : all) {
    flight& f = flights_[i];
    if (!f.p) continue;
    f.p->wait();
  }
  at_.doing = "compare";
  for (const std::size_t i : all) {
    flight& f = flights_[i];
    if (!f.p) continue;
    if (f.where.rank == 0) ++sum_.exchanges, ++sum_.in_flight;
    const std::size_t wrong = f.data.wrong();
    sum_.wrong_bytes += wrong;
    if (wrong > 0) fault += fmt::format("{} wrong bytes, plan {} of {} in flight: {}\n", wrong, i, n, describe(f.what));
  }
  return fault;
}

bool worker::make_kept(kept_plan& k, std::size_t number) {
  k.where = &parts_[number % parts_.size()];
  if (k.where->comm == MPI_COMM_NULL) return false;
  k.what = recipe_for(hash(seed_, epoch_, number + 30), *k.where);
  k.what.memory = limit::none;
  k.data.prepare(k.what, k.where->rank);
  permit(k.what);
  at_.doing = "kept plan made";
  try {
    k.p.emplace(k.data.given(k.where->comm), options_of(k.what));
  } catch (const usage_error& e) {
    if (e.mpi_class() != MPI_ERR_UNSUPPORTED_OPERATION || !e.collective()) throw;
    ++sum_.refused;
  }
  return k.p.has_value();
}

// A start of a plan that lives long.
std::string worker::kept_problem(std::uint64_t seed, std::uint64_t index) {
  const std::size_t number = seed % kept_.size();
  kept_plan& k = kept_[number];
  if (!k.made) {
    k.made = true;
    make_kept(k, number);
  }
  if (!k.p) return {};
  const turn t = turn_on(*k.where);
  count_problem(tally::kind_of(k.what), t);
  permit(k.what);
  const bool late = hash(seed, 31) % 4 == 0;
  if (late) delay(seed, rank_, 60);
  at_.doing = "kept plan started";
  start(*k.p, k.data, index);
  if (late) delay(seed, rank_, 61);
  at_.doing = "kept plan completed";
  complete(*k.p, hash(seed, 32) % 2 == 0);
  at_.doing = "compare";
  if (t.rank == 0) ++sum_.exchanges, ++sum_.kept;
  const std::size_t wrong = k.data.wrong();
  sum_.wrong_bytes += wrong;
  return wrong == 0 ? std::string() : fmt::format("{} wrong bytes, kept plan {}: {}", wrong, number, describe(k.what));
}

std::string worker::problem(std::uint64_t index) {
  if (index / epoch_length != epoch_) begin_epoch(index / epoch_length);
  source s(hash(seed_, index));
  const kind what = kind_of(s.below(1000));
  const std::uint64_t seed = s.next();
  const part& where = pick_part(s);
  if (what == kind::exchange) return exchange_problem(seed, where);
  if (what == kind::short_lived) return short_lived(seed, where);
  if (what == kind::plans) return plans_in_flight(seed);
  if (what == kind::blocks) return block_problem(seed, where);
  if (what == kind::checked) return checked_problem(seed, where);
  if (what == kind::sparse) return sparse_problem(seed, where);
  return kept_problem(seed, index);
}

bool worker::any_rank(bool mine) const {
  int any = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, base_);
  return any != 0;
}

template <class Recipe, class Run>
std::string worker::shrink(Recipe r, int ways, Run run) {
  bool mine = !run(r).empty();
  if (!any_rank(mine)) return "alone it does not fail: " + describe(r);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int way = 0; way < ways; ++way) {
      Recipe simple = r;
      if (!any_rank(simplify(simple, way))) continue;
      const bool fails = !run(simple).empty();
      if (!any_rank(fails)) continue;
      r = simple;
      mine = fails;
      smaller = true;
    }
  }
  return mine ? "shrunk to: " + describe(r) : std::string();
}

// Says what was wrong, how to repeat it, and the simplest problem that is still wrong.
void worker::report(std::uint64_t index, const std::string& fault) {
  ++failures_;
  if (!fault.empty())
    fmt::print(stderr,
               "soak: rank {} of {}: {}\n  repeat: --seed {} --first {} --problems 1; all before it: --first {}\n",
               rank_, size_, fault, seed_, index, index / epoch_length * epoch_length);
  source s(hash(seed_, index));
  const kind what = kind_of(s.below(1000));
  const std::uint64_t seed = s.next();
  const part& where = pick_part(s);
  const turn t = turn_on(where);
  const bool here = where.comm != MPI_COMM_NULL;
  std::string shrunk;
  if (what == kind::exchange || what == kind::short_lived)
    shrunk = shrink(here ? recipe_for(seed, where) : recipe{}, simplifications,
                    [&](const recipe& r) { return here ? run_exchange(r, t, data_) : std::string(); });
  else if (what == kind::blocks)
    shrunk = shrink(make_block_recipe(hash(seed, where.group), std::max(where.size, 1)), block_simplifications,
                    [&](const block_recipe& r) { return here ? blocks_.run(r, t) : std::string(); });
  else if (what == kind::sparse)
    shrunk = shrink(make_sparse_recipe(hash(seed, where.group), std::max(where.size, 1)), sparse_simplifications,
                    [&](const sparse_recipe& r) { return here ? sparse_.run(r, t) : std::string(); });
  if (!shrunk.empty()) fmt::print(stderr, "soak: rank {}: {}\n", rank_, shrunk);
}

void worker::run() {
  const double begin = MPI_Wtime();
  double reported = begin;
  std::uint64_t failed = none;
  std::string fault;
  for (std::uint64_t i = settings_.first; i - settings_.first < settings_.problems;) {
    at_.problem = i;
    std::string mine;
    permitted_ = 0;
    if (settings_.in_flight) test::flood::begin();
    try {
      mine = problem(i);
    } catch (const std::exception& e) {
      const auto* known = dynamic_cast<const error*>(&e);
      if (known == nullptr || !known->collective()) {  // what the other ranks do now is not known
        fmt::print(stderr, "soak: rank {}: --seed {} --first {}: {}\n", rank_, seed_, i, at_.doing.load());
        throw;
      }
      mine = e.what();
    }
    if (settings_.in_flight) mine += flood();
    if (!mine.empty() && failed == none) {
      failed = i;
      fault = mine;
    }
    ++i;
    const bool last = i - settings_.first == settings_.problems;
    if (!last && i % batch != 0) continue;
    at_.doing = "between problems";
    const double now = MPI_Wtime();
    std::array<std::uint64_t, 3> all{failed, now - begin > settings_.seconds ? 0U : 1U,
                                     now - reported > settings_.status ? 0U : 1U};
    MPI_Allreduce(MPI_IN_PLACE, all.data(), 3, MPI_UINT64_T, MPI_MIN, base_);
    if (all[0] != none) report(all[0], failed == all[0] ? fault : std::string());
    failed = none;
    if (all[2] == 0 && settings_.threads == 1) {
      print_totals(sum_, now - begin, true);
      reported = now;
    }
    if (all[1] == 0 || failures_ >= most_failures) break;
  }
  at_.doing = "end";
  drop_epoch();
}

}  // namespace taquin::soak
