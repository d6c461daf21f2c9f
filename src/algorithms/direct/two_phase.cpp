// two_phase: alltoallv as two balanced exchanges through intermediate ranks.
//
// Source:  Communication Patterns and MPI Primitives, §4.7 (S1 to S6). Every block is cut into p parts; rank k forwards
//          part k. The paper pads both exchanges to equal messages; here all ranks know all counts, and nothing is
//          padded.
// Rounds:  an allgather of the counts where blocks differ, when the plan is made; then the inner algorithm's, twice.
// Bytes:   each block twice.
// Memory:  the bytes that a rank sends or forwards, or those that it receives or forwards; one block for types
//          with gaps, p² counts where blocks differ, and twice the memory of the inner algorithm.
// Limits:  separate buffers. Inner algorithms for equal blocks serve where all blocks are equal.
// Wins:    blocks that are very uneven while the ranks' totals are similar: no message is larger than about a rank's
//          total / p, so that no pair of ranks finishes much later than others.
#include "algorithms/direct/two_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/direct/packed_side.hpp"
#include "base/copy_bytes.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/owned_blocks.hpp"
#include "exchange/validate.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

namespace balanced {

cutting::cutting(const exchange& x, const shape& s, const mpi::communicator& comm, std::pmr::memory_resource* memory)
    : p_(comm.size()), each_(static_cast<count_t>(s.max_block_bytes)), bytes_(memory) {
  array_list::take(*this, s);
  if (s.uniform) return;
  count_t* mine = bytes_.data() + index(comm.rank(), 0);
  for (int j = 0; j < p_; ++j) mine[j] = x.send[j].bytes();
  mpi::allgather_in_place(std::span(bytes_), as_size(p_), comm.get());
}

const algorithm& inner_of(const options& o) { return *find_algorithm(o.two_phase.inner); }

shape inner_shape(const shape& s) noexcept {
  const auto p = static_cast<std::uint64_t>(s.ranks);
  const std::uint64_t message =
      s.uniform ? s.max_block_bytes : std::max(s.max_rank_bytes, s.max_received_bytes) / p + p;
  return {.ranks = s.ranks,
          .kind = exchange::form::alltoallv,
          .uniform = s.uniform,
          .large = message * p > std::numeric_limits<int>::max(),
          .max_block_bytes = message,
          .min_block_bytes = s.uniform ? message : 0,
          .max_rank_bytes = message * p,
          .max_received_bytes = message * p};
}

}  // namespace balanced

namespace {

using namespace balanced;

class two_phase_body final : public operation {
 public:
  two_phase_body(const exchange& x, const context& c, memory_budget& budget)
      : send_(x.send, c.comm->size(), &budget),
        recv_(x.recv, c.comm->size(), &budget),
        rank_(c.comm->rank()),
        p_(c.comm->size()),
        cut_(x, *c.shape, *c.comm, &budget),
        out_(p_, &budget),
        mid_(p_, &budget),
        on_(p_, &budget),
        in_(p_, &budget),
        leaving_(&budget),
        coming_(&budget),
        staging_(&budget) {
    agree_on_invalid_argument(*c.comm, mismatch());
    out_.fill([&](int k) { return cut_.first(rank_, k); });
    mid_.fill([&](int i) { return cut_.first(i, rank_); });
    on_.fill([&](int j) { return cut_.second(j, rank_); });
    in_.fill([&](int k) { return cut_.second(rank_, k); });
    count_t most = 0;
    for (int i = 0; i < p_; ++i)
      for (const block& b : {send_[i], recv_[i]})
        if (!b.element.contiguous()) most = std::max(most, b.bytes());
    array_list::take(*this, buffers{.leaving = std::max(out_.bytes(), on_.bytes()),
                                    .coming = std::max(mid_.bytes(), in_.bytes()),
                                    .staging = as_size(most)});
    for (packed_side* side : {&out_, &on_}) side->place_at(leaving_.data());
    for (packed_side* side : {&mid_, &in_}) side->place_at(coming_.data());
    const shape inner = inner_shape(*c.shape);
    const auto prepare_phase = [&](packed_side& from, packed_side& to, int tag) {
      exchange y;
      y.comm = x.comm;
      y.kind = exchange::form::alltoallv;
      y.send = from.view();
      y.recv = to.view();
      return prepare_inside(inner_of(*c.opts), y, {c.comm, tag, &inner, c.opts, c.nodes, c.reused}, budget);
    };
    phases_[0] = prepare_phase(out_, mid_, c.tag);
    phases_[1] = prepare_phase(on_, in_, c.tag + 1);
  }

  /// Bytes of a body, without those of the inner exchanges.
  static std::size_t bytes(const shape& s) noexcept {
    const auto p = as_size(s.ranks);
    // From each rank a p-th of its total, and a byte per block more where they differ.
    const std::size_t passed = s.max_rank_bytes + (s.uniform ? 0 : p * p);
    return sizeof(two_phase_body) + array_list::bytes<cutting>(s) + 2 * owned_blocks::bytes(p) +
           4 * packed_side::bookkeeping(p) +
           array_list::bytes<two_phase_body>(buffers{.leaving = std::max<std::size_t>(s.max_rank_bytes, passed),
                                                     .coming = std::max<std::size_t>(passed, s.max_received_bytes),
                                                     .staging = s.max_block_bytes});
  }

