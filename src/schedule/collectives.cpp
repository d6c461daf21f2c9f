#include "schedule/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

int log2_ceil(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))); }

/// State that all builders share: the rank's place and regions of `count`-element slots in the three buffers. Slots
/// stand an extent apart, so that types with gaps keep their layout.
class builder {
 public:
  builder(int rank, int ranks, count_t count, const element& e, std::pmr::memory_resource* memory,
          const schedule_size& size)
      : rank_(rank), ranks_(ranks), count_(count), element_(e), s_(memory, size), type_(s_.add_type(e)) {}

  schedule barrier();
  schedule broadcast(int root);
  schedule reduce(int root);
  schedule allreduce();
  schedule gather(int root);
  schedule allgather();
  schedule scatter(int root);
  schedule scan();

 private:
  region blocks(place where, int first, int n = 1) const {
    const count_t origin = where == place::scratch ? below() : 0;
    return {.offset = origin + first * count_ * element_.extent, .count = n * count_, .type = type_, .where = where};
  }
  // A type's data may begin before its origin and end after its extent.
  count_t below() const { return std::max<count_t>(0, -element_.true_lb); }
  void scratch(int n) {
    const count_t beyond = std::max<count_t>(0, element_.true_lb + element_.true_extent - element_.extent);
    s_.scratch_bytes = as_size(below() + n * count_ * element_.extent + beyond);
  }
  int real(int relative, int root) const { return (relative + root) % ranks_; }
  void combine(const region& from, const region& to) {
    s_.add_copy(from, to, merge::combine);
    s_.end_round();
  }
  void copy(const region& from, const region& to) {
    s_.add_copy(from, to);
    s_.end_round();
  }
  void reduce_to_zero(const region& mine, const region& theirs);
  void rotate(int root, bool into_recv);

  int rank_;
  int ranks_;
  count_t count_;
  element element_;
  schedule s_;
  std::uint32_t type_;
};

// Dissemination: after round k each rank depends on messages of 2^(k+1) ranks. One byte stands for "I am here".
schedule builder::barrier() {
  s_.scratch_bytes = 2;
  const std::uint32_t byte = s_.add_type(element::bytes(1));
  for (int k = 1; k < ranks_; k *= 2) {
    s_.recv((rank_ - k + ranks_) % ranks_, {.offset = 1, .count = 1, .type = byte, .where = place::scratch});
    s_.send((rank_ + k) % ranks_, {.offset = 0, .count = 1, .type = byte, .where = place::scratch});
    s_.end_round();
  }
  return std::move(s_);
}

// Binomial tree on ranks relative to the root: in round k those below 2^k send to their partner in dimension k.
schedule builder::broadcast(int root) {
  const int me = (rank_ - root + ranks_) % ranks_;
  for (int bit = 1; bit < ranks_; bit *= 2) {
    if (me < bit && me + bit < ranks_) s_.send(real(me + bit, root), blocks(place::recv, 0));
    if (me >= bit && me < 2 * bit) s_.recv(real(me - bit, root), blocks(place::recv, 0));
    s_.end_round();
  }
  return std::move(s_);
}

// The tree reversed, towards rank 0. A rank's part is always a run of consecutive ranks, so the order is kept.
void builder::reduce_to_zero(const region& mine, const region& theirs) {
  for (int bit = 1; bit < ranks_; bit *= 2) {
    if ((rank_ & bit) != 0) {
      s_.send(rank_ - bit, mine);
      s_.end_round();
      return;
    }
    if (rank_ + bit >= ranks_) continue;
    s_.recv(rank_ + bit, theirs);
    s_.end_round();
    combine(mine, theirs);  // mine ⊗ theirs
    copy(theirs, mine);
  }
}

schedule builder::reduce(int root) {
  scratch(2);
  const region mine = blocks(place::scratch, 0);
  copy(blocks(place::send, 0), mine);
  reduce_to_zero(mine, blocks(place::scratch, 1));
  if (root == 0) {
    if (rank_ == 0) copy(mine, blocks(place::recv, 0));
    return std::move(s_);
  }
  if (rank_ == 0) s_.send(root, mine);
  if (rank_ == root) s_.recv(0, blocks(place::recv, 0));
  s_.end_round();
  return std::move(s_);
}

// Recursive doubling over the largest power of two; the first ranks of the rest fold in pairs before and unfold after.
schedule builder::allreduce() {
  scratch(1);
  const region mine = blocks(place::recv, 0);
  const region theirs = blocks(place::scratch, 0);
  copy(blocks(place::send, 0), mine);
  const int cube = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_)));
  const int folded = ranks_ - cube;  // pairs (2i, 2i + 1) with i < folded act as one
  const bool in_pair = rank_ < 2 * folded;
  const bool leads = !in_pair || rank_ % 2 == 0;
  const auto rank_of = [&](int corner) { return corner < folded ? 2 * corner : corner + folded; };
  if (in_pair && !leads) {
    s_.send(rank_ - 1, mine);
  } else if (in_pair) {
    s_.recv(rank_ + 1, theirs);
  }
  s_.end_round();
  if (in_pair && leads) {
    combine(mine, theirs);
    copy(theirs, mine);
  }
  const int corner = in_pair ? rank_ / 2 : rank_ - folded;
  for (int bit = 1; leads && bit < cube; bit *= 2) {
    const int partner = rank_of(corner ^ bit);
    s_.recv(partner, theirs);
    s_.send(partner, mine);
    s_.end_round();
    if ((corner & bit) != 0) {
      combine(theirs, mine);  // the partner is before
    } else {
      combine(mine, theirs);
      copy(theirs, mine);
    }
  }
  if (in_pair && leads) s_.send(rank_ + 1, mine);
  if (in_pair && !leads) s_.recv(rank_ - 1, mine);
  s_.end_round();
  return std::move(s_);
}

