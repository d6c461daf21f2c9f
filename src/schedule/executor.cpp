#include "schedule/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/simulated_time.hpp"
#include "schedule/activity.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

executor::executor(schedule&& s, const execution& where, std::pmr::memory_resource* memory)
    : schedule_(std::move(s)),
      walk_(schedule_, memory),
      where_(where),
      scratch_(memory),
      staging_(memory),
      wires_(memory),
      derived_(memory),
      persistent_(memory),
      requests_(0, memory),
      message_of_(memory) {
  array_list::take(*this, measure());
  // If ranks synchronize, messages of at most two starts are at one; half of the schedule's are receives.
  const bool few = schedule_.synchronizes && schedule_.messages.size() <= as_size(where_.in_flight);
  if (where_.reused && where_.ranks > 0 && !few) schedule_.mark_one_way();
  base_ = {static_cast<std::byte*>(where.send), static_cast<std::byte*>(where.recv), scratch_.data(),
           where.shared == nullptr ? nullptr : where.shared->data()};
  requests_.keep_truncations();
  requests_.describe_by(this);
  if (where.shared != nullptr) requests_.reads(*where.shared);
  if (schedule_.ahead && floods()) {
    // Not after the tags of its lanes: ranks may have different numbers of lanes.
    gate_.emplace(where_.comm, where_.tag + mpi::communicator::gate_tag, static_cast<const mpi::awaited*>(this),
                  memory);
    for (round& r : schedule_.rounds) r.in_flight = (r.in_flight + 1) / 2;  // receives do not count
  }
  make_wires();
  make_requests();
}

executor::~executor() {
  requests_.abandon();
  if (persistent_.empty() || mpi::finalized()) return;
  for (auto& request : persistent_) mpi::hand_to_library(request);
}

std::size_t executor::footprint(const schedule_size& size, std::size_t scratch, std::size_t staging,
                                std::size_t derived_regions) noexcept {
  constexpr std::size_t per_derived_region =
      sizeof(int) + sizeof(MPI_Aint) + sizeof(MPI_Datatype) + 2 * sizeof(mpi::datatype);
  const sizes most{scratch, staging, size.messages, size.messages, size.messages, size.messages};
  return sizeof(executor) + gate::bytes() + size.bytes() + walk::bytes(size.lanes) + array_list::bytes<executor>(most) +
         derived_regions * per_derived_region;
}

std::byte* executor::at(const region& r) const noexcept { return base_[as_size(r.where)] + r.offset; }

// One run of elements is sent as it is.
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

// The totals of all rounds together, for arrays. And the totals of one exchange.
executor::sizes executor::measure() {
  const std::size_t messages = schedule_.messages.size();
  sizes s{.scratch = schedule_.scratch_bytes, .messages = messages, .requests = where_.reused ? messages : 0};
  std::size_t packed = 0;  // in this round and those that it joins
  for (walk_.start(); !walk_.at_end(); walk_.leave()) {
    walk_.enter();
    s.slots = std::max<std::size_t>(s.slots, walk_.requests());
    if (walk_.requests() > 0 && !walk_.now().joins) ++totals_.rounds;
    const auto [first, end] = schedule_.messages_of(walk_.round());
    for (std::uint32_t m = first; m < end; ++m) {
      const message& msg = schedule_.messages[m];
      const auto bytes = as_size(schedule_.bytes(msg));
      const bool through_staging = !simple(msg) && msg.how == packing::packed;
      if (through_staging) packed += bytes;
      if (!through_staging && !simple(msg)) ++s.derived;
      if (simple(msg) && schedule_.regions[msg.first_region].count > mpi::count_limit()) ++s.derived;
      if (through_staging && schedule_.bytes(msg) > mpi::count_limit()) ++s.derived;
      if (through_staging) totals_.bytes_copied += bytes;
      if (msg.direction == message_direction::send) {
        ++totals_.messages;
        totals_.bytes_sent += bytes;
      }
    }
    s.staging = std::max(s.staging, packed);
    if (!walk_.now().joins) packed = 0;
  }
  if (schedule_.ahead && floods()) s.slots = messages;
  for (const copy& c : schedule_.copies) totals_.bytes_copied += static_cast<std::uint64_t>(schedule_.bytes(c.from));
  return s;
}

void executor::pack_message(std::uint32_t i) {
  const message& m = schedule_.messages[i];
  std::byte* to = wires_[i].staging;
  if (m.direction != message_direction::send || to == nullptr) return;
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
  if (m.direction != message_direction::recv || from == nullptr) return;
  for (std::uint32_t k = 0; k < m.regions; ++k) {
    const region& r = schedule_.regions[m.first_region + k];
    const element& e = schedule_.types[r.type];
    for (std::uint32_t run = 0; run < r.repeat; ++run, from += r.count * e.size)
      unpack(from, at(r) + run * r.stride, r.count, e);
  }
}

