#include <algorithm>
#include <array>
#include <span>

#include "algorithms/sparse/state.hpp"
#include "base/collective_error.hpp"
#include "mpi/collectives.hpp"
#include "mpi/user_code.hpp"

namespace taquin {

void sparse_call::state::find(const sparse_blocks& mine, const sparse_algorithm& how) {
  running.algorithm = how.name;
  if (how.find == nullptr)
    throw_on_all_ranks(
        [&] { return usage_error(fmt::format("{} serves {}", how.name, how.needs), MPI_ERR_UNSUPPORTED_OPERATION); });
  constexpr std::size_t least = sparse_algorithm::least_message;
  const std::size_t message = message_of(how, mine);
  at_once_here = all_at_once;
  const std::size_t piggybacked_bytes = all_at_once ? message / 4 : 0;
  if (piggybacked_bytes > 0 && find_by(how, mine, message, piggybacked_bytes, false)) return;
  if (message > least && find_by(how, mine, message, 0, false)) return;
  find_by(how, mine, least, 0, true);
}

std::size_t sparse_call::state::needed(const sparse_algorithm& how, std::size_t message,
                                       std::size_t blocks_here) const noexcept {
  const std::size_t arrived = header_store::bytes(blocks_here);
  return std::max({how.memory(comm().size(), headers_in_flight(), message) + header_store::growing_bytes(blocks_here),
                   arrived + blocks_here * sizeof(header),
                   sparse_memory(blocks_here) + (data.element.size == 0 ? arrived : 0)});
}

std::size_t sparse_call::state::most_blocks(const sparse_blocks& mine) const {
  constexpr int together = 64;
  std::uint64_t most = 0;
  for (int first = 0; first < comm().size(); first += together) {
    std::array<std::uint64_t, together> arriving{};
    for (const int to : mine.destinations)
      if (to >= first && to - first < together) ++arriving[as_size(to - first)];
    if (comm().size() > 1) mpi::allreduce(std::span<std::uint64_t>(arriving), MPI_SUM, comm().get());
    most = std::max(most, *std::ranges::max_element(arriving));
  }
  return most;
}

// From values that are identical on all ranks: the longest messages whose memory is half of the limit, at most.
std::size_t sparse_call::state::message_of(const sparse_algorithm& how, const sparse_blocks& mine) {
  constexpr std::size_t most = sparse_algorithm::most_message;
  constexpr std::size_t least = sparse_algorithm::least_message;
  const auto needs = [&](std::size_t n) { return how.memory(comm().size(), headers_in_flight(), n); };
  std::size_t message = most;
  while (message > least && needs(message) > budget->limit() / 2) message /= 2;
  if (needs(message) > budget->limit())
    throw_memory_needed("a sparse exchange", needed(how, least, most_blocks(mine)), 0, budget->limit());
  return message;
}

bool sparse_call::state::find_by(const sparse_algorithm& how, const sparse_blocks& mine, std::size_t message,
                                 std::size_t most_piggybacked, bool last) {
  own_headers headers(comm().rank(), mine.destinations, mine.counts, data, most_piggybacked);
  store.emplace(&*budget);
  finding f{.comm = comm(),
            .tag = comm().next_tag(),
            .mine = headers,
            .arrived = *store,
            .message_bytes = message,
            .in_flight = headers_in_flight(),
            .element_bytes = data.element.size,
            .memory = &*budget};
  how.find(f);
  total = 0;
  f.attempt([&] {
    blocks = store->sorted(data.element.size);
    list_sources();
    reserve_least(0);
  });
  messages += f.messages;
  bytes += f.bytes;
  rounds += f.rounds;
  if (!last) {
    if (!running.agree_again({.any = f.failed() || !span_of(total).fits()}, {})) {
      data.to_send = headers.left();
      return true;
    }
    drop_found();
    return false;
  }
  std::optional<invalid_argument> invalid;
  if (f.exhausted) invalid = out_of_memory();
  if (!f.failed() && !span_of(total).fits())
    invalid = invalid_argument{"the blocks for this rank have more than 2^56 bytes", MPI_ERR_COUNT};
  agree_on(f.lacking > 0 ? needed(how, message, f.blocks) : 0, invalid);
  data.to_send = headers.left();
  return true;
}

void sparse_call::state::drop_found() {
  blocks = {};
  sources.reset();
  counts.reset();
  store.reset();
  total = 0;
}

std::optional<invalid_argument> sparse_call::state::describe(const sparse_blocks& mine, const char* invalid_text,
                                                             int ranks) {
  checked sent = 0;
  if (invalid_text != nullptr) return of_interface(invalid_text);
  if (auto invalid = check_sparse_options(opts)) return invalid;
  if (auto invalid = check_sparse_blocks(mine, ranks, sent)) return invalid;
  data.element = element::of(mine.type);
  if (data.element.extent < 0)
    return invalid_argument{"a sparse exchange needs elements of no negative extent", MPI_ERR_TYPE};
  const count_t span = std::max({count_t{1}, data.element.size, data.element.extent, data.element.true_extent});
  if (!(sent * span).fits()) return invalid_argument{"the blocks make more than 2^56 bytes", MPI_ERR_COUNT};
  data.at = static_cast<const std::byte*>(mine.data);
  data.to_send = sent.value();
  sends = mine.destinations.size();
  return std::nullopt;
}

std::size_t detail::sparse_memory(std::size_t blocks) noexcept {
  return blocks * (sizeof(header) + sizeof(int) + sizeof(count_t)) + sparse_grants::footprint({}, 0);
}

// The moved data, for the recorder of the call.
void sparse_call::state::report(const observed_call& to) const {
  if (!to) return;
  const count_t size = data.element.size;
  for (std::size_t i = 0; i < own.destinations.size(); ++i)
    to.sends(own.destinations[i], own.counts[static_cast<int>(i)] * size);
  for (std::size_t i = 0; i < sources->size(); ++i) to.receives((*sources)[i], (*counts)[i] * size);
}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o)
    : sparse_call(mine, comm, o, nullptr, nullptr) {}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o, const char* invalid_text,
                         const provider& provide) {
  check_communicator(comm, "a sparse exchange");
  observed_call seen(comm, static_cast<bool>(provide), __builtin_return_address(0));
  state_ = begin_together<state>(state::arguments{mine, comm, invalid_text, static_cast<bool>(provide)}, o);
  if (!provide) {
    state_->report(seen);
    state_->seen.emplace(std::move(seen));
    return;
  }
  void* into = nullptr;
  constexpr const char* no_memory = "no memory for the blocks that a rank receives";
  const char* lacks = state_->lacks_result ? no_memory : nullptr;
  if (lacks == nullptr) {
    try {
      const mpi::user_code by_caller(state_->calls());
      into = provide(*this);
    } catch (...) {  // whatever it is, the others must not wait for this rank
      lacks = no_memory;
    }
  }
  if (lacks == nullptr && into == nullptr && total() > 0) lacks = no_memory;
  state_->receive(into, lacks);
  state_->report(seen);
  state_->end(seen);
}

sparse_call::sparse_call(sparse_call&&) noexcept = default;
sparse_call& sparse_call::operator=(sparse_call&&) noexcept = default;
sparse_call::~sparse_call() = default;

std::span<const int> sparse_call::sources() const noexcept { return *state_->sources; }
std::span<const count_t> sparse_call::counts() const noexcept { return *state_->counts; }
count_t sparse_call::total() const noexcept { return state_->elements(); }
void sparse_call::receive(void* into) {
  state_->recorded(__builtin_return_address(0), [&] { state_->receive(into, nullptr); });
}
void sparse_call::deliver(count_t elements, const taker& take) {
  state_->recorded(__builtin_return_address(0), [&] { state_->deliver(elements, take); });
}
void sparse_call::reply(const void* answers, MPI_Datatype type, void* into) {
  const called_from here(called_from::site_or(__builtin_return_address(0)));
  state_->reply(answers, type, into);
}

}  // namespace taquin
