#include "harness/predictor.hpp"

#include <array>

#include "harness/offline.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"
#include "simulation/layout_time.hpp"

namespace taquin::harness {

namespace {

const machine_model& known_model() {
  return detail::chooser::get_or_create(mpi::communicator::get_or_create(MPI_COMM_WORLD)).known().model;
}

}  // namespace

predictor::predictor(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                     buffering how, bool persistent, std::size_t limit)
    : shape_(offline_shape(w, size, kind, how)),
      separate_(offline_shape(w, size, kind, buffering::separate)),
      persistent_(persistent) {
  const auto nodes = detail::nodes_of(mpi::communicator::get_or_create(MPI_COMM_WORLD), {});
  for (detail::shape* s : {&shape_, &separate_}) {
    describe(nodes->topology, *s);
    s->shared = s->nodes == 1;
    s->memory_limit = limit;
  }
}

std::optional<seconds> predictor::operator()(std::string_view algorithm, const options& o) const {
  return of(algorithm, shape_, o, known_model());
}

std::optional<seconds> predictor::native() const { return of("native", separate_, {}, known_model()); }

std::optional<seconds> predictor::operator()(std::string_view algorithm, const options& o,
                                             const machine_model& model) const {
  return of(algorithm, shape_, o, model);
}

std::optional<seconds> predictor::of(std::string_view algorithm, const detail::shape& s, const options& o,
                                     const machine_model& model) const {
  const detail::algorithm* a = detail::find_algorithm(algorithm);
  if (a == nullptr || !a->supports(s)) return std::nullopt;
  return detail::predict(*a, s, o, persistent_, {model, {}});
}

seconds predict_layouts(const layout& from, const layout& to, const layout_options& o, std::size_t element) {
  constexpr count_t most_messages = 100000;
  const auto nodes = detail::nodes_of(mpi::communicator::get_or_create(MPI_COMM_WORLD), {});
  const auto t = detail::time_of(from, to, o, element, nodes->topology, known_model(), most_messages);
  return t.run.value_or(t.formula);
}

replay_predictor::replay_predictor(const test_case& test, bool persistent, std::size_t limit) : limit_(limit) {
  for (const problem& p : test.calls()) {
    if (!p.takes_part()) continue;
    mpi::communicator& comm = mpi::communicator::get_or_create(p.comm());
    detail::shape s = p.shape();
    describe(detail::nodes_of(comm, {})->topology, s);
    s.memory_limit = limit;
    const auto& known = detail::chooser::get_or_create(comm).known();
    if (p.leads())
      calls_.push_back({s,
                        p.how() == buffering::one_buffer,
                        persistent || p.called().form != workloads::call_form::blocking,
                        p.repeats(),
                        {known.model, {}}});
  }
}

std::optional<seconds> replay_predictor::of(const led& call, std::string_view algorithm, const options& o,
                                            bool raw) const {
  detail::shape s = call.shape;
  if (raw && call.one_buffer) s.in_place = s.one_unit = false;
  const detail::algorithm* a = detail::find_algorithm(raw ? "native" : algorithm);
  if (a == nullptr || !a->supports(s)) a = detail::select(s, o, call.plan, limit_, call.known);
  if (a == nullptr) return std::nullopt;
  return static_cast<double>(call.repeats) * detail::predict(*a, s, o, call.plan, call.known);
}

std::optional<seconds> replay_predictor::operator()(std::string_view algorithm, const options& o, bool raw) const {
  std::array<double, 2> sums{};  // seconds; calls without
  for (const led& call : calls_) {
    const auto one = of(call, algorithm, o, raw);
    sums[0] += one.value_or(0);
    sums[1] += one ? 0 : 1;
  }
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  return sums[1] == 0 ? std::optional(sums[0]) : std::nullopt;
}

}  // namespace taquin::harness