// A message is complete.
void executor::taken(std::uint32_t i) {
  unpack_message(i);
  report_complete(i);
}

void executor::report_complete(std::uint32_t i) const noexcept {
  if (activity_observer != nullptr) [[unlikely]]
    activity_observer->completes(wires_[i].reported);
}

// Peers of a plan that send nothing back could be flooded by one start after another: a message to them waits for its
// receiver in each start of so many.
std::uint32_t executor::answered_starts() const noexcept {
  return static_cast<std::uint32_t>(std::max(where_.in_flight / std::max(where_.ranks - 1, 1), 1));
}

// Posts a message; `slot` keeps its request.
void executor::post(std::uint32_t number, std::uint32_t i) {
  wire& w = wires_[i];
  const message& m = schedule_.messages[i];
  pack_message(i);
  if (activity_observer != nullptr) [[unlikely]]
    w.reported = activity_observer->posts(
        m.direction == message_direction::send ? activity::direction::sends : activity::direction::receives,
        where_.comm, m.peer, m.tag, static_cast<std::uint64_t>(schedule_.bytes(m)));
  const int tag = where_.tag + m.tag;
  message_of_[number] = i;
  if (m.one_way && starts_ % answered_starts() == 0) {
    requests_.send_synchronously(number, w.data, w.count, w.type, m.peer, tag, where_.comm);
  } else if (where_.reused && persistent_[i] != MPI_REQUEST_NULL) {
    using kind = mpi::request_kind;
    requests_.start(number, persistent_[i],
                    m.direction == message_direction::send ? kind::persistent_send : kind::persistent_receive);
  } else if (m.direction == message_direction::send) {
    requests_.send(number, w.data, w.count, w.type, m.peer, tag, where_.comm);
  } else {
    requests_.receive(number, w.data, w.count, w.type, m.peer, tag, where_.comm);
  }
}

void executor::copy_locally() {
  const auto [first, end] = schedule_.copies_of(walk_.round());
  std::size_t shared = 0;
  for (std::uint32_t i = first; i < end; ++i) {
    const auto& [from, to, how] = schedule_.copies[i];
    const element& e = schedule_.types[from.type];
    if (from.where == place::shared || to.where == place::shared) shared += as_size(schedule_.bytes(from));
    if (how == merge::combine) {
      const auto all = mpi::make_counted(to.count, e.type);
      TAQUIN_MPI(PMPI_Reduce_local(at(from), at(to), all.count, all.type, where_.op));
      continue;
    }
    for (std::uint32_t run = 0; run < from.repeat; ++run)
      typed_copy(at(from) + run * from.stride, from.count, e, at(to) + run * to.stride, to.count,
                 schedule_.types[to.type]);
  }
  mpi::spend_on_copies(shared);
}

// Enters the round that the walk has reached, if there is one and it may begin.
void executor::enter() {
  if (walk_.at_end()) {
    if (where_.shared != nullptr) where_.shared->add_to_base(schedule_.arrivals);
  } else if (arrived()) {
    begin();
  }
}

void executor::begin() {
  walk_.enter();
  if (activity_observer != nullptr && walk_.requests() > 0) [[unlikely]]
    reported_ = activity_observer->begins(walk_.round());
  for (std::size_t k = 0; k < walk_.lanes(); ++k) post_more(k, walk_.at(k).first_request);
  copy_locally();
}

// Posts what the lane may have in flight, into slots from `slot` on.
void executor::post_more(std::size_t lane, std::uint32_t number) {
  if (!gate_) return walk_.post(lane, [&](std::uint32_t i) { post(number++, i); });
  do {  // a stage may be complete immediately
    walk_.post(lane, [&](std::uint32_t i) {
      if (schedule_.messages[i].direction == message_direction::send) return post(i, i);
      if (walked(i)) walk_.complete(lane);
    });
  } while (walk_.staged() && walk_.at(lane).open == 0 && walk_.at(lane).next < walk_.at(lane).end);
}

// If unexpected messages may arrive no longer than until the gate is complete.
void executor::post_ahead() {
  for (std::uint32_t i = 0; i < schedule_.messages.size(); ++i) {
    if (schedule_.messages[i].direction != message_direction::recv) continue;
    post(i, i);
    message_of_[i] |= unsolicited;
  }
  gate_->start();
}

