#include "schedule/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "datatypes/typed_copy.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {
// A persistent request saves the MPI library its set-up, but is memory of its own that is cold when the next exchange
// comes; small messages go without any request in both MPI libraries.
constexpr int most_plain_bytes = 4096;
// MPI_Isend sends a few bytes on the spot, which starting a persistent request does not do (Open MPI, 8 bytes per pair:
// 0.5 us instead of 0.9 us on 2 ranks).
constexpr count_t most_immediate_bytes = 512;
#ifdef TAQUIN_NO_PERSISTENT_SENDS
constexpr bool persistent_sends = false;
#else
constexpr bool persistent_sends = true;
#endif
}  // namespace

executor::executor(schedule&& s, const execution& where, std::pmr::memory_resource* memory)
    : schedule_(std::move(s)),
      where_(where),
      scratch_(schedule_.scratch_bytes, memory),
      staging_(0, memory),
      wires_(memory),
      derived_(memory),
      persistent_(memory),
      slots_(0, memory),
      in_slot_(memory),
      lanes_(memory),
      round_(schedule_.rounds.size()) {
  base_ = {static_cast<std::byte*>(where.send), static_cast<std::byte*>(where.recv), scratch_.data(),
           where.shared == nullptr ? nullptr : where.shared->data()};
  slots_.keep_truncations();
  slots_.describe_by(this);
  measure();
  make_wires();
  make_requests();
}

