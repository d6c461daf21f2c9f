#include "interpose/neighbourhood/neighbourhood.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "mpi/abort_call.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/request_set.hpp"

namespace taquin::interpose {

namespace {

constexpr std::size_t most_of_rank = std::size_t{448} << 10U;  // in slots
constexpr std::size_t most_in_any_slot = 16384;
constexpr std::size_t eager = 1024;  // bytes that every MPI library sends without waiting for the receive

// The header in the contents of a slot.
struct block_header {
  std::uint64_t call = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

bool neighbourhood::is_free(const edge& e, std::uint64_t call) noexcept {
  const std::size_t i = call % slots;
  return head(e).acknowledged[i].load(std::memory_order_acquire) == e.written[i];
}

// Whether the slot has so many bytes of pages, which are allocated now if they were not.
bool neighbourhood::has_space(edge& e, std::uint64_t call, std::size_t bytes) const noexcept {
  std::size_t& taken = e.taken[call % slots];
  if (bytes <= taken) return true;
  if (!detail::mapping::take(slot_of(e, call).data(), most_in_slot_)) return false;
  taken = most_in_slot_;
  return true;
}

std::size_t neighbourhood::most_in_slot(std::size_t widest) noexcept {
  const std::size_t fair =
      most_of_rank / (std::max<std::size_t>(widest, 1) * slots) / detail::cache_line * detail::cache_line;
  return std::clamp(fair, detail::cache_line, most_in_any_slot + detail::cache_line) - sizeof(slot);
}

std::size_t neighbourhood::edge_bytes(std::size_t most_in_slot) noexcept {
  return sizeof(edge_head) + slots * (sizeof(slot) + most_in_slot);
}

neighbourhood::edge_head& neighbourhood::head(const edge& e) noexcept {
  return *reinterpret_cast<edge_head*>(e.memory);
}

neighbourhood::slot& neighbourhood::slot_of(const edge& e, std::uint64_t call) const noexcept {
  const std::size_t at = sizeof(edge_head) + call % slots * (sizeof(slot) + most_in_slot_);
  return *reinterpret_cast<slot*>(e.memory + at);
}

neighbourhood::eager_sends::~eager_sends() {
  forget();
  if (mpi::finalized()) return;
  for (auto& [request, held] : all_) {
    int done = 0;
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) continue;
    mpi::hand_to_library(request);
    // The MPI library still reads the buffer, so it is never freed.
    // cppcheck-suppress leakReturnValNotUsed
    new std::vector<std::byte>(std::move(held));  // NOLINT
  }
}

void neighbourhood::eager_sends::send(std::span<const std::byte> contents, int to, int tag, MPI_Comm comm) {
  forget();  // other threads progress it
  static_cast<void>(advance());
  for (std::size_t at = 0; at < contents.size(); at += eager) {
    const auto chunk = contents.subspan(at, std::min(eager, contents.size() - at));
    auto& [request, held] = all_.emplace_back(MPI_REQUEST_NULL, std::vector(chunk.begin(), chunk.end()));
    TAQUIN_MPI(PMPI_Isend(held.data(), static_cast<int>(held.size()), MPI_BYTE, to, tag, comm, &request));
  }
  begin(false);
}

bool neighbourhood::eager_sends::advance() {
  std::erase_if(all_, [](auto& one) {
    int done = 0;
    TAQUIN_MPI(PMPI_Test(&one.first, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
  return all_.empty();
}

void neighbourhood::eager_sends::await() {
  for (mpi::backoff waiting; !advance();) waiting.pause();
}

void neighbourhood::send_around(const edge& e, std::span<const std::byte> contents) {
  around_.send(contents, e.at, e.tag + 1, comm_->get());
  head(e).around.fetch_add(1, std::memory_order_release);
}

// Its sender has sent all of it.
void neighbourhood::receive_around(std::size_t source) {
  const edge& e = in_[source];
  const auto receive = [&](std::byte* into, std::size_t bytes) {
    TAQUIN_MPI(PMPI_Recv(into, static_cast<int>(bytes), MPI_BYTE, e.at, e.tag + 1, comm_->get(), MPI_STATUS_IGNORE));
  };
  std::vector<std::byte> contents(eager);
  receive(contents.data(), eager);
  block_header header;
  std::memcpy(&header, contents.data(), sizeof header);
  contents.resize(sizeof header + (header.bytes <= most_in_slot_ ? header.bytes : 0));
  for (std::size_t at = eager; at < contents.size(); at += eager)
    receive(contents.data() + at, std::min(eager, contents.size() - at));
  ++arrived_[source].messages;
  arrived_[source].by_call.emplace(header.call, std::move(contents));
}

// The contents for a call that have arrived as messages, once.
std::optional<std::vector<std::byte>> neighbourhood::take_arrived(std::size_t source, std::uint64_t call) {
  const std::lock_guard lock(arriving_);
  arrivals& arrived = arrived_[source];
  while (head(in_[source]).around.load(std::memory_order_acquire) > arrived.messages) receive_around(source);
  const auto found = arrived.by_call.find(call);
  if (found == arrived.by_call.end()) return std::nullopt;
  auto contents = std::move(found->second);
  arrived.by_call.erase(found);
  return contents;
}

neighbour_exchange::neighbour_exchange(std::shared_ptr<neighbourhood> n)
    : n_(std::move(n)), messages_(n_->in_.size() + n_->out_.size(), MPI_REQUEST_NULL) {
  waits_for_.reserve(n_->in_.size());
}

neighbour_exchange::~neighbour_exchange() {
  if (mpi::finalized()) return;
  for (std::size_t i = 0; i < messages_.size(); ++i)
    mpi::abandon(messages_[i], i < n_->in_.size() ? mpi::request_kind::receive : mpi::request_kind::send);
}

// Scope guard: this rank's call is in its progress record, its waits have the timeout, and end when another rank has
// aborted.
template <class Work>
auto neighbour_exchange::in_call(Work work) {
  static constexpr std::string_view name = "neighbour_slots";
  static constexpr std::uint64_t call_word = mpi::progress_record::of(mpi::call_kind::alltoallv);
  mpi::communicator& comm = *n_->comm_;
  return mpi::or_abort(comm, [&] {
    const mpi::in_call here(&comm.calls(), call_word);
    const mpi::present present(&comm);
    std::optional<detail::call_deadline> clock;
    if (n_->timeout_.seconds > 0) [[unlikely]]
      clock.emplace(detail::known_comm::of(comm), call_word, number_, name, n_->timeout_);
    return work();
  });
}

void neighbour_exchange::start(const blocks& send, const blocks& recv) {
  number_ = mpi::count_call(n_->comm_->calls());
  send_ = send;
  recv_ = recv;
  call_ = ++n_->calls_;
  in_call([this] { begin(); });
}

void neighbour_exchange::begin() {
  truncation_.reset();
  posted_ = 0;
  waits_for_.clear();
  for (std::size_t s = 0; s < n_->in_.size(); ++s) {
    const neighbourhood::edge& e = n_->in_[s];
    if (e.memory != nullptr) waits_for_.push_back(s);
    if (e.is_elsewhere() ||
        (e.memory != nullptr && detail::as_size(recv_[static_cast<int>(s)].bytes()) > n_->most_in_slot_))
      receive(s);
  }
  for (std::size_t d = 0; d < n_->out_.size(); ++d) {
    if (n_->out_[d].memory != nullptr)
      write(d);
    else if (n_->out_[d].is_elsewhere())
      send(d);
  }
}

void neighbour_exchange::receive(std::size_t source) {
  const neighbourhood::edge& e = n_->in_[source];
  const block b = recv_[static_cast<int>(source)];
  const auto m = mpi::make_counted(b.count, b.element.type);
  TAQUIN_MPI(PMPI_Irecv(static_cast<std::byte*>(recv_.base) + b.offset, m.count, m.type, e.at, e.tag, n_->comm_->get(),
                        &messages_[source]));
  ++posted_;
}

void neighbour_exchange::send(std::size_t destination) {
  const neighbourhood::edge& e = n_->out_[destination];
  const block b = send_[static_cast<int>(destination)];
  const auto m = mpi::make_counted(b.count, b.element.type);
  TAQUIN_MPI(PMPI_Isend(static_cast<const std::byte*>(send_.base) + b.offset, m.count, m.type, e.at, e.tag,
                        n_->comm_->get(), &messages_[n_->in_.size() + destination]));
  ++posted_;
}

void neighbour_exchange::write(std::size_t destination) {
  neighbourhood::edge& e = n_->out_[destination];
  const block b = send_[static_cast<int>(destination)];
  const auto* const from = static_cast<const std::byte*>(send_.base) + b.offset;
  const block_header header{call_, static_cast<std::uint64_t>(b.bytes())};
  const bool fits = header.bytes <= n_->most_in_slot_;
  const auto put = [&](std::byte* to) {
    if (header.bytes == 0 || !fits) return;
    if (b.element.contiguous())
      detail::copy_bytes(to, from, header.bytes);
    else
      detail::pack(from, b.count, b.element, to);
  };
  if (neighbourhood::is_free(e, call_) && n_->has_space(e, call_, fits ? header.bytes : 0)) {
    e.written[call_ % neighbourhood::slots] = call_;
    neighbourhood::slot& s = n_->slot_of(e, call_);
    s.bytes = header.bytes;
    put(s.data());
    s.call.store(call_, std::memory_order_release);
  } else {
    n_->packed_.resize(sizeof header + (fits ? header.bytes : 0));
    std::memcpy(n_->packed_.data(), &header, sizeof header);
    put(n_->packed_.data() + sizeof header);
    n_->send_around(e, n_->packed_);
  }
  if (!fits) send(destination);
}

bool neighbour_exchange::take(std::size_t source) {
  const neighbourhood::edge& e = n_->in_[source];
  neighbourhood::slot& s = n_->slot_of(e, call_);
  if (s.call.load(std::memory_order_acquire) == call_) {
    deliver(source, s.data(), s.bytes);
    neighbourhood::head(e).acknowledged[call_ % neighbourhood::slots].store(call_, std::memory_order_release);
    return true;
  }
  const auto contents = n_->take_arrived(source, call_);
  if (!contents) return false;
  block_header header;
  std::memcpy(&header, contents->data(), sizeof header);
  deliver(source, contents->data() + sizeof header, header.bytes);
  return true;
}

void neighbour_exchange::deliver(std::size_t source, const std::byte* from, std::size_t bytes) {
  const block b = recv_[static_cast<int>(source)];
  const auto space = static_cast<std::size_t>(b.bytes());
  if (bytes > space) too_long(source, static_cast<count_t>(bytes));
  if (bytes > n_->most_in_slot_) {
    if (space <= n_->most_in_slot_) drop(source, bytes);
    return;
  }
  if (space > n_->most_in_slot_) {  // no message comes
    mpi::abandon(messages_[source], mpi::request_kind::receive);
    --posted_;
  }
  std::byte* const to = static_cast<std::byte*>(recv_.base) + b.offset;
  if (const std::size_t n = std::min(bytes, space); n > 0) {
    if (b.element.contiguous())
      detail::copy_bytes(to, from, n);
    else
      detail::unpack_first(from, static_cast<count_t>(n), to, b.count, b.element);
  }
}

// A message without a posted receive, because its receiver expects a block that fits into a slot.
void neighbour_exchange::drop(std::size_t source, std::size_t bytes) {
  std::vector<std::byte> rest(bytes);
  const auto m = mpi::make_counted(static_cast<count_t>(bytes), MPI_BYTE);
  TAQUIN_MPI(
      PMPI_Recv(rest.data(), m.count, m.type, n_->in_[source].at, n_->tag_, n_->comm_->get(), MPI_STATUS_IGNORE));
}

// The first of the call: where a slot has the length of a message, it is known.
void neighbour_exchange::too_long(std::size_t source, count_t bytes) noexcept {
  if (!truncation_) truncation_ = {n_->in_[source].peer, bytes, recv_[static_cast<int>(source)].bytes()};
}

bool neighbour_exchange::messages_complete(bool block) {
  for (std::size_t i = 0; posted_ > 0 && i < messages_.size(); ++i) {
    if (messages_[i] == MPI_REQUEST_NULL) continue;
    int done = 1;
    const int code =
        block ? mpi::wait_inside(messages_[i], MPI_STATUS_IGNORE) : PMPI_Test(&messages_[i], &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) {
      if (mpi::class_of(code) != MPI_ERR_TRUNCATE) mpi::fail(code, block ? "MPI_Wait" : "MPI_Test");
      too_long(i, 0);
    }
    if (code == MPI_SUCCESS && done == 0) return false;
    messages_[i] = MPI_REQUEST_NULL;
    --posted_;
  }
  return true;
}

bool neighbour_exchange::slots_have_arrived() {
  std::erase_if(waits_for_, [this](std::size_t source) { return take(source); });
  return waits_for_.empty();
}

void neighbour_exchange::end() {
  if (const auto t = std::exchange(truncation_, std::nullopt))
    mpi::refuse_truncation(*t, n_->here_[detail::as_size(n_->mine_)]);
}

bool neighbour_exchange::test() {
  const bool over = in_call([this] {
    if (slots_have_arrived() && messages_complete(false)) return true;
    mpi::present::poll();
    return false;
  });
  if (over) end();
  return over;
}

// Each slot states whether a message follows; those of other nodes are waited for in any case. When all slots have
// arrived, waiting in the MPI library is possible.
void neighbour_exchange::wait() {
  in_call([this] {
    for (mpi::backoff waiting(n_->comm_->get(), n_->tag_, this); !slots_have_arrived();) waiting.pause();
    for (mpi::backoff waiting(this); !messages_complete(!mpi::must_poll());) waiting.pause();
  });
  end();
}

void neighbour_exchange::describe(mpi::wait_record& to) const {
  to.what = "of its neighbours";
  for (const std::size_t source : waits_for_) to.miss(n_->in_[source].at);
}

}  // namespace taquin::interpose