// The walk has reached a receive that was posted ahead: true when it counts as complete. In a round that bounds the
// messages in flight all do, so that they use no send's slot, and are waited for at the end.
bool executor::walked(std::uint32_t i) {
  if (!requests_.active(i) || (!walk_.staged() && walk_.now().in_flight > 0)) return true;
  message_of_[i] &= ~unsolicited;
  return false;
}

bool executor::over() const noexcept {
  return walk_.at_end() && (!gate_ || (gate_->is_over() && requests_.in_flight() == 0));
}

void executor::leave() {
  if (activity_observer != nullptr && walk_.requests() > 0) [[unlikely]]
    activity_observer->completes(reported_);
  if (walk_.now().arrives && where_.shared != nullptr) {
    where_.shared->arrive();
    mpi::spend_on_cache_lines(1);
  }
  walk_.leave();
  enter();
}

bool executor::arrived() const noexcept {
  const std::int32_t awaits = walk_.now().awaits;
  return awaits < 0 || where_.shared == nullptr || where_.shared->all_arrived(awaits);
}

// Waits for the other ranks of the node.
bool executor::synchronize(bool block) {
  mpi::backoff waiting(where_.comm, where_.tag, this);
  if (!block && !arrived()) waiting.progress();
  while (block && !arrived()) waiting.pause();
  return arrived();
}

// Completes messages that have arrived, or waits for one; posts the next ones. A stage is posted when all answers were
// received: its requests go into slots that were just freed.
void executor::complete_some(bool block) {
  const auto one = [&](std::size_t n, const MPI_Status&) {
    const auto number = static_cast<std::uint32_t>(n);
    const std::uint32_t i = message_of_[number];
    if (gate_ && (i & unsolicited) != 0) return report_complete(i & ~unsolicited);
    taken(i);
    walk_.complete(walk_.lane_of(schedule_.messages[i]));
    if (!walk_.staged()) post_more(0, number);
  };
  const auto bytes = [&](std::size_t number) { return capacity(number); };
  block ? requests_.wait_some(one, bytes) : requests_.test_some(one, bytes);
  if (walk_.at_end() || !walk_.staged()) return;
  for (std::size_t k = 0; k < walk_.lanes(); ++k) post_more(k, walk_.at(k).first_request);
}

// Completes messages that have arrived in the current round, or waits for one; true when the round is complete. After
// the last round there may be receives that no round has waited for.
bool executor::advance(bool block) {
  if (gate_ && !gate_->over(block)) return false;
  if (walk_.at_end()) return complete_some(block), false;
  if (!walk_.entered()) {
    if (!synchronize(block)) return false;
    begin();
  }
  if (walk_.done()) return true;
  const std::uint32_t used = walk_.requests();
  if (!gate_ && !walk_.staged() && walk_.unposted() == 0 &&
      walk_.open() == used) {  // nothing follows: complete all together
    if (!requests_.complete_all(block, [&](std::size_t number) { return capacity(number); })) return false;
    if (!staging_.empty() || activity_observer != nullptr)
      for (std::uint32_t number = 0; number < used; ++number) taken(message_of_[number]);
    walk_.complete_all();
    return true;
  }
  complete_some(block);
  return walk_.done();
}

// Sends all that waits for nothing: rounds without messages are complete immediately.
void executor::start() {
  ++starts_;
  walk_.start();
  if (gate_) return post_ahead();
  enter();
  while (!walk_.at_end() && walk_.done()) leave();
}

bool executor::test() {
  while (!over()) {
    if (!advance(false)) {
      if (walk_.at_end() && over()) break;
      return false;
    }
    leave();
  }
  check_sizes();
  return true;
}

void executor::wait() {
  while (!over()) {
    if (advance(true)) leave();
  }
  check_sizes();
}

// A rank that received more than it expects has gone through all rounds, because others wait for its messages.
void executor::check_sizes() {
  const auto kept = requests_.take_truncation();
  if (!kept) return;
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(where_.comm, &rank));
  mpi::refuse_truncation(*kept, rank);
}

// The peers of pending messages.
void executor::describe(mpi::wait_record& to) const {
  const std::size_t rounds = schedule_.rounds.size();
  to.what = fmt::format("round {} of {}", std::min(walk_.round() + 1, rounds), rounds);
  if (!walk_.at_end() && !walk_.entered()) to.what += ", for the other ranks of the node";
  to.comm = where_.comm;
  for (std::size_t number = 0; number < requests_.size(); ++number)
    if (requests_.active(number)) to.miss(schedule_.messages[message_of_[number] & ~unsolicited].peer);
}

void executor::account(statistics& s) const {
  s.rounds += totals_.rounds;
  s.messages += totals_.messages;
  s.bytes_sent += totals_.bytes_sent;
  s.bytes_copied += totals_.bytes_copied;
}

}  // namespace taquin::detail
