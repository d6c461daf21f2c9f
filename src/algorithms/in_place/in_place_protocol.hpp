// in_place as a protocol: one rank's machine over any port.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>

#include "algorithms/in_place/in_place_machine.hpp"
#include "protocol/port.hpp"
#include "protocol/task.hpp"

namespace taquin::detail {

struct in_place_protocol {
  std::pmr::memory_resource* memory;  ///< of the task
  int rank;
  std::span<const peer_block> out;  ///< in order of peer
  std::span<const peer_block> in;   ///< in order of location
  in_place_machine& machine;
  store& units;  ///< its border is the machine's
  port& net;
  bool started = false;                 ///< data may have moved
  std::optional<local_move> pending{};  ///< the machine counts it as done, and it is not
  std::optional<local_move> moving{};   ///< the rest of a move that the machine counts as done

  /// One exchange. Throws usage_error if two ranks' counts differ.
  task run();

  /// The sizes of the port. `idle_threshold`: seconds without news until the machine does its deferred actions.
  static port_limits limits(const in_place_limits& l, double idle_threshold) noexcept;

 private:
  void offer_all();
  void post_request(const in_place_request& r);
  void answer(const event& e);
  void take(const event& e);
};

}  // namespace taquin::detail
