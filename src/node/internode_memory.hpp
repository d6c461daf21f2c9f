// The memory that a node's ranks share for steps among nodes (node/internode.hpp): flags of its ranks, of messages from
// other nodes, of handlers with their records; then what each rank has for others, and what each other node has sent.
// The last two have two halves, which steps use in turn.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/run_list.hpp"
#include "node/shared_scratch.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

class internode_memory {
 public:
  /// For a rank of the node, with blocks of at most so many bytes. The nodes must outlive it.
  internode_memory(const level& nodes, int node, std::size_t most_bytes);

  /// Collective among the node's ranks; false on all of them where there is none.
  bool make(MPI_Comm node);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t most_bytes() const noexcept { return most_bytes_; }

  /// Of a message between two nodes, at most.
  [[nodiscard]] std::size_t message_bytes(int from_node, int to_node) const noexcept;

  void next_step() noexcept { ++step_; }
  /// What a rank of this node has for all nodes in the step.
  [[nodiscard]] run_list part(int member) const noexcept;
  /// What the ranks of another node have for this one.
  [[nodiscard]] run_list inbox(int from_node) const noexcept { return {message(from_node), nodes_.size(from_node)}; }
  [[nodiscard]] std::byte* message(int from_node) const noexcept;

  [[nodiscard]] std::byte* flag_of_member(int member) const noexcept;
  [[nodiscard]] std::byte* flag_of_node(int node) const noexcept;
  [[nodiscard]] std::byte* flag_of_handler(int member) const noexcept;
  [[nodiscard]] run_list record_of_handler(int member) const noexcept;
  /// A flag is set for this step; who sees it (acquire) sees what was written before (release).
  [[nodiscard]] bool set(const std::byte* flag) const noexcept;
  void raise(std::byte* flag) const noexcept;

 private:
  /// Bytes of the blocks, and of their sizes, that `from` ranks send to `to` ranks, at most.
  [[nodiscard]] std::size_t run_bytes(int from, int to) const noexcept;

  const level& nodes_;
  int members_;
  int node_;
  std::size_t most_bytes_;
  std::size_t part_bytes_ = 0;  // of one half
  std::size_t bytes_ = 0;
  std::vector<std::size_t> inbox_at_;  // of each node's messages: their first half
  shared_scratch memory_;
  std::vector<std::byte> alone_;  // the memory of a rank that is alone on its node
  std::byte* base_ = nullptr;
  std::uint64_t step_ = 0;
};

}  // namespace taquin::detail
