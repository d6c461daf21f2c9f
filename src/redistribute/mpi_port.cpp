#include "redistribute/mpi_port.hpp"

#include <algorithm>
#include <thread>

#include "mpi/big_count.hpp"
#include "mpi/check.hpp"

namespace taquin::detail {

mpi_port::mpi_port(mpi::communicator& comm, block_store& store, const port_limits& limits,
                   std::pmr::memory_resource* memory)
    : comm_(comm),
      store_(store),
      limits_(limits),
      tag_(comm.next_tag()),
      requests_(limits.transfers, MPI_REQUEST_NULL, memory),
      transfers_(limits.transfers, memory),
      complete_(limits.transfers, memory),
      message_requests_(limits.messages, MPI_REQUEST_NULL, memory),
      message_words_(std::size_t{limits.messages} * limits.words, memory),
      buffer_requests_(limits.send_buffers, MPI_REQUEST_NULL, memory),
      buffers_(std::size_t{limits.send_buffers} * limits.chunk * store.block_bytes(), memory),
      addresses_(limits.scattered, memory),
      lengths_(limits.scattered, memory),
      incoming_(limits.words, memory),
      counts_(4 * static_cast<std::size_t>(comm.size()), memory) {}

std::size_t mpi_port::footprint(const port_limits& l, std::size_t block_bytes, int ranks) noexcept {
  return l.transfers * (sizeof(MPI_Request) + sizeof(transfer) + sizeof(int)) + l.messages * sizeof(MPI_Request) +
         (std::size_t{l.messages} + 1) * l.words * sizeof(word) +
         l.send_buffers * (sizeof(MPI_Request) + l.chunk * block_bytes) +
         l.scattered * (sizeof(MPI_Aint) + sizeof(int)) + 4 * sizeof(int) * static_cast<std::size_t>(ranks);
}

// The first request that is not active; waits for one if all are. What is waited for is received whatever this rank
// does: messages by ranks that poll, buffers by ranks that poll or have posted all their receives, as this one does.
std::size_t mpi_port::free_slot(std::pmr::vector<MPI_Request>& requests) {
  const auto found = std::ranges::find(requests, MPI_REQUEST_NULL);
  if (found != requests.end()) return static_cast<std::size_t>(found - requests.begin());
  post_receives();
  int which = 0;
  TAQUIN_MPI(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &which, MPI_STATUS_IGNORE));
  return static_cast<std::size_t>(which);
}

void mpi_port::post(int to, std::span<const word> words) {
  const std::size_t m = free_slot(message_requests_);
  word* copy = message_words_.data() + m * limits_.words;
  std::ranges::copy(words, copy);
  TAQUIN_MPI(
      MPI_Isend(copy, static_cast<int>(words.size()), MPI_UINT32_T, to, tag_, comm_.get(), &message_requests_[m]));
  ++messages_;
  bytes_ += words.size_bytes();
}

// A transfer that is not under way: there is one.
std::size_t mpi_port::free_transfer() const {
  return static_cast<std::size_t>(std::ranges::find_if(transfers_, [](const transfer& t) { return t.peer < 0; }) -
                                  transfers_.begin());
}

void mpi_port::start(std::size_t t) {
  const auto& [incoming, peer, id, run, scattered, number] = transfers_[t];
  if (scattered) {
    TAQUIN_MPI(MPI_Irecv(MPI_BOTTOM, 1, scattered.get(), peer, tag_ + 1, comm_.get(), &requests_[t]));
    return;
  }
  void* data = store_.at(run.first);
  const bool typed = !store_.plain() && run.first < store_.blocks();
  const auto what = typed ? mpi::make_counted(store_.length() * run.count, store_.element().type)
                          : mpi::make_counted(static_cast<count_t>(store_.block_bytes()) * run.count,
                                              store_.plain() ? MPI_BYTE : MPI_PACKED);
  if (incoming) {
    TAQUIN_MPI(MPI_Irecv(data, what.count, what.type, peer, tag_ + 1, comm_.get(), &requests_[t]));
  } else {
    TAQUIN_MPI(MPI_Isend(data, what.count, what.type, peer, tag_ + 1, comm_.get(), &requests_[t]));
  }
}

