#include "node/internode.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "base/copy_bytes.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/simulated_time.hpp"
#include "node/mapping.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t most_share = std::size_t{1} << 20U;  // of each rank
constexpr std::size_t most_of_process = std::size_t{256} << 20U;
constexpr std::size_t chunk_bytes = std::size_t{56} << 10U;  // below the size that Open MPI sends eagerly over TCP

constexpr auto most_of_chunk = [](std::size_t) { return static_cast<count_t>(chunk_bytes); };

constexpr std::size_t chunks_of(std::size_t bytes) noexcept { return (bytes + chunk_bytes - 1) / chunk_bytes; }

std::atomic<std::size_t> taken{0};  // by all steps of this process

constexpr std::size_t handler_bytes = 2 * cache_line;  // its flag and its records

using flag = std::atomic<std::uint64_t>;
static_assert(flag::is_always_lock_free);
static_assert(sizeof(flag) + run_list::record_bytes <= handler_bytes);

}  // namespace

internode_memory::internode_memory(const level& nodes, int node, std::size_t most_bytes)
    : nodes_(nodes),
      members_(nodes.size(node)),
      node_(node),
      most_bytes_(most_bytes),
      inbox_at_(as_size(nodes.groups())) {
  const int groups = nodes_.groups();
  part_bytes_ = up_to_line(run_list::head(groups) + run_bytes(1, static_cast<int>(nodes_.ranks.size())));
  bytes_ = flags_bytes() + 2 * part_bytes_ * as_size(members_);
  for (int from = 0; from < groups; ++from) {
    if (from == node_) continue;
    inbox_at_[as_size(from)] = bytes_;
    bytes_ += 2 * message_bytes(from, node_);
  }
  if (members_ > 1) return;
  alone_.resize(bytes_ + cache_line);
  if (!leaves_address_space()) throw std::bad_alloc();
}

std::size_t internode_memory::flags_bytes() const noexcept {
  return cache_line * as_size(members_ + nodes_.groups()) + handler_bytes * as_size(members_);
}

bool internode_memory::make(MPI_Comm node) {
  if (members_ == 1) {
    const auto at = reinterpret_cast<std::uintptr_t>(alone_.data());
    base_ = alone_.data() + (cache_line - at % cache_line) % cache_line;
    return true;
  }
  memory_ = shared_scratch::make(node, bytes_, flags_bytes());
  if (memory_.empty()) return false;
  base_ = memory_.data();
  return true;
}

std::size_t internode_memory::run_bytes(int from, int to) const noexcept {
  return as_size(from) * (block_run::head(to) + as_size(to) * most_bytes_);
}

std::size_t internode_memory::message_bytes(int from_node, int to_node) const noexcept {
  const int from = nodes_.size(from_node);
  return up_to_line(run_list::head(from) + run_bytes(from, nodes_.size(to_node)));
}

std::byte* internode_memory::flag_of_member(int member) const noexcept { return base_ + cache_line * as_size(member); }
std::byte* internode_memory::flag_of_node(int node) const noexcept { return flag_of_member(members_ + node); }

std::byte* internode_memory::flag_of_handler(int member) const noexcept {
  return flag_of_node(nodes_.groups()) + handler_bytes * as_size(member);
}
run_list internode_memory::record_of_handler(int member) const noexcept {
  return {flag_of_handler(member) + sizeof(flag), 0};
}

run_list internode_memory::part(int member) const noexcept {
  const std::size_t buffer_index = 2 * as_size(member) + (step_ & 1U);
  return {flag_of_handler(members_) + buffer_index * part_bytes_, nodes_.groups()};
}

std::byte* internode_memory::message(int from_node) const noexcept {
  return base_ + inbox_at_[as_size(from_node)] + (step_ & 1U) * message_bytes(from_node, node_);
}

bool internode_memory::set(const std::byte* at) const noexcept {
  return reinterpret_cast<const flag*>(at)->load(std::memory_order_acquire) >= step_;
}
void internode_memory::raise(std::byte* at) const noexcept {
  reinterpret_cast<flag*>(at)->store(step_, std::memory_order_release);
}

// A rank's share is about five times what it sends: two buffers of that, two of what it receives, and its messages.
std::size_t internode::most_bytes_of(int ranks, int largest) noexcept {
  const std::size_t block = most_share / (5 * as_size(ranks));
  const std::size_t most = largest == 1 ? most_block_alone : most_block;
  return block < cache_line ? block / 8 * 8 : std::min(block / cache_line * cache_line, most);
}

bool internode::suits(int ranks, int nodes, int largest, int smallest) noexcept {
  if (largest == 1) return ranks > 1 && ranks <= most_alone;
  return nodes > 1 && most_bytes_of(ranks, largest) >= least_block && nodes - 1 <= most_messages * smallest;
}

