#include "algorithms/in_place/in_place_phases_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

enum tag : std::uint8_t { request_tag, direct_tag, aux_tag, dense_tag };

int parts_of(const shape& s, const options& o) noexcept {
  if (o.aux_heap) return 1;
  return o.aux_parts > 0 ? o.aux_parts : std::max(static_cast<int>(s.max_peers) / 8, 1);
}

// Messages of one stage: data directly and by auxiliary memory, or sparse requests.
std::size_t most_pending(std::size_t in, std::size_t out) noexcept { return 2 * (in + out); }

// Dense requests are an exchange of their own, in log p rounds. Not the MPI library's nonblocking collective: plans
// that are started together reach their later phases in another order on each rank, and collectives must come in the
// same one.
const algorithm& dense_exchange = modified_bruck;
const options dense_options{};

shape dense_shape(int ranks, std::size_t request_bytes) noexcept {
  const std::uint64_t all = static_cast<std::uint64_t>(ranks) * request_bytes;
  return {.ranks = ranks,
          .max_block_bytes = request_bytes,
          .min_block_bytes = request_bytes,
          .max_rank_bytes = all,
          .max_received_bytes = all};
}

}  // namespace

std::size_t in_place_phases_driver::dense_memory(int ranks) noexcept {
  return dense_exchange.memory(dense_shape(ranks, sizeof(request)), dense_options) +
         2 * static_cast<std::size_t>(ranks) * sizeof(request);
}

seconds in_place_phases_driver::dense_cost(int ranks, const machine_model& m) noexcept {
  return dense_exchange.cost(dense_shape(ranks, sizeof(request)), dense_options, m);
}

// Everything but the auxiliary memory, for the rank with the most peers.
std::size_t in_place_phases_driver::least(const shape& s, const options& o) noexcept {
  const auto peers = static_cast<std::size_t>(s.max_peers);
  const phase_limits l{.parts = parts_of(s, o), .heap = o.aux_heap};
  const std::size_t requests = o.sparse_requests ? 2 * peers * sizeof(request) : dense_memory(s.ranks);
  return sizeof(in_place_phases_driver) + l.bytes(peers, peers) + 2 * peers * sizeof(peer_block) + requests +
         most_pending(peers, peers) * sizeof(MPI_Request) + 2 * peers * sizeof(mpi::datatype) +
         phase_limits::pieces(peers, peers) * (sizeof(int) + sizeof(MPI_Aint)) +
         static_cast<std::size_t>(l.parts) * std::max<std::size_t>(s.unit_span, 1);
}

phase_limits in_place_phases_driver::limits(const exchange& x, const context& c, std::size_t allowed) noexcept {
  const element unit = unit_space::unit_of(x, *c.shape);
  phase_limits l{.parts = parts_of(*c.shape, *c.opts), .heap = c.opts->aux_heap};
  const std::size_t least_aux = static_cast<std::size_t>(l.parts) * std::max<std::size_t>(c.shape->unit_span, 1);
  const count_t room = unit_space::fitting(unit, allowed - least(*c.shape, *c.opts) + least_aux);
  const count_t useful = l.heap ? total_units(x.recv, c.shape->ranks, unit) : room;
  l.aux = std::clamp<count_t>(useful, l.parts, room);
  l.most = std::min<count_t>(mpi::count_limit(), std::numeric_limits<int>::max() / unit.size);
  return l;
}

in_place_phases_driver::in_place_phases_driver(const exchange& x, const context& c, std::size_t allowed,
                                               memory_budget& budget)
    : comm_(c.comm->get()),
      rank_(c.comm->rank()),
      tag_(c.tag),
      sparse_(c.opts->sparse_requests),
      limits_(limits(x, c, allowed)),
      aux_(unit_space::bytes(unit_space::unit_of(x, *c.shape), limits_.aux), &budget),
      space_(x, *c.shape, aux_.data()),
      out_(collect(x.send, c.shape->ranks, space_.unit(), &budget)),
      in_(collect_by_location(x.recv, c.shape->ranks, space_.unit(), &budget)),
      machine_(out_, in_, limits_, &budget),
      asked_(sparse_ ? in_.size() : static_cast<std::size_t>(c.shape->ranks), &budget),
      granted_(sparse_ ? out_.size() : static_cast<std::size_t>(c.shape->ranks), &budget),
      pending_(&budget),
      types_(&budget),
      lengths_(&budget),
      places_(&budget) {
  pending_.reserve(most_pending(in_.size(), out_.size()));
  types_.reserve(2 * out_.size());
  lengths_.reserve(phase_limits::pieces(out_.size(), in_.size()));
  places_.reserve(lengths_.capacity());
  if (sparse_) return;
  const shape dense = dense_shape(c.shape->ranks, sizeof(request));
  const exchange requests = exchange::alltoall(asked_.data(), request_fields, MPI_INT64_T, granted_.data(),
                                               request_fields, MPI_INT64_T, comm_);
  dense_ = prepare_operation(
      dense_exchange, requests,
      {.comm = c.comm, .tag = tag_ + dense_tag, .shape = &dense, .opts = &dense_options, .reused = true}, budget);
}

