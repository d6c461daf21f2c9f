#include "soak/redistributions.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstring>
#include <optional>

#include "support/problem.hpp"
#include "taquin/migrate.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::soak {

namespace {

using test::at;

constexpr std::size_t block_room = 64;

const layout_type& type_of(const block_recipe& r) { return all_types()[r.type].recv; }

std::uint64_t key_of(const block_recipe& r, int salt, int rank, int index) {
  return hash(r.seed + static_cast<std::uint64_t>(salt), static_cast<std::uint64_t>(rank),
              static_cast<std::uint64_t>(index));
}

}  // namespace

block_recipe make_block_recipe(std::uint64_t seed, int p) {
  static constexpr std::array<std::string_view, 5> algorithms{"auto", "slots", "basic_phases", "parking", "cyclic"};
  source s(seed);
  block_recipe r{.seed = seed, .p = p};
  r.most = s.between(0, s.one_in(40) ? 60 : 10);
  r.equal = s.one_in(2);
  r.live = s.one_in(2) ? 100 : s.between(0, 100);
  r.length = s.one_in(40) ? s.between(1, 2000) : s.between(0, 5);
  r.type = s.below(6);  // those whose data lie behind their origin
  r.algorithm = algorithms[s.below(algorithms.size())];
  r.least_progress = s.one_in(4) ? static_cast<double>(s.below(101)) / 100 : 0;
  r.check = !s.one_in(4);
  r.memory = s.one_in(3) ? static_cast<limit>(s.below(4)) : limit::none;
  r.starts = s.between(1, 3);
  r.tested = s.one_in(2);
  r.delays = s.one_in(4);
  r.beside = s.one_in(6) ? static_cast<company>(s.below(6)) : company::nothing;
  r.migrates = s.one_in(5);
  r.at_once = s.one_in(2);
  return r;
}

bool simplify(block_recipe& r, int way) {
  if (way < program_simplifications) return simplify_program(r, way);
  switch (way) {
    case 3:
      return changed(r.starts, 1);
    case 4:
      return changed(r.tested, false);
    case 5:
      return changed(r.check, true);
    case 6:
      return changed(r.least_progress, 0.0);
    case 7:
      return changed(r.type, std::size_t{0}) || changed(r.length, 1);
    case 8:
      return changed(r.live, 100);
    case 9:
      return changed(r.most, r.most / 2);
    case 10:
      return changed(r.at_once, false);
    default:
      return changed(r.equal, true);
  }
}

std::string describe(const block_recipe& r) {
  return fmt::format(
      "{} on {} ranks, algorithm {}, up to {} blocks{}, {}% live, {} elements of type {}, least_progress {}, check "
      "{},\n"
      "  memory {}, {} starts, {}, delays {}, beside {}",
      r.migrates ? "migration" : "redistribution", r.p, r.algorithm, r.most, r.equal ? " on each" : "", r.live,
      r.length, all_types()[r.type].name, r.least_progress, r.check, static_cast<int>(r.memory), r.starts,
      r.at_once ? "at once" : (r.tested ? "tested" : "waited"), r.delays, static_cast<int>(r.beside));
}

// Where each block of each rank goes, the same on all ranks.
void block_arrays::draw_map(const block_recipe& r, int salt) {
  source s(hash(r.seed, static_cast<std::uint64_t>(salt), 3));
  from_.clear();
  for (int rank = 0; rank < r.p; ++rank)
    for (int k = 0; k < sizes_[at(rank)]; ++k) from_.push_back({rank, k});
  to_ = from_;
  const auto n = from_.size() * static_cast<std::size_t>(r.live) / 100;
  for (auto* places : {&from_, &to_}) {
    for (std::size_t i = 0; i < n; ++i) std::swap((*places)[i], (*places)[i + s.below(places->size() - i)]);
    places->resize(n);
  }
}

void block_arrays::fill(const block_recipe& r, int rank, int salt, std::byte* image) {
  const layout_type& t = type_of(r);
  std::memset(image, static_cast<int>(guard), data_.size());
  for (int k = 0; k < sizes_[at(rank)]; ++k) {
    write_stream(key_of(r, salt, rank, k), row_.data(), r.length * t.size);
    scatter(t, row_.data(), image + block_room + k * r.length * t.extent, r.length);
  }
}

// The content of places that receive nothing is not specified; guards and gaps keep their values.
std::size_t block_arrays::wrong(const block_recipe& r, int rank, int salt) {
  const layout_type& t = type_of(r);
  const count_t block = r.length * t.extent;
  std::memset(image_.data(), static_cast<int>(guard), image_.size());
  for (int k = 0; k < sizes_[at(rank)]; ++k) {
    gather(t, data_.data() + block_room + k * block, row_.data(), r.length);
    scatter(t, row_.data(), image_.data() + block_room + k * block, r.length);
  }
  for (std::size_t k = 0; k < to_.size(); ++k) {
    if (to_[k].rank != rank) continue;
    write_stream(key_of(r, salt, from_[k].rank, from_[k].index), row_.data(), r.length * t.size);
    scatter(t, row_.data(), image_.data() + block_room + to_[k].index * block, r.length);
  }
  return differences(image_.data(), data_.data(), data_.size());
}

