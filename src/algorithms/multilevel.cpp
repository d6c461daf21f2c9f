// multilevel: an exchange inside nodes, then one between them, each by an algorithm of the list.
//
// Source:  ours; aggregation in the manner of MPI libraries' node-aware exchanges, with every rank of a node at work.
//          Levels compose: what a node's ranks exchange goes by the levels inside it.
// Rounds:  those of the algorithms of all levels, one after the other; in irregular exchanges, an exchange of sizes
//          inside groups when the plan is made.
// Bytes:   between nodes what the algorithm there sends for blocks n times as large among N ranks; each block once
//          inside nodes.
// Memory:  what a rank sends or passes on, and what it receives or passes on, whichever is more, on each level, and
// what
//          the levels' algorithms take.
// Limits:  separate buffers. The regular Bruck algorithms serve levels of equal nodes and equal blocks only.
// Wins:    small blocks on many nodes: log rounds of few messages, whose bytes cross a node's link less often than
// those
//          of log rounds among all ranks. One rank per node is the first level's algorithm, one node the last one's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/level_part.hpp"
#include "algorithms/packed_side.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/kept_blocks.hpp"
#include "exchange/raw_buffer.hpp"
#include "exchange/validate.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "topology/level_comms.hpp"

namespace taquin::detail {

namespace {

// options::levels from some level inwards.
const algorithm& first_of(std::string_view names) { return *find_algorithm(names.substr(0, names.find(','))); }
std::string_view after_first(std::string_view names) {
  const auto comma = names.find(',');
  return comma == std::string_view::npos ? names : names.substr(comma + 1);
}

bool equal_groups(const shape& s) noexcept { return s.uniform && s.largest_node == s.smallest_node; }

shape bytes_among(int ranks, bool uniform, std::uint64_t block, std::uint64_t sent, std::uint64_t received) noexcept {
  return {.ranks = ranks,
          .kind = exchange::form::alltoallv,
          .uniform = uniform,
          .large = std::max(sent, received) > static_cast<std::uint64_t>(std::numeric_limits<int>::max()),
          .max_block_bytes = block,
          .min_block_bytes = uniform ? block : 0,
          .max_rank_bytes = sent,
          .max_received_bytes = received};
}

// The same exchange where all its ranks are one group: by the groups inside that.
shape one_group(const shape& s) noexcept {
  shape t = s;
  t.nodes = 0;
  t.levels_inside = 0;
  if (s.levels_inside == 0) return t;
  t.nodes = s.inside[0].groups;
  t.largest_node = s.inside[0].largest;
  t.smallest_node = s.inside[0].smallest;
  t.levels_inside = s.levels_inside - 1;
  std::copy(s.inside.begin() + 1, s.inside.end(), t.inside.begin());
  return t;
}

// Upper bounds of the exchange inside a group of `size` ranks; its nodes are the groups inside.
shape inside_of(const shape& s, int size) noexcept {
  const auto n = static_cast<std::uint64_t>(size);
  const auto columns = static_cast<std::uint64_t>(level_part::columns_of(size, s.largest_node));
  const std::uint64_t block =
      std::min(columns * static_cast<std::uint64_t>(s.nodes) * s.max_block_bytes, s.max_rank_bytes);
  shape t = bytes_among(size, equal_groups(s), block, s.max_rank_bytes, n * block);
  t.levels_inside = s.levels_inside;
  t.inside = s.inside;
  return one_group(t);
}

// The same of the exchange in one column.
shape column_of(const shape& s) noexcept {
  const auto groups = static_cast<std::uint64_t>(s.nodes);
  const auto n = static_cast<std::uint64_t>(s.largest_node);
  const std::uint64_t block = std::min(n * s.max_block_bytes, s.max_received_bytes);
  return bytes_among(s.nodes, equal_groups(s), block, std::min(groups * block, n * s.max_rank_bytes),
                     s.max_received_bytes);
}

body_ptr prepare_levels(const exchange& x, const context& c, std::string_view names, const node_view& view,
                        memory_budget& budget);

/// Between groups: one column.
struct column {
  packed_side out;
  packed_side in;
  body_ptr body;
  bool done = true;
};

class multilevel_body final : public plan_body {
 public:
  multilevel_body(const exchange& x, const context& c, std::string_view names, const node_view& view,
                  memory_budget& budget);

  void start() override {
    deal();
    stage_ = 0;
    inside_->start();
  }

  bool test() override {
    if (stage_ == 0) {
      if (!inside_->test()) return false;
      cross();
    }
    if (stage_ == 1) {
      bool all = true;
      for (column& k : columns_) {
        k.done = k.done || k.body->test();
        all = all && k.done;
      }
      if (!all) return false;
      deliver();
    }
    return true;
  }

