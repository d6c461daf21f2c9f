// two_phase: alltoallv as two balanced exchanges through intermediate ranks.
//
// Source:  Communication Patterns and MPI Primitives, §4.7 (S1 to S6). Every block is cut into p parts whose sizes
//          differ by at most a byte; each goes through another rank. The paper pads both exchanges to equal messages;
//          here nothing is padded.
// Rounds:  where blocks differ, three exchanges of sizes among all ranks when the plan is made; then the inner
//          algorithm's, twice.
// Bytes:   each block twice.
// Memory:  the bytes that a rank sends or forwards, or those that it receives or forwards; one block for types
//          with gaps; where blocks differ, 8 bytes for each part that it forwards, at most one for each byte and p²;
//          and twice the memory of the inner algorithm.
// Limits:  separate buffers; fewer than 2^31 parts on a rank. Inner algorithms for equal blocks serve where all blocks
//          are equal.
// Wins:    blocks that are very uneven while the ranks' totals are similar: no message is larger than about a rank's
//          total / p, so that no pair of ranks finishes much later than others.
#include "algorithms/direct/two_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
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

namespace {

std::size_t most_parts(const shape& s, std::uint64_t bytes) noexcept {
  const std::size_t p = as_size(s.ranks);
  return s.uniform ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(p * p, bytes));
}

}  // namespace

std::size_t most_cut(const shape& s) noexcept { return most_parts(s, s.max_rank_bytes); }

// From each rank at most a p-th of its total, and a byte.
std::size_t most_forwarded(const shape& s) noexcept {
  return most_parts(s, s.max_rank_bytes + static_cast<std::uint64_t>(s.ranks));
}

const algorithm& inner_of(const options& o) { return *find_algorithm(o.two_phase.inner); }

shape inner_shape(const shape& s, phase of) noexcept {
  const auto p = static_cast<std::uint64_t>(s.ranks);
  const std::uint64_t forwarded = s.max_rank_bytes + (s.uniform ? 0 : p);
  const std::uint64_t sent = of == phase::first ? s.max_rank_bytes : forwarded;
  const std::uint64_t received = of == phase::first ? forwarded : s.max_received_bytes;
  std::uint64_t message = s.max_block_bytes;
  if (!s.uniform) message = of == phase::first ? sent / p + 1 : received / p + std::min(p, received);
  return {.ranks = s.ranks,
          .kind = exchange::form::alltoallv,
          .uniform = s.uniform,
          .large = std::max(sent, received) > std::numeric_limits<int>::max(),
          .max_block_bytes = message,
          .min_block_bytes = s.uniform ? message : 0,
          .max_rank_bytes = sent,
          .max_received_bytes = received};
}

}  // namespace balanced

namespace {

using namespace balanced;

// The blocks of one rank, and the parts that it forwards, in the order sender, receiver. A part is one number: its
// receiver, and p times its bytes.
class cut_blocks {
 public:
  /// Collective: sends the sizes and cuts of blocks to their receivers, and those of parts to the ranks that forward
  /// them. Equal blocks need no exchange. Fails on all ranks if a block is longer than its receiver expects.
  cut_blocks(const exchange& x, const shape& s, mpi::communicator& comm, std::pmr::memory_resource* memory)
      : rank_(comm.rank()), p_(comm.size()), sent_(memory), received_(memory), from_(memory), forwarded_(memory) {
    array_list::take(*this, as_size(p_));
    cutter mine(rank_, p_);
    for (int j = 0; j < p_; ++j) sent_[as_size(j)] = mine.next(x.send[j].bytes());
    if (s.uniform) {
      each_ = static_cast<count_t>(s.max_block_bytes);
      for (int i = 0; i < p_; ++i) received_[as_size(i)] = {each_, (i + rank_ * (each_ % p_)) % p_};
      return;
    }
    mpi::alltoall(sent_, std::span(received_), comm);
    agree_on_invalid_argument(comm, mismatch(x));
    exchange_parts(comm, memory);
  }
  /// Bytes that it keeps, and further ones that its constructor takes.
  static std::size_t kept_bytes(const shape& s) noexcept {
    return array_list::bytes<cut_blocks>(as_size(s.ranks)) + most_forwarded(s) * sizeof(count_t);
  }
  static std::size_t making_bytes(const shape& s) noexcept {
    return s.uniform ? 0 : most_cut(s) * sizeof(count_t) + array_list::bytes<part_counts>(as_size(s.ranks));
  }

  [[nodiscard]] const cut_block& sent(int to) const { return sent_[as_size(to)]; }
  [[nodiscard]] const cut_block& received(int from) const { return received_[as_size(from)]; }
  /// f(sender, receiver, bytes) for each part that this rank forwards, in this order.
  template <class F>
  void each_forwarded(F f) const {
    auto next = forwarded_.begin();
    for (int i = 0; i < p_; ++i) {
      if (each_ < 0) {
        for (std::int32_t n = from_[as_size(i)]; n > 0; --n, ++next) f(i, static_cast<int>(*next % p_), *next / p_);
      } else {
        cutter other(i, p_);
        for (int j = 0; j < p_; ++j) f(i, j, other.next(each_).through(rank_, p_));
      }
    }
  }

