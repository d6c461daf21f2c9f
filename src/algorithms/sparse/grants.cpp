#include "algorithms/sparse/grants.hpp"

#include <algorithm>
#include <utility>

#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/user_code.hpp"

namespace taquin::detail {

sparse_grants::sparse_grants(mpi::communicator& comm, int tag, const sparse_data& mine, std::span<const header> blocks,
                             const window& w, std::size_t of_sender, std::size_t chunk,
                             std::pmr::memory_resource* memory)
    : comm_(comm),
      tag_(tag),
      mine_(mine),
      blocks_(blocks),
      of_sender_(of_sender),
      chunk_(chunk),
      buffers_(memory),
      requested_(memory),
      staging_(memory),
      requests_(requests_of(w), memory) {
  array_list::take(*this, w.to_here, chunk);
}

std::size_t sparse_grants::footprint(const window& w, std::size_t chunk) noexcept {
  return array_list::bytes<sparse_grants>(w.to_here, chunk) + mpi::request_set::bytes(requests_of(w));
}

void sparse_grants::receive(std::byte* into) {
  into_ = into;
  run();
}

void sparse_grants::refuse() {
  refuses_ = true;
  run();
}

std::exception_ptr sparse_grants::deliver(count_t elements, const sparse_call::taker& take) {
  most_ = elements;
  take_ = &take;
  run();
  return failure_;
}

void sparse_grants::run() {
  if (mine_.to_send > 0) await_request();
  for (mpi::backoff waiting(this); !done();) {
    bool news = post_requests();
    news = poll() || news;
    news = answer() || news;
    news = hand_over() || news;
    if (news)
      waiting.reset();
    else
      waiting.pause();
  }
}

bool sparse_grants::done() noexcept {
  return all_requested() && requests_.in_flight() == 0 && requester_ < 0 && sent_ == mine_.to_send &&
         std::ranges::none_of(buffers_, &buffer::busy);
}

// Blocks without elements are not requested, nor data that have arrived with their notice.
bool sparse_grants::all_requested() noexcept {
  while (block_ < blocks_.size() && (first_ >= blocks_[block_].count || blocks_[block_].has_arrived())) {
    before_ += blocks_[block_].count;
    ++block_;
    first_ = 0;
  }
  return block_ == blocks_.size();
}

// Chunks that are delivered in order use the buffers in turn.
std::size_t sparse_grants::free_buffer() const noexcept {
  if (take_ != nullptr) {
    const std::size_t s = chunks_requested_ % buffers_.size();
    return buffers_[s].busy ? buffers_.size() : s;
  }
  return as_size(std::ranges::find(buffers_, false, &buffer::busy) - buffers_.begin());
}

std::byte* sparse_grants::place(std::size_t s) const noexcept {
  if (take_ != nullptr) return staging_.data() + s * chunk_ - mine_.element.true_lb;
  return into_ + (before_ + first_) * mine_.element.extent;
}

// Blocks are in the order of their senders: for those before this one nothing more is requested.
bool sparse_grants::post_requests() {
  bool news = false;
  while (!all_requested()) {
    const std::size_t s = free_buffer();
    if (s == buffers_.size()) return news;
    const header& n = blocks_[block_];
    if (std::exchange(sender_, n.from) != n.from) awaited_ = 0;
    if (!refuses_ && awaited_ == of_sender_) return news;
    if (!refuses_) ++awaited_;
    const count_t count = most_ > 0 ? std::min(most_, n.count - first_) : n.count;
    const auto what = mpi::make_counted(count, mine_.element.type);
    if (!refuses_) requests_.receive(s, place(s), what.count, what.type, n.from, tag_ + data_tag, comm_.get());
    buffers_[s] = {block_, first_, count, true, refuses_};
    requested_[s] = {n.first + first_, refuses_ ? -count : count};
    requests_.send(first_request() + s, &requested_[s], 2, MPI_INT64_T, n.from, tag_ + request_tag, comm_.get());
    if (n.from != comm_.rank()) ++messages_;
    first_ += count;
    ++chunks_requested_;
    news = true;
  }
  return news;
}

bool sparse_grants::poll() {
  const auto done = [&](std::size_t i, const MPI_Status& status) {
    if (i < first_request()) {
      buffers_[i].arrived = true;
      if (blocks_[buffers_[i].block].from == sender_) --awaited_;
    }
    if (i == incoming_request()) requester_ = status.MPI_SOURCE;
  };
  const auto capacity = [&](std::size_t i) -> count_t {
    return i < first_request() ? buffers_[i].count * mine_.element.size : static_cast<count_t>(sizeof(request));
  };
  return requests_.in_flight() > 0 && requests_.test_some(done, capacity) > 0;
}

void sparse_grants::await_request() {
  requests_.receive(incoming_request(), &requested_.back(), 2, MPI_INT64_T, MPI_ANY_SOURCE, tag_ + request_tag,
                    comm_.get());
}

bool sparse_grants::answer() {
  if (requester_ < 0) return false;
  if (requested_.back().count < 0) {
    sent_ -= requested_.back().count;
    return answered();
  }
  std::size_t i = first_send();
  while (i < incoming_request() && requests_.active(i)) ++i;
  if (i == incoming_request()) return false;
  const request& r = requested_.back();
  const auto what = mpi::make_counted(r.count, mine_.element.type);
  requests_.send(i, mine_.at + r.first * mine_.element.extent, what.count, what.type, requester_, tag_ + data_tag,
                 comm_.get());
  if (requester_ != comm_.rank()) {
    ++messages_;
    bytes_ += static_cast<std::uint64_t>(r.count * mine_.element.size);
  }
  sent_ += r.count;
  return answered();
}

bool sparse_grants::answered() {
  requester_ = -1;
  if (sent_ < mine_.to_send) await_request();
  return true;
}

void sparse_grants::give(const buffer& s, const std::byte* data) {
  if (failure_) return;
  begin(false);
  try {
    const mpi::user_code by_taker(comm_.calls());
    (*take_)({s.block, s.first, s.count, data});
  } catch (...) {  // the others continue: this rank does its part
    failure_ = std::current_exception();
  }
  forget();
  if (broken_) std::rethrow_exception(broken_);
}

bool sparse_grants::advance() {
  try {
    poll();
    answer();
  } catch (...) {
    broken_ = std::current_exception();
    return true;
  }
  return false;
}

// A slot is free after its chunk has arrived, its request was sent, and its chunk is delivered.
bool sparse_grants::hand_over() {
  bool news = false;
  const auto complete = [&](std::size_t s) {
    return buffers_[s].busy && buffers_[s].arrived && !requests_.active(first_request() + s);
  };
  if (take_ == nullptr) {
    for (std::size_t s = 0; s < buffers_.size(); ++s) {
      if (!complete(s)) continue;
      buffers_[s].busy = false;
      news = true;
    }
    return news;
  }
  for (; given_ < chunks_requested_ && complete(given_ % buffers_.size()); ++given_) {
    const std::size_t s = given_ % buffers_.size();
    give(buffers_[s], place(s));
    buffers_[s].busy = false;
    news = true;
  }
  return news;
}

void sparse_grants::describe(mpi::wait_record& to) const {
  to.what = "chunks of a sparse exchange";
  to.comm = comm_.get();
  for (const buffer& s : buffers_)
    if (s.busy && !s.arrived && blocks_[s.block].from != comm_.rank()) to.miss(blocks_[s.block].from);
}

}  // namespace taquin::detail