// After an error messages may still be on their way, to memory that goes now.
in_place_phases_driver::~in_place_phases_driver() {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i] == MPI_REQUEST_NULL) continue;
    if (i < receives_) {
      MPI_Cancel(&pending_[i]);
      MPI_Wait(&pending_[i], MPI_STATUS_IGNORE);
    } else {
      MPI_Request_free(&pending_[i]);
    }
  }
}

void in_place_phases_driver::clear() {
  pending_.clear();
  receives_ = 0;
  completed_ = 0;
}

void in_place_phases_driver::clock(double& part) {
  const double now = MPI_Wtime();
  part += now - since_;
  since_ = now;
}

void in_place_phases_driver::start() {
  machine_.reset();
  last_ = {};
  since_ = MPI_Wtime();
  begin_phase();
}

// Dense: to and from all ranks, which also says who has work left; when nobody has, all end together. Sparse: a message
// to and from each peer with which something is left, and each rank ends by itself.
void in_place_phases_driver::begin_phase() {
  clear();
  const bool done = machine_.done();
  if (done && sparse_) {
    stage_ = stage::none;
    return;
  }
  const auto requests = machine_.determine();
  stage_ = stage::requests;
  if (!done) ++last_.rounds;
  if (!sparse_) {
    std::ranges::fill(asked_, request{.work_left = done ? 0 : 1});
    for (std::size_t k = 0; k < in_.size(); ++k)
      asked_[static_cast<std::size_t>(in_[k].peer)] = {requests[k].direct, requests[k].aux, machine_.expected(k),
                                                       done ? 0 : 1};
    dense_->start();
    return;
  }
  for (std::size_t k = 0; k < out_.size(); ++k) {
    granted_[k] = {};
    if (machine_.unsent(k) > 0) receive(&granted_[k], request_fields, MPI_INT64_T, out_[k].peer, request_tag);
  }
  for (std::size_t k = 0; k < in_.size(); ++k) {
    if (machine_.expected(k) == 0) continue;
    asked_[k] = {requests[k].direct, requests[k].aux, machine_.expected(k), 1};
    if (in_[k].peer != rank_) ++last_.messages;
    send(&asked_[k], request_fields, MPI_INT64_T, in_[k].peer, request_tag);
  }
}

void in_place_phases_driver::receive(void* to, count_t length, MPI_Datatype type, int peer, int tag) {
  TAQUIN_MPI(
      MPI_Irecv(to, static_cast<int>(length), type, peer, tag_ + tag, comm_, &pending_.emplace_back(MPI_REQUEST_NULL)));
  ++receives_;
}

void in_place_phases_driver::send(const void* from, count_t length, MPI_Datatype type, int peer, int tag) {
  TAQUIN_MPI(MPI_Isend(from, static_cast<int>(length), type, peer, tag_ + tag, comm_,
                       &pending_.emplace_back(MPI_REQUEST_NULL)));
}

void in_place_phases_driver::exchange_data() {
  if (!sparse_) {
    statistics requests;
    dense_->account(requests);
    last_.messages += requests.messages;
  }
  clock(last_.seconds_requests);
  clear();
  if (!sparse_ && std::ranges::all_of(granted_, [](const request& r) { return r.work_left == 0; })) {
    stage_ = stage::none;
    return;
  }
  stage_ = stage::data;
  compare_counts();
  const MPI_Datatype type = space_.unit().type;
  const auto requests = machine_.requests();
  for (std::size_t k = 0; k < in_.size(); ++k) {
    const auto& r = requests[k];
    if (r.direct > 0) receive(space_.address({r.at, false}), r.direct, type, in_[k].peer, direct_tag);
    if (r.aux > 0) receive(space_.address({r.aux_at, true}), r.aux, type, in_[k].peer, aux_tag);
  }
  for (std::size_t k = 0; k < out_.size(); ++k) {
    const request& r = granted_to(k);
    if (r.direct > 0) send_runs(k, r.direct, direct_tag);
    if (r.aux > 0) send_runs(k, r.aux, aux_tag);
  }
}

const in_place_phases_driver::request& in_place_phases_driver::granted_to(std::size_t k) const {
  return granted_[sparse_ ? k : static_cast<std::size_t>(out_[k].peer)];
}

