#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/collective_error.hpp"
#include "base/sizes.hpp"
#include "call/failure_map.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "layouts/disagreement.hpp"
#include "layouts/layout_call.hpp"
#include "layouts/mover.hpp"
#include "layouts/shape.hpp"
#include "layouts/transfer.hpp"
#include "mpi/collectives.hpp"
#include "redistribute/choices.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin {

using namespace detail;

namespace detail {

layout_call::layout_call(const layout_options& o)
    : running(mpi::progress_record::of(mpi::call_kind::redistribution), timeout_of(choices(o)), o.stats),
      budget(o.memory) {}

agreed layout_call::agree(const layout_arguments& x, const layout_options& o, const element& e, bool lacks_memory) {
  const agreed all = running.agree(describe(x, o, e, lacks_memory), &budget);
  if (!all.uniform) refuse_disagreement(*running.comm(), {from, to, options, e.size, change, x.part, x.in_one_array});
  return all;
}

proposal layout_call::describe(const layout_arguments& x, const layout_options& o, const element& e,
                               bool lacks_memory) {
  proposal p;
  p.algorithm = running.algorithm;
  p.memory = o.memory;
  p.max_rank_bytes = x.held;
  fingerprint all;
  all.add(choices_of(choices(o)));
  p.choices = all.value();
  if (lacks_memory) {
    p.invalid = out_of_memory();
    return p;
  }
  try {
    p.invalid = check(x, o, e, running.comm()->rank(), running.comm()->size());
    if (p.invalid) return p;
    const number_kind kind = number_change::is_requested(o) ? number_kind_of(x.type) : number_kind::none;
    if (const auto wrong = number_change::invalid(kind, o); !wrong.empty()) {
      p.invalid = invalid_argument{wrong, kind == number_kind::none ? MPI_ERR_TYPE : MPI_ERR_ARG};
      return p;
    }
    change = number_change(kind, o);
    from = *x.from;
    to = *x.to;
    options = o;
  } catch (const std::bad_alloc&) {
    p.invalid = out_of_memory();
    return p;
  }
  layout_access::add_to(all, from);
  layout_access::add_to(all, to);
  all.add(std::span<const int>(o.axes));
  for (const auto* list : {&o.from_begin, &o.to_begin, &o.extents})
    for (std::size_t d = 0; d < from.dimensions().size(); ++d) all.add(list->empty() ? -1 : (*list)[d]);
  all.add(e.size);
  change.add_to(all);
  all.add(x.part.part);
  all.add(x.part.shift);
  all.add(x.in_one_array);
  p.max_block_bytes = p.min_block_bytes = all.value() >> 1U;
  return p;
}

void layout_call::refuse(std::size_t needed, std::size_t usual, std::size_t allowed) const {
  const mpi::communicator& comm = *running.comm();
  int who = options.memory <= allowed ? comm.rank() : comm.size();
  mpi::allreduce(who, MPI_MIN, comm.get());
  std::array<char, 80> what{};
  const auto end =
      fmt::format_to_n(what.data(), what.size(), "a redistribution between layouts, limited by rank {},", who);
  throw_memory_needed({what.data(), std::min(end.size, what.size())}, needed, usual, allowed);
}

std::size_t layout_call::copies() const noexcept {
  const std::size_t numbers = options.from_begin.size() + options.to_begin.size() + options.extents.size();
  return layout_access::bytes(from) + layout_access::bytes(to) + options.axes.size() * sizeof(int) +
         numbers * sizeof(count_t);
}

redistribute_options layout_call::choices(const layout_options& o) {
  redistribute_options r;
  r.progress = o.progress;
  r.on_timeout = o.on_timeout;
  r.timeout = o.timeout;
  r.in_flight = o.in_flight;
  return r;
}

}  // namespace detail

namespace {

class two_array_mover final : public layout_mover, private layout_call {
 public:
  two_array_mover(const layout_arguments&, const layout_options& o) : layout_call(o) {}
  ~two_array_mover() override { running.forget(); }

  void begin(const layout_arguments& x, const layout_options& o, bool lacks_memory) {
    enter(x, o, lacks_memory, [&](const element& e, const agreed& all) { prepare(as_size(e.size), x.part, all); });
    set_data(x.from_array, x.to_array);
  }

  void set_data(const void* from_array, void* to_array) override {
    auto* const read = static_cast<std::byte*>(const_cast<void*>(from_array));  // only read
    transfer->set_arrays(here->at(read), there->at(static_cast<std::byte*>(to_array)));
  }

