#include "select/choose.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "base/collective_error.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "node/detect.hpp"
#include "select/profile.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Choices are forgotten beyond this many: a program with so many shapes changes them all the time.
constexpr std::size_t most_remembered = 4096;

constexpr std::size_t most_profile_bytes = std::size_t{64} << 20U;

// Rank 0's profile as text; empty when none is named.
std::string read_file(const std::string& name) {
  std::ifstream in(name);
  if (!in) throw profile_error(fmt::format("cannot read '{}'", name));
  std::string text;
  std::array<char, 4096> part;
  while (in.read(part.data(), part.size()), in.gcount() > 0) {
    text.append(part.data(), as_size(in.gcount()));
    if (text.size() > most_profile_bytes)
      throw profile_error(fmt::format("'{}' has more than {} bytes", name, most_profile_bytes));
  }
  return text;
}

// Whatever goes wrong here, the others wait for the message.
std::string text_of_profile(const std::string& name) noexcept {
  std::string why_not;
  try {
    std::string text = read_file(name);
    const profile p = from_json(text);
    why_not = made_elsewhere(p);
    if (why_not.empty()) return text;
  } catch (const std::exception& e) {
    try {
      why_not = e.what();
    } catch (const std::bad_alloc&) {
      why_not.clear();
    }
  }
  static const int once =
      std::fprintf(stderr, "taquin: profile %s: %s; the built-in model serves\n", name.c_str(), why_not.c_str());
  static_cast<void>(once);
  return {};
}

// The environment of a rank's floating-point results: the mathematical functions of the C library differ between its
// releases, and with the features of the core.
std::uint64_t kind_of_processor() noexcept {
  fingerprint all;
#ifdef __x86_64__
  all.add((__builtin_cpu_supports("fma") != 0 ? 1U : 0U) + (__builtin_cpu_supports("avx2") != 0 ? 2U : 0U) +
          (__builtin_cpu_supports("fma4") != 0 ? 4U : 0U));
#else
  all.add(getauxval(AT_HWCAP));
  all.add(getauxval(AT_HWCAP2));
#endif
#ifdef __GLIBC__
  all.add(std::string_view(gnu_get_libc_version()));
#endif
  return all.value() >> 1U;
}

// Rank 0's text, for all; its length is known.
void report(std::string& text, std::int64_t length, mpi::communicator& comm) {
  text.resize(static_cast<std::size_t>(length));
  if (!text.empty()) mpi::broadcast(std::span(text), 0, comm.get());
}

}  // namespace

chooser::chooser(mpi::communicator& comm) : comm_(comm) {
  const level& nodes = nodes_of(comm, {})->topology.nodes();
  std::string text;
  if (comm.rank() == 0) {
    if (!environment::get().profile.empty()) text = text_of_profile(environment::get().profile);
  }
  const auto kind = static_cast<std::int64_t>(kind_of_processor());
  std::array<std::int64_t, 4> most{kind, -kind, 0, 0};
  if (comm.rank() == 0) {
    most[2] = static_cast<std::int64_t>(text.size());
    most[3] = std::thread::hardware_concurrency();
  }
  mpi::allreduce(std::span<std::int64_t>(most), MPI_MAX, comm.get());
  identical_ = most[0] == -most[1];
  report(text, most[2], comm);
  if (!text.empty()) profile_ = from_json(text);
  int cores = std::max(static_cast<int>(most[3]), 1);
#ifdef TAQUIN_SMPI  // a simulated rank has a core to itself, and computes in no time
  cores = nodes.largest();
  if (text.empty()) {
    profile_.model.copy = profile_.model.pack = {};
    profile_.model.line = 0;
  }
#endif
  share_cores(profile_.model, nodes.largest(), cores);
}

chooser& chooser::get_or_create(mpi::communicator& comm) {
  if (chooser* const made = find(comm)) return *made;
  return *comm.kept.put(kept_as, std::shared_ptr<chooser>(new chooser(comm)));
}

std::vector<const algorithm*> chooser::ranked(const shape& s, const options& o, std::size_t limit) {
  auto best = ranking(s, o, true, limit, profile_);
  return identical_ ? best : reported(best);
}

// Rank 0's, by their numbers in the list.
std::vector<const algorithm*> chooser::reported(std::span<const algorithm* const> mine) {
  const auto list = algorithms();
  std::array<int, 64> numbers{};
  std::size_t n = 0;
  for (const algorithm* a : mine.first(std::min(mine.size(), numbers.size() - 1)))
    numbers[++n] = static_cast<int>(std::ranges::find(list, a) - list.begin());
  numbers[0] = static_cast<int>(n);
  mpi::broadcast(std::span<int>(numbers), 0, comm_.get());
  std::vector<const algorithm*> theirs;
  for (int i = 1; i <= numbers[0]; ++i) {
    const auto number = as_size(numbers[as_size(i)]);
    theirs.push_back(number < list.size() ? list[number] : nullptr);
  }
  return theirs;
}

level_names chooser::levels(const shape& s, const options& o) {
  level_names names = choose_levels(s, o, profile_.model);
  if (!identical_) {
    mpi::broadcast(std::span<char>(names.text()), 0, comm_.get());
    names.cut_at_zero();
  }
  return names;
}

