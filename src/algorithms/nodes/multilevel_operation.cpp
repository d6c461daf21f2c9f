#include "algorithms/nodes/multilevel_operation.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "algorithms/nodes/level_shapes.hpp"
#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "node/level_comms.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

multilevel_operation::multilevel_operation(const exchange& x, const context& c, std::string_view names,
                                           const node_view& view, memory_budget& budget)
    : send_(x.send, c.comm->size(), &budget),
      recv_(x.recv, c.comm->size(), &budget),
      part_(view.topology.nodes(), c.comm->rank()),
      block_bytes_(c.shape->uniform ? static_cast<count_t>(c.shape->max_block_bytes) : 0),
      sizes_(&budget),
      out_(part_.size(), &budget),
      mid_(part_.size(), &budget),
      outgoing_(&budget),
      incoming_(&budget),
      columns_(&budget) {
  const level_comms& comms = level_comms_of(*c.comm, view);
  part_.for_each_served(part_.me(), [&](int) { ++served_; });
  dimensions all{.columns = comms.columns.size(), .sizes = c.shape->uniform ? 0 : as_size(part_.size()) * served_};
  array_list::take(*this, all);
  if (!c.shape->uniform) exchange_sizes(c.comm->size(), *comms.inside);
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
  std::pmr::vector<count_t> to(as_size(part_.groups()), &budget);
  std::size_t which = 0;
  std::size_t outgoing = 0;
  std::size_t incoming = 0;
  for (std::size_t k = 0; k < comms.columns.size(); ++k) {
    std::ranges::fill(to, count_t{0});
    part_.for_each_in_column(static_cast<int>(k), [&](int group) {
      for (int i = 0; i < part_.size(); ++i) to[as_size(group)] += size_of(i, which);
      ++which;
    });
    columns_.push_back({packed_side(part_.groups(), &budget), packed_side(part_.groups(), &budget), nullptr});
    column& made = columns_.back();
    made.out.fill([&](int group) { return to[as_size(group)]; });
    made.in.fill([&](int group) {  // a rank's own column is its first
      count_t sum = 0;
      if (k == 0)
        for (const int rank : part_.members(group)) sum += recv_[rank].bytes();
      return sum;
    });
    outgoing += made.out.bytes();
    incoming += made.in.bytes();
  }
  all.outgoing = std::max(outgoing, out_.bytes());
  all.incoming = std::max(incoming, mid_.bytes());
  array_list::take(*this, all);
  out_.place_at(outgoing_.data());
  mid_.place_at(incoming_.data());
  outgoing = incoming = 0;
  for (column& k : columns_) {
    k.out.place_at(outgoing_.data() + outgoing);
    k.in.place_at(incoming_.data() + incoming);
    outgoing += k.out.bytes();
    incoming += k.in.bytes();
  }
  prepare_parts(x, c, names, comms, budget);
}

// The exchange inside the node, and one in each column that this rank serves.
void multilevel_operation::prepare_parts(const exchange& x, const context& c, std::string_view names,
                                         const level_comms& comms, memory_budget& budget) {
  exchange y;
  y.comm = x.comm;
  y.kind = exchange::form::alltoallv;
  y.send = out_.view();
  y.recv = mid_.view();
  shape in = inside_of(*c.shape, part_.size());
  describe(comms.next.topology, in);
  inside_ = prepare_levels(y, {comms.inside.get(), c.tag, &in, c.opts, nullptr, c.reused}, after_first(names),
                           comms.next, budget);
  // The ranks of its column find sizes that a peer does not expect; the others see them when all have prepared.
  const shape across = column_of(*c.shape);
  const options own = options_of_first(*c.opts, names);
  const bool agrees = c.reused && !c.shape->uniform;
  std::optional<invalid_argument> invalid;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    y.send = columns_[k].out.view();
    y.recv = columns_[k].in.view();
    try {
      columns_[k].operation =
          prepare_inside(first_of(names), y, {comms.columns[k].get(), c.tag, &across, &own, nullptr, c.reused}, budget);
    } catch (const usage_error& e) {
      if (!agrees || !first_of(names).supports(across)) throw;
      invalid = invalid_argument{e.what(), e.mpi_class()};
    }
  }
  if (agrees) agree_on_invalid_argument(*c.comm, invalid);
}