internode* internode::get_or_create(mpi::communicator& comm) {
  if (comm.kept.has(kept_as)) return find(comm);
  comm.kept.put(kept_as, {});
  if (comm.size() == 1) return nullptr;
  const bool space = taken + 2 * most_share <= most_of_process;
  // Ranks whose TAQUIN_NODES differ would not find their nodes together.
  fingerprint given;
  given.add(std::span<const int>(environment::get().nodes));
  const auto print = static_cast<std::int64_t>(given.value() >> 1U);
  std::array<std::int64_t, 4> all{space && !check_nodes(comm, {}) ? 0 : 1, print, -print,
                                  environment::get().shared_memory ? 0 : 1};
  mpi::allreduce(std::span<std::int64_t>(all), MPI_MAX, comm.get());
  if (all[0] != 0 || all[1] != -all[2]) return nullptr;
  auto view = nodes_of(comm, {});
  // Made by all ranks, or by none: one of them may lack the memory.
  const auto make = [&](MPI_Comm local) {
    std::shared_ptr<internode> made;
    try {
      made.reset(new internode(comm, view));
    } catch (const std::bad_alloc&) {  // all see it
    }
    if (!mpi::holds_everywhere(made != nullptr, comm.get())) return std::shared_ptr<internode>();
    const bool good = made->memory_.make(local);
    return local == MPI_COMM_NULL || mpi::holds_everywhere(good, comm.get()) ? made : nullptr;
  };
  const level& nodes = view->topology.nodes();
  const bool share = all[3] == 0;
  if (share && nodes.largest() > 1 && suits(comm.size(), nodes.groups(), nodes.largest(), nodes.smallest())) {
    auto made = make(view->local.get());
    view->shares = made != nullptr;
    if (made != nullptr) return comm.kept.put(kept_as, std::move(made));
  }
  if (!suits(comm.size(), comm.size(), 1, 1)) return nullptr;
  if (nodes.largest() > 1) {  // which share no memory
    auto alone = std::make_shared<node_view>();
    alone->topology = topology::of_sizes(std::vector<int>(as_size(comm.size()), 1));
    view = std::move(alone);
  }
  auto made = make(MPI_COMM_NULL);  // memory of this rank alone
  return made != nullptr ? comm.kept.put(kept_as, std::move(made)) : nullptr;
}

std::size_t internode::most_share_of(const level& nodes) {
  std::size_t most = 0;
  for (int node = 0; node < nodes.groups(); ++node) {
    const internode_memory m(nodes, node, most_bytes_of(static_cast<int>(nodes.ranks.size()), nodes.largest()));
    const int members = nodes.size(node);
    std::vector<std::size_t> staged(as_size(members));
    for (int d = 1; d < nodes.groups(); ++d)
      staged[as_size((d - 1) % members)] += m.message_bytes(node, (node + d) % nodes.groups());
    most = std::max(most, m.bytes() / as_size(members) + std::ranges::max(staged));
  }
  return most;
}

internode::internode(mpi::communicator& comm, std::shared_ptr<const node_view> nodes)
    : comm_(comm),
      nodes_(std::move(nodes)),
      node_(all_nodes().group[as_size(comm.rank())]),
      local_(all_nodes().index[as_size(comm.rank())]),
      members_(all_nodes().size(node_)),
      memory_(all_nodes(), node_, most_bytes_of(comm.size(), all_nodes().largest())),
      requests_(0, &memory_of_messages_),
      missing_(as_size(all_nodes().groups())) {
  std::size_t staged = 0;
  for (int d = 1; d < all_nodes().groups(); ++d) {
    const std::size_t there = memory_.message_bytes(node_, node_at(d));
    chunks_ = std::max({chunks_, chunks_of(there), chunks_of(memory_.message_bytes(node_at(d), node_))});
    if (handles(d)) staged += there;
  }
  staging_.resize(staged);
  requests_.resize(2 * chunks_ * as_size(all_nodes().groups() - 1));
  requests_.describe_by(this);
  share_ = memory_.bytes() / as_size(members_) + staged;
  taken += share_;
}

internode::~internode() { taken -= share_; }

void internode::begin(int tag) {
  memory_.next_step();
  tag_ = tag;
  next_ = polled_members_ = polled_handlers_ = messages_missing_ = 0;
  messages_ = bytes_sent_ = 0;
  run_ = nullptr;
  const run_list own = memory_.part(local_);
  own.begin();
  free_ = own.first();
  // A buffer of received messages is free when all ranks of the node have entered the step before this one. They have,
  // because this rank has waited for all flags of that step.
  post_receives();
}