  void start() override {
    deal();
    phase_ = 0;
    phases_[0]->start();
  }

  bool test() override {
    while (phase_ < 2) {
      if (!phases_[phase_]->test()) return false;
      next();
    }
    return true;
  }

  void wait() override {
    while (phase_ < 2) {
      phases_[phase_]->wait();
      next();
    }
  }

  void account(statistics& s) const override {
    for (const auto& phase : phases_) phase->account(s);
    s.bytes_copied += out_.bytes() + mid_.bytes() + in_.bytes();
  }

 private:
  // The counts of all ranks are known, so that a block which is longer than its receiver expects is found before
  // anything is sent. A shorter one is received as it is.
  [[nodiscard]] std::optional<invalid_argument> mismatch() const {
    for (int i = 0; i < p_; ++i)
      if (const count_t sent = cut_.bytes(i, rank_), expected = recv_[i].bytes(); sent > expected)
        return detail::mismatch(i, sent, rank_, expected);
    return std::nullopt;
  }

  void next() {
    if (phase_ == 0) {
      pass_on();
      phases_[1]->start();
    } else {
      assemble();
    }
    ++phase_;
  }

  // S1, S2: the parts of all blocks, by intermediate rank, then by receiver.
  void deal() {
    out_.go_through([&](auto put) {
      for (int j = 0; j < p_; ++j) {
        const block b = send_[j];
        const std::byte* data = send_.at(b);
        if (!b.element.contiguous()) {
          pack(data, b.count, b.element, staging_.data());
          data = staging_.data();
        }
        for (int k = 0; k < p_; ++k) {
          const part q = cut_.of(rank_, j, k);
          copy_bytes(put(k, q.bytes), data + q.offset, as_size(q.bytes));
        }
      }
    });
  }

  // S4: from the order sender, receiver to the order receiver, sender.
  void pass_on() {
    const std::byte* from = mid_.data();
    on_.go_through([&](auto put) {
      for (int i = 0; i < p_; ++i)
        for (int j = 0; j < p_; ++j) {
          const part q = cut_.of(i, j, rank_);
          copy_bytes(put(j, q.bytes), from, as_size(q.bytes));
          from += q.bytes;
        }
    });
  }

  // S6: each block from its parts.
  void assemble() {
    in_.go_through([&](auto take) {
      for (int i = 0; i < p_; ++i) {
        block b = recv_[i];
        if (const count_t sent = cut_.bytes(i, rank_); sent < b.bytes()) b.count = sent / b.element.size;
        std::byte* data = b.element.contiguous() ? recv_.at(b) : staging_.data();
        for (int k = 0; k < p_; ++k) {
          const part q = cut_.of(i, rank_, k);
          copy_bytes(data + q.offset, take(k, q.bytes), as_size(q.bytes));
        }
        if (!b.element.contiguous()) unpack(data, recv_.at(b), b.count, b.element);
      }
    });
  }

  struct buffers {
    std::size_t leaving = 0;
    std::size_t coming = 0;
    std::size_t staging = 0;
  };
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const buffers& n) {
    each(&two_phase_body::leaving_, n.leaving);
    each(&two_phase_body::coming_, n.coming);
    each(&two_phase_body::staging_, n.staging);
  }

  owned_blocks send_;
  owned_blocks recv_;
  int rank_;
  int p_;
  cutting cut_;
  packed_side out_;     // by intermediate rank
  packed_side mid_;     // by sender
  packed_side on_;      // by receiver
  packed_side in_;      // by intermediate rank
  raw_buffer leaving_;  // of both phases, one after the other
  raw_buffer coming_;
  std::pmr::vector<std::byte> staging_;  // a block without its gaps
  std::array<operation_ptr, 2> phases_;
  std::size_t phase_ = 2;
};

std::size_t memory(const shape& s, const options& o) noexcept {
  return two_phase_body::bytes(s) + 2 * inner_of(o).memory(inner_shape(s), o);
}

operation_ptr prepare(const exchange& x, const context& c, memory_budget& budget) {
  return make_operation<two_phase_body>(budget, x, c, budget);
}

seconds cost(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  shape balanced = inner_shape(s);
  balanced.nodes = s.nodes, balanced.largest_node = s.largest_node, balanced.smallest_node = s.smallest_node;
  balanced.max_rank_bytes = balanced.max_received_bytes = static_cast<std::uint64_t>(t.busiest());
  if (!s.uniform) balanced.min_block_bytes = static_cast<std::uint64_t>(std::ceil(t.mean_block()));  // none is empty
  return 2 * cost_inside(inner_of(o), balanced, o, m) +
         t.packs(3 * std::min(t.ranks() * t.ranks(), t.ranks() + t.busiest()), 3 * t.busiest());
}

}  // namespace

const algorithm two_phase{
    .name = "two_phase",
    .summary = "two balanced exchanges by way of intermediate ranks",
    .source = "MPI primitives §4.7, S1–S6",
    .rounds = "twice the inner algorithm's",
    .memory = memory,
    .cost = cost,
    .prepare = prepare,
};

}  // namespace taquin::detail
