// Runs a in_place_machine over MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_machine.hpp"
#include "algorithms/in_place/unit_space.hpp"
#include "schedule/operation.hpp"

namespace taquin::detail {

class in_place_driver final : public operation {
 public:
  in_place_driver(const exchange& x, const context& c, std::size_t allowed, std::pmr::memory_resource* memory);
  ~in_place_driver() override;

  void start() override;
  bool test() override;
  void wait() override;
  void account(statistics& s) const override;

  /// The least memory that a driver needs, from what all ranks know alike.
  static std::size_t least(const shape& s) noexcept;

 private:
  using grant = std::array<std::int64_t, 3>;  // offset and length of a part of a message, and length of all; in units

  // What was asked of a peer, and where the answer goes.
  struct question {
    grant what{};
    location to;
    std::uint64_t number = 0;  // in order of asking
    int peer = 0;
    bool open = false;  // its answer has not begun to arrive
  };

  static in_place_limits limits(const exchange& x, const context& c, std::size_t allowed) noexcept;
  static std::size_t bookkeeping(const shape& s, const in_place_limits& l) noexcept;

  void act(bool idle);
  void ask(const in_place_request& r);
  void listen();
  void answer(int peer);
  [[noreturn]] void refuse(int peer, count_t has);
  bool receive();
  bool advance();
  void complete(int index);
  [[nodiscard]] MPI_Request& answer_request(int slot) { return requests_[1 + static_cast<std::size_t>(slot)]; }
  [[nodiscard]] MPI_Request& data_request(int slot) {
    return requests_[1 + static_cast<std::size_t>(limits_.sends) + static_cast<std::size_t>(slot)];
  }

  MPI_Comm comm_;
  int tag_;
  int rank_;
  in_place_limits limits_;
  std::pmr::vector<std::byte> aux_;
  unit_space space_;
  std::pmr::vector<peer_block> out_;
  std::pmr::vector<peer_block> in_;
  in_place_machine machine_;
  grant incoming_{};
  std::pmr::vector<question> asked_;        // per request
  std::pmr::vector<MPI_Request> asking_;    // the messages that carry them
  std::pmr::vector<MPI_Request> requests_;  // the request to come; answers; data to come
  std::pmr::vector<int> completed_;
  std::pmr::vector<MPI_Status> statuses_;
  double patience_;  // seconds
  std::uint64_t asked_so_far_ = 0;
  int turn_ = 0;   // parity of the exchange: a rank that is ahead by one must not be understood too early
  int quiet_ = 0;  // polls in a row that found nothing
  double last_news_ = 0;
  bool lost_patience_ = false;  // since the last news
  bool running_ = false;
  statistics last_;
};

}  // namespace taquin::detail