// Dense requests also come from ranks that this one has nothing for.
void in_place_phases_driver::compare_counts() {
  for (std::size_t k = 0; k < out_.size(); ++k)
    if (granted_to(k).expected != machine_.unsent(k)) refuse(out_[k].peer, machine_.unsent(k), granted_to(k).expected);
  if (sparse_) return;
  std::size_t k = 0;
  for (std::size_t peer = 0; peer < granted_.size(); ++peer) {
    if (k < out_.size() && out_[k].peer == static_cast<int>(peer)) {
      ++k;
    } else if (granted_[peer].expected > 0) {
      refuse(static_cast<int>(peer), 0, granted_[peer].expected);
    }
  }
}

// The two ranks' counts differ. The peer learns it from messages that are too short, in this phase or the next in which
// it asks for something.
void in_place_phases_driver::refuse(int peer, count_t unsent, count_t expected) {
  send(nullptr, 0, MPI_BYTE, peer, direct_tag);
  send(nullptr, 0, MPI_BYTE, peer, aux_tag);
  throw usage_error(fmt::format("rank {} has {} units for rank {}, which expects {}", rank_, unsent, peer, expected),
                    MPI_ERR_TRUNCATE, rank_, peer);
}

// One message of all the runs that the data lie in.
void in_place_phases_driver::send_runs(std::size_t k, count_t length, int tag) {
  const element& unit = space_.unit();
  lengths_.clear();
  places_.clear();
  machine_.send(k, length, [&](count_t at, count_t n) {
    lengths_.push_back(static_cast<int>(n));
    MPI_Aint place = 0;
    TAQUIN_MPI(MPI_Get_address(space_.address({at, false}), &place));
    places_.push_back(place);
  });
  if (out_[k].peer != rank_) {
    ++last_.messages;
    last_.bytes_sent += static_cast<std::uint64_t>(length * unit.size);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  TAQUIN_MPI(
      MPI_Type_create_hindexed(static_cast<int>(lengths_.size()), lengths_.data(), places_.data(), unit.type, &type));
  types_.emplace_back(type);
  TAQUIN_MPI(MPI_Type_commit(&type));
  send(MPI_BOTTOM, 1, type, out_[k].peer, tag);
}

void in_place_phases_driver::update() {
  clock(last_.seconds_data);
  types_.clear();
  machine_.begin_update();
  while (const auto m = machine_.next_move()) {
    space_.move(*m);
    last_.bytes_copied += static_cast<std::uint64_t>(m->length * space_.unit().size);
  }
  clock(last_.seconds_update);
}

// True when the stage's messages are.
bool in_place_phases_driver::complete(bool block) {
  if (stage_ == stage::requests && !sparse_) {
    if (!block) return dense_->test();
    dense_->wait();
    return true;
  }
  for (; completed_ < pending_.size(); ++completed_) {
    int done = 1;
    MPI_Status status;
    if (block) {
      TAQUIN_MPI(MPI_Wait(&pending_[completed_], &status));
    } else {
      TAQUIN_MPI(MPI_Test(&pending_[completed_], &done, &status));
    }
    if (done == 0) return false;
    if (stage_ == stage::data && completed_ < receives_) check_length(status);
  }
  return true;
}

// Goes on when the stage's messages are complete; true when the exchange is.
bool in_place_phases_driver::advance(bool block) {
  if (stage_ == stage::none) return true;
  if (!complete(block)) return false;
  if (stage_ == stage::requests) {
    exchange_data();
  } else {
    update();
    begin_phase();
  }
  return stage_ == stage::none;
}

// A message is as long as was asked for, or empty where the sender has found that the counts differ.
void in_place_phases_driver::check_length(const MPI_Status& status) const {
  int units = 0;
  TAQUIN_MPI(MPI_Get_count(&status, space_.unit().type, &units));
  if (units > 0) return;
  const int peer = status.MPI_SOURCE;
  throw usage_error(fmt::format("rank {} does not send rank {} what that expects", peer, rank_), MPI_ERR_TRUNCATE, peer,
                    rank_);
}

// One stage at a time, so that a call does not take long.
bool in_place_phases_driver::test() { return advance(false); }

void in_place_phases_driver::wait() {
  while (!advance(true)) {
  }
}

void in_place_phases_driver::account(statistics& s) const {
  s.rounds += last_.rounds;
  s.messages += last_.messages;
  s.bytes_sent += last_.bytes_sent;
  s.bytes_copied += last_.bytes_copied;
  s.seconds_requests += last_.seconds_requests;
  s.seconds_data += last_.seconds_data;
  s.seconds_update += last_.seconds_update;
}

}  // namespace taquin::detail
