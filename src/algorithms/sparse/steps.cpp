// A sparse exchange in a step of a node, or with the messages of the agreement.

#include "algorithms/sparse/state.hpp"
#include "base/collective_error.hpp"
#include "base/copy_bytes.hpp"
#include "datatypes/typed_copy.hpp"

namespace taquin {

bool sparse_call::state::begin_short(const arguments& x) {
  channel* const shared = blocking_channel(x.comm);
  if (shared == nullptr) return false;
  mpi::count_call(*shared->calls());
  inside.emplace(shared->calls(), sparse_call_word);
  channel_of_short = shared;
  user = x.comm;
  served_short = find_on_node(*shared, x);
  if (!served_short) inside.reset();
  return true;
}

bool sparse_call::state::find_on_node(channel& shared, const arguments& x) {
  const bool named = opts.algorithm == node_step_algorithm.name;
  if ((!named && opts.algorithm != "auto") || describe(x.blocks, x.invalid_text, shared.size())) return false;
  if (!sparse_on_node::suits(data.element)) return false;
  budget.emplace(opts.memory);
  node.emplace(shared, data, *budget);
  if (!node->find(x.blocks, x.at_once, named)) {
    node.reset();
    budget.reset();
    return false;
  }
  running.algorithm = node_step_algorithm.name;
  running.account([](statistics&) {}, 0);
  try {
    read_mailboxes(shared.rank(), x.at_once);
  } catch (const std::bad_alloc&) {
    if (!x.at_once) throw;
    lacks_result = true;
  }
  return true;
}

void sparse_call::state::read_mailboxes(int rank, bool at_once) {
  sources.emplace(node->blocks(), 0, &*budget);
  counts.emplace(node->blocks(), 0, &*budget);
  if (!at_once) noticed.emplace(node->blocks(), header{}, &*budget);
  std::size_t i = 0;
  node->each([&](int from, count_t n, count_t first) {
    (*sources)[i] = from;
    (*counts)[i] = n;
    if (!at_once) (*noticed)[i] = {from, rank, n, first};
    total = total + n;
    ++i;
  });
  if (at_once) return;
  blocks = *noticed;
  node->found(opts.stats);
}

void sparse_call::state::receive_short(std::byte* into, const char* invalid_text) {
  const auto take = [&] {
    if (invalid_text == nullptr) node->receive(into);
    node->end(opts.stats);
    return true;
  };
  served_short ? leaving(user, take) : running.stage(take);
  if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_NO_MEM);
  throw_if_invalid();
}

void sparse_call::state::agree_and_find(const arguments& x, bool lacks_memory) {
  proposal p;
  p.invalid = lacks_memory ? out_of_memory() : describe(x.blocks, x.invalid_text, comm().size());
  fingerprint choices;
  choices.add("sparse");
  choices.add(p.invalid ? "" : opts.algorithm);
  choices.add(call_timeout::of(opts).seconds > 0);
  p.memory = opts.memory;
  p.max_block_bytes = p.min_block_bytes = static_cast<std::uint64_t>(data.element.size);
  p.algorithm = opts.algorithm;
  choices.add(static_cast<std::uint64_t>(in_flight_of(opts)));
  p.max_rank_bytes = x.blocks.destinations.size();
  p.choices = choices.value();
  // Facts of exchanges that a sparse one does not need.
  (x.at_once ? p.large : p.gaps) = true;
  p.full_record = true;
  agreement_path path = path_of(comm(), running.node());
  const bool may_piggyback = opts.algorithm == "auto" || opts.algorithm == between_nodes_algorithm.name;
  for_piggybacked.emplace(opts.memory);
  if (path.node == nullptr && !p.invalid && may_piggyback && piggyback(x, path)) piggybacked->report(p);
  const int tag = comm().next_tag() + mpi::communicator::agreement_tag;  // that of every call
  const agreed all = running.agree(p, tag, path, &*for_piggybacked);
  if (!all.uniform)
    throw_on_all_ranks(
        [&] { return usage_error("ranks disagree on the bytes of an element of a sparse exchange", MPI_ERR_TYPE); });
  budget.emplace(all.memory);
  most_destinations = all.max_rank_bytes;
  if (piggybacked && all.piggybacked && piggybacked_headers::fit(all, comm().size()))
    return take_piggybacked(all, x.at_once);
  drop_piggybacked();
  all_at_once = !all.gaps;
  find(x.blocks, *find_sparse(opts.algorithm));
}

