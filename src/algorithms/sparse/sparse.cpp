#include "algorithms/sparse/state.hpp"

namespace taquin {

void sparse_call::state::find(const sparse_blocks& mine) {
  const sparse_algorithm& how = *find_sparse(opts.algorithm);
  running.algorithm = how.name;
  if (how.find == nullptr)
    throw on_all_ranks(usage_error(fmt::format("{} serves {}", how.name, how.needs), MPI_ERR_UNSUPPORTED_OPERATION));
  notices.emplace(comm().rank(), comm().size(), &*budget);
  finding f{.comm = comm(), .tag = comm().next_tag(), .notices = *notices};
  f.attempt([&] {
    notices->reserve(mine.destinations.size());
    data.to_send = 0;
    for (std::size_t i = 0; i < mine.destinations.size(); ++i) {
      const count_t n = mine.counts[static_cast<int>(i)];
      notices->add({comm().rank(), mine.destinations[i], n, data.to_send});
      data.to_send += n;
    }
  });
  how.find(f);
  f.attempt([&] {
    blocks = notices->sorted();
    list_sources();
    reserve_least(0);
  });
  std::optional<invalid_argument> bad;
  if (f.exhausted) bad = out_of_memory();
  if (!f.failed() && !(total * std::max(data.element.extent, data.element.size)).fits())
    bad = invalid_argument{"the blocks that come to this rank make more than 2^56 bytes", MPI_ERR_COUNT};
  agree_on(f.lacking, bad);
  messages = f.messages;
  bytes = f.bytes;
  rounds = as_size(notice_rounds::rounds(comm().size()));
}

std::optional<invalid_argument> sparse_call::state::describe(const sparse_blocks& mine, const char* fault, int ranks) {
  checked sent = 0;
  if (fault != nullptr) return of_interface(fault);
  if (auto bad = check_sparse_options(opts)) return bad;
  if (auto bad = check_sparse_blocks(mine, ranks, sent)) return bad;
  data.element = element::of(mine.type);
  if (data.element.extent < 0)
    return invalid_argument{"a sparse exchange needs elements of no negative extent", MPI_ERR_TYPE};
  const count_t span = std::max({data.element.size, data.element.extent, data.element.true_extent});
  if (!(sent * span).fits()) return invalid_argument{"the blocks make more than 2^56 bytes", MPI_ERR_COUNT};
  data.at = static_cast<const std::byte*>(mine.data);
  data.to_send = sent.value();
  return std::nullopt;
}

std::size_t detail::sparse_memory(std::size_t blocks) noexcept {
  return blocks * (sizeof(notice) + sizeof(int) + sizeof(count_t)) + sparse_grants::footprint(1, 0);
}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o)
    : sparse_call(mine, comm, o, nullptr, nullptr) {}

sparse_call::sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o, const char* fault,
                         const room& make_room) {
  check_communicator(comm, "a sparse exchange");
  state_ = begin_together<state>(state::arguments{mine, comm, fault, static_cast<bool>(make_room)}, o);
  if (!make_room) return;
  void* into = nullptr;
  constexpr const char* no_memory = "no memory for what comes to a rank";
  const char* lacks = state_->lacks_result ? no_memory : nullptr;
  if (lacks == nullptr) {
    try {
      into = make_room(*this);
    } catch (...) {  // whatever it is, the others must not wait for this rank
      lacks = no_memory;
    }
  }
  if (lacks == nullptr && into == nullptr && total() > 0) lacks = no_memory;
  state_->receive(into, lacks);
}

sparse_call::sparse_call(sparse_call&&) noexcept = default;
sparse_call& sparse_call::operator=(sparse_call&&) noexcept = default;
sparse_call::~sparse_call() = default;

std::span<const int> sparse_call::sources() const noexcept { return *state_->sources; }
std::span<const count_t> sparse_call::counts() const noexcept { return *state_->counts; }
count_t sparse_call::total() const noexcept { return state_->elements(); }
void sparse_call::receive(void* into) { state_->receive(into, nullptr); }
void sparse_call::deliver(count_t elements, const taker& take) { state_->deliver(elements, take); }

}  // namespace taquin
