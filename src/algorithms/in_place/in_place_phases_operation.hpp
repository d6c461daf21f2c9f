// in_place_phases over MPI: its memory and its parts.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_phases_protocol.hpp"
#include "call/failure_map.hpp"
#include "protocol/mpi_operation.hpp"

namespace taquin::detail {

class in_place_phases_operation final : public mpi_operation {
 public:
  in_place_phases_operation(const exchange& x, const context& c, std::size_t allowed, memory_budget& budget);

  in_place_phases_operation(const in_place_phases_operation&) = delete;
  in_place_phases_operation& operator=(const in_place_phases_operation&) = delete;
  ~in_place_phases_operation() override {
    net_.abandon();
  }  // before the protocol's arrays go, into which messages may still be received

  void account(statistics& s) const override;

  /// The least memory of an operation, from values that are identical on all ranks.
  static std::size_t least(const shape& s, const options& o) noexcept;
  /// Predicted time of one exchange of dense requests.
  static seconds dense_cost(int ranks, const machine_model& m) noexcept;

 private:
  static phase_limits limits(const exchange& x, const context& c, std::size_t allowed) noexcept;

  void failed() noexcept override {
    keep_map_of([this] { return protocol_.map(); });
  }
  mpi_port& port() noexcept override { return net_; }
  task make_task() override { return protocol_.run(); }

  phase_limits limits_;
  std::pmr::vector<peer_block> out_;
  std::pmr::vector<peer_block> in_;
  in_place_phases_machine machine_;
  store units_;
  mpi_port net_;
  in_place_phases_protocol protocol_;
  operation_ptr dense_;  // the exchange of requests with all ranks; sparse: null
};

}  // namespace taquin::detail
