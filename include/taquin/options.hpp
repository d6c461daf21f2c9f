// Options of a call, and its statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "taquin/types.hpp"

namespace taquin {

/// The work of this rank, summed over the calls or starts it is passed to. Bytes are data, without MPI's envelopes.
struct statistics {
  std::uint64_t starts = 0;        ///< exchanges started
  std::uint64_t rounds = 0;        ///< communication rounds
  std::uint64_t messages = 0;      ///< messages sent to other ranks by this rank; through shared memory: blocks
  std::uint64_t bytes_sent = 0;    ///< bytes sent to other ranks by this rank
  std::uint64_t bytes_copied = 0;  ///< bytes copied inside this rank's memory, packing included
  std::size_t peak_memory = 0;     ///< most bytes of scratch memory in use at any time on this rank
  std::string_view algorithm{};    ///< name of the algorithm that ran

  /// Seconds that in_place_phases takes.
  struct in_place_phases_times {
    double requests = 0;  ///< until requests are exchanged
    double data = 0;      ///< until data are
    double update = 0;    ///< for moves inside the rank
  };
  in_place_phases_times in_place_phases{};  ///< of in_place_phases
};

/// How the Bruck algorithms describe the scattered blocks of a message.
enum class bruck_layout : std::uint8_t {
  automatic,  ///< chosen by the algorithm: `packed`, but for two of them (bruck_options::layout)
  indexed,    ///< a datatype that lists each block: an indexed type where one base type is enough
  regular,    ///< bounded and circular vectors: a datatype that joins blocks that are consecutive or at equal distances
  elements,   ///< a structured datatype that lists each block
  blocks,     ///< a structured datatype of rows of up to radix^k blocks
  packed      ///< no datatype: taquin packs and unpacks
};

/// Selects what progresses a started plan while the program does other work. A plan of several rounds needs its rank to
/// post the next round: while that rank computes, or is in a call of the MPI library such as a barrier, its peers wait.
enum class progress_by : std::uint8_t {
  /// The MPI library. With the algorithm "auto" a plan then is an exchange of one round, where an algorithm of one
  /// round serves and fits the memory. All its messages are posted at the start, and MPI's own progress completes them,
  /// as with MPI's nonblocking collectives.
  library,
  /// Calls of taquin, with any algorithm. Every call of taquin that waits progresses all started plans.
  calls,
  /// Calls of taquin, and a thread of the process, with any algorithm. The MPI library must provide
  /// MPI_THREAD_MULTIPLE.
  thread
};

/// The action of a rank when a wait has lasted longer than its timeout, after the rank's report.
enum class after_timeout : std::uint8_t {
  wait,   ///< continues to wait
  abort,  ///< MPI_Abort
  fail    ///< throws `timed_out` on this rank; the communicator cannot be used with taquin any more
};

/// Options of the Bruck algorithms, also where one runs as a level of multilevel.
struct bruck_options {
  /// The radix of the rounds, at least 2. Default: the least power of two for which two rounds suffice, but at most 16
  /// and at most the number of ranks.
  std::optional<int> radix{};
  /// How scattered blocks are described. Default: `packed`; for lean_bruck `regular`; for zero_copy_bruck `blocks` from
  /// 1 KiB per block on.
  bruck_layout layout = bruck_layout::automatic;
};

/// Options of two_phase.
struct two_phase_options {
  /// The algorithm of its two exchanges, a name that `taquin list` prints; default: spread_out.
  std::string_view inner = "spread_out";
};

/// Options of multilevel.
struct multilevel_options {
  /// The algorithms of its levels, separated by commas: between nodes, between the groups inside each node, and so on
  /// inwards. The last one serves all levels that remain. "auto": the one of least predicted time at that level. A
  /// colon and a number after a name give its radix ("bruck_v:4"). Default: bruck_v between nodes, spread_out inside
  /// them.
  std::string_view levels = "bruck_v,spread_out";
};

/// Options of node_aggregated.
struct node_aggregated_options {
  /// How many ranks of a node exchange messages with other nodes; 0, the default: all. It holds for plans and for
  /// named algorithms. Small blocks that are piggybacked on the agreement of a blocking call are sent and received by
  /// all ranks.
  int leaders = 0;
};

/// Options of hierarchical_factor, hierarchical_k_factor and hierarchical_permutation.
struct hierarchical_factor_options {
  /// Concurrent exchanges of a node, at most 30; 0, the default: 8. In hierarchical_k_factor they are with as many
  /// other nodes; in hierarchical_permutation as many messages leave a node, and enter it, at a time.
  int ports = 0;
};

/// Options of in_place.
struct in_place_options {
  /// Bytes of send blocks that lie in no receive block may hold anything afterwards: once their data have left, they
  /// serve as auxiliary memory, on top of what `memory` allows. By default they keep their values. Each rank chooses
  /// for itself.
  bool scratch_sends = false;
};

/// Options of in_place_phases.
struct in_place_phases_options {
  /// Static parts of the auxiliary memory, where data of rank j use part j mod parts; 0, the default: a 16th of the
  /// most peers of any rank, at least 1.
  int aux_parts = 0;
  /// Manages the auxiliary memory as one heap for all ranks' data; default: static parts.
  bool aux_heap = false;
  /// Sends requests only between ranks that have data for each other, which are all that memory is needed for; if not,
  /// one alltoall of all requests, in log p rounds and memory linear in p.
  bool sparse_requests = true;
};

/// Choices for one exchange, the same on all ranks, except that `memory` may differ: the smallest one rules. `stats`,
/// `on_timeout` and `in_place` are each rank's own, and so is the length of a `timeout` that all have.
struct options {
  /// A name that `taquin list` prints. Default: "auto", the one that is expected or was measured to be the fastest of
  /// those that fit the memory; TAQUIN_ALGORITHM overrides it.
  std::string_view algorithm = "auto";
  /// Bytes of scratch memory per rank; default: no limit. For alltoallv_in_place, which every byte more makes
  /// faster, the default is 1% of the most that any rank sends or receives, but at least 64 KiB and at least four times
  /// the least that the algorithm needs. To lift that limit give a large number other than `unlimited`.
  std::size_t memory = unlimited;
  /// The most messages that a rank has sent and its peers have not received, and the most that reach a rank before it
  /// has posted receives for them (unexpected messages); 0, the default: 32. A large number lifts the limit. It holds
  /// for taquin's own messages with data (docs/internals/flow-control.md). Where it is not set, plans with
  /// `progress_by::library` send all immediately, because no call would post the rest between start and completion.
  int in_flight = 0;
  /// Ranks per node, in rank order; empty, the default: TAQUIN_NODES, or detected.
  std::span<const int> nodes{};
  /// Before anything is sent, blocking calls on one node compare the sizes that ranks send with those that their peers
  /// expect. A block of another size is then an error on all ranks. Plans, calls on several nodes and calls by other
  /// algorithms compare in any case, except on intercommunicators. Default: TAQUIN_CHECK, or false.
  bool check = false;
  /// For plans with the algorithm "auto": the first starts run the few algorithms of least predicted time in turn, each
  /// three times, as many of them as fit the memory together. Then all ranks stay with the fastest. Blocking calls do
  /// not tune. Default: off.
  bool tune = false;
  /// Selects what progresses a plan between its start and its wait. Default: the MPI library, or a thread where
  /// TAQUIN_PROGRESS_THREAD=1 is set and the MPI library provides MPI_THREAD_MULTIPLE.
  progress_by progress = progress_by::library;
  /// After `timeout`; default: the rank continues to wait, or TAQUIN_TIMEOUT's word after the comma.
  after_timeout on_timeout = after_timeout::wait;
  /// How long a call may wait before it reports, once, on standard error: its name, the ranks that are missing or have
  /// not answered, and where those were last. In seconds, or a duration of std::chrono. 0, the default: TAQUIN_TIMEOUT,
  /// or never.
  time_limit timeout{};

  bruck_options bruck{};                              ///< of the Bruck algorithms
  two_phase_options two_phase{};                      ///< of two_phase
  multilevel_options multilevel{};                    ///< of multilevel
  node_aggregated_options node_aggregated{};          ///< of node_aggregated
  hierarchical_factor_options hierarchical_factor{};  ///< of the hierarchical ones
  in_place_options in_place{};                        ///< of in_place
  in_place_phases_options in_place_phases{};          ///< of in_place_phases

  /// Every call or start adds its work to it; must outlive the plan. Default: none.
  statistics* stats = nullptr;
};

}  // namespace taquin