std::size_t internode::request(int distance, bool send, std::size_t chunk) const noexcept {
  return (2 * as_size(distance - 1) + (send ? 1U : 0U)) * chunks_ + chunk;
}

// For the message from the node at this distance before this one.
void internode::receive_chunk(int distance, std::size_t chunk, std::size_t end) {
  const int from = node_at(all_nodes().groups() - distance);
  const int rank = all_nodes().member(from, (distance - 1) % all_nodes().size(from));
  const std::size_t begin = chunk * chunk_bytes;
  requests_.receive(request(distance, false, chunk), memory_.message(from) + begin,
                    static_cast<int>(std::min(end - begin, chunk_bytes)), MPI_BYTE, rank, tag_, comm_.get());
}

void internode::post_receives() {
  const int groups = all_nodes().groups();
  for (int d = 1; d < groups; ++d) {
    if (!handles(d)) continue;
    ++messages_missing_;
    missing_[as_size(d)] = 1;
    receive_chunk(d, 0, memory_.message_bytes(node_at(groups - d), node_));
  }
}

// The first chunk has the length of the message.
void internode::arrived(std::size_t number) {
  const std::size_t which = number / chunks_;
  if (which % 2 != 0) return;
  const int distance = static_cast<int>(which / 2) + 1;
  const int from = node_at(all_nodes().groups() - distance);
  if (number % chunks_ == 0) {
    const std::size_t end = memory_.inbox(from).bytes();
    missing_[as_size(distance)] = chunks_of(end);
    for (std::size_t chunk = 1; chunk < chunks_of(end); ++chunk) receive_chunk(distance, chunk, end);
  }
  if (--missing_[as_size(distance)] > 0) return;
  --messages_missing_;
  memory_.raise(memory_.flag_of_node(from));
}

std::byte* internode::payload(std::size_t bytes) {
  const int to = order()[next_];
  const int index = all_nodes().index[as_size(to)];
  const int node = all_nodes().group[as_size(to)];
  const int size = all_nodes().size(node);
  if (index == 0) {
    run_ = free_;
    free_ += block_run::head(size);
  }
  block_run::report(run_, index, static_cast<block_run::number>(bytes));
  std::byte* const at = free_;
  free_ += bytes;
  ++next_;
  if (index == size - 1) memory_.part(local_).end(node, free_);
  return at;
}

void internode::no_payload() {
  payload(0);
  block_run::report(run_, all_nodes().index[as_size(order()[next_ - 1])], block_run::not_here);
}

void internode::no_blocks() { memory_.part(local_).clear(); }

// The blocks of the node's ranks for another node, as one message.
struct internode::outgoing {
  internode& all;
  int distance;
  std::byte* message;
  std::size_t filled = 0;
  std::size_t sent = 0;

  // Sends chunks that are full, or all that there is.
  void send(bool last) {
    const int to = all.node_at(distance);
    const int rank = all.all_nodes().member(to, (distance - 1) % all.all_nodes().size(to));
    while (filled - sent >= chunk_bytes || (last && filled > sent)) {
      const std::size_t bytes = std::min(filled - sent, chunk_bytes);
      all.requests_.send(all.request(distance, true, sent / chunk_bytes), message + sent, static_cast<int>(bytes),
                         MPI_BYTE, rank, all.tag_, all.comm_.get());
      sent += bytes;
      ++all.messages_;
      all.bytes_sent_ += bytes;
    }
  }
};

void internode::send_messages(combine merge) {
  known_ = memory_.part(0).what();
  for (int i = 1; i < members_; ++i) merge(known_, memory_.part(i).what());
  mpi::spend_on_cache_lines(as_size(members_));
  outgoing next{*this, 1, staging_.data()};
  for (int d = 1; d < all_nodes().groups(); ++d) {
    if (!handles(d)) continue;
    next.distance = d;
    next.filled = next.sent = 0;
    send_message(next);
    next.message += memory_.message_bytes(node_, node_at(d));
  }
}

void internode::send_message(outgoing& to) {
  const int node = node_at(to.distance);
  const run_list message(to.message, members_);
  message.put(known_);
  message.begin();
  std::byte* end = message.first();
  for (int i = 0; i < members_; ++i) {
    end += memory_.part(i)[node].size();
    message.end(i, end);
  }
  to.filled = run_list::head(members_);
  for (int i = 0; i < members_; ++i) {
    const auto run = memory_.part(i)[node];
    copy_bytes(to.message + to.filled, run.data(), run.size());
    mpi::spend_on_copies(run.size());
    to.filled += run.size();
    to.send(false);
  }
  to.send(true);
}

void internode::take_messages() {
  if (requests_.in_flight() == 0) return;
  requests_.test_some([&](std::size_t number, const MPI_Status&) { arrived(number); }, most_of_chunk);
}