// Between root's rank order and the order relative to the root, at the root.
void builder::rotate(int root, bool into_recv) {
  const int head = ranks_ - root;
  if (into_recv) {
    s_.add_copy(blocks(place::scratch, 0, head), blocks(place::recv, root, head));
    s_.add_copy(blocks(place::scratch, head, root), blocks(place::recv, 0, root));
  } else {
    s_.add_copy(blocks(place::send, root, head), blocks(place::scratch, 0, head));
    s_.add_copy(blocks(place::send, 0, root), blocks(place::scratch, head, root));
  }
  s_.end_round();
}

// Subtrees of the binomial tree are runs of relative ranks: the slots that a rank has gathered are one run.
schedule builder::gather(int root) {
  const int me = (rank_ - root + ranks_) % ranks_;
  const int low = me == 0 ? ranks_ : me & -me;
  scratch(std::min(low, ranks_ - me));
  copy(blocks(place::send, 0), blocks(place::scratch, 0));
  for (int bit = 1; bit < ranks_; bit *= 2) {
    if ((me & bit) != 0) {
      s_.send(real(me - bit, root), blocks(place::scratch, 0, std::min(bit, ranks_ - me)));
      s_.end_round();
      break;
    }
    if (me + bit < ranks_) s_.recv(real(me + bit, root), blocks(place::scratch, bit, std::min(bit, ranks_ - me - bit)));
    s_.end_round();
  }
  if (me == 0) rotate(root, true);
  return std::move(s_);
}

schedule builder::scatter(int root) {
  const int me = (rank_ - root + ranks_) % ranks_;
  const int low = me == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks_))) : me & -me;
  scratch(std::min(low, ranks_ - me));
  if (me == 0) {
    rotate(root, false);
  } else {
    s_.recv(real(me - low, root), blocks(place::scratch, 0, std::min(low, ranks_ - me)));
    s_.end_round();
  }
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (me + bit < ranks_) s_.send(real(me + bit, root), blocks(place::scratch, bit, std::min(bit, ranks_ - me - bit)));
    s_.end_round();
  }
  copy(blocks(place::scratch, 0), blocks(place::recv, 0));
  return std::move(s_);
}

// Recursive doubling by shifts: in round k a rank has the slots of itself and the next 2^k − 1 ranks, and gets as many.
schedule builder::allgather() {
  scratch(ranks_);
  copy(blocks(place::send, 0), blocks(place::scratch, 0));
  for (int have = 1; have < ranks_; have *= 2) {
    const int n = std::min(have, ranks_ - have);
    s_.recv((rank_ + have) % ranks_, blocks(place::scratch, have, n));
    s_.send((rank_ - have + ranks_) % ranks_, blocks(place::scratch, 0, n));
    s_.end_round();
  }
  rotate(rank_, true);
  return std::move(s_);
}

// In round k a rank holds the combination of the last 2^k ranks up to itself, and receives that of the 2^k before.
schedule builder::scan() {
  scratch(1);
  const region mine = blocks(place::recv, 0);
  const region theirs = blocks(place::scratch, 0);
  copy(blocks(place::send, 0), mine);
  for (int k = 1; k < ranks_; k *= 2) {
    if (rank_ + k < ranks_) s_.send(rank_ + k, mine);
    if (rank_ - k >= 0) s_.recv(rank_ - k, theirs);
    s_.end_round();
    if (rank_ - k >= 0) combine(theirs, mine);
  }
  return std::move(s_);
}

}  // namespace

std::string_view name_of(collective what) noexcept {
  constexpr std::array<std::string_view, 8> names{"barrier", "broadcast", "reduce",  "allreduce",
                                                  "gather",  "allgather", "scatter", "scan"};
  return names[as_size(what)];
}

schedule_size allreduce_size(int ranks) noexcept {
  const auto steps = as_size(log2_ceil(ranks));
  const std::size_t messages = 2 * steps + 2;  // folding and unfolding beside
  return {.types = 1, .regions = messages, .messages = messages, .copies = 2 * steps + 3, .rounds = 3 * steps + 5};
}

schedule build_collective(collective what, int rank, int ranks, int root, count_t count, const element& e,
                          std::pmr::memory_resource* memory) {
  builder b(rank, ranks, count, e, memory, what == collective::allreduce ? allreduce_size(ranks) : schedule_size{});
  switch (what) {
    case collective::barrier:
      return b.barrier();
    case collective::broadcast:
      return b.broadcast(root);
    case collective::reduce:
      return b.reduce(root);
    case collective::allreduce:
      return b.allreduce();
    case collective::gather:
      return b.gather(root);
    case collective::allgather:
      return b.allgather();
    case collective::scatter:
      return b.scatter(root);
    case collective::scan:
      break;
  }
  return b.scan();
}

seconds closed_form(collective what, int ranks, count_t bytes, const hockney& h) {
  const int rounds = ranks == 1 ? 0 : log2_ceil(ranks);
  switch (what) {
    case collective::barrier:
      return rounds * h.time(1);
    case collective::broadcast:
    case collective::reduce:
    case collective::scan:
      return rounds * h.time(bytes);
    case collective::allreduce: {
      const bool cube = std::has_single_bit(static_cast<unsigned>(ranks));
      return (cube ? rounds : rounds - 1 + 2) * h.time(bytes);
    }
    case collective::gather:
    case collective::allgather:
    case collective::scatter:
      break;
  }
  return rounds * h.tau + (ranks - 1) * h.mu * static_cast<double>(bytes);
}

}  // namespace taquin::detail