// False if this rank's memory, or the sizes of its blocks, do not allow that.
bool sparse_call::state::piggyback(const arguments& x, agreement_path& path) {
  const int p = comm().size();
  if (path.between == nullptr && forwarded_blocks::most_bytes_of(p) < piggybacked_headers::header_bytes) return false;
  try {
    if (path.between != nullptr)
      for_piggybacked->charge(path.between->share());
    else
      path.forwarded = &forwarded.emplace(comm().rank(), p, &*for_piggybacked);
  } catch (const budget_exceeded&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  block_step* step = path.between;
  if (step == nullptr) step = path.forwarded;
  piggybacked.emplace(*step, data, *for_piggybacked);
  if (!piggybacked->prepare(x.blocks, p, x.at_once)) return false;
  path.blocks = &*piggybacked;
  return true;
}

void sparse_call::state::drop_piggybacked() {
  piggybacked.reset();
  forwarded.reset();
  of_piggybacked.reset();
}

void sparse_call::state::take_piggybacked(const agreed& all, bool at_once) {
  const block_step& step = piggybacked->step();
  running.algorithm = between_nodes_algorithm.name;
  of_piggybacked.emplace(*budget, for_piggybacked->used());
  noticed.emplace(&*budget);
  noticed->reserve(piggybacked_headers::count(step, comm().size(), data.element));
  piggybacked_headers::each(step, comm().size(), data.element,
                            [&](const header& n, const std::byte*) { noticed->push_back(n); });
  blocks = *noticed;
  list_sources();
  rest_follows = piggybacked_headers::any_left(all);
  few_follow = piggybacked_headers::few_left(all, comm().size(), in_flight_of(opts), data.element.size);
  data.to_send = piggybacked->left();
  messages = step.messages();
  bytes = step.bytes_sent();
  rounds = step.rounds();
  if (!at_once) drop_piggybacked();
}

void sparse_call::state::list_sources() {
  sources.emplace(blocks.size(), 0, &*budget);
  counts.emplace(blocks.size(), 0, &*budget);
  std::ranges::transform(blocks, sources->begin(), &header::from);
  std::ranges::transform(blocks, counts->begin(), &header::count);
  for (const count_t n : *counts) total = total + n;
}

// Data that arrived with their notice are copied, the rest requested. A rank that has no place for them notifies their
// senders.
void sparse_call::state::receive_reported(std::byte* into, const char* invalid_text) {
  running.stage([&] {
    if (invalid_text == nullptr) {
      std::byte* to = into;
      const element& e = data.element;
      for (const header& n : blocks) {
        if (n.has_arrived() && e.contiguous()) copy_bytes(to, store->data(n), as_size(n.count * e.size));
        if (n.has_arrived() && !e.contiguous()) unpack(store->data(n), to, n.count, e);
        to += n.count * e.extent;
      }
    }
    make_move_at_once();
    run([&](sparse_grants& g) { invalid_text == nullptr ? g.receive(into) : g.refuse(); });
  });
  if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_NO_MEM);
}

void sparse_call::state::receive_piggybacked(std::byte* into, const char* invalid_text) {
  running.stage([&] {
    if (invalid_text == nullptr) piggybacked->take_data(into, comm().size());
    if (!rest_follows) return account();
    if (few_follow) {
      bytes += as_size(data.to_send * data.element.size);
      messages +=
          piggybacked->move_rest(comm(), comm().next_tag(), blocks, invalid_text == nullptr ? into : nullptr, &*budget);
      return account();
    }
    make_move_at_once();
    run([&](sparse_grants& g) { invalid_text == nullptr ? g.receive(into) : g.refuse(); });
  });
  if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_NO_MEM);
}

}  // namespace taquin