// Continues where it stopped the last time.
bool internode::all_set(std::size_t& polled, int n, flag_of flag) const {
  while (polled < as_size(n) && memory_.set((memory_.*flag)(static_cast<int>(polled)))) ++polled;
  return polled == as_size(n);
}

void internode::publish(const record& mine) {
  memory_.part(local_).put(mine);
  memory_.raise(memory_.flag_of_member(local_));
}

// The messages to this rank, and from one handler the records of the node's ranks: each rank's record once in all.
void internode::publish_records(combine merge) {
  const int groups = all_nodes().groups();
  bool started = local_ == 0;
  for (int d = 1; d < groups; ++d) {
    if (!handles(d)) continue;
    const record theirs = memory_.inbox(node_at(groups - d)).what();
    started ? merge(known_, theirs) : static_cast<void>(known_ = theirs);
    started = true;
  }
  memory_.record_of_handler(local_).put(known_);
  memory_.raise(memory_.flag_of_handler(local_));
}

internode::record internode::complete(combine merge, bool busy) {
  bool sent = local_ >= handlers();
  bool left = sent;
  mpi::backoff waiting(comm_.get(), tag_, this);
  // A rank that is alone on its node waits for messages only, inside the MPI library, whose polls cost less.
  const auto wait = [&] {
    if (members_ > 1) return waiting.pause();
    requests_.wait_some([&](std::size_t number, const MPI_Status&) { arrived(number); }, most_of_chunk);
  };
  for (;;) {
    if (!sent && all_set(polled_members_, members_, &internode_memory::flag_of_member)) {
      send_messages(merge);
      sent = true;
    }
    take_messages();
    if (!left && sent && messages_missing_ == 0) {
      publish_records(merge);
      left = true;
    }
    if (all_set(polled_handlers_, handlers(), &internode_memory::flag_of_handler)) break;
    if (busy) waiting.progress();
    wait();
  }
  while (requests_.in_flight() > 0) {
    take_messages();
    if (requests_.in_flight() > 0) wait();
  }
  record all = memory_.record_of_handler(0).what();
  for (int i = 1; i < handlers(); ++i) merge(all, memory_.record_of_handler(i).what());
  mpi::spend_on_cache_lines(as_size(handlers()));
  return all;
}

block_run internode::run_from(int from) const noexcept {
  const int node = all_nodes().group[as_size(from)];
  const int index = all_nodes().index[as_size(from)];
  return {node == node_ ? memory_.part(index)[node_] : memory_.inbox(node)[index], members_};
}

std::size_t internode::used() const noexcept {
  std::size_t received = 0;
  for (int node = 0; node < all_nodes().groups(); ++node)
    if (node != node_) received += memory_.inbox(node).bytes();
  return memory_.part(local_).bytes() + received / as_size(members_) + as_size(bytes_sent_);
}

std::size_t internode::share_with(const amount& a) const noexcept {
  const level& n = all_nodes();
  return footprint(comm_.size(), n.groups(), n.largest(), n.smallest(), a);
}

// A rank's part, its share of the node's received data, and the messages that it sends for all ranks of the node.
std::size_t internode::footprint(int ranks, int nodes, int largest_node, int smallest_node, const amount& a) noexcept {
  const auto data = [&a](std::size_t blocks, std::uint64_t all) {
    return blocks * sizeof(block_run::number) + std::min<std::uint64_t>(blocks * a.longest, all);
  };
  const std::size_t largest = as_size(largest_node);
  const std::size_t by_turns = as_size((nodes - 2) / std::max(smallest_node, 1) + 1);
  const std::size_t part = run_list::head(nodes) + data(as_size(ranks), a.sent);
  const std::size_t inboxes = as_size(nodes) * run_list::head(largest_node) + data(as_size(ranks), a.received);
  const std::size_t messages =
      by_turns * run_list::head(largest_node) + data(by_turns * largest * largest, largest * a.sent);
  return part + inboxes + messages;
}

// Ranks of the node that have not arrived; when all have, those that have not sent this node its message.
void internode::describe(mpi::wait_record& to) const {
  to.what = "agreeing";
  to.comm = comm_.get();
  for (int i = 0; i < members_; ++i)
    if (!memory_.set(memory_.flag_of_member(i))) to.miss(all_nodes().member(node_, i));
  if (!to.missing.empty()) return;
  const int groups = all_nodes().groups();
  for (int d = 1; d < groups; ++d) {
    const int from = node_at(groups - d);
    if (!memory_.set(memory_.flag_of_node(from))) to.miss(all_nodes().member(from, (d - 1) % all_nodes().size(from)));
  }
}

}  // namespace taquin::detail
