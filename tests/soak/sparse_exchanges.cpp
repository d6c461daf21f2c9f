#include "soak/sparse_exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "algorithms/sparse/algorithm.hpp"
#include "taquin/error.hpp"

namespace taquin::soak {

namespace {

std::size_t at(count_t i) { return static_cast<std::size_t>(i); }

const layout_type& type_of(const sparse_recipe& r) { return all_types()[r.type].recv; }

int blocks_of(const sparse_recipe& r, int rank) {
  if (r.whom == sparse_recipe::to::nobody) return 0;
  return static_cast<int>(hash(r.seed, at(rank), 5) % (at(r.most_blocks) + 1));
}

int destination(const sparse_recipe& r, int rank, int block) {
  const std::uint64_t h = hash(r.seed, at(rank) * 1000 + at(block), 6);
  const auto p = static_cast<std::uint64_t>(r.p);
  if (r.whom == sparse_recipe::to::one) return static_cast<int>(r.seed % p);
  if (r.whom == sparse_recipe::to::next) return static_cast<int>((at(rank) + 1 + h % 2) % p);
  return static_cast<int>(h % p);
}

count_t elements(const sparse_recipe& r, int rank, int block) {
  source s(hash(r.seed, at(rank) * 1000 + at(block), 7));
  return s.any_size(r.most);
}

// Of what block `block` of `rank` holds in a round, or of the answer to it.
std::uint64_t key_of(const sparse_recipe& r, int rank, int block, int round, bool answer) {
  return hash(r.seed + at(round) * 2 + (answer ? 1 : 0), at(rank), at(block));
}

}  // namespace

sparse_recipe make_sparse_recipe(std::uint64_t seed, int p) {
  source s(seed);
  sparse_recipe r{.seed = seed, .p = p};
  r.whom = s.one_in(2) ? sparse_recipe::to::anybody : static_cast<sparse_recipe::to>(s.below(4));
  r.most_blocks = s.one_in(20) ? s.between(0, 60) : s.between(0, 6);
  r.most = s.one_in(30) ? s.any_size(40000) : s.any_size(300);
  r.type = s.below(6);  // those whose data lie behind their origin
  const auto ways = detail::sparse_algorithms();
  if (s.one_in(2)) r.algorithm = ways[s.below(ways.size())]->name;
  r.memory = s.one_in(3) ? static_cast<limit>(s.below(4)) : limit::none;
  if (s.one_in(3)) r.in_flight = s.between(1, 4);
  r.rounds = s.between(1, 3);
  if (s.one_in(4) && type_of(r).plain()) r.chunk = 1 + s.any_size(200);
  r.replies = s.one_in(4) && r.memory == limit::none;  // they take more than what finds the sources
  r.delays = s.one_in(4);
  r.beside = s.one_in(6) ? static_cast<company>(s.below(6)) : company::nothing;
  return r;
}

bool simplify(sparse_recipe& r, int way) {
  if (way < program_simplifications) return simplify_program(r, way);
  switch (way) {
    case 3:
      return changed(r.replies, false);
    case 4:
      return changed(r.chunk, count_t{0});
    case 5:
      return changed(r.rounds, 1);
    case 6:
      return changed(r.type, std::size_t{0});
    case 7:
      return changed(r.in_flight, 0);
    case 8:
      return changed(r.whom, sparse_recipe::to::anybody);
    case 9:
      return changed(r.most, r.most / 2);
    case 10:
      return changed(r.most_blocks, r.most_blocks / 2);
    default:
      return changed(r.algorithm, std::string_view("auto"));
  }
}

std::string describe(const sparse_recipe& r) {
  return fmt::format(
      "sparse exchange on {} ranks, algorithm {}, up to {} blocks of a rank to {}, of up to {} elements of type {},\n"
      "  memory {}, in_flight {}, {} rounds, chunks of {}, replies {}, delays {}, beside {}",
      r.p, r.algorithm, r.most_blocks,
      std::array{"anybody", "one rank", "the next two", "nobody"}.at(static_cast<std::size_t>(r.whom)), r.most,
      all_types()[r.type].name, static_cast<int>(r.memory), r.in_flight, r.rounds, r.chunk, r.replies, r.delays,
      static_cast<int>(r.beside));
}

// The blocks of this rank, and those that come to it: by source, then in the order in which the source has them.
void sparse_arrays::draw(const sparse_recipe& r, int rank) {
  to_.clear();
  counts_.clear();
  arrived_.clear();
  go_.clear();
  for (int from = 0; from < r.p; ++from)
    for (int b = 0; b < blocks_of(r, from); ++b) {
      const block one{from, b, elements(r, from, b)};
      if (destination(r, from, b) == rank) arrived_.push_back(one);
      if (from != rank) continue;
      go_.push_back(one);
      to_.push_back(destination(r, from, b));
      counts_.push_back(one.elements);
    }
}

void sparse_arrays::write(const sparse_recipe& r, std::span<const block> blocks, int round, bool answers,
                          std::vector<std::byte>& to) {
  const layout_type& t = type_of(r);
  count_t n = 0;
  for (const block& b : blocks) n += b.elements;
  to.assign(at(n * t.extent) + 2 * margin, guard);
  std::byte* origin = to.data() + margin;
  for (const block& b : blocks) {
    row_.resize(at(b.elements * t.size) + 8);
    write_stream(key_of(r, b.from, b.number, round, answers), row_.data(), b.elements * t.size);
    scatter(t, row_.data(), origin, b.elements);
    origin += b.elements * t.extent;
  }
}

// Gaps and the bytes around the blocks are compared as well.
std::string sparse_arrays::compare(const sparse_recipe& r, std::span<const block> blocks, int round, bool answers,
                                   const turn& t) {
  t.doing("compare");
  write(r, blocks, round, answers, image_);
  if (t.rank == 0) ++t.sum->exchanges;
  const std::size_t wrong = differences(image_.data(), got_.data(), image_.size());
  if (wrong == 0) return {};
  t.sum->wrong_bytes += wrong;
  return fmt::format("{} wrong bytes {}in round {}", wrong, answers ? "of answers " : "", round);
}

// The received blocks are as announced: sources ascending, the blocks of each in its order.
std::string sparse_arrays::check_sources(const sparse_call& call) const {
  const bool same = std::ranges::equal(call.sources(), arrived_, {}, {}, &block::from) &&
                    std::ranges::equal(call.counts(), arrived_, {}, {}, &block::elements);
  return same ? std::string() : std::string("other sources or counts than there are");
}

// Receives the data of a round, all together or in chunks. Returns the error in the chunks.
std::string sparse_arrays::receive(const sparse_recipe& r, sparse_call& call, int round, const turn& t) {
  const count_t extent = type_of(r).extent;
  got_.assign(at(call.total() * extent) + 2 * margin, guard);
  if (r.delays) delay(r.seed, t.rank, 10 + round);
  t.doing("sparse data");
  std::byte* const into = got_.data() + margin;
  if (r.chunk == 0 || t.rank % 2 != 0) {
    call.receive(into);
    return {};
  }
  std::string fault;
  count_t before = 0;  // elements of the blocks before that of this number
  std::size_t number = 0;
  call.deliver(r.chunk, [&](const sparse_call::chunk& p) {
    for (; number < p.block; ++number) before += call.counts()[number];
    if (p.count > r.chunk) fault = "a chunk is longer than was requested";
    std::memcpy(into + (before + p.first) * extent, p.data, at(p.count * extent));
  });
  return fault;
}

// Answers to the received blocks, as long as they are.
std::string sparse_arrays::reply(const sparse_recipe& r, sparse_call& call, int round, const turn& t) {
  write(r, arrived_, round, true, data_);
  write(r, go_, round, true, got_);
  std::ranges::fill(got_, guard);
  t.doing("sparse reply");
  call.reply(data_.data() + margin, type_of(r).type, got_.data() + margin);
  return compare(r, go_, round, true, t);
}

std::string sparse_arrays::exchange(const sparse_recipe& r, const turn& t) {
  std::string fault;
  std::optional<sparse_call> call;
  statistics stats;
  write(r, go_, 0, false, sent_);
  const sparse_blocks mine{sent_.data() + margin, to_, count_view(counts_.data()), type_of(r).type};
  std::string wrong;
  const auto used = with_limit(
      r.memory, r.seed, fault, *t.sum,
      [&](std::size_t bytes) {
        t.doing("sparse exchange");
        got_.clear();
        call.emplace(mine, t.comm,
                     options{.algorithm = r.algorithm, .memory = bytes, .in_flight = r.in_flight, .stats = &stats});
        wrong = check_sources(*call);
        if (wrong.empty()) wrong = receive(r, *call, 0, t);
      },
      [&] { return std::ranges::all_of(got_, [](std::byte b) { return b == guard; }); });
  if (fault.empty()) fault = wrong;
  for (int round = 0; round < r.rounds && fault.empty(); ++round) {
    if (round > 0) {  // the call keeps the address of what is sent
      write(r, go_, round, false, data_);
      std::ranges::copy(data_, sent_.begin());
      fault = receive(r, *call, round, t);
    }
    if (fault.empty()) fault = compare(r, arrived_, round, false, t);
    if (fault.empty() && r.replies) fault = reply(r, *call, round, t);
  }
  if (fault.empty() && !r.replies && stats.peak_memory > used)
    fault = fmt::format("{} bytes taken, {} allowed", stats.peak_memory, used);
  return fault;
}

std::string sparse_arrays::run(const sparse_recipe& r, const turn& t) {
  draw(r, t.rank);
  if (r.delays) delay(r.seed, t.rank, 1);
  t.doing("company");
  companion other(r.beside, r.seed, t);
  std::string fault;
  try {
    fault = exchange(r, t);
  } catch (const usage_error& e) {
    if (!e.collective() || e.mpi_class() != MPI_ERR_UNSUPPORTED_OPERATION) throw;
    ++t.sum->refused;
  }
  t.doing("company");
  const std::string others = other.end();
  return fault.empty() ? others : fault;
}

}  // namespace taquin::soak