bool chooser::uses_step(const algorithm& step, const shape& mine, const options& o) {
  if (!profile_.given) return true;
  const std::uint64_t form =
      static_cast<std::uint64_t>(mine.kind) << 2U | (mine.in_place ? 2U : 0U) | (mine.symmetric ? 1U : 0U);
  const std::array sizes{form,
                         mine.max_block_bytes,
                         mine.min_block_bytes,
                         mine.max_rank_bytes,
                         mine.max_received_bytes,
                         static_cast<std::uint64_t>(o.memory)};
  const bool anywhere = calls_from::rules().empty() && mine.shared;  // rules of places fit some calls alone
  if (last_.known && anywhere && last_.sizes == sizes) return last_.uses_step;
  shape described = mine;
  if (const node_view* const nodes = known_nodes(comm_); nodes != nullptr && mine.shared)
    describe(nodes->topology, described);
  last_ = {sizes, anywhere, looks_up_step(step, described, o)};
  return last_.uses_step;
}

bool chooser::looks_up_step(const algorithm& step, const shape& mine, const options& o) {
  if (const algorithm* const a = ruled(mine, o, false, o.memory, profile_, &step)) return a == &step;
  if (uses_step_.size() >= most_remembered) uses_step_.clear();
  const auto [at, is_new] = uses_step_.try_emplace(choice_key(mine, o, false, o.memory));
  if (is_new) at->second = decide(mine, o, false, o.memory, profile_, &step).why == decision::reason::step;
  return at->second;
}

const algorithm* chooser::choose(const shape& s, const options& o, bool reused, std::size_t limit) {
  running_ = nullptr;
  took_heap_ = false;
  const bool measures = !reused && !s.shared && s.nodes > 1 && profile_.points.empty();
  const algorithm* a = ruled(s, o, reused, limit, profile_);
  followed_rule_ = a != nullptr;
  if (a == nullptr) a = measures ? measure(s, o, limit) : predicted(s, o, reused, limit);
  return a;
}

namespace {

// On all ranks: it follows from the shape. All wait for each other first: a rank that has no memory to choose has
// aborted the call, and its peers must not go on without it.
[[noreturn]] void refuse_unserved(const shape& s, const mpi::communicator& comm) {
  mpi::barrier(comm.get());
  throw_on_all_ranks([&] {
    std::string what = "no algorithm serves this exchange";
    if (s.in_place && !s.one_unit)
      what +=
          " in place: between nodes all blocks of all ranks must have elements of one size, of a type whose data are "
          "equal parts (MPI_Alltoallw with other types, and types of mixed parts, need two buffers)";
    return usage_error(what, MPI_ERR_UNSUPPORTED_OPERATION);
  });
}

// Without a limit the memory of an algorithm is not computed.
bool serves_within(const algorithm* a, const shape& s, const options& o, std::size_t limit) {
  return a != nullptr && a->supports(s) && (limit == unlimited || a->memory(s, o) <= limit);
}

}  // namespace

const algorithm* chooser::predicted(const shape& s, const options& o, bool reused, std::size_t limit) {
  const std::uint64_t choice = choice_key(s, o, reused, limit);
  const auto found = remembered_.find(choice);
  const algorithm* a = found == remembered_.end() ? nullptr : found->second;
  if (!serves_within(a, s, o, limit)) {
    took_heap_ = true;
    a = decide(s, o, reused, limit, profile_, nullptr).what;
    if (!identical_) a = reported({&a, 1}).front();
    if (a == nullptr) refuse_unserved(s, comm_);
    if (remembered_.size() >= most_remembered) remembered_.clear();
    remembered_[choice] = a;
  }
  return a;
}

namespace {

// The form, the buffers, how uneven blocks are, and the bytes to an octave.
std::uint64_t kind_of(const shape& s) noexcept {
  const auto octave = static_cast<std::uint64_t>(std::bit_width(std::max(s.max_rank_bytes, s.max_received_bytes)));
  const auto largest = static_cast<std::uint64_t>(std::bit_width(s.max_block_bytes));
  const std::uint64_t buffers = s.in_place ? (s.symmetric ? 1U : 2U) : 0U;
  return (((octave << 8U | largest) << 2U | buffers) << 4U | static_cast<std::uint64_t>(skew_of(s)) << 2U) |
         static_cast<std::uint64_t>(s.kind);
}

}  // namespace

const algorithm* chooser::measure(const shape& s, const options& o, std::size_t limit) {
  if (trials_.size() >= most_remembered) trials_.clear();
  const std::uint64_t kind = kind_of(s) * 0x9e3779b97f4a7c15ULL ^ limit;
  auto [at, is_new] = trials_.try_emplace(kind);
  algorithm_trial& c = at->second;
  const auto serves = [&](const algorithm* a) { return serves_within(a, s, o, limit); };
  if (is_new || !serves(c.who(0)) || (c.who(1) != nullptr && !serves(c.who(1)))) {
    took_heap_ = true;
    const decision d = decide(s, o, false, limit, profile_, nullptr);
    if (d.what == nullptr) refuse_unserved(s, comm_);
    std::array<const algorithm*, 2> both{d.what, d.rival};
    if (!identical_) std::ranges::copy(reported(both), both.begin());
    c = algorithm_trial(both[0], both[1]);
  }
  turn_ = c.next();
  if (!c.settled()) running_ = &c;
  last_time_.reset();
  return c.who(turn_);
}

std::uint64_t chooser::last_time() const noexcept {
  if (running_ == nullptr || !last_time_) return unlimited;
  return static_cast<std::uint64_t>(*last_time_ * 1e9);
}

void chooser::record_time(std::uint64_t nanoseconds) noexcept {
  if (running_ == nullptr) return;
  running_->learn(turn_, nanoseconds);
  running_ = nullptr;
}

}  // namespace taquin::detail
