#include "cli/predictor.hpp"

#include "cli/offline.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"

namespace taquin::cli {

predictor::predictor(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                     buffering how, bool persistent, std::size_t limit)
    : shape_(offline_shape(w, size, kind, how)), persistent_(persistent) {
  describe(detail::nodes_of(mpi::communicator::of(MPI_COMM_WORLD), {})->topology, shape_);
  shape_.shared = shape_.nodes == 1;
  shape_.memory_limit = limit;
}

std::optional<seconds> predictor::operator()(std::string_view algorithm, const options& o) const {
  return (*this)(algorithm, o, detail::chooser::of(mpi::communicator::of(MPI_COMM_WORLD)).known().model);
}

std::optional<seconds> predictor::operator()(std::string_view algorithm, const options& o,
                                             const machine_model& model) const {
  const detail::algorithm* a = detail::find_algorithm(algorithm);
  if (a == nullptr || !a->supports(shape_)) return std::nullopt;
  return detail::predict(*a, shape_, o, persistent_, {model, {}});
}

}  // namespace taquin::cli
