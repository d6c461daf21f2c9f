// The cost of an exchange on a machine: four models of one message, and the machine as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/types.hpp"

namespace taquin {

/// A time in seconds.
using seconds = double;

/// The parts of one message's cost, in seconds.
struct message_cost {
  seconds sender = 0;    ///< the sender's core is busy
  seconds port = 0;      ///< the sender's and then the receiver's port pass the message
  seconds latency = 0;   ///< on the way, nothing is busy
  seconds receiver = 0;  ///< the receiver's core is busy
  seconds gap = 0;       ///< from one message to the next at a port, each way: at least `port`
};

/// Hockney: τ + μ·m. One message at a time per port. (Hockney 1994; MPI primitives §1.)
struct hockney {
  seconds tau = 0;                                                ///< set-up
  seconds mu = 0;                                                 ///< per byte
  [[nodiscard]] seconds time(count_t bytes) const noexcept;       ///< of one message, nothing else going on
  [[nodiscard]] message_cost cost(count_t bytes) const noexcept;  ///< the same, by the busy resource
};

/// LogP: L + 2o for a message of one packet, g between two packets. (Culler et al. 1992; MPI primitives §1.)
struct logp {
  seconds latency = 0;                                            ///< L
  seconds overhead = 0;                                           ///< o, on either side
  seconds gap = 0;                                                ///< g, from one packet to the next
  count_t packet = 4096;                                          ///< bytes of a packet; longer messages are several
  [[nodiscard]] seconds time(count_t bytes) const noexcept;       ///< of one message, nothing else going on
  [[nodiscard]] message_cost cost(count_t bytes) const noexcept;  ///< the same, by the busy resource
};

/// LogGP: L + 2o + (m − 1)·G, and g from one message to the next. (Alexandrov et al. 1995; MPI primitives §1.)
struct loggp {
  seconds latency = 0;                                            ///< L
  seconds overhead = 0;                                           ///< o, on either side
  seconds gap = 0;                                                ///< g, from one message to the next
  seconds per_byte = 0;                                           ///< G
  [[nodiscard]] seconds time(count_t bytes) const noexcept;       ///< of one message, nothing else going on
  [[nodiscard]] message_cost cost(count_t bytes) const noexcept;  ///< the same, by the busy resource
};

/// Parameterised LogP: L + g(m), with overheads and gap as functions of the size. (Kielmann et al. 2000; MPI
/// primitives §1.) Between two points the functions are linear in the bytes, beyond the last they follow its slope.
struct plogp {
  /// Measurements with messages of one size.
  struct point {
    count_t bytes = 0;             ///< of the message
    seconds send_overhead = 0;     ///< the sender's core is busy
    seconds receive_overhead = 0;  ///< the receiver's core is busy
    seconds gap = 0;               ///< from one message to the next
  };
  seconds latency = 0;                                            ///< L
  std::vector<point> points;                                      ///< by ascending bytes; at least one
  [[nodiscard]] point at(count_t bytes) const noexcept;           ///< the figures for this size
  [[nodiscard]] seconds time(count_t bytes) const noexcept;       ///< of one message, nothing else going on
  [[nodiscard]] message_cost cost(count_t bytes) const noexcept;  ///< the same, by the busy resource
};

/// The models by name: hockney, logp, loggp, plogp.
enum class model_kind : std::uint8_t { hockney, logp, loggp, plogp };
/// All of them, in the order of the enumeration.
inline constexpr std::array all_models{model_kind::hockney, model_kind::logp, model_kind::loggp, model_kind::plogp};
/// The name of a model.
std::string_view name_of(model_kind kind) noexcept;

/// All four models of the messages between two ranks, within a node or between two.
struct link_model {
  taquin::hockney hockney;  ///< set-up and time per byte
  taquin::logp logp;        ///< of packets
  taquin::loggp loggp;      ///< with long messages
  taquin::plogp plogp;      ///< with figures by size
  /// The cost of one message under a model, by the busy resource.
  [[nodiscard]] message_cost cost(model_kind kind, count_t bytes) const noexcept;
  /// From the call of the sender to the end of the receive, nothing else going on.
  [[nodiscard]] seconds time(model_kind kind, count_t bytes) const noexcept;
};

/// A local cost: set-up and per byte.
struct local_cost {
  seconds each = 0;      ///< set-up
  seconds per_byte = 0;  ///< of data
  /// Of one operation on as many bytes.
  [[nodiscard]] seconds time(count_t bytes) const noexcept { return each + per_byte * static_cast<double>(bytes); }
};

/// A machine. Levels: 0 within a node, 1 between nodes.
struct machine_model {
  model_kind kind = model_kind::loggp;  ///< the model that predictions use
  std::array<link_model, 2> levels;     ///< messages within a node, and between nodes
  local_cost copy;                      ///< a copy in memory, per run of bytes
  seconds line = 0;                     ///< a cache line for another rank in shared memory: to write it and to read it
  local_cost pack;                      ///< packing or unpacking, per run of bytes
  /// Concurrent messages, each way: within a node by a rank's port, between nodes by the link that the ranks of a node
  /// share.
  int ports = 1;
  double ranks_per_core = 1;  ///< above 1: oversubscribed, work takes that much longer
  seconds wait = 0;           ///< completing a round: the time that a rank loses when it must wait for others
  int ranks = 0;              ///< ranks that it was measured with; 0: not measured
  std::string machine;        ///< the machine of the measurement: cores, nodes, MPI library
  /// The cost of a message at a level, under the model in use.
  [[nodiscard]] message_cost cost(int level, count_t bytes) const noexcept;

  /// The model when nothing was measured: shared memory on a few cores, 10 Gbit/s between nodes.
  static machine_model built_in();
};

}  // namespace taquin
