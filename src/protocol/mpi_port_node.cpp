// The port's transfers through the memory of a node: it reads data of other ranks, and swaps them with this rank's.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "mpi/failure.hpp"
#include "node/requested_copy.hpp"
#include "node/single_copy.hpp"
#include "protocol/mpi_port.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

word mpi_port::process() const { return static_cast<word>(getpid()); }

bool mpi_port::may_read(int from, word process, const remote_part& part) {
  const int code = single_copy(static_cast<pid_t>(process), std::span(&part, 1));
  mpi::refuse_if_gone(code, from);
  return !is_refusal(code);
}

void mpi_port::read(int from, word process, std::span<const remote_part> parts) {
  const int code = single_copy(static_cast<pid_t>(process), parts);
  if (code == 0) return;
  mpi::refuse_if_gone(code, from);
  throw usage_error(
      fmt::format("rank {} cannot read the memory of rank {}: {}", comm_.rank(), from, std::strerror(code)),
      MPI_ERR_BUFFER, comm_.rank(), from);
}

void mpi_port::gone(int to, count_t units) {
  if (to == comm_.rank()) return;
  ++messages_;
  bytes_ += static_cast<std::uint64_t>(units) * store_.unit_bytes();
}

void mpi_port::offer(int peer, const unit_run& units, count_t back) {
  const auto columns = store_.columns();
  std::byte* const data = columns.empty() ? store_.at(units.at) : store_.at(units.at, columns.front());
  node_->offer(peer, data, units.length, back, units.at);
}

bool mpi_port::try_open() {
  if (!opening_) node_->publish();
  opening_ = !node_->all_here();
  return !opening_;
}

bool mpi_port::fetch(int from, count_t offset, count_t expected, const unit_run& into, std::uint32_t id) {
  std::array<std::byte*, most_columns> to{store_.at(into.at)};
  std::size_t places = 0;
  for (const unit_column& c : store_.columns()) to[places++] = store_.at(into.at, c);
  const std::span<std::byte* const> all = std::span(to).first(std::max<std::size_t>(places, 1));
  if (!node_->fetch(from, offset, expected, all, into.length)) return false;
  const std::size_t t = free_transfer();
  transfers_[t] = {.at = into.at, .length = into.length, .scattered = {}, .peer = from, .id = id, .incoming = true};
  ++in_progress_;
  complete_[(reported_ + at_hand_++) % complete_.size()] = static_cast<std::uint32_t>(t);
  return true;
}

bool mpi_port::find_fetched() {
  if (node_ == nullptr) return false;
  node_->give_what_is_requested();
  const auto part = node_->next_fetched();
  if (!part) return false;
  ++messages_;
  bytes_ += static_cast<std::uint64_t>(part->length) * store_.unit_bytes();
  next_ = {event::kind::fetched, part->reader, 0, {}, {part->offset, part->length}};
  return true;
}

count_t mpi_port::swappable(int peer) const { return node_ == nullptr ? 0 : node_->swappable(peer); }

swap_counts mpi_port::swaps(int peer) const {
  return node_ == nullptr ? swap_counts{} : swap_counts{node_->started(peer), node_->done(peer)};
}

count_t mpi_port::swap_some(int peer, const unit_run& space) {
  return node_->swap_some(peer, store_.at(space.at), space.length);
}

bool mpi_port::try_swapped(int peer) {
  node_->give_what_is_requested();
  const bool done = node_->swapped(peer);
  swaps_ = done ? -1 : peer;
  if (!done) return false;
  ++messages_;
  bytes_ += static_cast<std::uint64_t>(node_->swappable(peer)) * store_.unit_bytes();
  return true;
}

bool mpi_port::try_withdraw(int peer) {
  const bool done = node_->withdraw(peer);
  withdraws_ = done ? -1 : peer;
  return done;
}

}  // namespace taquin::detail