// Several runs are received by a type: MPI libraries scatter data as they come, part by part.
void mpi_port::receive(int from, std::span<const slot_range> into, std::uint32_t id) {
  mpi::datatype scattered;
  if (into.size() > 1) {
    for (std::size_t i = 0; i < into.size(); ++i) {
      TAQUIN_MPI(MPI_Get_address(store_.at(into[i].first), &addresses_[i]));
      lengths_[i] = static_cast<int>(into[i].count) *
                    static_cast<int>(store_.plain() ? static_cast<count_t>(store_.block_bytes()) : store_.length());
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TAQUIN_MPI(MPI_Type_create_hindexed(static_cast<int>(into.size()), lengths_.data(), addresses_.data(),
                                        store_.plain() ? MPI_BYTE : store_.element().type, &type));
    scattered = mpi::datatype(type);
    TAQUIN_MPI(MPI_Type_commit(&type));
  }
  transfers_[free_transfer()] = {true, from, id, into.front(), std::move(scattered), ++receives_};
  ++under_way_;
  ++unposted_;
}

// The receive from a rank, or from any, that has waited longest to be posted: messages of a rank arrive in the order in
// which they are received. None: limits_.transfers.
std::size_t mpi_port::oldest_receive(int from) const {
  std::size_t oldest = transfers_.size();
  for (std::size_t t = 0; t < transfers_.size(); ++t)
    if (transfers_[t].waits() && (from == MPI_ANY_SOURCE || transfers_[t].peer == from) &&
        (oldest == transfers_.size() || transfers_[t].number < transfers_[oldest].number))
      oldest = t;
  return oldest;
}

void mpi_port::post_receive(std::size_t t) {
  start(t);
  transfers_[t].number = 0;
  --unposted_;
}

void mpi_port::post_receives() {
  while (unposted_ > 0) post_receive(oldest_receive(MPI_ANY_SOURCE));
}

// Receives what has arrived of one message. Receives are posted no earlier: MPI libraries that copy data from the
// sender's memory do so in the call that finds both sides ready, and would copy for all posted receives in one call
// while others wait for this rank's answers.
bool mpi_port::admit() {
  if (unposted_ == 0) return false;
  const auto arrived = [&](int from, int& source) {
    int found = 0;
    MPI_Status status;
    TAQUIN_MPI(MPI_Iprobe(from, tag_ + 1, comm_.get(), &found, &status));
    if (found != 0) source = status.MPI_SOURCE;
    return found != 0;
  };
  int source = 0;
  if (!arrived(MPI_ANY_SOURCE, source)) return false;
  std::size_t t = oldest_receive(source);
  // Its receive has not begun: then another's, if one has arrived behind it.
  for (std::size_t i = 0; i < transfers_.size() && t == transfers_.size(); ++i)
    if (transfers_[i].waits() && arrived(transfers_[i].peer, source)) t = oldest_receive(source);
  if (t == transfers_.size()) return false;
  post_receive(t);
  return true;
}

bool mpi_port::send(int to, std::span<const slot_range> from) {
  slot count = 0;
  for (const auto& r : from) count += r.count;
  ++messages_;
  bytes_ += std::uint64_t{count} * store_.block_bytes();
  if (from.size() == 1 && under_way_ + limits_.reserved < limits_.transfers) {
    const std::size_t t = free_transfer();
    ++under_way_;
    transfers_[t] = {false, to, 0, from.front(), {}, 0};
    start(t);
    return false;
  }
  const std::size_t b = free_slot(buffer_requests_);
  std::byte* buffer = buffers_.data() + b * limits_.chunk * store_.block_bytes();
  store_.gather(from, buffer);
  const auto what =
      mpi::make_counted(static_cast<count_t>(store_.block_bytes()) * count, store_.plain() ? MPI_BYTE : MPI_PACKED);
  TAQUIN_MPI(MPI_Isend(buffer, what.count, what.type, to, tag_ + 1, comm_.get(), &buffer_requests_[b]));
  return true;
}

bool mpi_port::poll() {
  int n = 0;
  TAQUIN_MPI(
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &n, complete_.data(), MPI_STATUSES_IGNORE));
  told_ = 0;
  untold_ = n == MPI_UNDEFINED ? 0 : static_cast<std::size_t>(n);
  return untold_ > 0;
}

