#include "node/internode_memory.hpp"

#include <atomic>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

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
  bytes_ =
      cache_line * as_size(members_ + groups) + handler_bytes * as_size(members_) + 2 * part_bytes_ * as_size(members_);
  for (int from = 0; from < groups; ++from) {
    if (from == node_) continue;
    inbox_at_[as_size(from)] = bytes_;
    bytes_ += 2 * message_bytes(from, node_);
  }
  if (members_ == 1) alone_.resize(bytes_ + cache_line);
}

bool internode_memory::make(MPI_Comm node) {
  if (members_ == 1) {
    const auto at = reinterpret_cast<std::uintptr_t>(alone_.data());
    base_ = alone_.data() + (cache_line - at % cache_line) % cache_line;
    return true;
  }
  memory_ = shared_scratch::make(node, bytes_);
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
  const std::size_t halves = 2 * as_size(member) + (step_ & 1U);
  return {flag_of_handler(members_) + halves * part_bytes_, nodes_.groups()};
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

}  // namespace taquin::detail
