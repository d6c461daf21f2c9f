// Runs the in-place protocols of all ranks on a simulated network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/in_place/in_place_phases_protocol.hpp"
#include "algorithms/in_place/in_place_protocol.hpp"
#include "base/sizes.hpp"
#include "simulation/network.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {

/// One rank of a run of in_place. Units have their `size` data bytes first and then, up to `extent`, a gap.
struct in_place_rank {
  using machine = in_place_machine;
  std::span<const peer_block> out;  ///< in order of peer
  std::span<const peer_block> in;   ///< in order of location
  std::byte* buffer = nullptr;      ///< null: only counts
  in_place_limits limits;
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  ///< of its state machine
  std::span<const unit_column> columns{};  ///< in place of the buffer: arrays that have parts of each unit
};

/// One rank of a run of in_place_phases.
struct phase_rank {
  using machine = in_place_phases_machine;
  std::span<const peer_block> out;  ///< in order of peer
  std::span<const peer_block> in;   ///< in order of location
  std::byte* buffer = nullptr;      ///< null: only counts
  phase_limits limits;
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  ///< of its state machine
};

/// The work of one rank.
struct in_place_counts : simulated_counts {
  std::uint64_t units_copied = 0;
};

/// How receivers get data: by requests; by fetching wherever possible; or by fetching from ranks of their node (nodes
/// of three ranks) and requests to others.
enum class simulated_port_kind : std::uint8_t { messages, fetching, fetching_on_nodes };

inline std::optional<int> simulated_node(simulated_port_kind how, int rank) noexcept {
  if (how == simulated_port_kind::messages) return std::nullopt;
  return how == simulated_port_kind::fetching ? 0 : rank / 3;
}

/// The in-place exchange of all ranks.
class in_place_run {
 public:
  in_place_run(std::span<const in_place_rank> ranks, const element& unit, simulated_order order, std::uint64_t seed,
               simulated_port_kind how)
      : network(seed, order) {
    for (const in_place_rank& r : ranks) {
      const auto rank = static_cast<int>(states_.size());
      states_.push_back(std::make_unique<state>(rank, r, unit, network, simulated_node(how, rank)));
      tasks_.push_back(states_.back()->protocol.run());
    }
  }
  void run() { network.run(tasks_); }
  [[nodiscard]] in_place_protocol& of(std::size_t rank) { return states_[rank]->protocol; }
  [[nodiscard]] std::uint64_t bytes_copied(std::size_t rank) const { return states_[rank]->units.bytes_copied(); }

  simulated_network network;

 private:
  struct state {
    in_place_machine machine;
    store units;
    in_place_protocol protocol;
    state(int rank, const in_place_rank& r, const element& e, simulated_network& network, std::optional<int> node)
        : machine(rank, r.out, r.in, r.limits, r.memory),
          units(r.buffer, machine.border(), 1, e, r.limits.aux, std::pmr::new_delete_resource(),
                r.buffer == nullptr && r.columns.empty(), r.columns),
          protocol{std::pmr::new_delete_resource(),
                   rank,
                   r.out,
                   r.in,
                   machine,
                   units,
                   network.add(units, in_place_protocol::limits(r.limits, 0), node)} {}
  };
  std::vector<std::unique_ptr<state>> states_;
  std::vector<task> tasks_;
};

inline std::vector<in_place_counts> run_in_place(std::span<const in_place_rank> ranks, const element& unit,
                                                 simulated_order order, std::uint64_t seed = 0,
                                                 simulated_port_kind how = simulated_port_kind::messages,
                                                 std::function<void(const simulated_move&)> trace = {}) {
  in_place_run all(ranks, unit, order, seed, how);
  all.network.trace(std::move(trace));
  all.run();
  std::vector<in_place_counts> counts;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    counts.push_back({all.network.counts(r), all.bytes_copied(r) / as_size(unit.size)});
  return counts;
}

using phase_requests = in_place_phases_protocol::requests;

/// The exchange by in_place_phases of all ranks.
class phases_run {
 public:
  phases_run(std::span<const phase_rank> ranks, const element& unit, phase_requests how, simulated_order order,
             std::uint64_t seed)
      : network(seed, order) {
    for (const phase_rank& r : ranks) {
      states_.push_back(std::make_unique<state>(static_cast<int>(states_.size()), static_cast<int>(ranks.size()), r,
                                                unit, how, network));
      tasks_.push_back(states_.back()->protocol.run());
    }
  }
  void run() { network.run(tasks_); }
  [[nodiscard]] in_place_phases_protocol& of(std::size_t rank) { return states_[rank]->protocol; }
  [[nodiscard]] std::uint64_t bytes_copied(std::size_t rank) const { return states_[rank]->units.bytes_copied(); }

  simulated_network network;

 private:
  struct state {
    in_place_phases_machine machine;
    store units;
    in_place_phases_protocol protocol;
    state(int rank, int p, const phase_rank& r, const element& e, phase_requests how, simulated_network& network)
        : machine(r.out, r.in, r.limits, r.memory),
          units(r.buffer, machine.border(), 1, e, r.limits.aux, std::pmr::new_delete_resource(), r.buffer == nullptr),
          protocol(rank, p, how, r.out, r.in, machine, units,
                   network.add(units, in_place_phases_protocol::limits(r.out.size(), r.in.size(), how)),
                   std::pmr::new_delete_resource(), std::pmr::new_delete_resource()) {}
  };
  std::vector<std::unique_ptr<state>> states_;
  std::vector<task> tasks_;
};

inline std::vector<in_place_counts> run_phases(std::span<const phase_rank> ranks, const element& unit,
                                               phase_requests how, simulated_order order, std::uint64_t seed = 0,
                                               std::function<void(const simulated_move&)> trace = {}) {
  phases_run all(ranks, unit, how, order, seed);
  all.network.trace(std::move(trace));
  all.run();
  const auto p = static_cast<int>(ranks.size());
  const std::uint64_t dense_messages = bruck::count(p, bruck::radix_of({}, p)).messages;
  std::vector<in_place_counts> counts;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    in_place_counts c{all.network.counts(r), all.bytes_copied(r) / as_size(unit.size)};
    c.messages += c.collectives * dense_messages;
    counts.push_back(c);
  }
  return counts;
}

}  // namespace taquin::detail
