#include "algorithms/in_place/in_place_driver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Tags of a plan: the data, and the requests of even and odd exchanges.
enum tag : std::uint8_t { data_tag, request_tag };

// What costs more than a little patience is done after so many polls without news in so many seconds: a poll may take
// long because it transfers data, and time may pass because the rank did not run.
constexpr int patience_polls = 64;
// Nobody waits longer than it would take to copy all data, which is what impatience costs at most.
constexpr double most_patience = 100e-6;
constexpr double copied_byte = 0.2e-9;

constexpr in_place_limits most{.runs = 16, .per_peer = 4, .requests = 32, .sends = 32, .parked = 64};

}  // namespace

// Everything but the auxiliary memory, for the rank with the most peers.
std::size_t in_place_driver::bookkeeping(const shape& s, const in_place_limits& l) noexcept {
  const auto peers = static_cast<std::size_t>(s.max_peers);
  const std::size_t requests = 1 + static_cast<std::size_t>(l.sends) + static_cast<std::size_t>(l.requests);
  return sizeof(in_place_driver) + l.bytes(peers, peers) + 2 * peers * sizeof(peer_block) +
         static_cast<std::size_t>(l.requests) * (sizeof(question) + sizeof(MPI_Request)) +
         requests * (sizeof(MPI_Request) + sizeof(int) + sizeof(MPI_Status));
}

std::size_t in_place_driver::least(const shape& s) noexcept {
  return bookkeeping(s, in_place_limits{}) + std::max<std::size_t>(s.unit_span, 1);
}

// Bookkeeping takes a quarter of the memory at most, as long as it can: from rich to poor.
in_place_limits in_place_driver::limits(const exchange& x, const context& c, std::size_t allowed) noexcept {
  const shape& s = *c.shape;
  const element unit = unit_space::unit_of(x, s);
  in_place_limits l = most;
  const in_place_limits least{};
  const auto halve = [](int& v, int floor) { v = std::max(v / 2, floor); };
  while (bookkeeping(s, l) > allowed / 4 && (l.runs > least.runs || l.requests > least.requests)) {
    halve(l.runs, least.runs);
    halve(l.per_peer, least.per_peer);
    halve(l.requests, least.requests);
    halve(l.sends, least.sends);
    halve(l.parked, least.parked);
  }
  if (bookkeeping(s, l) + std::max<std::size_t>(s.unit_span, 1) > allowed) l = least;
  const std::size_t aux = allowed - bookkeeping(s, l);
  l.scratch = c.opts->scratch_sends;
  l.set_aux(std::clamp<count_t>(total_units(x.recv, s.ranks, unit), 1, unit_space::fitting(unit, aux)), aux,
            static_cast<std::size_t>(unit.size), s.max_peers);
  return l;
}

in_place_driver::in_place_driver(const exchange& x, const context& c, std::size_t allowed,
                                 std::pmr::memory_resource* memory)
    : comm_(c.comm->get()),
      tag_(c.tag),
      rank_(c.comm->rank()),
      limits_(limits(x, c, allowed)),
      aux_(unit_space::bytes(unit_space::unit_of(x, *c.shape), limits_.aux), memory),
      space_(x, *c.shape, aux_.data()),
      out_(collect(x.send, c.shape->ranks, space_.unit(), memory)),
      in_(collect_by_location(x.recv, c.shape->ranks, space_.unit(), memory)),
      machine_(rank_, out_, in_, limits_, memory),
      asked_(static_cast<std::size_t>(limits_.requests), memory),
      asking_(static_cast<std::size_t>(limits_.requests), MPI_REQUEST_NULL, memory),
      requests_(static_cast<std::size_t>(1 + limits_.sends + limits_.requests), MPI_REQUEST_NULL, memory),
      completed_(requests_.size(), memory),
      statuses_(requests_.size(), memory),
      patience_(std::min(static_cast<double>(c.shape->max_rank_bytes) * copied_byte, most_patience)) {}

// After an error messages may still be on their way, to memory that goes now.
in_place_driver::~in_place_driver() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (i == 0 || i > static_cast<std::size_t>(limits_.sends)) {
      MPI_Cancel(&requests_[i]);
      MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    } else {
      MPI_Request_free(&requests_[i]);
    }
  }
  for (auto& r : asking_)
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
}

void in_place_driver::start() {
  machine_.reset();
  last_ = {};
  running_ = true;
  asked_so_far_ = 0;
  quiet_ = 0;
  lost_patience_ = false;
  listen();
  act(false);
}

// Keeps one receive for a request open as long as one is still to come, so that none is left over at the end.
void in_place_driver::listen() {
  if (requests_[0] != MPI_REQUEST_NULL || !machine_.wants_request()) return;
  TAQUIN_MPI(
      MPI_Irecv(incoming_.data(), 3, MPI_INT64_T, MPI_ANY_SOURCE, tag_ + request_tag + turn_, comm_, &requests_[0]));
}

void in_place_driver::answer(int peer) {
  const auto block = std::ranges::lower_bound(out_, peer, {}, &peer_block::peer);
  const count_t has = block != out_.end() && block->peer == peer ? block->length : 0;
  if (has != incoming_[2]) refuse(peer, has);
  const in_place_answer a = machine_.requested(peer, incoming_[0], incoming_[1]);
  if (a.length == 0) refuse(peer, has);
  TAQUIN_MPI(MPI_Isend(space_.address({a.at, false}), static_cast<int>(a.length), space_.unit().type, peer,
                       tag_ + data_tag, comm_, &answer_request(a.slot)));
  ++last_.messages;
  last_.bytes_sent += static_cast<std::uint64_t>(a.length * space_.unit().size);
}

