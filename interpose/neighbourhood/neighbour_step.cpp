#include "interpose/neighbourhood/neighbour_step.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"
#include "mpi/abort_call.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/probed.hpp"
#include "node/call_deadline.hpp"

namespace taquin::interpose {

namespace {

// Of all ranks: some block is a message.
detail::internode::record reported(bool any_message) noexcept {
  detail::internode::record r{};
  r[0] = std::byte{any_message};
  return r;
}
void either(detail::internode::record& all, const detail::internode::record& other) noexcept { all[0] |= other[0]; }

std::byte* place_of(const blocks& side, const block& b) noexcept {
  return static_cast<std::byte*>(side.base) + b.offset;
}

}  // namespace

neighbour_step::neighbour_step(mpi::communicator& comm, detail::internode& step) : comm_(comm.keep()), step_(step) {}

neighbour_step::~neighbour_step() {
  if (mpi::finalized()) return;
  for (std::size_t i = 0; i < messages_.size(); ++i)
    mpi::abandon(messages_[i], i < sources_.size() ? mpi::request_kind::receive : mpi::request_kind::send);
}

std::unique_ptr<neighbour_step> neighbour_step::make(MPI_Comm comm, std::span<const int> sources,
                                                     std::span<const int> destinations) {
  mpi::communicator& state = mpi::communicator::get_or_create(comm);
  detail::internode* const step = mpi::or_abort(state, [&] {
    const mpi::present present(&state);
    return detail::internode::get_or_create(state);
  });
  if (step == nullptr || !detail::internode::joins_nodes(state)) return nullptr;
  std::unique_ptr<neighbour_step> made;
  try {
    if (has_no_rank_twice(sources) && has_no_rank_twice(destinations)) {
      made.reset(new neighbour_step(state, *step));
      made->sources_.assign(sources.begin(), sources.end());
      made->destinations_.assign(destinations.begin(), destinations.end());
      made->block_for_.assign(detail::as_size(state.size()), -1);
      made->messages_.assign(sources.size() + destinations.size(), MPI_REQUEST_NULL);
      for (std::size_t d = 0; d < destinations.size(); ++d)
        if (destinations[d] >= 0) made->block_for_[detail::as_size(destinations[d])] = static_cast<int>(d);
    }
  } catch (const std::bad_alloc&) {
    made.reset();
  }
  return mpi::holds_everywhere(made != nullptr, state.get()) ? std::move(made) : nullptr;
}

void neighbour_step::exchange(const blocks& send, const blocks& recv) {
  static constexpr std::string_view name = "neighbour_step";
  static constexpr std::uint64_t call_word = mpi::progress_record::of(mpi::call_kind::alltoallv);
  mpi::communicator& comm = *comm_;
  const std::uint64_t number = mpi::count_call(comm.calls());
  mpi::or_abort(comm, [&] {
    const mpi::in_call here(&comm.calls(), call_word);
    const mpi::present present(&comm);
    std::optional<detail::call_deadline> clock;
    if (const detail::call_timeout p = detail::call_timeout::of({}); p.seconds > 0) [[unlikely]]
      clock.emplace(detail::known_comm::of(comm), call_word, number, name, p);
    run(send, recv);
  });
  if (const auto t = std::exchange(truncation_, std::nullopt)) mpi::refuse_truncation(*t, comm.rank());
}

void neighbour_step::run(const blocks& send, const blocks& recv) {
  tag_ = comm_->next_tag();
  bool any = false;
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const block b = recv[static_cast<int>(s)];
    if (sources_[s] < 0 || fits(b)) continue;
    const auto m = mpi::make_counted(b.count, b.element.type);
    TAQUIN_MPI(PMPI_Irecv(place_of(recv, b), m.count, m.type, sources_[s], tag_, comm_->get(), &messages_[s]));
    any = true;
  }
  step_.begin(tag_ + mpi::communicator::agreement_tag);
  write(send);
  for (std::size_t d = 0; d < destinations_.size(); ++d) {
    const block b = send[static_cast<int>(d)];
    if (destinations_[d] < 0 || fits(b)) continue;
    const auto m = mpi::make_counted(b.count, b.element.type);
    TAQUIN_MPI(PMPI_Isend(place_of(send, b), m.count, m.type, destinations_[d], tag_, comm_->get(),
                          &messages_[sources_.size() + d]));
    any = true;
  }
  step_.publish(reported(any));
  had_messages_ = step_.complete(either, any)[0] != std::byte{0};
  for (std::size_t s = 0; s < sources_.size(); ++s)
    if (sources_[s] >= 0) take(s, recv[static_cast<int>(s)], recv);
  for (mpi::backoff waiting(comm_->get(), tag_, nullptr); !messages_complete(recv, !mpi::must_poll());) waiting.pause();
}

void neighbour_step::write(const blocks& send) {
  for (const int rank : step_.order()) {
    const int d = block_for_[detail::as_size(rank)];
    const block b = d < 0 ? block{} : send[d];
    if (!fits(b)) {
      step_.no_payload();
      continue;
    }
    const std::size_t bytes = detail::as_size(b.bytes());
    std::byte* const to = step_.payload(bytes);
    if (bytes > 0) detail::pack(place_of(send, b), b.count, b.element, to);
  }
}

void neighbour_step::truncated(int peer, count_t bytes, count_t space) noexcept {
  if (!truncation_) truncation_ = {peer, bytes, space};
}

// From the step; or, if it arrives as a message for which no receive was posted, into memory of its own.
void neighbour_step::take(std::size_t source, const block& b, const blocks& recv) {
  const int peer = sources_[source];
  const auto space = detail::as_size(b.bytes());
  std::span<const std::byte> arrived = step_.block(peer);
  std::vector<std::byte> unexpected;
  if (step_.elsewhere(peer)) {
    if (messages_[source] != MPI_REQUEST_NULL) return;
    mpi::probed message;
    for (mpi::backoff waiting(comm_->get(), tag_, nullptr); !message.poll(comm_->get(), tag_, peer);) waiting.pause();
    unexpected.resize(detail::as_size(message.bytes));
    message.receive(unexpected.data());
    arrived = unexpected;
  } else {
    mpi::abandon(messages_[source], mpi::request_kind::receive);
  }
  if (arrived.size() > space) truncated(peer, static_cast<count_t>(arrived.size()), b.bytes());
  const std::size_t n = std::min(arrived.size(), space);
  if (n > 0) detail::unpack_first(arrived.data(), static_cast<count_t>(n), place_of(recv, b), b.count, b.element);
}

bool neighbour_step::messages_complete(const blocks& recv, bool block) {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i] == MPI_REQUEST_NULL) continue;
    int done = 1;
    const int code =
        block ? mpi::wait_inside(messages_[i], MPI_STATUS_IGNORE) : PMPI_Test(&messages_[i], &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) return false;
    messages_[i] = MPI_REQUEST_NULL;
    if (code == MPI_SUCCESS) continue;
    if (mpi::class_of(code) != MPI_ERR_TRUNCATE) mpi::fail(code, block ? "MPI_Wait" : "MPI_Test");
    truncated(sources_[i], 0, recv[static_cast<int>(i)].bytes());
  }
  return true;
}

}  // namespace taquin::interpose
