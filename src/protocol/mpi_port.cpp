#include "protocol/mpi_port.hpp"

#include <algorithm>
#include <utility>

#include "base/sizes.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "schedule/collectives.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

mpi_port::mpi_port(mpi::communicator& comm, int first_tag, store& units, const port_limits& limits,
                   std::pmr::memory_resource* memory, node_offers* node)
    : comm_(comm),
      store_(units),
      limits_(limits),
      tag_(first_tag),
      memory_(memory),
      requests_(0, memory),
      transfers_(memory),
      complete_(memory),
      words_(memory),
      takers_(memory),
      taken_(memory),
      buffers_(memory),
      addresses_(memory),
      lengths_(memory),
      node_(node),
      values_(memory) {
  array_list::take(*this, limits, units.unit_bytes());
  fetches_ = node != nullptr;
}

std::size_t mpi_port::footprint(const port_limits& l, std::size_t unit_bytes) noexcept {
  return array_list::bytes<mpi_port>(l, unit_bytes);
}

std::size_t mpi_port::reduction_bytes(int ranks) noexcept {
  return executor::footprint(allreduce_size(ranks), most_values * sizeof(std::uint64_t));
}

void mpi_port::begin_run() noexcept {
  odd_run_ = 1 - odd_run_;
  receives_ = 0;
  fruitless_ = 0;
  reported_quiet_ = false;
  messages_ = 0;
  bytes_ = 0;
  control_bytes_ = 0;
  std::ranges::fill(takers_, -1);
  takers_to_report_ = 0;
  if (node_ != nullptr) node_->begin();
}

// ---- What happens ----

void mpi_port::completed(std::size_t number, const MPI_Status& status) {
  if (number < first_buffer() && takers_[number] >= 0) taken_[takers_to_report_++] = std::exchange(takers_[number], -1);
  if (number < first_transfer()) return;
  const std::size_t t = number - first_transfer();
  transfer& done = transfers_[t];
  if (done.of_collective) {
    done = {};
    --words_left_;
    return;
  }
  if (done.incoming) {
    const count_t bytes = mpi::bytes_of(status);
    if (bytes != MPI_UNDEFINED && store_.unit_bytes() > 0)
      done.length = bytes / static_cast<count_t>(store_.unit_bytes());
  } else {
    --sends_;
  }
  complete_[(reported_ + at_hand_++) % complete_.size()] = static_cast<std::uint32_t>(t);
}

count_t mpi_port::space(std::size_t number) const noexcept {
  const transfer& t = transfers_[number - first_transfer()];
  return t.length * static_cast<count_t>(t.of_collective ? sizeof(word) : store_.unit_bytes());
}

void mpi_port::poll() {
  requests_.test_some([&](std::size_t i, const MPI_Status& status) { completed(i, status); },
                      [&](std::size_t i) { return space(i); });
}

bool mpi_port::find_transfer() {
  if (at_hand_ == 0) poll();
  if (at_hand_ == 0) return find_taken() || find_fetched();
  transfer& t = transfers_[complete_[reported_]];
  next_ = {t.incoming ? event::kind::arrived : event::kind::sent, t.peer, t.id, {}, {t.at, t.length}};
  t = {};
  reported_ = (reported_ + 1) % static_cast<std::uint32_t>(complete_.size());
  --at_hand_;
  --in_progress_;
  return true;
}

bool mpi_port::find_taken() {
  if (takers_to_report_ == 0) return false;
  next_ = {event::kind::taken, taken_[--takers_to_report_], 0, {}, {}};
  return true;
}

bool mpi_port::arrived(int from, int what, MPI_Status& status) const {
  int found = 0;
  TAQUIN_MPI(PMPI_Iprobe(from, tag_ + what, comm_.get(), &found, &status));
  return found != 0;
}

bool mpi_port::find_message(int from) {
  MPI_Status status;
  if (!arrived(from, control(), status)) return false;
  int n = 0;
  TAQUIN_MPI(PMPI_Get_count(&status, MPI_UINT32_T, &n));
  word* const into = words_.data() + std::size_t{limits_.messages} * limits_.words;
  if (n > static_cast<int>(limits_.words))
    mpi::fail_truncated(status, static_cast<count_t>(limits_.words * sizeof(word)), "MPI_Iprobe");
  TAQUIN_MPI(PMPI_Recv(into, n, MPI_UINT32_T, status.MPI_SOURCE, tag_ + control(), comm_.get(), MPI_STATUS_IGNORE));
  next_ = {event::kind::message, status.MPI_SOURCE, 0, std::span(into, as_size(n)), {}};
  return true;
}

