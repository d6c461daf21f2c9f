// in_place over MPI: its memory and its parts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_map.hpp"
#include "algorithms/in_place/in_place_protocol.hpp"
#include "base/memory_charge.hpp"
#include "base/unit_column.hpp"
#include "call/failure_map.hpp"
#include "node/channel.hpp"
#include "node/detect.hpp"
#include "node/offers.hpp"
#include "protocol/mpi_operation.hpp"

namespace taquin::detail {

class in_place_operation final : public mpi_operation {
 public:
  /// With several `columns`, which outlive the operation, elements of the exchange are bytes(…) of all of them
  /// together, and its displacements are elements of each.
  in_place_operation(const exchange& x, const context& c, std::size_t allowed, memory_budget& memory,
                     std::span<const unit_column> columns = {});

  in_place_operation(const in_place_operation&) = delete;
  in_place_operation& operator=(const in_place_operation&) = delete;
  ~in_place_operation() override {
    net_.abandon();
  }  // before the protocol's arrays go, into which messages may still be received

  void account(statistics& s) const override;

  /// The least memory of an operation, from values that are identical on all ranks.
  static std::size_t least(const shape& s, int columns = 1) noexcept;

 private:
  static in_place_limits limits(const exchange& x, const context& c, std::size_t allowed, const element& unit,
                                int columns) noexcept;
  void let_fetch(const shape& s, std::size_t allowed) noexcept;
  static std::size_t bookkeeping(const shape& s, const in_place_limits& l) noexcept;
  [[nodiscard]] std::size_t node_bytes(const context& c, std::size_t allowed) const noexcept;
  [[nodiscard]] int node_ranks(const context& c) const noexcept;
  [[nodiscard]] rank_group own_node(const context& c) const noexcept;
  channel* node_channel(const exchange& x, const context& c, std::size_t space, memory_budget& memory);
  node_offers* offers(const exchange& x, const context& c, std::size_t bytes, memory_budget& memory);

  mpi_port& port() noexcept override { return net_; }
  task make_task() override { return protocol_.run(); }
  void failed() noexcept override {
    keep_map_of([this] { return map_of(protocol_); });
  }

  std::shared_ptr<const node_view> nodes_;  // null unless several ranks share memory
  in_place_limits limits_;
  std::pmr::vector<peer_block> out_;
  std::pmr::vector<peer_block> in_;
  in_place_machine machine_;
  store units_;
  std::optional<memory_charge> share_;  // of the node's memory
  channel own_;
  std::optional<node_offers> offers_;
  mpi_port net_;
  in_place_protocol protocol_;
};

}  // namespace taquin::detail
