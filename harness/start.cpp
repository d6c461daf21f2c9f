#include "harness/start.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

#include "harness/errors.hpp"
#include "mpi/check.hpp"

namespace taquin::harness {

namespace {

constexpr double usual_delay = 1e-4;

double parse_time(const std::string& text, const std::string& whole) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit == "ns" ? 1e-9 : unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : 0;
  constexpr double most = 10;
  if (error != std::errc{} || scale == 0 || value < 0 || value * scale > most)
    throw usage(fmt::format("--arrival {}: '{}' is no time up to 10 s, such as 50us or 1ms", whole, text));
  return value * scale;
}

void wait_until(double moment) {
  while (MPI_Wtime() < moment) sched_yield();
}

}  // namespace

sync_by parse_sync(const std::string& text) {
  if (text == "barrier") return sync_by::barrier;
  if (text == "window") return sync_by::window;
  throw usage(fmt::format("--sync {}: known are barrier and window", text));
}

arrival arrival::parse(const std::string& text) {
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text == "together") return {};
  if (name == "random" || name == "sorted")
    return {name == "random" ? pattern::random : pattern::sorted, 0,
            colon == std::string::npos ? usual_delay : parse_time(rest, text)};
  if (name == "last" && !rest.empty()) {
    arrival a{pattern::last, 0, usual_delay};
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), a.rank);
    const std::string after(end, rest.data() + rest.size());
    if (error != std::errc{} || a.rank < 0 || (!after.empty() && after[0] != ':'))
      throw usage(fmt::format("--arrival {}: last:RANK or last:RANK:TIME", text));
    if (!after.empty()) a.delay = parse_time(after.substr(1), text);
    return a;
  }
  throw usage(fmt::format("--arrival {}: known are together, random:50us, last:3 and sorted", text));
}

double arrival::of(int one, int ranks, int repetition, std::uint64_t seed) const {
  switch (how) {
    case pattern::together:
      return 0;
    case pattern::last:
      return one == rank ? delay : 0;
    case pattern::sorted:
      return ranks > 1 ? delay * one / (ranks - 1) : 0;
    case pattern::random:
      break;
  }
  const auto number = [](int n) { return static_cast<std::uint32_t>(n); };
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U), number(repetition),
                      number(one)};
  std::array<std::uint32_t, 1> value{};
  seeds.generate(value.begin(), value.end());
  return delay * value[0] / 4294967296.0;
}

double arrival::latest(int ranks, int repetition, std::uint64_t seed) const {
  double most = 0;
  for (int one = 0; one < ranks; ++one) most = std::max(most, of(one, ranks, repetition, seed));
  return most;
}

double offset_of(const round_trip* trips, int count) {
  const auto* best = std::min_element(trips, trips + count,
                                      [](const auto& a, const auto& b) { return a.back - a.left < b.back - b.left; });
  return best->there - (best->left + best->back) / 2;
}

starter::starter(sync_by by, const arrival& when, std::uint64_t seed) : by_(by), when_(when), seed_(seed) {
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks_));
  if (when.how == arrival::pattern::last && when.rank >= ranks_)
    throw usage(fmt::format("--arrival last:{}: there are {} ranks", when.rank, ranks_));
  if (by == sync_by::barrier) return;
  constexpr int times = 50;
  constexpr int tag = 1;
  for (int other = 1; other < ranks_; ++other) {
    if (rank_ != 0 && rank_ != other) continue;
    std::array<round_trip, times> trips{};
    for (round_trip& t : trips) {
      double clock = 0;
      t.left = MPI_Wtime();
      if (rank_ == 0) {
        TAQUIN_MPI(MPI_Send(&clock, 1, MPI_DOUBLE, other, tag, MPI_COMM_WORLD));
        TAQUIN_MPI(MPI_Recv(&t.there, 1, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      } else {
        TAQUIN_MPI(MPI_Recv(&clock, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        clock = MPI_Wtime();
        TAQUIN_MPI(MPI_Send(&clock, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD));
      }
      t.back = MPI_Wtime();
    }
    double offset = offset_of(trips.data(), times);
    if (rank_ == 0) {
      TAQUIN_MPI(MPI_Send(&offset, 1, MPI_DOUBLE, other, tag, MPI_COMM_WORLD));
    } else {
      TAQUIN_MPI(MPI_Recv(&offset_, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  }
}

double starter::start() {
  double moment = 0;
  if (by_ == sync_by::window) {
    moment = MPI_Wtime() + ahead_;
    TAQUIN_MPI(MPI_Bcast(&moment, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    moment += offset_;
    if (MPI_Wtime() > moment) late_ = 1;
  } else {
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    moment = MPI_Wtime();
  }
  if (by_ == sync_by::barrier && together()) return moment;
  wait_until(moment + when_.of(rank_, ranks_, repetition_, seed_));
  return moment + when_.latest(ranks_, repetition_, seed_);
}

bool starter::missed() {
  if (by_ == sync_by::barrier) return false;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &late_, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  const bool any = late_ != 0;
  late_ = 0;
  constexpr double most = 0.1;
  if (any) ahead_ = std::min(2 * ahead_, most);
  return any;
}

}  // namespace taquin::harness