 private:
  // Parts to and from each rank, and where they begin.
  struct part_counts {
    std::pmr::vector<int> layout;
    std::pmr::vector<std::int32_t> to;
    part_counts(std::size_t p, std::pmr::memory_resource* memory) : layout(memory), to(memory) {
      array_list::take(*this, p);
    }
    template <class Each>
    static constexpr void arrays(Each each, std::size_t p) {
      each(&part_counts::layout, 4 * p);
      each(&part_counts::to, p);
    }
  };

  [[nodiscard]] std::optional<invalid_argument> mismatch(const exchange& x) const {
    for (int i = 0; i < p_; ++i)
      if (const count_t sent = received(i).bytes, expected = x.recv[i].bytes(); sent > expected)
        return detail::mismatch(i, sent, rank_, expected);
    return std::nullopt;
  }

  void exchange_parts(mpi::communicator& comm, std::pmr::memory_resource* memory) {
    const std::size_t p = as_size(p_);
    part_counts n(p, memory);
    for (const cut_block& b : sent_) b.each_part(p_, [&](int k, part) { ++n.to[as_size(k)]; });
    mpi::alltoall(n.to, std::span(from_), comm);
    int cut = 0;
    int forwarded = 0;
    for (std::size_t k = 0; k < p; ++k) {
      n.layout[k] = n.to[k];
      n.layout[p + k] = std::exchange(cut, cut + n.to[k]);
      n.layout[2 * p + k] = from_[k];
      n.layout[3 * p + k] = std::exchange(forwarded, forwarded + from_[k]);
      n.to[k] = n.layout[p + k];
    }
    std::pmr::vector<count_t> parts(as_size(cut), memory);
    for (int j = 0; j < p_; ++j)
      sent(j).each_part(p_, [&](int k, part q) { parts[as_size(n.to[as_size(k)]++)] = q.bytes * p_ + j; });
    forwarded_.resize(as_size(forwarded));
    mpi::alltoallv(parts, std::span(forwarded_), std::span<const int>(n.layout), comm);
  }

  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t p) {
    each(&cut_blocks::sent_, p);
    each(&cut_blocks::received_, p);
    each(&cut_blocks::from_, p);
  }

  int rank_;
  int p_;
  count_t each_ = -1;  // where all blocks are equal
  std::pmr::vector<cut_block> sent_;
  std::pmr::vector<cut_block> received_;
  std::pmr::vector<std::int32_t> from_;  // parts from each rank
  std::pmr::vector<count_t> forwarded_;
};

class two_phase_operation final : public operation {
 public:
  two_phase_operation(const exchange& x, const context& c, memory_budget& budget)
      : send_(x.send, c.comm->size(), &budget),
        recv_(x.recv, c.comm->size(), &budget),
        p_(c.comm->size()),
        cut_(x, *c.shape, *c.comm, &budget),
        out_(p_, &budget),
        mid_(p_, &budget),
        on_(p_, &budget),
        in_(p_, &budget),
        outgoing_(&budget),
        incoming_(&budget),
        staging_(&budget) {
    out_.sum_up([&](auto add) {
      for (int j = 0; j < p_; ++j) cut_.sent(j).each_part(p_, [&](int k, part q) { add(k, q.bytes); });
    });
    mid_.sum_up([&](auto add) { cut_.each_forwarded([&](int i, int, count_t n) { add(i, n); }); });
    on_.sum_up([&](auto add) { cut_.each_forwarded([&](int, int j, count_t n) { add(j, n); }); });
    in_.sum_up([&](auto add) {
      for (int i = 0; i < p_; ++i) cut_.received(i).each_part(p_, [&](int k, part q) { add(k, q.bytes); });
    });
    count_t most = 0;
    for (int i = 0; i < p_; ++i)
      for (const block& b : {send_[i], recv_[i]})
        if (!b.element.contiguous()) most = std::max(most, b.bytes());
    array_list::take(*this, buffers{.outgoing = std::max(out_.bytes(), on_.bytes()),
                                    .incoming = std::max(mid_.bytes(), in_.bytes()),
                                    .staging = as_size(most)});
    for (packed_side* side : {&out_, &on_}) side->place_at(outgoing_.data());
    for (packed_side* side : {&mid_, &in_}) side->place_at(incoming_.data());
    const auto prepare_phase = [&](packed_side& from, packed_side& to, int tag, phase of) {
      const shape inner = inner_shape(*c.shape, of);
      exchange y;
      y.comm = x.comm;
      y.kind = exchange::form::alltoallv;
      y.send = from.view();
      y.recv = to.view();
      return prepare_inside(inner_of(*c.opts), y, {c.comm, tag, &inner, c.opts, c.nodes, c.reused}, budget);
    };
    phases_[0] = prepare_phase(out_, mid_, c.tag, phase::first);
    phases_[1] = prepare_phase(on_, in_, c.tag + 1, phase::second);
  }

