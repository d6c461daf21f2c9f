#include "node/internode.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/environment.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/simulated_time.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t most_share = std::size_t{1} << 20U;  // of each rank
constexpr std::size_t most_of_process = std::size_t{256} << 20U;
constexpr std::size_t most_block = 8192;
constexpr std::size_t least_block = 8;
constexpr int most_messages = 64;  // of one rank in a step
constexpr std::size_t cache_line = 64;
constexpr std::size_t handler_bytes = 2 * cache_line;        // its flag and its records
constexpr std::size_t piece_bytes = std::size_t{56} << 10U;  // below what Open MPI sends at once over TCP

constexpr std::size_t pieces_of(std::size_t bytes) noexcept { return (bytes + piece_bytes - 1) / piece_bytes; }

constexpr std::size_t up_to_line(std::size_t bytes) noexcept {
  return (bytes + cache_line - 1) / cache_line * cache_line;
}

std::atomic<std::size_t> taken{0};  // by all steps of this process

using flag = std::atomic<std::uint64_t>;
static_assert(flag::is_always_lock_free);

template <class T>
T get(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void put(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

std::size_t whole(int n) noexcept { return static_cast<std::size_t>(n); }

// A rank's share is about five times what it sends: two halves of that, two of what it gets, and its messages.
std::size_t most_bytes_of(int ranks) noexcept {
  const std::size_t block = most_share / (5 * whole(ranks));
  return block < cache_line ? block / 8 * 8 : std::min(block / cache_line * cache_line, most_block);
}

}  // namespace

internode* internode::of(mpi::communicator& comm) {
  if (comm.between_is_known) return comm.between.get();
  comm.between_is_known = true;
  if (comm.size() < 3) return nullptr;
  const bool room = taken + 2 * most_share <= most_of_process;
  if (!mpi::holds_everywhere(room && environment::get().shared_memory && !check_nodes(comm, {}), comm.get()))
    return nullptr;
  auto view = nodes_of(comm, {});
  const level& nodes = view->topology.nodes();
  const int others = nodes.groups() - 1;
  const std::size_t most = most_bytes_of(comm.size());
  if (others == 0 || nodes.largest() == 1 || most < least_block || others > most_messages * nodes.smallest())
    return nullptr;
  auto made = std::shared_ptr<internode>(new internode(comm, view, most));
  view->shares = mpi::holds_everywhere(made->share_memory(), comm.get());
  if (view->shares) comm.between = std::move(made);
  return comm.between.get();
}

internode::internode(mpi::communicator& comm, std::shared_ptr<const node_view> nodes, std::size_t most)
    : comm_(comm),
      nodes_(std::move(nodes)),
      node_(all_nodes().group[whole(comm.rank())]),
      local_(all_nodes().index[whole(comm.rank())]),
      members_(size_of(node_)),
      most_bytes_(most),
      inbox_at_(whole(all_nodes().groups())),
      requests_(0, std::pmr::new_delete_resource()),
      missing_(whole(all_nodes().groups())) {
  for (int node = 0; node < all_nodes().groups(); ++node)
    pieces_ = std::max({pieces_, pieces_of(message_bytes(node, node_)), pieces_of(message_bytes(node_, node))});
  requests_.resize(2 * pieces_ * whole(all_nodes().groups() - 1));
  requests_.describe_by(this);
}

internode::~internode() { taken -= share_; }

// Flags, parts, received messages.
bool internode::share_memory() {
  const int groups = all_nodes().groups();
  part_bytes_ = up_to_line(record_bytes + sizeof(size_field) * whole(groups + 1) + run_bytes(1, comm_.size()));
  std::size_t bytes =
      cache_line * whole(members_ + groups) + handler_bytes * whole(members_) + 2 * part_bytes_ * whole(members_);
  std::size_t staged = 0;
  for (int d = 1; d < groups; ++d) {
    const int from = node_at(groups - d);
    inbox_at_[whole(from)] = bytes;
    bytes += 2 * message_bytes(from, node_);
    if (handles(d)) staged += message_bytes(node_, node_at(d));
  }
  staging_.resize(staged);
  share_ = bytes / whole(members_) + staged;
  taken += share_;
  if (members_ == 1) {
    alone_.resize(bytes + cache_line);
    const auto at = reinterpret_cast<std::uintptr_t>(alone_.data());
    base_ = alone_.data() + (cache_line - at % cache_line) % cache_line;
    return true;
  }
  memory_ = shared_segment::make(nodes_->local.get(), bytes);
  if (memory_.empty()) return false;
  base_ = memory_.data();
  return true;
}

std::size_t internode::run_bytes(int from, int to) const noexcept {
  return whole(from) * whole(to) * (sizeof(size_field) + most_bytes_);
}

std::size_t internode::message_bytes(int from_node, int to_node) const noexcept {
  const int from = size_of(from_node);
  return up_to_line(record_bytes + sizeof(size_field) * whole(from + 1) + run_bytes(from, size_of(to_node)));
}

std::byte* internode::flag_of_member(int member) const noexcept { return base_ + cache_line * whole(member); }
std::byte* internode::flag_of_node(int node) const noexcept { return flag_of_member(members_ + node); }

std::byte* internode::flag_of_handler(int member) const noexcept {
  return flag_of_node(all_nodes().groups()) + handler_bytes * whole(member);
}
std::byte* internode::record_of_handler(int member) const noexcept {
  static_assert(sizeof(flag) + record_bytes <= handler_bytes);
  return flag_of_handler(member) + sizeof(flag);
}

std::byte* internode::part(int member) const noexcept {
  const std::size_t halves = 2 * whole(member) + (step_ & 1U);
  return flag_of_handler(members_) + halves * part_bytes_;
}

std::byte* internode::inbox(int from_node) const noexcept {
  return base_ + inbox_at_[whole(from_node)] + (step_ & 1U) * message_bytes(from_node, node_);
}

bool internode::set(const std::byte* at) const noexcept {
  return reinterpret_cast<const flag*>(at)->load(std::memory_order_acquire) >= step_;
}
void internode::raise(std::byte* at) const noexcept {
  reinterpret_cast<flag*>(at)->store(step_, std::memory_order_release);
}

void internode::begin(int tag) {
  requests_.abandon();  // after a step that has failed
  ++step_;
  tag_ = tag;
  next_ = looked_members_ = looked_handlers_ = messages_missing_ = 0;
  messages_ = bytes_sent_ = 0;
  run_ = nullptr;
  free_ = part(local_) + record_bytes + sizeof(size_field) * whole(all_nodes().groups() + 1);
  put<size_field>(part(local_) + record_bytes, 0);
  // A half of received messages is free when all ranks of the node have begun this step's predecessor: they have, since
  // this rank has waited for all of its flags.
  post_receives();
}

std::size_t internode::request(int distance, bool send, std::size_t piece) const noexcept {
  return (2 * whole(distance - 1) + (send ? 1U : 0U)) * pieces_ + piece;
}

// Of the message whose `end` bytes come from the node that many before this one.
void internode::receive_piece(int distance, std::size_t piece, std::size_t end) {
  const int from = node_at(all_nodes().groups() - distance);
  const int rank = all_nodes().member(from, (distance - 1) % size_of(from));
  const std::size_t begin = piece * piece_bytes;
  requests_.receive(request(distance, false, piece), inbox(from) + begin,
                    static_cast<int>(std::min(end - begin, piece_bytes)), MPI_BYTE, rank, tag_, comm_.get());
}

void internode::post_receives() {
  const int groups = all_nodes().groups();
  for (int d = 1; d < groups; ++d) {
    if (!handles(d)) continue;
    ++messages_missing_;
    missing_[whole(d)] = 1;
    receive_piece(d, 0, message_bytes(node_at(groups - d), node_));
  }
}

// The first piece tells how long the message is.
void internode::came(std::size_t number) {
  const std::size_t which = number / pieces_;
  if (which % 2 != 0) return;
  const int distance = static_cast<int>(which / 2) + 1;
  const int from = node_at(all_nodes().groups() - distance);
  if (number % pieces_ == 0) {
    const std::byte* const offsets = inbox(from) + record_bytes;
    const std::size_t head = record_bytes + sizeof(size_field) * whole(size_of(from) + 1);
    const std::size_t end = head + get<size_field>(offsets + sizeof(size_field) * whole(size_of(from)));
    missing_[whole(distance)] = pieces_of(end);
    for (std::size_t piece = 1; piece < pieces_of(end); ++piece) receive_piece(distance, piece, end);
  }
  if (--missing_[whole(distance)] > 0) return;
  --messages_missing_;
  raise(flag_of_node(from));
}

// Offsets of runs count from the first run.
void internode::end_run() {
  const int groups = all_nodes().groups();
  std::byte* const offsets = part(local_) + record_bytes;
  const std::byte* const runs = offsets + sizeof(size_field) * whole(groups + 1);
  const int node = all_nodes().group[whole(order()[next_ - 1])];
  put(offsets + sizeof(size_field) * whole(node + 1), static_cast<size_field>(free_ - runs));
}

std::byte* internode::room(std::size_t bytes) {
  const int to = order()[next_];
  const int index = all_nodes().index[whole(to)];
  const int size = size_of(all_nodes().group[whole(to)]);
  if (index == 0) {
    run_ = free_;
    free_ += sizeof(size_field) * whole(size);
  }
  put(run_ + sizeof(size_field) * whole(index), static_cast<size_field>(bytes));
  std::byte* const at = free_;
  free_ += bytes;
  ++next_;
  if (index == size - 1) end_run();
  return at;
}

void internode::no_room() {
  room(0);
  put(run_ + sizeof(size_field) * whole(all_nodes().index[whole(order()[next_ - 1])]), not_here);
}

void internode::no_blocks() {
  std::byte* const offsets = part(local_) + record_bytes;
  std::memset(offsets, 0, sizeof(size_field) * whole(all_nodes().groups() + 1));
}

// What the node's ranks have for another node, as one message.
struct internode::outgoing {
  internode& all;
  int distance;
  std::byte* message;
  std::size_t filled = 0;
  std::size_t sent = 0;

  // Pieces that are full, or whatever there is.
  void send(bool last) {
    const int to = all.node_at(distance);
    const int rank = all.all_nodes().member(to, (distance - 1) % all.size_of(to));
    while (filled - sent >= piece_bytes || (last && filled > sent)) {
      const std::size_t bytes = std::min(filled - sent, piece_bytes);
      all.requests_.send(all.request(distance, true, sent / piece_bytes), message + sent, static_cast<int>(bytes),
                         MPI_BYTE, rank, all.tag_, all.comm_.get());
      sent += bytes;
      ++all.messages_;
      all.bytes_sent_ += bytes;
    }
  }
};

void internode::send_messages(combine learn) {
  const int groups = all_nodes().groups();
  known_ = get<record>(part(0));
  for (int i = 1; i < members_; ++i) learn(known_, get<record>(part(i)));
  mpi::spend_on_lines(whole(members_));
  outgoing next{*this, 1, staging_.data()};
  for (int d = 1; d < groups; ++d) {
    if (!handles(d)) continue;
    next.distance = d;
    next.filled = next.sent = 0;
    send_message(next);
    next.message += message_bytes(node_, node_at(d));
  }
}

void internode::send_message(outgoing& to) {
  const int groups = all_nodes().groups();
  const int node = node_at(to.distance);
  const auto run_of = [&](int member) {
    const std::byte* const offsets = part(member) + record_bytes;
    const std::byte* const runs = offsets + sizeof(size_field) * whole(groups + 1);
    const auto begin = get<size_field>(offsets + sizeof(size_field) * whole(node));
    const auto end = get<size_field>(offsets + sizeof(size_field) * whole(node + 1));
    return std::span(runs + begin, end - begin);
  };
  put(to.message, known_);
  size_field end = 0;
  for (int i = 0; i <= members_; ++i) {
    put(to.message + record_bytes + sizeof(size_field) * whole(i), end);
    if (i < members_) end += static_cast<size_field>(run_of(i).size());
  }
  to.filled = record_bytes + sizeof(size_field) * whole(members_ + 1);
  for (int i = 0; i < members_; ++i) {
    const auto run = run_of(i);
    std::memcpy(to.message + to.filled, run.data(), run.size());
    mpi::spend_on_copies(run.size());
    to.filled += run.size();
    to.send(false);
  }
  to.send(true);
}

void internode::take_messages() {
  if (requests_.in_flight() == 0) return;
  requests_.test_some([&](std::size_t number, const MPI_Status&) { came(number); },
                      [](std::size_t) { return static_cast<count_t>(piece_bytes); });
}

// Goes on where it has stopped the last time.
bool internode::all_set(std::size_t& looked, int n, std::byte* (internode::*flag)(int) const noexcept) const {
  while (looked < whole(n) && set((this->*flag)(static_cast<int>(looked)))) ++looked;
  return looked == whole(n);
}

void internode::publish(const record& mine) {
  put(part(local_), mine);
  raise(flag_of_member(local_));
}

// What the node's ranks have told, and the messages to this rank.
void internode::leave_records(combine learn) {
  const int groups = all_nodes().groups();
  for (int d = 1; d < groups; ++d)
    if (handles(d)) learn(known_, get<record>(inbox(node_at(groups - d))));
  put(record_of_handler(local_), known_);
  raise(flag_of_handler(local_));
}

internode::record internode::complete(combine learn, bool busy) {
  bool sent = local_ >= handlers();
  bool left = sent;
  mpi::backoff waiting(comm_.get(), tag_, this);
  for (;; waiting.pause()) {
    if (!sent && all_set(looked_members_, members_, &internode::flag_of_member)) {
      send_messages(learn);
      sent = true;
    }
    take_messages();
    if (!left && sent && messages_missing_ == 0) {
      leave_records(learn);
      left = true;
    }
    if (all_set(looked_handlers_, handlers(), &internode::flag_of_handler)) break;
    if (busy) waiting.progress();
  }
  while (requests_.in_flight() > 0) {
    take_messages();
    if (requests_.in_flight() > 0) waiting.pause();
  }
  auto all = get<record>(record_of_handler(0));
  for (int i = 1; i < handlers(); ++i) learn(all, get<record>(record_of_handler(i)));
  mpi::spend_on_lines(whole(handlers()));
  return all;
}

std::span<const std::byte> internode::run_from(int from) const noexcept {
  const int node = all_nodes().group[whole(from)];
  const int index = all_nodes().index[whole(from)];
  const bool near = node == node_;
  const std::byte* const offsets = (near ? part(index) : inbox(node)) + record_bytes;
  const int runs = near ? all_nodes().groups() : size_of(node);
  const int which = near ? node_ : index;
  const auto begin = get<size_field>(offsets + sizeof(size_field) * whole(which));
  const auto end = get<size_field>(offsets + sizeof(size_field) * whole(which + 1));
  if (begin == end) return {};
  return {offsets + sizeof(size_field) * whole(runs + 1) + begin, end - begin};
}

std::span<const std::byte> internode::block(int from) const noexcept {
  const auto run = run_from(from);
  if (run.empty()) return {};
  const auto size = [&](int i) {
    const auto n = get<size_field>(run.data() + sizeof(size_field) * whole(i));
    return n == not_here ? 0 : n;
  };
  const std::byte* data = run.data() + sizeof(size_field) * whole(members_);
  for (int i = 0; i < local_; ++i) data += size(i);
  return {data, size(local_)};
}

bool internode::elsewhere(int from) const noexcept {
  const auto run = run_from(from);
  return !run.empty() && get<size_field>(run.data() + sizeof(size_field) * whole(local_)) == not_here;
}

std::size_t internode::used() const noexcept {
  std::size_t received = 0;
  for (int node = 0; node < all_nodes().groups(); ++node)
    if (node != node_) {
      const std::byte* const offsets = inbox(node) + record_bytes;
      const std::size_t head = record_bytes + sizeof(size_field) * whole(size_of(node) + 1);
      received += head + get<size_field>(offsets + sizeof(size_field) * whole(size_of(node)));
    }
  return part_used() + received / whole(members_) + static_cast<std::size_t>(bytes_sent_);
}

std::size_t internode::part_used() const noexcept { return static_cast<std::size_t>(free_ - part(local_)); }

std::size_t internode::footprint(int ranks, int nodes, int largest_node, int smallest_node,
                                 std::size_t block) noexcept {
  const std::size_t each = sizeof(size_field) + block;
  const std::size_t part = record_bytes + sizeof(size_field) * whole(nodes + 1) + whole(ranks) * each;
  const std::size_t heads = whole(nodes) * (record_bytes + sizeof(size_field) * whole(largest_node + 1));
  const std::size_t by_turns = whole((nodes - 2) / std::max(smallest_node, 1) + 1);
  const std::size_t message =
      record_bytes + sizeof(size_field) * whole(largest_node + 1) + whole(largest_node) * whole(largest_node) * each;
  return part + heads + whole(ranks) * each + by_turns * message;
}

// Ranks of the node that have not come; when all have, those that have not sent this node its message.
void internode::describe(mpi::wait_note& note) const {
  note.what = "agreeing";
  note.comm = comm_.get();
  for (int i = 0; i < members_; ++i)
    if (!set(flag_of_member(i))) note.miss(all_nodes().member(node_, i));
  if (!note.missing.empty()) return;
  const int groups = all_nodes().groups();
  for (int d = 1; d < groups; ++d) {
    const int from = node_at(groups - d);
    if (!set(flag_of_node(from))) note.miss(all_nodes().member(from, (d - 1) % size_of(from)));
  }
}

}  // namespace taquin::detail
