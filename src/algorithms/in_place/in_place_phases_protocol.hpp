// in_place_phases as a protocol: one rank's machine over any port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/in_place/in_place_phases_machine.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "protocol/port.hpp"
#include "protocol/task.hpp"
#include "taquin/failure.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class in_place_phases_protocol {
 public:
  /// The pairs of ranks that exchange requests in each phase.
  enum class requests : std::uint8_t {
    dense,  ///< every rank to every rank, until none has work left
    sparse  ///< each rank to those that still have data for it
  };

  /// `memory` is that of the bookkeeping; see bytes(). The border of `units` is the machine's.
  in_place_phases_protocol(int rank, int ranks, requests how, std::span<const peer_block> out,
                           std::span<const peer_block> in, in_place_phases_machine& machine, store& units, port& net,
                           std::pmr::memory_resource* frame, std::pmr::memory_resource* memory);

  /// One exchange. Throws usage_error if two ranks' counts differ.
  task run();
  /// The statistics of the last exchange, without those of the port.
  [[nodiscard]] const statistics& last() const noexcept { return last_; }
  /// The whole data after it was aborted. Allocates the map.
  [[nodiscard]] failure::block_map map();

  static constexpr std::uint32_t request_words = 8;
  /// Dense requests, one per rank, outgoing and incoming.
  [[nodiscard]] std::span<word> requested() noexcept { return requested_; }
  [[nodiscard]] std::span<word> granted() noexcept { return granted_; }

  static port_limits limits(std::size_t out, std::size_t in, requests how) noexcept;
  /// Bytes that a protocol takes from its memory.
  static std::size_t bytes(int ranks, std::size_t out, std::size_t in, requests how) noexcept;

  std::pmr::memory_resource* memory;  ///< of the task

 private:
  // The request of one rank to another at the beginning of a phase, in units.
  struct request {
    std::int64_t direct = 0;     // that may be sent now, to their place,
    std::int64_t aux = 0;        // and after these to auxiliary memory
    std::int64_t expected = 0;   // that are still to come
    std::int64_t work_left = 0;  // 1 while the rank is not done
  };

  friend struct array_list;
  // Of dense requests all of a rank's, of sparse ones the incoming ones.
  template <class Each>
  static constexpr void arrays(Each each, int ranks, std::size_t out, std::size_t in, requests how) {
    const auto all = as_size(ranks);
    const bool dense = how == requests::dense;
    each(&in_place_phases_protocol::requested_, (dense ? all : 1) * request_words);
    each(&in_place_phases_protocol::granted_, (dense ? all : out) * request_words);
    each(&in_place_phases_protocol::runs_, at_most{phase_limits::segments(out, in)});
  }

  [[nodiscard]] std::size_t place(std::size_t block, const peer_block& b) const noexcept;
  void set(std::size_t i, const request& r);
  [[nodiscard]] request granted(std::size_t i) const;
  [[nodiscard]] request granted_to(std::size_t k) const { return granted(place(k, out_[k])); }
  int post_requests(bool done);
  void compare_counts();
  [[noreturn]] void refuse(int peer, count_t unsent, count_t expected);
  int receive();
  int send();
  void send(std::size_t k, count_t length);
  void clock(double& part);

  int rank_;
  requests how_;
  std::span<const peer_block> out_;
  std::span<const peer_block> in_;
  in_place_phases_machine& machine_;
  store& units_;
  port& net_;
  std::pmr::vector<word> requested_;  // per rank; sparse: one request
  std::pmr::vector<word> granted_;    // per rank; sparse: per outgoing block
  std::pmr::vector<unit_run> runs_;   // of one transfer
  bool started_ = false;              // an exchange, once
  std::optional<local_move> moving_;  // the rest of a move that the machine counts as done
  double since_ = 0;
  statistics last_;
};

}  // namespace taquin::detail