std::size_t multilevel_operation::bytes(const shape& s, int size) noexcept {
  const auto n = as_size(size);
  const auto groups = as_size(s.nodes);
  const auto ranks = as_size(s.ranks);
  const auto columns = as_size(level_part::columns_of(size, s.largest_node));
  const std::uint64_t passed = inside_of(s, size).max_received_bytes;
  const dimensions all{.columns = columns,
                       .sizes = s.uniform ? 0 : n * columns * groups,
                       .outgoing = std::max(s.max_rank_bytes, passed),
                       .incoming = std::max(s.max_received_bytes, passed)};
  return sizeof(multilevel_operation) + array_list::bytes<multilevel_operation>(all) +
         (s.uniform ? 0 : array_list::bytes<sizes_reported>(ranks, n)) + 2 * owned_blocks::bytes(ranks) +
         2 * packed_side::bookkeeping(n) + columns * 2 * packed_side::bookkeeping(groups) +
         groups * sizeof(count_t);  // while the columns are made
}

void multilevel_operation::exchange_sizes(int ranks, mpi::communicator& inside) {
  auto* const memory = sizes_.get_allocator().resource();
  const auto n = as_size(part_.size());
  sizes_reported reported(as_size(ranks), n, memory);
  auto& mine = reported.mine;
  auto& layout = reported.layout;
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
  mpi::alltoallv(mine, std::span(sizes_), std::span<const int>(layout), inside);
}

void multilevel_operation::partition() {
  out_.go_through([&](auto put) {
    for (int i = 0; i < part_.size(); ++i)
      part_.for_each_served(i, [&](int rank) {
        const block b = send_[rank];
        pack(send_.at(b), b.count, b.element, put(i, b.bytes()));
      });
  });
}

// From the order of senders to the order of columns, groups, and then senders.
void multilevel_operation::cross() {
  mid_.go_through([&](auto take) {
    std::size_t which = 0;
    for (std::size_t k = 0; k < columns_.size(); ++k)
      columns_[k].out.go_through([&](auto put) {
        part_.for_each_in_column(static_cast<int>(k), [&](int group) {
          for (int i = 0; i < part_.size(); ++i) {
            const count_t bytes = size_of(i, which);
            copy_bytes(put(group, bytes), take(i, bytes), as_size(bytes));
          }
          ++which;
        });
      });
  });
  stage_ = 1;
  for (column& k : columns_) {
    k.done = false;
    k.operation->start();
  }
}

void multilevel_operation::deliver() {
  columns_.front().in.go_through([&](auto take) {
    for (int group = 0; group < part_.groups(); ++group)
      for (const int rank : part_.members(group)) {
        const block b = recv_[rank];
        unpack(take(group, b.bytes()), recv_.at(b), b.count, b.element);
      }
  });
  stage_ = 2;
}

operation_ptr prepare_levels(const exchange& x, const context& c, std::string_view names, const node_view& view,
                             memory_budget& budget) {
  const topology& t = view.topology;
  const auto by_first_of = [&](std::string_view these) {
    const options own = options_of_first(*c.opts, these);
    context with_own = c;
    with_own.opts = &own;
    return prepare_inside(first_of(these), x, with_own, budget);
  };
  if (t.levels.empty() || t.nodes().largest() == 1) return by_first_of(names);
  if (t.nodes().groups() > 1) return make_operation<multilevel_operation>(budget, x, c, names, view, budget);
  if (t.levels.size() == 1) return by_first_of(after_first(names));
  const level_comms& comms = level_comms_of(*c.comm, view);
  shape next = *c.shape;
  describe(comms.next.topology, next);
  return prepare_levels(x, {comms.inside.get(), c.tag, &next, c.opts, nullptr, c.reused}, after_first(names),
                        comms.next, budget);
}

}  // namespace taquin::detail
