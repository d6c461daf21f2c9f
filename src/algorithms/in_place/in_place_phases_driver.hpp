// Runs a in_place_phases_machine over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_phases_machine.hpp"
#include "algorithms/in_place/unit_space.hpp"
#include "mpi/datatype.hpp"
#include "schedule/operation.hpp"

namespace taquin::detail {

class in_place_phases_driver final : public operation {
 public:
  in_place_phases_driver(const exchange& x, const context& c, std::size_t allowed, memory_budget& budget);
  ~in_place_phases_driver() override;

  void start() override;
  bool test() override;
  void wait() override;
  void account(statistics& s) const override;

  /// The least memory that a driver needs, from what all ranks know alike.
  static std::size_t least(const shape& s, const options& o) noexcept;
  /// Predicted time of one exchange of dense requests.
  static seconds dense_cost(int ranks, const machine_model& m) noexcept;

 private:
  // What a rank tells another at the beginning of a phase, in units.
  struct request {
    std::int64_t direct = 0;     // that may be sent now, to their place,
    std::int64_t aux = 0;        // and after these to auxiliary memory
    std::int64_t expected = 0;   // that are still to come
    std::int64_t work_left = 0;  // 1 while the rank is not done
  };
  static constexpr int request_fields = sizeof(request) / sizeof(std::int64_t);
  enum class stage : std::uint8_t { none, requests, data };

  static std::size_t dense_memory(int ranks) noexcept;
  static phase_limits limits(const exchange& x, const context& c, std::size_t allowed) noexcept;

  void begin_phase();
  void exchange_data();
  void receive(void* to, count_t length, MPI_Datatype type, int peer, int tag);
  void send(const void* from, count_t length, MPI_Datatype type, int peer, int tag);
  void send_runs(std::size_t k, count_t length, int tag);
  [[nodiscard]] const request& granted_to(std::size_t k) const;
  void compare_counts();
  [[noreturn]] void refuse(int peer, count_t unsent, count_t expected);
  void check_length(const MPI_Status& status) const;
  void clear();
  void update();
  bool complete(bool block);
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
  in_place_phases_machine machine_;
  std::pmr::vector<request> asked_;        // per rank; sparse: per incoming block
  std::pmr::vector<request> granted_;      // per rank; sparse: per outgoing block
  operation_ptr dense_;                    // the exchange of requests with all ranks; sparse: null
  std::pmr::vector<MPI_Request> pending_;  // the stage's receives, then its sends
  std::size_t receives_ = 0;
  std::size_t completed_ = 0;  // of the pending ones, from the first on
  std::pmr::vector<mpi::datatype> types_;
  std::pmr::vector<int> lengths_;  // of the runs of one message
  std::pmr::vector<MPI_Aint> places_;
  stage stage_ = stage::none;
  double since_ = 0;
  statistics last_;
};

}  // namespace taquin::detail