std::string block_arrays::redistribute(const block_recipe& r, const turn& t) {
  const layout_type& type = type_of(r);
  const int mine = sizes_[at(t.rank)];
  row_.resize(at(r.length) * static_cast<std::size_t>(type.size) + 8);
  data_.resize(2 * block_room + at(mine) * at(r.length) * static_cast<std::size_t>(type.extent));
  image_.resize(data_.size());
  std::string fault;
  std::optional<redistribution> made;
  const auto used = with_limit(
      r.memory, r.seed, fault, *t.sum,
      [&](std::size_t bytes) {
        t.doing("redistribution made");
        made.emplace(
            data_.data() + block_room, mine, r.length, type.type, t.comm,
            redistribute_options{
                .algorithm = r.algorithm, .memory = bytes, .check = r.check, .least_progress = r.least_progress});
      },
      [] { return true; });
  for (int start = 0; start < r.starts && fault.empty(); ++start) {
    draw_map(r, start);
    fill(r, t.rank, start, data_.data());
    ranks_.assign(at(mine), -1);
    indices_.assign(at(mine), -7);  // of dead blocks: does not matter
    for (std::size_t k = 0; k < from_.size(); ++k) {
      if (from_[k].rank != t.rank) continue;
      ranks_[at(from_[k].index)] = to_[k].rank;
      indices_[at(from_[k].index)] = to_[k].index;
    }
    if (r.delays) delay(r.seed, t.rank, 10 + start);
    t.doing("redistribution under way");
    if (r.at_once)
      (*made)(std::span<const int>(ranks_), std::span<const int>(indices_));
    else
      made->start(std::span<const int>(ranks_), std::span<const int>(indices_));
    ranks_.assign(at(mine), 1 << 30);  // they are read by start()
    if (r.delays) delay(r.seed, t.rank, 30 + start);
    if (r.tested && !r.at_once)
      while (!made->test()) sched_yield();
    made->wait();
    t.doing("compare");
    const std::size_t wrong_bytes = wrong(r, t.rank, start);
    if (t.rank == 0) ++t.sum->exchanges;
    t.sum->wrong_bytes += wrong_bytes;
    if (wrong_bytes > 0) fault = fmt::format("{} wrong bytes after start {}", wrong_bytes, start);
  }
  if (fault.empty() && made->peak_memory() > used)
    fault = fmt::format("{} bytes taken, {} allowed", made->peak_memory(), used);
  return fault;
}

std::string block_arrays::migrate(const block_recipe& r, const turn& t) {
  const auto element = [&](int rank, int k) {
    return std::array<std::uint64_t, 2>{key_of(r, 0, rank, k), static_cast<std::uint64_t>(k)};
  };
  const auto goes_to = [&](std::uint64_t key) { return static_cast<int>(key % static_cast<std::uint64_t>(r.p)); };
  elements_.clear();
  for (int k = 0; k < sizes_[at(t.rank)]; ++k) elements_.push_back(element(t.rank, k));
  const auto before = elements_;
  std::string fault;
  t.doing("migration");
  with_limit(
      r.memory, r.seed, fault, *t.sum,
      [&](std::size_t bytes) {
        taquin::migrate(elements_, [&](const auto& e) { return goes_to(e[0]); }, t.comm, {.memory = bytes});
      },
      [&] { return elements_ == before; });
  if (!fault.empty()) return fault;
  std::vector<std::array<std::uint64_t, 2>> expected;
  for (int rank = 0; rank < r.p; ++rank)
    for (int k = 0; k < sizes_[at(rank)]; ++k)
      if (const auto e = element(rank, k); goes_to(e[0]) == t.rank) expected.push_back(e);
  if (t.rank == 0) ++t.sum->exchanges;
  if (elements_ == expected) return {};
  ++t.sum->wrong_bytes;
  return "other elements than those that were sent, or in another order";
}

std::string block_arrays::run(const block_recipe& r, const turn& t) {
  sizes_.clear();
  for (int rank = 0; rank < r.p; ++rank) {
    const auto n = static_cast<std::uint64_t>(r.most) + 1;
    sizes_.push_back(r.equal ? r.most : static_cast<int>(hash(r.seed, at(rank), 4) % n));
  }
  if (r.delays) delay(r.seed, t.rank, 1);
  t.doing("company");
  companion other(r.beside, r.seed, t);
  std::string fault = r.migrates ? migrate(r, t) : redistribute(r, t);
  t.doing("company");
  const std::string others = other.end();
  return fault.empty() ? others : fault;
}

}  // namespace taquin::soak