// Messages are requests, mostly: they wait with the sender until they can be answered.
bool mpi_port::can_pack() {
  return std::ranges::any_of(buffer_requests_, [](MPI_Request& r) {
    int done = 1;
    if (r != MPI_REQUEST_NULL) TAQUIN_MPI(MPI_Test(&r, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
}

bool mpi_port::wait_event() {
  for (;;) {
    if (told_ < untold_ || poll()) {
      transfer& t = transfers_[static_cast<std::size_t>(complete_[told_++])];
      next_ = {t.incoming ? event::kind::arrived : event::kind::sent, t.peer, t.id, {}, t.run};
      t.peer = -1;
      t.scattered = {};
      --under_way_;
      return true;
    }
    int found = 0;
    MPI_Status status;
    if (can_pack()) TAQUIN_MPI(MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_.get(), &found, &status));
    if (found != 0) {
      int n = 0;
      TAQUIN_MPI(MPI_Get_count(&status, MPI_UINT32_T, &n));
      TAQUIN_MPI(MPI_Recv(incoming_.data(), n, MPI_UINT32_T, status.MPI_SOURCE, tag_, comm_.get(), MPI_STATUS_IGNORE));
      next_ = {event::kind::message, status.MPI_SOURCE, 0, std::span(incoming_).first(static_cast<std::size_t>(n)), {}};
      return true;
    }
    if (!admit()) std::this_thread::yield();
  }
}

event mpi_port::take_event() { return next_; }

bool mpi_port::begin(const collective& c) {
  post_receives();
  if (!c.sums.empty()) {
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, c.sums.data(), static_cast<int>(c.sums.size()), MPI_UINT64_T, MPI_SUM,
                             comm_.get()));
    return true;
  }
  if (c.each > 0) {
    TAQUIN_MPI(PMPI_Alltoall(c.out.data(), static_cast<int>(c.each), MPI_UINT32_T, c.in.data(),
                             static_cast<int>(c.each), MPI_UINT32_T, comm_.get()));
    return true;
  }
  const auto p = static_cast<std::size_t>(comm_.size());
  int* a = counts_.data();
  for (std::size_t r = 0; r < p; ++r) {
    a[r] = static_cast<int>(c.out_at[r + 1] - c.out_at[r]);
    a[p + r] = static_cast<int>(c.out_at[r]);
    a[2 * p + r] = static_cast<int>(c.in_at[r + 1] - c.in_at[r]);
    a[3 * p + r] = static_cast<int>(c.in_at[r]);
  }
  TAQUIN_MPI(PMPI_Alltoallv(c.out.data(), a, a + p, MPI_UINT32_T, c.in.data(), a + 2 * p, a + 3 * p, MPI_UINT32_T,
                            comm_.get()));
  return true;
}

void mpi_port::finish() {
  TAQUIN_MPI(MPI_Waitall(static_cast<int>(message_requests_.size()), message_requests_.data(), MPI_STATUSES_IGNORE));
  TAQUIN_MPI(MPI_Waitall(static_cast<int>(buffer_requests_.size()), buffer_requests_.data(), MPI_STATUSES_IGNORE));
}

}  // namespace taquin::detail
