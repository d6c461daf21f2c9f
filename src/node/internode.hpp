// A collective step of all ranks of a communicator on several nodes: every rank gives a record for all and a few bytes
// for each rank, and gets the same from all others. Inside nodes it goes through memory that their ranks share; between
// two nodes one message goes each way. So N nodes send N·(N − 1) messages, and no rank waits more than twice: for its
// node, and for the messages of the others. A long message goes in chunks that MPI libraries send eagerly. A longer
// message would go by rendezvous, for which both ranks must be scheduled twice.
//
// A rank writes its record and its blocks into its part of the node's memory, blocks for one node consecutively, and
// sets its flag. The other nodes are assigned to the ranks of a node round-robin: the handler of distance d waits for
// the flags of its node, joins the parts and sends the message to the d-th node after its own; it receives the message
// of the d-th node before its own into the node's memory. A handler that has sent and received all of its messages
// publishes the combined records of the node and of these messages with a second flag, for which all ranks wait. A rank
// that sees a flag (acquire) sees all that was written before it was set (release), and all that the rank that set it
// had seen.
//
// Parts and received messages are double buffers. A buffer is written again two steps later: by then every rank of the
// node has set its flag for the step between, which it does only when it has read all that it needs of the step before.
// So have all when a handler publishes its records.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/memory_budget.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/request_set.hpp"
#include "node/block_step.hpp"
#include "node/detect.hpp"
#include "node/run_list.hpp"
#include "node/shared_scratch.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// The memory that a node's ranks share for steps among nodes: flags of its ranks, of messages from other nodes, of
/// handlers with their records; then the blocks of each rank for others, and the received message of each other node.
/// The last two are double buffers.
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
  /// The part of a rank of this node in the step: its record and blocks for all nodes.
  [[nodiscard]] run_list part(int member) const noexcept;
  /// The message of another node for this one.
  [[nodiscard]] run_list inbox(int from_node) const noexcept { return {message(from_node), nodes_.size(from_node)}; }
  [[nodiscard]] std::byte* message(int from_node) const noexcept;

  [[nodiscard]] std::byte* flag_of_member(int member) const noexcept;
  [[nodiscard]] std::byte* flag_of_node(int node) const noexcept;
  [[nodiscard]] std::byte* flag_of_handler(int member) const noexcept;
  [[nodiscard]] run_list record_of_handler(int member) const noexcept;
  /// A flag is set for this step; a rank that sees it (acquire) sees all that was written before (release).
  [[nodiscard]] bool set(const std::byte* flag) const noexcept;
  void raise(std::byte* flag) const noexcept;

 private:
  /// Bytes of all flags, and of the handlers' records: at the beginning.
  [[nodiscard]] std::size_t flags_bytes() const noexcept;
  /// Bytes of the blocks, and of their sizes, that `from` ranks send to `to` ranks, at most.
  [[nodiscard]] std::size_t run_bytes(int from, int to) const noexcept;

  const level& nodes_;
  int members_;
  int node_;
  std::size_t most_bytes_;
  std::size_t part_bytes_ = 0;  // of one half
  std::size_t bytes_ = 0;
  std::vector<std::size_t> inbox_at_;  // of each node's messages: their first buffer
  shared_scratch memory_;
  std::vector<std::byte> alone_;  // the memory of a rank that is alone on its node
  std::byte* base_ = nullptr;
  std::uint64_t step_ = 0;
};

class internode final : public block_step, private mpi::awaited {
 public:
  using record = run_list::record;
  /// Combines the second record into the first; the order does not matter.
  using combine = void (*)(record&, const record&);

  /// For a communicator with several nodes whose ranks share memory, or of up to 16 ranks that share none: each is a
  /// node of its own. Null on all ranks if it has none, or if there are too many ranks. The first call is collective;
  /// kept with the communicator.
  static internode* get_or_create(mpi::communicator& comm);
  /// The object that `of` has made, or null. Local.
  static internode* find(const mpi::communicator& comm) noexcept { return comm.kept.get(kept_as); }
  /// There is such an object, and ranks of a node share memory in its steps. Local.
  static bool joins_nodes(const mpi::communicator& comm) noexcept {
    const internode* const step = find(comm);
    return step != nullptr && step->all_nodes().largest() > 1;
  }
  ~internode() override;

  /// Whether nodes of these sizes can take such steps, where their ranks share memory.
  static bool suits(int ranks, int nodes, int largest, int smallest) noexcept;
  /// The longest block that a step transfers among so many ranks; `largest`: ranks of the largest node.
  static std::size_t most_bytes_of(int ranks, int largest) noexcept;
  /// share() of the rank for which it is most, of nodes that can take such steps.
  static std::size_t most_share_of(const level& nodes);
  [[nodiscard]] std::size_t most_bytes() const noexcept override { return memory_.most_bytes(); }
  /// Bytes of shared memory and of messages for each rank.
  [[nodiscard]] std::size_t share() const noexcept { return share_; }
  /// The sizes of a step's blocks.
  struct amount {
    std::size_t longest = 0;     ///< bytes of the longest block
    std::uint64_t sent = 0;      ///< bytes of all blocks that a rank sends, at most
    std::uint64_t received = 0;  ///< that a rank receives
  };
  /// The part of the share that a step uses at most if no rank has more than this.
  [[nodiscard]] std::size_t share_with(const amount& a) const noexcept;