  void wait() override {
    if (stage_ == 0) {
      inside_->wait();
      cross();
    }
    if (stage_ == 1 && columns_.size() == 1) {
      columns_.front().body->wait();
      columns_.front().done = true;
    }
    while (!test()) {  // columns go on side by side: other ranks may wait for any of them
    }
  }

  void account(statistics& s) const override {
    inside_->account(s);
    s.bytes_copied += out_.bytes();
    for (const column& k : columns_) {
      k.body->account(s);
      s.bytes_copied += k.out.bytes() + k.in.bytes();
    }
  }

 private:
  void learn_sizes(int ranks, const mpi::communicator& inside);
  [[nodiscard]] count_t size_of(int from, std::size_t which) const noexcept {
    return sizes_.empty() ? block_bytes_ : sizes_[static_cast<std::size_t>(from) * served_ + which];
  }
  void deal();
  void cross();
  void deliver();

  kept_blocks send_;
  kept_blocks recv_;
  level_part part_;
  count_t block_bytes_;  // of uniform exchanges
  std::size_t served_ = 0;
  std::pmr::vector<count_t> sizes_;  // otherwise: [local rank][rank served]
  packed_side out_;                  // by the local rank that serves the receiver
  packed_side mid_;                  // by the local rank that sends
  std::pmr::vector<column> columns_;
  raw_buffer leaving_;  // out_, then all columns' out
  raw_buffer coming_;   // mid_, then all columns' in
  body_ptr inside_;
  int stage_ = 2;
};

multilevel_body::multilevel_body(const exchange& x, const context& c, std::string_view names, const node_view& view,
                                 memory_budget& budget)
    : send_(x.send, c.comm->size(), &budget),
      recv_(x.recv, c.comm->size(), &budget),
      part_(view.topology.nodes(), c.comm->rank()),
      block_bytes_(c.shape->uniform ? static_cast<count_t>(c.shape->max_block_bytes) : 0),
      sizes_(&budget),
      out_(part_.size(), &budget),
      mid_(part_.size(), &budget),
      columns_(&budget),
      leaving_(0, &budget),
      coming_(0, &budget) {
  const level_comms& comms = level_comms_of(*c.comm, view);
  part_.for_each_served(part_.me(), [&](int) { ++served_; });
  if (!c.shape->uniform) learn_sizes(c.comm->size(), *comms.inside);
  out_.fill([&](int i) {
    count_t sum = 0;
    part_.for_each_served(i, [&](int rank) { sum += send_[rank].bytes(); });
    return sum;
  });
  mid_.fill([&](int i) {
    count_t sum = 0;
    for (std::size_t k = 0; k < served_; ++k) sum += size_of(i, k);
    return sum;
  });
  columns_.reserve(comms.columns.size());
  std::pmr::vector<count_t> to(static_cast<std::size_t>(part_.groups()), &budget);
  std::size_t which = 0;
  std::size_t leaving = 0;
  std::size_t coming = 0;
  for (std::size_t k = 0; k < comms.columns.size(); ++k) {
    std::ranges::fill(to, count_t{0});
    part_.for_each_in_column(static_cast<int>(k), [&](int group) {
      for (int i = 0; i < part_.size(); ++i) to[static_cast<std::size_t>(group)] += size_of(i, which);
      ++which;
    });
    columns_.push_back({packed_side(part_.groups(), &budget), packed_side(part_.groups(), &budget), nullptr});
    column& made = columns_.back();
    made.out.fill([&](int group) { return to[static_cast<std::size_t>(group)]; });
    made.in.fill([&](int group) {  // a rank's own column is its first
      count_t sum = 0;
      if (k == 0)
        for (const int rank : part_.members(group)) sum += recv_[rank].bytes();
      return sum;
    });
    leaving += made.out.bytes();
    coming += made.in.bytes();
  }
  leaving_.reset(std::max(leaving, out_.bytes()));
  coming_.reset(std::max(coming, mid_.bytes()));
  out_.place_at(leaving_.data());
  mid_.place_at(coming_.data());
  leaving = coming = 0;
  for (column& k : columns_) {
    k.out.place_at(leaving_.data() + leaving);
    k.in.place_at(coming_.data() + coming);
    leaving += k.out.bytes();
    coming += k.in.bytes();
  }
  exchange y{.comm = x.comm, .kind = exchange::form::alltoallv};
  y.send = out_.view();
  y.recv = mid_.view();
  shape in = inside_of(*c.shape, part_.size());
  describe(comms.next.topology, in);
  inside_ = prepare_levels(y, {comms.inside.get(), c.tag, &in, c.opts, nullptr, c.reused}, after_first(names),
                           comms.next, budget);
  // Sizes that a peer does not expect are found by the ranks of its column: the others learn of them when all have
  // prepared.
  const shape across = column_of(*c.shape);
  const bool agrees = c.reused && !c.shape->uniform;
  std::optional<defect> bad;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    y.send = columns_[k].out.view();
    y.recv = columns_[k].in.view();
    try {
      columns_[k].body = prepare_inside(first_of(names), y,
                                        {comms.columns[k].get(), c.tag, &across, c.opts, nullptr, c.reused}, budget);
    } catch (const usage_error& e) {
      if (!agrees || !first_of(names).supports(across)) throw;
      bad = defect{e.what(), e.mpi_class()};
    }
  }
  if (agrees) agree_on_defect(*c.comm, bad);
}

// What the group's ranks send by way of this one, they tell it once.
void multilevel_body::learn_sizes(int ranks, const mpi::communicator& inside) {
  auto* const memory = sizes_.get_allocator().resource();
  const auto n = static_cast<std::size_t>(part_.size());
  std::pmr::vector<count_t> mine(memory);
  mine.reserve(static_cast<std::size_t>(ranks));
  std::pmr::vector<int> layout(4 * n, memory);
  const std::span<int> counts(layout.data(), n);
  const std::span<int> displs(layout.data() + n, n);
  const std::span<int> rcounts(layout.data() + 2 * n, n);
  const std::span<int> rdispls(layout.data() + 3 * n, n);
  for (std::size_t i = 0; i < n; ++i) {
    displs[i] = static_cast<int>(mine.size());
    part_.for_each_served(static_cast<int>(i), [&](int rank) { mine.push_back(send_[rank].bytes()); });
    counts[i] = static_cast<int>(mine.size()) - displs[i];
    rcounts[i] = static_cast<int>(served_);
    rdispls[i] = static_cast<int>(i * served_);
  }
  sizes_.resize(n * served_);
  TAQUIN_MPI(MPI_Alltoallv(mine.data(), counts.data(), displs.data(), MPI_INT64_T, sizes_.data(), rcounts.data(),
                           rdispls.data(), MPI_INT64_T, inside.get()));
}

void multilevel_body::deal() {
  out_.go_through([&](auto put) {
    for (int i = 0; i < part_.size(); ++i)
      part_.for_each_served(i, [&](int rank) {
        const block b = send_[rank];
        pack(send_.at(b), b.count, b.element, put(i, b.bytes()));
      });
  });
}

// What came by senders goes on by columns, groups, and then senders.
void multilevel_body::cross() {
  mid_.go_through([&](auto take) {
    std::size_t which = 0;
    for (std::size_t k = 0; k < columns_.size(); ++k)
      columns_[k].out.go_through([&](auto put) {
        part_.for_each_in_column(static_cast<int>(k), [&](int group) {
          for (int i = 0; i < part_.size(); ++i) {
            const count_t bytes = size_of(i, which);
            copy_bytes(put(group, bytes), take(i, bytes), bytes);
          }
          ++which;
        });
      });
  });
  stage_ = 1;
  for (column& k : columns_) {
    k.done = false;
    k.body->start();
  }
}

void multilevel_body::deliver() {
  columns_.front().in.go_through([&](auto take) {
    for (int group = 0; group < part_.groups(); ++group)
      for (const int rank : part_.members(group)) {
        const block b = recv_[rank];
        unpack(take(group, b.bytes()), recv_.at(b), b.count, b.element);
      }
  });
  stage_ = 2;
}

bool supports(const shape& s) noexcept { return !s.inter && !s.in_place; }

// Of one of `size` ranks of a group that is one of s.nodes.
std::size_t memory_between(const shape& s, const options& o, std::string_view names, int size) noexcept;

// On any rank. `exact`: the numbers of groups are those of this rank's level, rather than the most of any.
std::size_t memory_of(const shape& s, const options& o, std::string_view names, bool exact) noexcept {
  if (s.nodes == 0) return first_of(names).memory(s, o);
  std::size_t most = 0;
  if (!exact || s.nodes == 1) most = memory_of(one_group(s), o, after_first(names), exact);
  if (!exact || s.largest_node == 1) most = std::max(most, first_of(names).memory(s, o));
  if (exact && most > 0) return most;
  shape some = s;
  for (some.nodes = exact ? s.nodes : 2; some.nodes <= s.nodes; ++some.nodes)
    for (int size = s.smallest_node; size <= s.largest_node; ++size)
      most = std::max(most, memory_between(some, o, names, size));
  return most;
}

std::size_t memory_between(const shape& s, const options& o, std::string_view names, int size) noexcept {
  const auto n = static_cast<std::size_t>(size);
  const auto columns = static_cast<std::size_t>(level_part::columns_of(size, s.largest_node));
  const auto groups = static_cast<std::size_t>(s.nodes);
  const shape in = inside_of(s, size);
  const std::uint64_t passed = in.max_received_bytes;
  const std::size_t sizes =
      (n * columns * groups + static_cast<std::size_t>(s.ranks)) * sizeof(count_t) + 4 * n * sizeof(int);
  return sizeof(multilevel_body) + (s.uniform ? 0 : sizes) + groups * sizeof(count_t) +
         2 * kept_blocks::bytes(static_cast<std::size_t>(s.ranks)) + 2 * packed_side::bookkeeping(n) +
         columns * (sizeof(column) + 2 * packed_side::bookkeeping(groups)) + std::max(s.max_rank_bytes, passed) +
         std::max(s.max_received_bytes, passed) + columns * first_of(names).memory(column_of(s), o) +
         memory_of(in, o, after_first(names), false);
}

// Who has not asked for nodes has one.
std::string_view names_for(const shape& s, const options& o) noexcept {
  return s.nodes == 0 ? after_first(o.levels) : o.levels;
}

std::size_t memory(const shape& s, const options& o) noexcept { return memory_of(s, o, names_for(s, o), true); }

body_ptr prepare_levels(const exchange& x, const context& c, std::string_view names, const node_view& view,
                        memory_budget& budget) {
  const topology& t = view.topology;
  if (t.levels.empty() || t.nodes().largest() == 1) return prepare_inside(first_of(names), x, c, budget);
  if (t.nodes().groups() > 1) return make_body<multilevel_body>(budget, x, c, names, view, budget);
  if (t.levels.size() == 1) return prepare_inside(first_of(after_first(names)), x, c, budget);
  const level_comms& comms = level_comms_of(*c.comm, view);
  shape next = *c.shape;
  describe(comms.next.topology, next);
  return prepare_levels(x, {comms.inside.get(), c.tag, &next, c.opts, nullptr, c.reused}, after_first(names),
                        comms.next, budget);
}

body_ptr prepare(const exchange& x, const context& c, memory_budget& budget) {
  return prepare_levels(x, c, c.opts->levels, *c.nodes, budget);
}

// The levels one after the other, for what an average rank of the largest group moves; a rank of the smallest is in
// several columns.
seconds cost_of(const shape& s, const options& o, const machine_model& m, std::string_view names, bool nodes) noexcept {
  const auto leaf = [&](shape x, std::string_view name, bool between) {
    x.nodes = between ? x.ranks : 1;
    x.largest_node = between ? 1 : x.ranks;
    return first_of(name).cost(x, o, m);
  };
  if (s.nodes == 0) return leaf(s, names, false);
  if (s.nodes == 1) return cost_of(one_group(s), o, m, after_first(names), false);
  if (s.largest_node == 1) return leaf(s, names, nodes);
  const terms t(s, m);
  const int n = s.largest_node;
  const auto bytes = static_cast<std::uint64_t>(t.busiest());
  const auto bytes_of = [&](double blocks) { return static_cast<std::uint64_t>(std::ceil(blocks * t.mean_block())); };
  shape in = inside_of(s, n);
  in.max_block_bytes = bytes_of(t.ranks() / n);
  in.max_rank_bytes = in.max_received_bytes = bytes;
  if (in.uniform) in.min_block_bytes = in.max_block_bytes;
  shape across = column_of(s);
  across.max_block_bytes = bytes_of(n);
  across.max_rank_bytes = across.max_received_bytes = bytes;
  if (across.uniform) across.min_block_bytes = across.max_block_bytes;
  return cost_of(in, o, m, after_first(names), false) +
         level_part::columns_of(s.smallest_node, n) * leaf(across, names, nodes) +
         t.packs(3 * t.ranks(), 3 * t.busiest());
}

seconds cost(const shape& s, const options& o, const machine_model& m) noexcept {
  return cost_of(s, o, m, names_for(s, o), true);
}

}  // namespace

const algorithm multilevel{
    .name = "multilevel",
    .summary = "level by level: inside nodes, then between them, each by an algorithm of the list",
    .source = "ours: node-aware exchanges, composed",
    .rounds = "those of the levels' algorithms",
    .supports = supports,
    .needs_nodes = true,
    .memory = memory,
    .cost = cost,
    .prepare = prepare,
};

}  // namespace taquin::detail
