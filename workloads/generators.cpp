// The list of workloads: one function and one line each.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "base/sizes.hpp"
#include "workloads/workload.hpp"

namespace taquin::workloads {

namespace {

// One stream of numbers per rank. mt19937_64 is the same everywhere; the standard's distributions are not.
class random_stream {
 public:
  random_stream(std::uint64_t seed, int rank) : engine_(seed * 0x9e3779b97f4a7c15ULL + static_cast<unsigned>(rank)) {}
  /// 0 ≤ result < bound; the bias of the remainder is far below what a workload shows.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

 private:
  std::mt19937_64 engine_;
};

// Part `i` of `total` cut into `parts` that differ by one byte at most.
count_t part(count_t total, count_t parts, count_t i) { return total / parts + (i < total % parts ? 1 : 0); }

// The first `chosen` entries are a random choice in random order.
void shuffle(std::vector<int>& ranks, std::size_t chosen, random_stream& random) {
  for (std::size_t i = 0; i < chosen; ++i) std::swap(ranks[i], ranks[i + random.below(ranks.size() - i)]);
}

count_t uniform(const problem_size& s, double, int, int) {
  return s.bytes == 0 ? 0 : std::max<count_t>(s.bytes / s.ranks, 1);
}

void random(const problem_size& s, double, int from, std::span<count_t> row) {
  random_stream stream(s.seed, from);
  std::vector<count_t> cuts(row.size() + 1);
  for (auto& cut : cuts) cut = static_cast<count_t>(stream.below(static_cast<std::uint64_t>(s.bytes) + 1));
  cuts.front() = 0;
  cuts.back() = s.bytes;
  std::ranges::sort(cuts);
  for (std::size_t to = 0; to < row.size(); ++to) row[to] = cuts[to + 1] - cuts[to];
}

void zipf(const problem_size& s, double exponent, int from, std::span<count_t> row) {
  random_stream stream(s.seed, from);
  std::vector<int> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, order.size(), stream);
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += std::pow(static_cast<double>(i + 1), -exponent);
  count_t left = s.bytes;
  for (std::size_t i = row.size(); i-- > 1;) {  // the largest last: it compensates the rounding
    const double share = std::pow(static_cast<double>(i + 1), -exponent) / sum;
    const auto bytes = std::min(left, static_cast<count_t>(share * static_cast<double>(s.bytes)));
    row[detail::as_size(order[i])] = bytes;
    left -= bytes;
  }
  row[detail::as_size(order[0])] = left;
}

// Equal parts to `chosen` random other ranks; a rank that is alone sends to itself.
void to_random_others(const problem_size& s, double peers, int from, random_stream& stream, std::span<count_t> row) {
  std::vector<int> others;
  for (int to = 0; to < s.ranks; ++to)
    if (to != from || s.ranks == 1) others.push_back(to);
  const auto chosen = static_cast<std::size_t>(std::min(peers, static_cast<double>(others.size())));
  shuffle(others, chosen, stream);
  for (std::size_t i = 0; i < chosen; ++i)
    row[detail::as_size(others[i])] = part(s.bytes, static_cast<count_t>(chosen), static_cast<count_t>(i));
}

void sparse(const problem_size& s, double peers, int from, std::span<count_t> row) {
  random_stream stream(s.seed, from);
  to_random_others(s, peers, from, stream, row);
}

// A rank has at least k peers with probability k^(1 - exponent).
void powerlaw(const problem_size& s, double exponent, int from, std::span<count_t> row) {
  random_stream stream(s.seed, from);
  const double chance = static_cast<double>(stream.below(1U << 20U) + 1) / (1U << 20U);
  to_random_others(s, std::floor(std::pow(chance, -1 / (exponent - 1))), from, stream, row);
}

count_t all_to_one(const problem_size& s, double, int from, int to) { return to == 0 && from != 0 ? s.bytes : 0; }

// With two ranks both neighbours are the same one.
count_t ring(const problem_size& s, double, int from, int to) {
  const int next = (from + 1) % s.ranks;
  const int last = (from + s.ranks - 1) % s.ranks;
  if (next == last) return to == next && to != from ? s.bytes : 0;
  return to == next ? part(s.bytes, 2, 0) : (to == last ? part(s.bytes, 2, 1) : 0);
}

count_t shift(const problem_size& s, double distance, int from, int to) {
  const auto k = static_cast<count_t>(distance) % s.ranks;
  return (from + k + s.ranks) % s.ranks == to ? s.bytes : 0;
}

// Byte j of rank i goes to rank (m·i + j) mod p, m bytes being on each rank.
count_t transpose(const problem_size& s, double, int from, int to) {
  const count_t first = (s.bytes % s.ranks) * from % s.ranks;  // where byte 0 goes
  return part(s.bytes, s.ranks, (to - first + s.ranks) % s.ranks);
}

count_t one_empty(const problem_size& s, double, int from, int to) {
  if (from == 0 || from == to) return 0;
  return part(s.bytes, s.ranks - 1, to < from ? to : to - 1);
}

// Nine tenths for ranks 0 to k−1, the rest for the others.
count_t hot(const problem_size& s, double receivers, int, int to) {
  const auto k = static_cast<count_t>(std::min(receivers, static_cast<double>(s.ranks)));
  if (k == s.ranks) return part(s.bytes, k, to);
  const count_t cool = s.bytes / 10;
  return to < k ? part(s.bytes - cool, k, to) : part(cool, s.ranks - k, to - k);
}

count_t empty(const problem_size&, double, int, int) { return 0; }

count_t self(const problem_size& s, double, int from, int to) { return from == to ? s.bytes : 0; }

constexpr double any = -1e9;

constexpr std::array all{
    generator{.name = "uniform",
              .parameter = "",
              .summary = "the same to every rank: bytes / ranks, at least 1",
              .block = uniform},
    generator{.name = "random",
              .parameter = "",
              .summary = "each rank's bytes cut at random points (Hofmann & Rünger §4)",
              .row = random},
    generator{.name = "zipf",
              .parameter = "[s]",
              .summary = "block sizes by Zipf's law, in random order; s = 1",
              .fallback = 1,
              .whole = false,
              .row = zipf},
    generator{.name = "sparse",
              .parameter = "k",
              .summary = "equal parts to k random other ranks",
              .least = 1,
              .row = sparse},
    generator{.name = "powerlaw",
              .parameter = "[s]",
              .summary = "equal parts to random other ranks; few ranks have many peers, by a power law; s = 2",
              .fallback = 2,
              .least = 1.1,
              .whole = false,
              .row = powerlaw},
    generator{.name = "ring", .parameter = "", .summary = "half to each neighbour in a ring of ranks", .block = ring},
    generator{.name = "all_to_one",
              .parameter = "",
              .summary = "everything to rank 0, which sends nothing",
              .block = all_to_one},
    generator{.name = "shift",
              .parameter = "[k]",
              .summary = "everything to rank + k; k = 1",
              .fallback = 1,
              .least = any,
              .block = shift},
    generator{.name = "transpose",
              .parameter = "",
              .summary = "byte j of rank i to rank (m·i + j) mod p (Siegel & Siegel, fifth experiment)",
              .block = transpose},
    generator{.name = "one_empty",
              .parameter = "",
              .summary = "rank 0 has nothing, the others send equal parts to all others (fourth experiment)",
              .block = one_empty},
    generator{.name = "hot",
              .parameter = "k",
              .summary = "nine tenths of all bytes go to ranks 0 to k-1",
              .least = 1,
              .block = hot},
    generator{.name = "empty", .parameter = "", .summary = "nothing at all", .block = empty},
    generator{.name = "self", .parameter = "", .summary = "every rank to itself", .block = self},
};

}  // namespace

std::span<const generator> generators() noexcept { return all; }

}  // namespace taquin::workloads