// Most messages are requests: they are not received before they can be answered.
bool mpi_port::can_answer() {
  if (limits_.send_buffers == 0) return sends_ + limits_.reserved < limits_.transfers;
  for (std::size_t b = first_buffer(); b < first_transfer(); ++b)
    if (!requests_.active(b)) return true;
  return false;
}

bool mpi_port::find() {
  do {
    if (filter_.transfers && find_transfer()) return true;
    if (!filter_.transfers) poll();
    if (filter_.messages && (filter_.from >= 0 || can_answer()) &&
        find_message(filter_.from >= 0 ? filter_.from : MPI_ANY_SOURCE))
      return true;
  } while (admit());
  return false;
}

bool mpi_port::poll(const filter& f) {
  filter_ = f;
  if (!find()) return f.messages && f.transfers && idle_too_long();
  fruitless_ = 0;
  return true;
}

// `quiet` is returned after a number of polls without news and after a time. Both are needed: one poll may last long
// because it transfers data, and time also passes while the rank does not run.
bool mpi_port::idle_too_long() {
  constexpr int fruitless_polls = 64;
  if (limits_.idle_threshold < 0) return false;
  if (fruitless_++ == 0) {
    last_news_ = PMPI_Wtime();
    reported_quiet_ = false;
    return false;
  }
  if (reported_quiet_ || fruitless_ <= fruitless_polls || PMPI_Wtime() - last_news_ <= limits_.idle_threshold)
    return false;
  reported_quiet_ = true;
  next_ = {event::kind::quiet, -1, 0, {}, {}};
  return true;
}

// Resumes the task if the event that it awaits has happened.
bool mpi_port::advance() {
  if (!suspended()) return false;
  if (suspends_test()) {
    // its turn is now
  } else if (opening_) {
    if (!try_open()) return false;
  } else if (withdraws_ >= 0) {
    if (!try_withdraw(withdraws_)) return false;
  } else if (swaps_ >= 0) {
    if (!try_swapped(swaps_)) return false;
  } else if (words_left_ > 0 || reduction_ != nullptr || dense_running_) {
    if (!collective_complete()) return false;
  } else if (!poll(filter_)) {
    return false;
  }
  resume();
  return true;
}

bool mpi_port::test(const task& t) {
  const std::uint64_t before = store_.bytes_copied();
  while (!t.done()) {
    if (!advance()) return false;
    if (!t.done() && (suspends_test() || store_.bytes_copied() - before >= bytes_per_test)) return false;
  }
  t.check();
  if (requests_.in_flight() > 0) poll();
  return requests_.in_flight() == 0;
}

void mpi_port::wait(const task& t) {
  mpi::backoff waiting(this);
  while (!t.done()) advance() ? waiting.reset() : waiting.pause();
  while (!test(t)) waiting.pause();
}

void mpi_port::describe(mpi::wait_record& to) const {
  to.what = "requests and answers";
  to.comm = comm_.get();
  for (const transfer& t : transfers_)
    if (t.peer >= 0 && t.peer != comm_.rank()) to.miss(t.peer);
}

// ---- Messages and transfers ----

// The first free request number; waits if all are in use. This cannot deadlock, because the peers receive pending
// messages whatever this rank does: messages when they poll, packed transfers when they poll or, like this rank here,
// have posted all their receives.
std::size_t mpi_port::free_number(std::size_t begin, std::size_t end) {
  const auto find = [&] {
    while (begin < end && requests_.active(begin)) ++begin;
    return begin < end;
  };
  const std::size_t first = begin;
  if (find()) return begin;
  post_receives();
  for (mpi::backoff waiting(this);; waiting.pause()) {
    poll();
    begin = first;
    if (find()) return begin;
    if (!store_.columns().empty()) post_receives();
  }
}

// Into the memory of a message's number, which is returned.
std::size_t mpi_port::copy_of(std::span<const word> words) {
  const std::size_t m = free_number(0, first_buffer());
  std::ranges::copy(words, words_.data() + m * limits_.words);
  return m;
}

void mpi_port::count_words(int to, std::span<const word> words) noexcept {
  if (to == comm_.rank()) return;
  ++messages_;
  control_bytes_ += words.size_bytes();
}

void mpi_port::post(int to, std::span<const word> words) {
  const std::size_t m = copy_of(words);
  requests_.send(m, words_.data() + m * limits_.words, static_cast<int>(words.size()), MPI_UINT32_T, to,
                 tag_ + control(), comm_.get());
  count_words(to, words);
}

