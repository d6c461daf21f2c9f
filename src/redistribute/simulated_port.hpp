// All ranks of a redistribution in one process, without MPI: blocks are moved as MPI would, in an order that a seed
// chooses, as late as possible.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "redistribute/machine.hpp"

namespace taquin::detail {

class simulated_port;

/// The ports of all ranks.
class simulated_network {
 public:
  simulated_network(int ranks, unsigned seed) : ranks_(ranks), random_(seed) {}
  simulated_port& add(block_store& store, const port_limits& limits);
  /// Runs the tasks, one per port, to their ends. Throws what a task throws, and std::logic_error when all wait for
  /// what does not come, when something is left over, or when a rank goes beyond its port's limits.
  void run(std::span<task> tasks);
  /// Called whenever a rank has done something, before the next event.
  void watch(std::function<void()> seen) { seen_ = std::move(seen); }

 private:
  friend class simulated_port;
  struct message {
    int from;
    std::vector<word> words;
  };
  struct outgoing {
    std::vector<slot_range> runs;
    std::vector<std::byte> packed;  // not empty: sent from a buffer
  };
  struct incoming {
    std::vector<slot_range> runs;
    std::uint32_t id;
  };
  struct wire {  // from one rank to another
    std::deque<outgoing> sends;
    std::deque<incoming> receives;
  };

  void collect(std::span<task> tasks);
  bool deliver();

  int ranks_;
  std::function<void()> seen_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<simulated_port>> ports_;
  std::map<std::pair<int, int>, wire> wires_;
  std::map<std::pair<int, int>, std::deque<std::vector<word>>> messages_;
};

class simulated_port final : public port {
 public:
  simulated_port(simulated_network& network, block_store& store, const port_limits& limits, int rank)
      : network_(network), store_(store), limits_(limits), rank_(rank) {}

  void post(int to, std::span<const word> words) override;
  using port::receive;
  void receive(int from, std::span<const slot_range> into, std::uint32_t id) override;
  bool send(int to, std::span<const slot_range> from) override;

 private:
  friend class simulated_network;
  bool wait_event() override;
  event take_event() override;
  bool begin(const collective& c) override;
  void resume() { std::exchange(suspended_, nullptr).resume(); }

  struct occurred {
    event what;
    std::vector<word> words;
  };
  simulated_network& network_;
  block_store& store_;
  port_limits limits_;
  int rank_;
  std::uint32_t under_way_ = 0;  // transfers that are not told yet
  std::deque<occurred> events_;
  std::vector<word> current_;
  bool waits_for_event_ = false;
  bool waits_for_all_ = false;
  collective joined_{};
};

}  // namespace taquin::detail
