// Runs a phase_machine over MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/plan_body.hpp"
#include "in_place/phase_machine.hpp"
#include "in_place/unit_space.hpp"
#include "mpi/datatype.hpp"

namespace taquin::detail {

class phase_driver final : public plan_body {
 public:
  phase_driver(const exchange& x, const context& c, std::size_t allowed, std::pmr::memory_resource* memory);
  ~phase_driver() override = default;

  void start() override;
  bool test() override;
  void wait() override;
  void account(statistics& s) const override;

  /// The least memory that a driver needs, from what all ranks know alike.
  static std::size_t least(const shape& s, const options& o) noexcept;

 private:
  using request = std::array<std::int64_t, 3>;  // units in place, units to auxiliary memory, whether work is left
  enum class stage : std::uint8_t { none, requests, data };

  static phase_limits limits(const exchange& x, const context& c, std::size_t allowed) noexcept;

  void begin_phase();
  void exchange_dense();
  void exchange_data();
  void send(std::size_t k, count_t length, int tag);
  void update();
  bool advance(bool block);
  void clock(double& part);

  MPI_Comm comm_;
  int rank_;
  int tag_;
  bool sparse_;
  phase_limits limits_;
  std::pmr::vector<std::byte> aux_;
  unit_space space_;
  std::pmr::vector<peer_block> out_;
  std::pmr::vector<peer_block> in_;
  phase_machine machine_;
  std::pmr::vector<request> asked_;    // per rank; sparse: per incoming block
  std::pmr::vector<request> granted_;  // per rank; sparse: per outgoing block
  std::pmr::vector<MPI_Request> pending_;
  std::pmr::vector<mpi::datatype> types_;
  std::pmr::vector<int> lengths_;  // of the runs of one message
  std::pmr::vector<MPI_Aint> places_;
  stage stage_ = stage::none;
  double since_ = 0;
  statistics last_;
};

}  // namespace taquin::detail
