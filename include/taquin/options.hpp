// What a caller may choose, and what it may learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "taquin/types.hpp"

namespace taquin {

/// What a plan did, added up over its starts. Bytes are data bytes, without MPI's own envelopes.
struct statistics {
  std::uint64_t starts = 0;        ///< exchanges begun
  std::uint64_t rounds = 0;        ///< communication rounds
  std::uint64_t messages = 0;      ///< messages sent to other ranks by this rank
  std::uint64_t bytes_sent = 0;    ///< bytes sent to other ranks by this rank
  std::uint64_t bytes_copied = 0;  ///< bytes copied inside this rank's memory, packing included
  std::size_t peak_memory = 0;     ///< most bytes of scratch held at once by this rank
  std::string_view algorithm{};    ///< name of the algorithm that ran

  /// Seconds that in_place_phases takes.
  struct in_place_phases_times {
    double requests = 0;  ///< until requests are exchanged
    double data = 0;      ///< until data are
    double update = 0;    ///< for what is moved inside the rank
  };
  in_place_phases_times in_place_phases{};  ///< of in_place_phases
};

/// How the Bruck algorithms describe the scattered blocks of a message.
enum class bruck_layout : std::uint8_t {
  automatic,  ///< chosen by the algorithm: `packed`, but for two of them (bruck_options::layout)
  indexed,    ///< a datatype that lists each block: an indexed type where one base type is enough
  regular,    ///< bounded and circular vectors: a datatype that joins what lies in a row or at equal distances
  elements,   ///< a structured datatype that lists each block
  blocks,     ///< a structured datatype of rows of up to radix^k blocks
  packed      ///< no datatype: taquin packs and unpacks
};

/// Who goes on with a started plan while its program is elsewhere. A plan of several rounds needs its rank between
/// them: a rank that is in the MPI library meanwhile, for example in a barrier, makes its peers wait.
enum class progress_by : std::uint8_t {
  /// The MPI library: with the algorithm "auto", plans are exchanges of one round, which MPI's own progress completes,
  /// where any such algorithm serves and has the memory. They behave as MPI's nonblocking collectives do.
  library,
  /// Calls of taquin: any algorithm; every call of taquin that waits makes progress with all started plans.
  calls,
  /// A thread of the process, beside that: any algorithm. The MPI library must provide MPI_THREAD_MULTIPLE.
  thread
};

/// What a rank does whose wait has lasted longer than its timeout, after it has said what it waits for.
enum class after_timeout : std::uint8_t {
  wait,   ///< goes on waiting
  abort,  ///< MPI_Abort
  fail    ///< throws `timed_out` on this rank; the communicator cannot be used with taquin any more
};

/// Heeded by the Bruck algorithms, the levels of multilevel that run one included.
struct bruck_options {
  /// The digits' base, at least 2; none, the default: the least power of two with which two rounds are enough, at most
  /// 16 and at most the number of ranks.
  std::optional<int> radix{};
  /// How scattered blocks are described. Default: `packed`; by lean_bruck `regular`, by zero_copy_bruck `blocks` where
  /// a block has 1 KiB and more.
  bruck_layout layout = bruck_layout::automatic;
};

/// Heeded by two_phase.
struct two_phase_options {
  /// The algorithm of its two exchanges, a name that `taquin list` prints; default: spread_out.
  std::string_view inner = "spread_out";
};

/// Heeded by multilevel.
struct multilevel_options {
  /// The algorithms of its levels, separated by commas: between nodes, between the groups inside each, and so on
  /// inwards; the last one named serves all levels that remain, inside the innermost groups at least. "auto": the one
  /// of least predicted time at that level. A colon and a number after a name: the base of its digits ("bruck_v:4").
  /// Default: bruck_v between nodes, spread_out inside them.
  std::string_view levels = "bruck_v,spread_out";
};

/// Heeded by node_aggregated.
struct node_aggregated_options {
  /// Ranks of a node that exchange messages with other nodes; 0, the default: all. In plans and named algorithms; what
  /// the agreement of a blocking call carries is sent and received by all.
  int leaders = 0;
};

/// Heeded by hierarchical_factor.
struct hierarchical_factor_options {
  /// Exchanges of a node at once, at most 30; 0, the default: 8.
  int ports = 0;
};

/// Heeded by in_place.
struct in_place_options {
  /// Bytes of send blocks that lie in no receive block may hold anything afterwards: once their data have left they
  /// serve as auxiliary memory, beside what `memory` allows. Otherwise, and by default, they keep their values. Each
  /// rank's own choice.
  bool scratch_sends = false;
};

/// Heeded by in_place_phases.
struct in_place_phases_options {
  /// Static parts of the auxiliary memory, where data of rank j use part j mod parts; 0, the default: an eighth of the
  /// most peers of any rank, at least 1.
  int aux_parts = 0;
  /// Auxiliary memory as one heap for all ranks' data; default: static parts.
  bool aux_heap = false;
  /// Requests only between ranks that have data for each other; default: an alltoall of them.
  bool sparse_requests = false;
};

/// Choices for one exchange, the same on all ranks, except that `memory` may differ: the smallest one rules. `stats`,
/// `on_timeout` and `in_place` are each rank's own, and so is the length of a `timeout` that all have.
struct options {
  /// A name that `taquin list` prints. Default: "auto", the one that is expected or was measured to be the fastest of
  /// those that fit the memory; TAQUIN_ALGORITHM overrides it.
  std::string_view algorithm = "auto";
  /// Extra bytes per rank that taquin may take; default: no limit. In place with any counts (alltoallv_in_place) every
  /// byte more makes an exchange faster, so that the default there is 1% of the most that any rank sends or receives,
  /// at least 64 KiB, and at least four times what the algorithm cannot do without. To lift that limit give a large
  /// number that is not `unlimited`.
  std::size_t memory = unlimited;
  /// The most messages that a rank has sent and that are not taken, and the most that come to a rank before it has
  /// asked for them; 0, the default: 32. A large number lifts the limit. It holds for taquin's own messages with data,
  /// as the internals (in-flight.md) have it. Plans whose end must not need their rank (`progress_by::library`) send
  /// all at once where it is not set.
  int in_flight = 0;
  /// Ranks per node, in rank order; empty, the default: TAQUIN_NODES, or found out.
  std::span<const int> nodes{};
  /// Blocking calls on one node, too: compare what ranks send with what their peers expect before anything is sent, so
  /// that all ranks have the error of a block that is longer or shorter than expected. Other calls always compare.
  /// Default: what TAQUIN_CHECK says, or they do not.
  bool check = false;
  /// Plans that leave the choice to taquin: the best few candidates, as many as the memory holds at once, run the first
  /// starts in turn, each three times; then all ranks stay with the fastest. Blocking calls do not tune. Default: none
  /// do.
  bool tune = false;
  /// Plans: who goes on with them between their start and their wait. Default: the MPI library, or a thread where
  /// TAQUIN_PROGRESS_THREAD=1 is set and the MPI library can.
  progress_by progress = progress_by::library;
  /// After `timeout`; default: the rank goes on waiting, or does what TAQUIN_TIMEOUT says after its comma.
  after_timeout on_timeout = after_timeout::wait;
  /// How long a call may wait until it says, once, on standard error, which call it is, which ranks have not come or
  /// not answered, and where those were last: seconds, or a duration of std::chrono. 0, the default: what
  /// TAQUIN_TIMEOUT says, or never.
  time_limit timeout{};

  bruck_options bruck{};                              ///< of the Bruck algorithms
  two_phase_options two_phase{};                      ///< of two_phase
  multilevel_options multilevel{};                    ///< of multilevel
  node_aggregated_options node_aggregated{};          ///< of node_aggregated
  hierarchical_factor_options hierarchical_factor{};  ///< of hierarchical_factor
  in_place_options in_place{};                        ///< of in_place
  in_place_phases_options in_place_phases{};          ///< of in_place_phases

  /// Filled when set; must outlive the plan. Default: none.
  statistics* stats = nullptr;
};

}  // namespace taquin
