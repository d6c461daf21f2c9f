#include "select/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "node/detect.hpp"
#include "select/profile.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Choices are forgotten beyond this many: a program with so many shapes changes them all the time.
constexpr std::size_t most_remembered = 4096;

// Rank 0's profile as text; empty when none is named.
std::string read_file(const std::string& name) {
  std::ifstream in(name);
  if (!in) throw profile_error(fmt::format("cannot read '{}'", name));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Rank 0's text for all, empty when it cannot be used; and the number of its cores.
std::string share_profile(mpi::communicator& comm, int& cores) {
  std::string text;
  if (comm.rank() == 0 && !environment::get().profile.empty()) {
    const std::string& name = environment::get().profile;
    try {
      text = read_file(name);
      const profile p = from_json(text);
      if (p.model.machine != machine_name())
        throw profile_error(fmt::format("made on '{}', this is '{}'", p.model.machine, machine_name()));
    } catch (const profile_error& e) {
      static const int once =
          std::fprintf(stderr, "taquin: profile %s: %s; the built-in model serves\n", name.c_str(), e.what());
      static_cast<void>(once);
      text.clear();
    }
  }
  std::array<int, 2> head{static_cast<int>(text.size()), static_cast<int>(std::thread::hardware_concurrency())};
  TAQUIN_MPI(MPI_Bcast(head.data(), 2, MPI_INT, 0, comm.get()));
  text.resize(static_cast<std::size_t>(head[0]));
  if (!text.empty()) TAQUIN_MPI(MPI_Bcast(text.data(), head[0], MPI_BYTE, 0, comm.get()));
  cores = std::max(head[1], 1);
  return text;
}

}  // namespace

chooser::chooser(mpi::communicator& comm) {
  int cores = 1;
  const std::string text = share_profile(comm, cores);
  if (!text.empty()) profile_ = from_json(text);
  const int on_node = nodes_of(comm, {})->topology.nodes().largest();
  share_cores(profile_.model, on_node, cores);
}

chooser& chooser::of(mpi::communicator& comm) {
  if (comm.choices == nullptr) comm.choices = std::shared_ptr<chooser>(new chooser(comm));
  return *comm.choices;
}

const algorithm* chooser::choose(const shape& s, const options& o, bool reused, std::size_t limit) {
  const std::uint64_t key = choice_key(s, o, reused, limit);
  const auto found = remembered_.find(key);
  const algorithm* a = found == remembered_.end() ? nullptr : found->second;
  running_ = nullptr;
  if (!reused && s.carried_block > 0 && profile_.points.empty()) {
    a = measure(s, o, limit);
  } else if (a == nullptr || !a->supports(s) || a->memory(s, o) > limit) {
    a = select(s, o, reused, limit, profile_);
    if (a == nullptr)
      throw on_all_ranks(usage_error("no algorithm serves this exchange", MPI_ERR_UNSUPPORTED_OPERATION));
    if (remembered_.size() >= most_remembered) remembered_.clear();
    remembered_[key] = a;
  }
  if (!reused) last_[static_cast<std::size_t>(s.kind)] = a;
  return a;
}

namespace {

constexpr double worth_measuring = 8;  // predicted times that differ by more are believed

// The form, how uneven blocks are, and the bytes to an octave.
std::uint64_t kind_of(const shape& s) noexcept {
  const auto octave = static_cast<std::uint64_t>(std::bit_width(std::max(s.max_rank_bytes, s.max_received_bytes)));
  const auto largest = static_cast<std::uint64_t>(std::bit_width(s.max_block_bytes));
  return ((octave << 8U | largest) << 4U | static_cast<std::uint64_t>(skew_of(s)) << 2U) |
         static_cast<std::uint64_t>(s.kind);
}

// Whether it is worth while to measure both. Where a step among nodes could carry the blocks, that is one of the two.
bool rivals(const algorithm& first, const algorithm& other, const shape& s) noexcept {
  if (&first == &other) return false;
  const bool may_carry = s.max_block_bytes <= s.carried_block && !s.in_place;
  return !may_carry || first.carried.between_nodes || other.carried.between_nodes;
}

}  // namespace

bool chooser::skip_agreement(exchange::form kind) noexcept {
  if (!direct_[static_cast<std::size_t>(kind)].skip()) return false;
  running_ = nullptr;
  return true;
}

void chooser::agreed_on(exchange::form kind, const algorithm* a) noexcept {
  const bool settled = running_ == nullptr || running_->settled();
  direct_[static_cast<std::size_t>(kind)].agreed(a == &spread_out && settled);
}

const algorithm* chooser::measure(const shape& s, const options& o, std::size_t limit) {
  if (contests_.size() >= most_remembered) contests_.clear();
  auto [at, is_new] = contests_.try_emplace(kind_of(s) * 0x9e3779b97f4a7c15ULL ^ limit);
  contest& c = at->second;
  const auto serves = [&](const algorithm* a) { return a != nullptr && a->supports(s) && a->memory(s, o) <= limit; };
  if (is_new || !serves(c.who(0)) || (c.who(1) != nullptr && !serves(c.who(1)))) {
    const auto best = ranking(s, o, false, limit, profile_);
    const algorithm* const first = best.empty() ? select(s, o, false, limit, profile_) : best.front();
    if (first == nullptr)
      throw on_all_ranks(usage_error("no algorithm serves this exchange", MPI_ERR_UNSUPPORTED_OPERATION));
    const auto rival = std::ranges::find_if(best, [&](const algorithm* other) { return rivals(*first, *other, s); });
    const bool close = rival != best.end() && predict(**rival, s, o, false, profile_) <
                                                  worth_measuring * predict(*first, s, o, false, profile_);
    c = contest(first, close ? *rival : nullptr);
  }
  turn_ = c.next();
  if (!c.settled()) running_ = &c;
  last_time_ = std::chrono::steady_clock::duration::max();
  return c.who(turn_);
}

std::uint64_t chooser::last_time() const noexcept {
  if (running_ == nullptr) return unlimited;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(last_time_).count());
}

void chooser::learn(std::uint64_t nanoseconds) noexcept {
  if (running_ == nullptr) return;
  running_->learn(turn_, nanoseconds);
  running_ = nullptr;
}

}  // namespace taquin::detail