// The two ranks' counts differ. The peer learns it from an empty answer.
void in_place_driver::refuse(int peer, count_t has) {
  MPI_Request unwatched = MPI_REQUEST_NULL;
  TAQUIN_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag_ + data_tag, comm_, &unwatched));
  TAQUIN_MPI(MPI_Request_free(&unwatched));
  throw usage_error(fmt::format("rank {} has {} units for rank {}, which expects {}", rank_, has, peer, incoming_[2]),
                    MPI_ERR_TRUNCATE, rank_, peer);
}

void in_place_driver::ask(const in_place_request& r) {
  const auto slot = static_cast<std::size_t>(r.slot);
  TAQUIN_MPI(MPI_Wait(&asking_[slot], MPI_STATUS_IGNORE));  // answered long ago
  asked_[slot] = {
      .what = {r.offset, r.length, r.expected}, .to = r.to, .number = asked_so_far_++, .peer = r.peer, .open = true};
  TAQUIN_MPI(
      MPI_Isend(asked_[slot].what.data(), 3, MPI_INT64_T, r.peer, tag_ + request_tag + turn_, comm_, &asking_[slot]));
  ++last_.messages;
}

// Receives one answer that has arrived; false when none has. Data are received only now, one message at a time: MPI
// libraries that copy them from the sender's memory do so inside the call that finds both sides ready. Were all
// receives posted, a rank would copy all that it asked for in one call, and answer nobody meanwhile: of two ranks one
// would always wait for the other.
bool in_place_driver::receive() {
  if (!machine_.wants_data()) return false;
  int arrived = 0;
  MPI_Status status;
  TAQUIN_MPI(MPI_Iprobe(MPI_ANY_SOURCE, tag_ + data_tag, comm_, &arrived, &status));
  if (arrived == 0) return false;
  // A peer answers in the order in which it was asked.
  question* oldest = nullptr;
  for (question& q : asked_)
    if (q.open && q.peer == status.MPI_SOURCE && (oldest == nullptr || q.number < oldest->number)) oldest = &q;
  if (oldest == nullptr)
    throw usage_error(fmt::format("rank {} sends rank {} what it was not asked for", status.MPI_SOURCE, rank_),
                      MPI_ERR_OTHER, status.MPI_SOURCE, rank_);
  oldest->open = false;
  TAQUIN_MPI(MPI_Irecv(space_.address(oldest->to), static_cast<int>(oldest->what[1]), space_.unit().type, oldest->peer,
                       tag_ + data_tag, comm_, &data_request(static_cast<int>(oldest - asked_.data()))));
  return true;
}

void in_place_driver::act(bool idle) {
  for (auto s = machine_.next(idle); s.request || s.move; s = machine_.next(idle && s.move)) {
    if (s.request) ask(*s.request);
    if (!s.move) continue;
    space_.move(*s.move);
    last_.bytes_copied += static_cast<std::uint64_t>(s.move->length * space_.unit().size);
  }
}

void in_place_driver::complete(int i) {
  const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
  const int index = completed_[static_cast<std::size_t>(i)];
  if (index == 0) {
    answer(status.MPI_SOURCE);
  } else if (index <= limits_.sends) {
    machine_.sent(index - 1);
  } else {
    int units = 0;
    TAQUIN_MPI(MPI_Get_count(&status, space_.unit().type, &units));
    if (units == 0)
      throw usage_error(fmt::format("rank {} does not send rank {} what that expects", status.MPI_SOURCE, rank_),
                        MPI_ERR_TRUNCATE, status.MPI_SOURCE, rank_);
    machine_.arrived(index - 1 - limits_.sends, units);
  }
}

// Takes what has happened and does what follows from it; true when the exchange is complete.
bool in_place_driver::advance() {
  int n = 0;
  TAQUIN_MPI(
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &n, completed_.data(), statuses_.data()));
  if (n == MPI_UNDEFINED) n = 0;
  for (int i = 0; i < n; ++i) complete(i);
  const bool news = receive() || n > 0;
  const double now = MPI_Wtime();
  if (news || quiet_ == 0) {
    last_news_ = now;
    lost_patience_ = false;
  }
  quiet_ = news ? 0 : quiet_ + 1;
  const bool idle = !lost_patience_ && quiet_ >= patience_polls && now - last_news_ > patience_;
  lost_patience_ = lost_patience_ || idle;
  act(idle);
  listen();
  return machine_.done();
}

bool in_place_driver::test() {
  if (!running_) return true;
  while (!machine_.done()) {
    if (!advance() && quiet_ > 0) return false;
  }
  for (auto& r : asking_) TAQUIN_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
  last_.rounds = machine_.rounds();
  turn_ = 1 - turn_;
  running_ = false;
  return true;
}

void in_place_driver::wait() {
  while (!test()) {
  }
}

void in_place_driver::account(statistics& s) const {
  s.rounds += last_.rounds;
  s.messages += last_.messages;
  s.bytes_sent += last_.bytes_sent;
  s.bytes_copied += last_.bytes_copied;
}

}  // namespace taquin::detail