void mpi_port::post_known(int to, std::span<const word> words) {
  const std::size_t m = copy_of(words);
  requests_.send_synchronously(m, words_.data() + m * limits_.words, static_cast<int>(words.size()), MPI_UINT32_T, to,
                               tag_ + control(), comm_.get());
  takers_[m] = to;
  count_words(to, words);
}

void mpi_port::refuse(int to) {
  requests_.send(free_number(0, first_buffer()), nullptr, 0, MPI_BYTE, to, tag_ + data_tag, comm_.get());
}

// An unused transfer; there is always one.
std::size_t mpi_port::free_transfer() const {
  return as_size(std::ranges::find_if(transfers_, [](const transfer& t) { return t.peer < 0; }) - transfers_.begin());
}

void mpi_port::start(std::size_t t) {
  const transfer& x = transfers_[t];
  const auto post = [&](void* data, int count, MPI_Datatype type) {
    if (x.incoming) {
      requests_.receive(first_transfer() + t, data, count, type, x.peer, tag_ + data_tag, comm_.get());
    } else {
      requests_.send(first_transfer() + t, data, count, type, x.peer, tag_ + data_tag, comm_.get());
    }
  };
  if (x.scattered) return post(MPI_BOTTOM, 1, x.scattered.get());
  if (!store_.columns().empty()) return post(MPI_BOTTOM, 1, type_of_columns({x.at, x.length}).get());
  const bool typed = !store_.plain() && x.at < store_.border();
  const auto what = typed ? mpi::make_counted(store_.length() * x.length, store_.element().type)
                          : mpi::make_counted(static_cast<count_t>(store_.unit_bytes()) * x.length,
                                              store_.plain() ? MPI_BYTE : MPI_PACKED);
  post(store_.at(x.at), what.count, what.type);
}

void mpi_port::receive(int from, std::span<const unit_run> into, std::uint32_t id) {
  const std::size_t t = free_transfer();
  transfers_[t] = {.at = into.front().at,
                   .length = units_of(into),
                   .scattered = into.size() > 1 ? type_of(into) : mpi::datatype(),
                   .peer = from,
                   .id = id,
                   .number = ++receives_,
                   .incoming = true};
  ++in_progress_;
  ++unposted_;
  if (comes_by_itself(from)) post_receive(t);
}

bool mpi_port::send(int to, std::span<const unit_run> from, std::uint32_t id) {
  const count_t length = units_of(from);
  if (to != comm_.rank()) ++messages_;
  if (to != comm_.rank()) bytes_ += static_cast<std::uint64_t>(length) * store_.unit_bytes();
  const bool packs = limits_.chunk > 0;
  if (!packs || (from.size() == 1 && in_progress_ + limits_.reserved < limits_.transfers)) {
    const std::size_t t = free_transfer();
    ++in_progress_;
    ++sends_;
    transfers_[t] = {.at = from.front().at,
                     .length = length,
                     .scattered = from.size() > 1 ? type_of(from) : mpi::datatype(),
                     .peer = to,
                     .id = id};
    start(t);
    return false;
  }
  const std::size_t b = free_number(first_buffer(), first_transfer());
  std::byte* const buffer = buffers_.data() + (b - first_buffer()) * as_size(limits_.chunk) * store_.unit_bytes();
  store_.gather(from, buffer);
  const auto what =
      mpi::make_counted(static_cast<count_t>(store_.unit_bytes()) * length, store_.plain() ? MPI_BYTE : MPI_PACKED);
  requests_.send(b, buffer, what.count, what.type, to, tag_ + data_tag, comm_.get());
  return true;
}

// The receive from a rank, or from any, that has waited longest to be posted: data of a rank must be received in the
// order of its sends. None: limits_.transfers.
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
  if (!store_.columns().empty()) {
    while (admit()) continue;
    return;
  }
  while (unposted_ > 0) post_receive(oldest_receive(MPI_ANY_SOURCE));
}

// Receives one transfer that has been announced, if any.
bool mpi_port::admit() {
  if (unposted_ == 0) return false;
  MPI_Status status;
  if (!arrived(MPI_ANY_SOURCE, data_tag, status)) return false;
  std::size_t t = oldest_receive(status.MPI_SOURCE);
  // The task has not posted a receive from that rank yet. Data of another rank may have been announced after it.
  for (std::size_t i = 0; i < transfers_.size() && t == transfers_.size(); ++i)
    if (transfers_[i].waits() && arrived(transfers_[i].peer, data_tag, status)) t = oldest_receive(transfers_[i].peer);
  if (t == transfers_.size()) return false;
  shorten(t, status);
  post_receive(t);
  fruitless_ = 0;
  return true;
}

}  // namespace taquin::detail
