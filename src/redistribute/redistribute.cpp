#include "taquin/redistribute.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "redistribute/access.hpp"
#include "redistribute/redistribution_state.hpp"

namespace taquin {

redistribution::redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                               const redistribute_options& o)
    : redistribution(data, blocks, block_length, type, comm, o, nullptr) {}
redistribution::redistribution(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                               const redistribute_options& o, const char* invalid_text) {
  check_communicator(comm, "redistribution");
  state_ = begin_together<state>(state::arguments{data, blocks, block_length, type, comm, invalid_text}, o);
}
redistribution::redistribution(redistribution&&) noexcept = default;
redistribution& redistribution::operator=(redistribution&&) noexcept = default;
redistribution::~redistribution() = default;

void redistribution::start(count_t length, const count_view& dest_ranks, const count_view& dest_indices) {
  redistribution_access::start(*this, length, dest_ranks, dest_indices, nullptr);
}

void redistribution::start(std::span<const int> dest_ranks, std::span<const int> dest_indices) {
  state_->start(given_map::of(dest_ranks, dest_indices));
}
void redistribution::start(std::span<const int> dest_ranks, std::span<const count_t> dest_indices) {
  state_->start(given_map::of(dest_ranks, dest_indices));
}
bool redistribution::test() { return state_->test(); }
void redistribution::wait() { state_->wait(); }

void redistribution::operator()(count_t length, const count_view& dest_ranks, const count_view& dest_indices) {
  redistribution_access::run(*this, length, dest_ranks, dest_indices, nullptr);
}
void redistribution::operator()(std::span<const int> dest_ranks, std::span<const int> dest_indices) {
  state_->run(given_map::of(dest_ranks, dest_indices));
}
void redistribution::operator()(std::span<const int> dest_ranks, std::span<const count_t> dest_indices) {
  state_->run(given_map::of(dest_ranks, dest_indices));
}

void redistribution::sort(std::span<int> dest_ranks, std::span<int> dest_indices) {
  state_->running.check_idle("the redistribution");
  check_sort(dest_ranks, dest_indices.size(), state_->units->border() / state_->parts, state_->running.comm()->size());
  redistribution_access::sort(*this, dest_ranks, dest_indices);
}

void detail::redistribution_access::sort(redistribution& r, std::span<int> dest_ranks, std::span<int> dest_indices) {
  auto& state = *r.state_;
  block_map map(*state.units, &state.budget);
  const auto n = static_cast<slot>(dest_ranks.size());
  const auto parts = static_cast<slot>(state.parts);  // which stay together, as blocks of a rank keep their order
  for (slot s = 0; s < n * parts; ++s)
    if (const int to = dest_ranks[s / parts]; to >= 0) map.set(s, {to, static_cast<slot>(dest_indices[s / parts])});
  const std::uint64_t copied = state.units->bytes_copied();
  map.sort(state.running.comm()->size(), map.slots() - 1, &state.budget);
  for (slot s = 0; s < n; ++s) {
    dest_ranks[s] = map[s * parts].rank;
    dest_indices[s] = static_cast<int>(map[s * parts].index);
  }
  if (state.options.stats != nullptr) state.options.stats->bytes_copied += state.units->bytes_copied() - copied;
}

void detail::redistribution_access::run(redistribution& r, count_t length, const count_view& dest_ranks,
                                        const count_view& dest_indices, const char* invalid_text) {
  r.state_->run({length, dest_ranks, dest_indices, invalid_text});
}
void detail::redistribution_access::start(redistribution& r, count_t length, const count_view& dest_ranks,
                                          const count_view& dest_indices, const char* invalid_text) {
  r.state_->start({length, dest_ranks, dest_indices, invalid_text});
}

failure::block_map redistribution::repair(MPI_Comm survivors) { return state::repair(state_, survivors, {}, nullptr); }
failure::block_map redistribution::roll_back(MPI_Comm survivors, count_t length, const count_view& dest_ranks,
                                             const count_view& dest_indices) {
  return redistribution_access::roll_back(*this, survivors, length, dest_ranks, dest_indices, nullptr);
}
failure::block_map redistribution::roll_back(MPI_Comm survivors, std::span<const int> dest_ranks,
                                             std::span<const int> dest_indices) {
  return state::repair(state_, survivors, given_map::of(dest_ranks, dest_indices), nullptr);
}
failure::block_map redistribution::roll_back(MPI_Comm survivors, std::span<const int> dest_ranks,
                                             std::span<const count_t> dest_indices) {
  return state::repair(state_, survivors, given_map::of(dest_ranks, dest_indices), nullptr);
}
failure::block_map detail::redistribution_access::repair(redistribution& r, MPI_Comm survivors,
                                                         const char* invalid_text) {
  return redistribution::state::repair(r.state_, survivors, {}, invalid_text);
}
failure::block_map detail::redistribution_access::roll_back(redistribution& r, MPI_Comm survivors, count_t length,
                                                            const count_view& dest_ranks,
                                                            const count_view& dest_indices, const char* invalid_text) {
  return redistribution::state::repair(r.state_, survivors, given_map{length, dest_ranks, dest_indices}, invalid_text);
}

// The new object is made first, so that all survivors have an error of one of them before anything is changed.
failure::block_map redistribution::state::repair(std::unique_ptr<state>& self, MPI_Comm survivors,
                                                 const std::optional<given_map>& back, const char* invalid_text) {
  state& was = *self;
  check_communicator(survivors, "redistribution");
  store& mine = *was.units;
  std::optional<given_map> origins = back;
  if (origins) origins->parts = was.parts;
  auto bad = origins ? check_ranges(*origins, *was.blocks, was.running.comm()->rank()) : std::nullopt;
  if (invalid_text != nullptr) bad = of_interface(invalid_text);
  if (was.moving) bad = invalid_argument{"the redistribution is in progress: wait for it, or destroy it"};
  // Divided blocks may have parts on several ranks: from now on each part is a block.
  const bool in_bytes = was.length % was.parts != 0;
  const count_t length = in_bytes ? static_cast<count_t>(mine.unit_bytes()) : was.length / was.parts;
  auto next =
      begin_together<state>(arguments{mine.border() > 0 ? mine.at(0) : nullptr, mine.border(), length,
                                      in_bytes ? MPI_BYTE : was.type, survivors, bad ? bad->what.c_str() : nullptr},
                            was.options);
  failure::block_map map = was.left ? std::move(*was.left) : failure::block_map{};
  map.unit_bytes = static_cast<count_t>(mine.unit_bytes());
  next->running.stage([&] {
    const MPI_Comm before = was.running.comm()->get();
    unstage(map, mine);
    have_once(map, was.ended, before, *next->running.comm());
    if (origins) report_origins(map, was.ended, *origins, before, *next->running.comm());
  });
  self = std::move(next);
  map.known = true;
  return map;
}

void redistribution::set_data(void* data) noexcept { state_->units->set_data(data); }
std::size_t redistribution::memory() const noexcept { return state_->budget.used(); }
std::size_t redistribution::peak_memory() const noexcept { return state_->peak(); }
std::string_view redistribution::algorithm() const noexcept { return state_->chosen->name; }

}  // namespace taquin
