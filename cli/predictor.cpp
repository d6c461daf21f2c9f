#include "cli/predictor.hpp"

#include "cli/offline.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"

namespace taquin::cli {

namespace {

const machine_model& known_model() { return detail::chooser::of(mpi::communicator::of(MPI_COMM_WORLD)).known().model; }

}  // namespace

predictor::predictor(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                     buffering how, bool persistent, std::size_t limit)
    : shape_(offline_shape(w, size, kind, how)),
      separate_(offline_shape(w, size, kind, buffering::separate)),
      persistent_(persistent) {
  const auto nodes = detail::nodes_of(mpi::communicator::of(MPI_COMM_WORLD), {});
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

}  // namespace taquin::cli