executor::~executor() {
  slots_.abandon();
  if (persistent_.empty() || mpi::finalized()) return;
  for (auto& request : persistent_)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

std::size_t executor::footprint(const schedule_size& size, std::size_t scratch, std::size_t staging,
                                std::size_t derived_regions) noexcept {
  constexpr std::size_t per_message =
      sizeof(wire) + sizeof(mpi::datatype) + sizeof(MPI_Request) + mpi::request_set::bytes(1) + sizeof(std::uint32_t);
  constexpr std::size_t per_derived_region =
      sizeof(int) + sizeof(MPI_Aint) + sizeof(MPI_Datatype) + 2 * sizeof(mpi::datatype);
  return sizeof(executor) + size.bytes() + scratch + staging + size.messages * per_message + size.lanes * sizeof(lane) +
         derived_regions * per_derived_region;
}

std::byte* executor::at(const region& r) const noexcept { return base_[static_cast<std::size_t>(r.where)] + r.offset; }

// One run of elements goes as it is.
bool executor::simple(const message& m) const noexcept {
  return m.how != packing::packed && m.regions == 1 && schedule_.regions[m.first_region].repeat == 1;
}

// Runs of one type, which the MPI library takes as an array of places.
bool executor::indexed(const message& m) const noexcept {
  const region* first = schedule_.regions.data() + m.first_region;
  return m.how == packing::datatype && m.regions > 1 && std::all_of(first, first + m.regions, [&](const region& r) {
           return r.type == first->type && r.repeat == 1 && r.count <= mpi::count_limit();
         });
}

std::uint32_t executor::first_message() const noexcept {
  return round_ == 0 ? 0 : schedule_.rounds[round_ - 1].messages_end;
}

// Sizes of what the rounds share: staging and slots. And the totals of one exchange.
void executor::measure() {
  std::size_t staging = 0;
  std::size_t slots = 0;
  std::size_t derived = 0;
  std::size_t lanes = 0;
  std::size_t joined = 0;  // messages and staging of the round before
  std::size_t packed = 0;
  std::uint32_t m = 0;
  for (const round& r : schedule_.rounds) {
    const std::size_t messages = r.lanes > 0 ? measure_lanes(m, r.messages_end) : r.messages_end - m;
    if (joined + messages > 0 && !r.joins) ++totals_.rounds;
    const std::size_t pending = joined + (r.in_flight == 0 ? messages : std::min<std::size_t>(messages, r.in_flight));
    slots = std::max(slots, pending);
    lanes = std::max<std::size_t>(lanes, r.lanes);
    if (joined == 0) packed = 0;
    joined = r.joins ? pending : 0;
    for (; m < r.messages_end; ++m) {
      const message& msg = schedule_.messages[m];
      const auto bytes = static_cast<std::size_t>(schedule_.bytes(msg));
      const bool through_staging = !simple(msg) && msg.how == packing::packed;
      if (through_staging) packed += bytes;
      if (!through_staging && !simple(msg)) ++derived;
      if (simple(msg) && schedule_.regions[msg.first_region].count > mpi::count_limit()) ++derived;
      if (through_staging && schedule_.bytes(msg) > mpi::count_limit()) ++derived;
      if (through_staging) totals_.bytes_copied += bytes;
      if (msg.way == direction::send) {
        ++totals_.messages;
        totals_.bytes_sent += bytes;
      }
    }
    staging = std::max(staging, packed);
  }
  for (const copy& c : schedule_.copies) totals_.bytes_copied += static_cast<std::uint64_t>(schedule_.bytes(c.from));
  staging_.reset(staging);
  derived_.reserve(derived);
  slots_.resize(slots);
  lanes_.resize(lanes);
  in_slot_.resize(slots);
}

// The packed messages of a round stand side by side in the staging buffer; rounds reuse it.
void executor::make_wires() {
  wires_.reserve(schedule_.messages.size());
  std::uint32_t m = 0;
  std::byte* staging = staging_.data();
  bool joined = false;
  for (const round& r : schedule_.rounds) {
    if (!joined) staging = staging_.data();
    joined = r.joins;
    for (; m < r.messages_end; ++m) wires_.push_back(make_wire(schedule_.messages[m], staging));
  }
}

executor::wire executor::make_wire(const message& m, std::byte*& staging) {
  const region& first = schedule_.regions[m.first_region];
  if (!simple(m) && m.how != packing::packed) return make_derived(m);
  auto c = simple(m) ? mpi::make_counted(first.count, schedule_.types[first.type].type)
                     : mpi::make_counted(schedule_.bytes(m), MPI_BYTE);
  if (c.owner) derived_.push_back(std::move(c.owner));
  if (simple(m)) return {at(first), c.count, c.type, nullptr};
  const wire w{staging, c.count, c.type, staging};
  staging += schedule_.bytes(m);
  return w;
}

// One type for all regions, with absolute addresses.
executor::wire executor::make_derived(const message& m) {
  MPI_Datatype all = indexed(m) ? make_indexed(m) : make_struct(m);
  derived_.emplace_back(all);
  TAQUIN_MPI(MPI_Type_commit(&all));
  return {MPI_BOTTOM, 1, all, nullptr};
}

MPI_Datatype executor::make_indexed(const message& m) {
  const region* first = schedule_.regions.data() + m.first_region;
  std::pmr::memory_resource* memory = derived_.get_allocator().resource();
  std::pmr::vector<int> lengths(m.regions, memory);
  std::pmr::vector<MPI_Aint> places(m.regions, memory);
  bool alike = true;
  for (std::uint32_t i = 0; i < m.regions; ++i) {
    TAQUIN_MPI(MPI_Get_address(at(first[i]), &places[i]));
    lengths[i] = static_cast<int>(first[i].count);
    alike = alike && lengths[i] == lengths[0];
  }
  const auto n = static_cast<int>(m.regions);
  const MPI_Datatype type = schedule_.types[first->type].type;
  MPI_Datatype all = MPI_DATATYPE_NULL;
  if (alike) {
    TAQUIN_MPI(MPI_Type_create_hindexed_block(n, lengths[0], places.data(), type, &all));
  } else {
    TAQUIN_MPI(MPI_Type_create_hindexed(n, lengths.data(), places.data(), type, &all));
  }
  return all;
}

// A struct of strided runs.
MPI_Datatype executor::make_struct(const message& m) {
  const region* first = schedule_.regions.data() + m.first_region;
  std::pmr::memory_resource* memory = derived_.get_allocator().resource();
  std::pmr::vector<int> lengths(m.regions, 1, memory);
  std::pmr::vector<MPI_Aint> places(m.regions, memory);
  std::pmr::vector<MPI_Datatype> types(m.regions, memory);
  std::pmr::vector<mpi::datatype> parts(memory);
  parts.reserve(2 * std::size_t{m.regions});
  for (std::uint32_t i = 0; i < m.regions; ++i) {
    const region& r = first[i];
    TAQUIN_MPI(MPI_Get_address(at(r), &places[i]));
    auto run = mpi::make_counted(r.count, schedule_.types[r.type].type);
    if (run.owner) parts.push_back(std::move(run.owner));
    lengths[i] = run.count;
    types[i] = run.type;
    if (r.repeat == 1) continue;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    if (r.stride == -r.count * schedule_.types[r.type].extent) {  // which Open MPI 4.1 takes for its reverse
      std::vector<MPI_Aint> down(static_cast<std::size_t>(r.repeat));
      for (std::size_t k = 0; k < down.size(); ++k) down[k] = static_cast<MPI_Aint>(k) * r.stride;
      TAQUIN_MPI(
          MPI_Type_create_hindexed_block(static_cast<int>(r.repeat), run.count, down.data(), run.type, &strided));
    } else {
      TAQUIN_MPI(MPI_Type_create_hvector(static_cast<int>(r.repeat), run.count, r.stride, run.type, &strided));
    }
    parts.emplace_back(strided);
    lengths[i] = 1;
    types[i] = strided;
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  TAQUIN_MPI(MPI_Type_create_struct(static_cast<int>(m.regions), lengths.data(), places.data(), types.data(), &all));
  return all;
}

void executor::make_requests() {
  if (!where_.reused) return;
  persistent_.reserve(wires_.size());
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const wire& w = wires_[i];
    const message& m = schedule_.messages[i];
    MPI_Request& request = persistent_.emplace_back(MPI_REQUEST_NULL);
    if (w.staging != nullptr && w.type == MPI_BYTE && w.count <= most_plain_bytes) continue;
    if (simple(m) && schedule_.bytes(m) <= most_immediate_bytes) continue;
    if (m.way == direction::send && !persistent_sends) continue;
    const int tag = where_.tag + m.lane;
    if (m.way == direction::send) {
      TAQUIN_MPI(MPI_Send_init(w.data, w.count, w.type, m.peer, tag, where_.comm, &request));
    } else {
      TAQUIN_MPI(MPI_Recv_init(w.data, w.count, w.type, m.peer, tag, where_.comm, &request));
    }
  }
}

void executor::pack_message(std::uint32_t i) {
  const message& m = schedule_.messages[i];
  std::byte* to = wires_[i].staging;
  if (m.way != direction::send || to == nullptr) return;
  for (std::uint32_t k = 0; k < m.regions; ++k) {
    const region& r = schedule_.regions[m.first_region + k];
    const element& e = schedule_.types[r.type];
    for (std::uint32_t run = 0; run < r.repeat; ++run, to += r.count * e.size)
      pack(at(r) + run * r.stride, r.count, e, to);
  }
}

void executor::unpack_message(std::uint32_t i) {
  const message& m = schedule_.messages[i];
  const std::byte* from = wires_[i].staging;
  if (m.way != direction::recv || from == nullptr) return;
  for (std::uint32_t k = 0; k < m.regions; ++k) {
    const region& r = schedule_.regions[m.first_region + k];
    const element& e = schedule_.types[r.type];
    for (std::uint32_t run = 0; run < r.repeat; ++run, from += r.count * e.size)
      unpack(from, at(r) + run * r.stride, r.count, e);
  }
}

// Posts a message; `slot` keeps its request.
void executor::post(std::uint32_t slot, std::uint32_t i) {
  const wire& w = wires_[i];
  const message& m = schedule_.messages[i];
  pack_message(i);
  const int tag = where_.tag + m.lane;
  in_slot_[slot] = i;
  ++pending_;
  if (where_.reused && persistent_[i] != MPI_REQUEST_NULL) {
    using kind = mpi::request_kind;
    slots_.start(slot, persistent_[i], m.way == direction::send ? kind::persistent_send : kind::persistent_receive);
  } else if (m.way == direction::send) {
    slots_.send(slot, w.data, w.count, w.type, m.peer, tag, where_.comm);
  } else {
    slots_.receive(slot, w.data, w.count, w.type, m.peer, tag, where_.comm);
  }
}

void executor::copy_locally() {
  const std::uint32_t first = round_ == 0 ? 0 : schedule_.rounds[round_ - 1].copies_end;
  for (std::uint32_t i = first; i < schedule_.rounds[round_].copies_end; ++i) {
    const auto& [from, to, how] = schedule_.copies[i];
    const element& e = schedule_.types[from.type];
    if (how == merge::combine) {
      const auto all = mpi::make_counted(to.count, e.type);
      TAQUIN_MPI(MPI_Reduce_local(at(from), at(to), all.count, all.type, where_.op));
      continue;
    }
    for (std::uint32_t run = 0; run < from.repeat; ++run)
      typed_copy(at(from) + run * from.stride, from.count, e, at(to) + run * to.stride, to.count,
                 schedule_.types[to.type]);
  }
}

// Turns to round r, if there is one, and begins it if it may begin.
void executor::enter(std::size_t r) {
  round_ = r;
  if (r == schedule_.rounds.size()) {
    if (where_.shared != nullptr) where_.shared->add_to_base(schedule_.arrivals);
    return;
  }
  waiting_ = !arrived();
  if (!waiting_) begin();
}

void executor::begin() {
  const round& now = schedule_.rounds[round_];
  if (now.lanes > 0) {
    enter_lanes();
    copy_locally();
    return;
  }
  posted_ = first_message();
  const std::uint32_t joined = pending_;  // of the round before
  std::uint32_t at_once = now.messages_end - posted_;
  if (now.in_flight > 0) at_once = std::min(at_once, now.in_flight);
  used_ = joined + at_once;
  for (std::uint32_t slot = joined; slot < used_; ++slot) post(slot, posted_++);
  copy_locally();
}

void executor::leave() {
  if (schedule_.rounds[round_].arrives && where_.shared != nullptr) where_.shared->arrive();
  enter(round_ + 1);
}

bool executor::arrived() const noexcept {
  const std::int32_t awaits = schedule_.rounds[round_].awaits;
  return awaits < 0 || where_.shared == nullptr || where_.shared->all_arrived(awaits);
}

// Waits for the other ranks of the node.
bool executor::meet(bool block) {
  mpi::backoff waiting(where_.comm, where_.tag, this);
  if (!block && !arrived()) waiting.progress();
  while (block && !arrived()) waiting.pause();
  return arrived();
}

// Completes what has arrived in the current round, or waits until something has; true when the round is over.
bool executor::advance(bool block) {
  if (waiting_) {
    if (!meet(block)) return false;
    waiting_ = false;
    begin();
  }
  const round& r = schedule_.rounds[round_];
  if (pending_ == 0 || r.joins) return true;
  if (r.lanes > 0) return advance_lanes(block);
  if (posted_ == r.messages_end && pending_ == used_) {  // nothing follows: complete all at once
    if (!slots_.complete_all(block, [&](std::size_t slot) { return room(slot); })) return false;
    if (!staging_.empty())
      for (std::uint32_t slot = 0; slot < used_; ++slot) unpack_message(in_slot_[slot]);
    pending_ = 0;
    return true;
  }
  complete_some(block, [&](std::uint32_t slot) {
    if (posted_ < r.messages_end) post(slot, posted_++);
  });
  return pending_ == 0;
}

// Sends all that waits for nothing: rounds without messages are over at once.
void executor::start() {
  enter(0);
  while (round_ < schedule_.rounds.size() && !waiting_ && (pending_ == 0 || schedule_.rounds[round_].joins)) leave();
}

bool executor::test() {
  while (round_ < schedule_.rounds.size()) {
    if (!advance(false)) return false;
    leave();
  }
  check_sizes();
  return true;
}

void executor::wait() {
  while (round_ < schedule_.rounds.size()) {
    while (!advance(true)) {
    }
    leave();
  }
  check_sizes();
}

// A rank that was sent more than it expects has gone through all rounds, because others wait for what it sends.
void executor::check_sizes() {
  const auto kept = slots_.take_truncation();
  if (!kept) return;
  int rank = 0;
  TAQUIN_MPI(MPI_Comm_rank(where_.comm, &rank));
  mpi::refuse_truncation(*kept, rank);
}

// The peers of messages that are under way.
void executor::describe(mpi::wait_note& note) const {
  note.what = fmt::format("round {} of {}", std::min(round_ + 1, schedule_.rounds.size()), schedule_.rounds.size());
  if (waiting_) note.what += ", for the other ranks of the node";
  note.comm = where_.comm;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_.active(slot)) note.miss(schedule_.messages[in_slot_[slot]].peer);
}

void executor::account(statistics& s) const {
  s.rounds += totals_.rounds;
  s.messages += totals_.messages;
  s.bytes_sent += totals_.bytes_sent;
  s.bytes_copied += totals_.bytes_copied;
}

}  // namespace taquin::detail