  /// The most bytes of a body at a time: while blocks are cut, or with the buffers and the inner exchanges.
  static std::size_t bytes(const shape& s, std::size_t inner) noexcept {
    const auto p = as_size(s.ranks);
    const std::size_t passed = inner_shape(s, phase::second).max_rank_bytes;
    const std::size_t then =
        array_list::bytes<two_phase_operation>(buffers{.outgoing = std::max<std::size_t>(s.max_rank_bytes, passed),
                                                       .incoming = std::max<std::size_t>(passed, s.max_received_bytes),
                                                       .staging = s.max_block_bytes});
    return sizeof(two_phase_operation) + cut_blocks::kept_bytes(s) + 2 * owned_blocks::bytes(p) +
           4 * packed_side::bookkeeping(p) + std::max(cut_blocks::making_bytes(s), then + inner);
  }

  void start() override {
    partition();
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
  void partition() {
    out_.go_through([&](auto put) {
      for (int j = 0; j < p_; ++j) {
        const block b = send_[j];
        const std::byte* data = send_.at(b);
        if (!b.element.contiguous()) {
          pack(data, b.count, b.element, staging_.data());
          data = staging_.data();
        }
        cut_.sent(j).each_part(p_,
                               [&](int k, part q) { copy_bytes(put(k, q.bytes), data + q.offset, as_size(q.bytes)); });
      }
    });
  }

  // S4: from the order sender, receiver to the order receiver, sender.
  void pass_on() {
    const std::byte* from = mid_.data();
    on_.go_through([&](auto put) {
      cut_.each_forwarded([&](int, int j, count_t n) {
        copy_bytes(put(j, n), from, as_size(n));
        from += n;
      });
    });
  }

  // S6: each block from its parts.
  void assemble() {
    in_.go_through([&](auto take) {
      for (int i = 0; i < p_; ++i) {
        block b = recv_[i];
        if (const count_t sent = cut_.received(i).bytes; sent < b.bytes()) b.count = sent / b.element.size;
        std::byte* data = b.element.contiguous() ? recv_.at(b) : staging_.data();
        cut_.received(i).each_part(
            p_, [&](int k, part q) { copy_bytes(data + q.offset, take(k, q.bytes), as_size(q.bytes)); });
        if (!b.element.contiguous()) unpack(data, recv_.at(b), b.count, b.element);
      }
    });
  }

  struct buffers {
    std::size_t outgoing = 0;
    std::size_t incoming = 0;
    std::size_t staging = 0;
  };
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const buffers& n) {
    each(&two_phase_operation::outgoing_, n.outgoing);
    each(&two_phase_operation::incoming_, n.incoming);
    each(&two_phase_operation::staging_, n.staging);
  }

  owned_blocks send_;
  owned_blocks recv_;
  int p_;
  cut_blocks cut_;
  packed_side out_;      // by intermediate rank
  packed_side mid_;      // by sender
  packed_side on_;       // by receiver
  packed_side in_;       // by intermediate rank
  raw_buffer outgoing_;  // of both phases, one after the other
  raw_buffer incoming_;
  std::pmr::vector<std::byte> staging_;  // a block without its gaps
  std::array<operation_ptr, 2> phases_;
  std::size_t phase_ = 2;
};

bool two_phase_supports(const shape& s) noexcept {
  return separate_buffers(s) && most_forwarded(s) <= std::numeric_limits<int>::max();
}

std::size_t memory_of_two_phase(const shape& s, const options& o) noexcept {
  const algorithm& inner = inner_of(o);
  return two_phase_operation::bytes(
      s, inner.memory(inner_shape(s, phase::first), o) + inner.memory(inner_shape(s, phase::second), o));
}

operation_ptr prepare_two_phase(const exchange& x, const context& c, memory_budget& budget) {
  return make_operation<two_phase_operation>(budget, x, c, budget);
}

seconds cost_of_two_phase(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  const double parts = s.uniform ? t.ranks() * t.ranks() : std::min(t.ranks() * t.ranks(), t.ranks() + t.busiest());
  seconds sum = t.packs(3 * parts, 3 * t.busiest());
  for (const phase of : {phase::first, phase::second}) {
    shape balanced = inner_shape(s, of);
    balanced.nodes = s.nodes, balanced.largest_node = s.largest_node, balanced.smallest_node = s.smallest_node;
    balanced.max_rank_bytes = balanced.max_received_bytes = static_cast<std::uint64_t>(t.busiest());
    if (!s.uniform) balanced.min_block_bytes = static_cast<std::uint64_t>(std::ceil(t.mean_block()));  // none is empty
    sum += cost_inside(inner_of(o), balanced, o, m);
  }
  return sum;
}

}  // namespace

const algorithm two_phase{
    .name = "two_phase",
    .summary = "two balanced exchanges by way of intermediate ranks",
    .source = "MPI primitives §4.7, S1–S6",
    .rounds = "twice the inner algorithm's",
    .supports = two_phase_supports,
    .memory = memory_of_two_phase,
    .cost = cost_of_two_phase,
    .prepare = prepare_two_phase,
};

}  // namespace taquin::detail