  void start() override {
    running.check_idle("the redistribution");
    forget_map();
    transfer->begin_again();
    or_keep_map([&] { running.start([&]() -> operation& { return *transfer; }, by_thread(choices(options))); });
    pending = true;
  }
  bool test() override {
    return !pending || (or_keep_map([&] { return running.test(); }) && ended());
  }
  void wait() override {
    if (!pending) return;
    or_keep_map([&] { running.wait(); });
    ended();
  }
  [[nodiscard]] std::size_t peak() const noexcept override { return budget.peak(); }

 private:
  // Allocates everything, the same on all ranks but for their places.
  void prepare(std::size_t size, const written_part& part, const agreed& all) {
    const std::size_t n = from.dimensions().size();
    const std::size_t held = copies() + layout_shape::bytes(n) + 2 * local_side::bytes(n);
    sizes = transfer_sizes::within(all.memory - std::min<std::size_t>(all.memory, held), n, size, options.in_flight);
    need(held + sizes.bytes(n, size), all.memory,
         [&] { return held + transfer_sizes::enough(n, size, options.in_flight); });
    element_bytes = size;
    whole_chunks = part.part == written_part::kind::all;
    const int tag = tags.take(*running.comm());
    budget.charge(copies());
    shape.emplace(from, to, options, &budget);
    const int rank = running.comm()->rank();
    shape->set_from(here.emplace(n, &budget), rank, static_cast<count_t>(size));
    shape->set_to(there.emplace(n, &budget), rank, static_cast<count_t>(size));
    transfer.emplace(*shape, sizes, size, part, change, *running.comm(), tag, &budget);
  }

  // With the map of whole data if the step throws. A part of a matrix has none.
  template <class Step>
  std::invoke_result_t<Step> or_keep_map(Step step) {
    try {
      return step();
    } catch (...) {
      pending = false;
      if (whole_chunks)
        keep_map_of([&] {
          return [move = failed(element_bytes), sizes = sizes, done = transfer->done()] {
            return move.between_arrays(sizes, done);
          };
        });
      throw;
    }
  }

  bool ended() {
    pending = false;
    running.account([&](statistics& s) { transfer->account(s); }, budget.peak());
    return true;
  }

  mpi::plan_tags tags;
  std::optional<layout_shape> shape;
  std::optional<local_side> here;   // this rank's array in the source
  std::optional<local_side> there;  // and in the target
  std::optional<layout_transfer> transfer;
  transfer_sizes sizes;
  std::size_t element_bytes = 0;
  bool whole_chunks = true;
  bool pending = false;
};

}  // namespace

layout_redistribution::layout_redistribution(const layout_arguments& x, const layout_options& o) {
  check_communicator(x.comm, "redistribution");
  mover_ = x.in_one_array ? layout_access::mover_in_one_array(x, o) : begin_together<two_array_mover>(x, o);
}
layout_redistribution::layout_redistribution(const void* from_array, const layout& from, void* to_array,
                                             const layout& to, MPI_Datatype type, MPI_Comm comm,
                                             const layout_options& o)
    : layout_redistribution(layout_access::make(
          {.from_array = from_array, .from = &from, .to_array = to_array, .to = &to, .type = type, .comm = comm}, o)) {}
layout_redistribution::layout_redistribution(void* data, const layout& from, const layout& to, MPI_Datatype type,
                                             MPI_Comm comm, const layout_options& o)
    : layout_redistribution(layout_access::make({.from_array = data,
                                                 .from = &from,
                                                 .to_array = data,
                                                 .to = &to,
                                                 .type = type,
                                                 .comm = comm,
                                                 .in_one_array = true},
                                                o)) {}
layout_redistribution::layout_redistribution(layout_redistribution&&) noexcept = default;
layout_redistribution& layout_redistribution::operator=(layout_redistribution&&) noexcept = default;
layout_redistribution::~layout_redistribution() = default;

void layout_redistribution::start() { mover_->start(); }
bool layout_redistribution::test() { return mover_->test(); }
void layout_redistribution::wait() { mover_->wait(); }
void layout_redistribution::operator()() {
  mover_->start();
  mover_->wait();
}
void layout_redistribution::set_data(const void* from_array, void* to_array) { mover_->set_data(from_array, to_array); }
std::size_t layout_redistribution::peak_memory() const noexcept { return mover_->peak(); }

void redistribute(const void* from_array, const layout& from, void* to_array, const layout& to, MPI_Datatype type,
                  MPI_Comm comm, const layout_options& o) {
  layout_redistribution(from_array, from, to_array, to, type, comm, o)();
}

void detail::redistribute_sized(const void* from_array, std::size_t from_size, const layout& from, void* to_array,
                                std::size_t to_size, const layout& to, MPI_Datatype type, MPI_Comm comm,
                                const layout_options& o) {
  layout_access::make({from_array, from_size, &from, to_array, to_size, &to, type, comm, nullptr, {}}, o)();
}

}  // namespace taquin