  [[nodiscard]] int rank() const noexcept override { return comm_.rank(); }
  /// The nodes whose messages its steps exchange.
  [[nodiscard]] const level& nodes() const noexcept { return all_nodes(); }

  /// Enters a step, whose messages have the tag. Ranks without blocks give empty ones to all.
  void begin(int tag);
  /// In the order of `order()`.
  std::byte* payload(std::size_t bytes) override;
  /// Announces that the next rank's block is not in the step: it follows as a message.
  void no_payload();
  /// No rank gets a block of this one.
  void no_blocks();
  [[nodiscard]] std::span<const int> order() const noexcept { return nodes_->topology.nodes().ranks; }
  [[nodiscard]] int reader(int i) const noexcept override { return order()[as_size(i)]; }
  /// Writes this rank's record and sets its flag: the node may read record and blocks.
  void publish(const record& mine);
  /// Waits until the data of all others are here. Returns all records, combined by `merge`. `busy`: this rank has
  /// pending messages, which the MPI library progresses at every poll.
  record complete(combine merge, bool busy = false);
  /// Valid until the next step but one begins.
  [[nodiscard]] std::span<const std::byte> block(int from) const noexcept override {
    return run_from(from).block(local_);
  }
  /// True when that rank sends its block for this one as a message.
  [[nodiscard]] bool elsewhere(int from) const noexcept { return run_from(from).elsewhere(local_); }
  /// Bytes of its share that this rank has used in the step, once the step is over.
  [[nodiscard]] std::size_t used() const noexcept;
  /// The most that any rank uses then.
  static std::size_t footprint(int ranks, int nodes, int largest_node, int smallest_node, const amount& a) noexcept;
  [[nodiscard]] std::uint64_t rounds() const noexcept override { return 1; }
  [[nodiscard]] std::uint64_t messages() const noexcept override { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept override { return bytes_sent_; }

 private:
  inline static const mpi::slot<internode> kept_as;
  static constexpr std::size_t most_block = 8192;
  static constexpr std::size_t most_block_alone = std::size_t{32} << 10U;  // where each node has one rank
  static constexpr int most_alone = 16;                                    // such nodes
  static constexpr std::size_t least_block = 8;
  static constexpr int most_messages = 64;  // of one rank in a step
  /// A rank's sizes and blocks for those of this node.
  [[nodiscard]] block_run run_from(int rank) const noexcept;
  internode(mpi::communicator& comm, std::shared_ptr<const node_view> nodes);

  [[nodiscard]] const level& all_nodes() const noexcept { return nodes_->topology.nodes(); }
  [[nodiscard]] int node_at(int distance) const noexcept { return (node_ + distance) % all_nodes().groups(); }
  [[nodiscard]] bool handles(int distance) const noexcept { return (distance - 1) % members_ == local_; }
  [[nodiscard]] int handlers() const noexcept { return std::min(members_, all_nodes().groups() - 1); }
  [[nodiscard]] std::size_t request(int distance, bool send, std::size_t chunk) const noexcept;
  void receive_chunk(int distance, std::size_t chunk, std::size_t end);
  void post_receives();
  void arrived(std::size_t number);
  struct outgoing;
  void send_messages(combine merge);
  void send_message(outgoing& to);
  void take_messages();
  void publish_records(combine merge);
  using flag_of = std::byte* (internode_memory::*)(int) const noexcept;
  [[nodiscard]] bool all_set(std::size_t& polled, int n, flag_of flag) const;
  void describe(mpi::wait_record& to) const override;

  mpi::communicator& comm_;
  std::shared_ptr<const node_view> nodes_;
  int node_;
  int local_;    // among the node's ranks
  int members_;  // of the node
  internode_memory memory_;
  std::size_t share_ = 0;
  memory_budget memory_of_messages_;
  std::pmr::vector<std::byte> staging_{&memory_of_messages_};  // messages that this rank sends
  std::size_t chunks_ = 1;                                     // of a message, at most
  mpi::request_set requests_;                                  // of each distance: chunks_ receives, and as many sends
  std::vector<std::size_t> missing_;                           // of each distance: chunks that have not arrived
  int tag_ = 0;
  std::size_t next_ = 0;            // rank of order() that the next block is for
  std::byte* run_ = nullptr;        // the run that is being written
  std::byte* free_ = nullptr;       // behind its last block
  std::size_t polled_members_ = 0;  // of the node's flags, those that are known to be set
  std::size_t polled_handlers_ = 0;
  std::size_t messages_missing_ = 0;  // that have not arrived at this rank
  record known_{};                    // of the node's ranks; then of the messages to this one as well
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace taquin::detail
