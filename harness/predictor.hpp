// The model's prediction for a measured exchange, so that both can be drawn in one plot.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exchange/shape.hpp"
#include "harness/cases.hpp"
#include "harness/problem.hpp"
#include "select/selection.hpp"
#include "taquin/layout.hpp"
#include "taquin/options.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

class predictor {
 public:
  /// Collective over the world: its nodes are detected.
  predictor(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind, buffering how,
            bool persistent, std::size_t limit);

  /// By the formulas of the model that auto goes by (TAQUIN_PROFILE, or the built-in one), never by measured points;
  /// the agreement of a blocking call is not in it. None for a name that is not in the list, or that does not serve.
  /// Collective over the world when it is first called.
  [[nodiscard]] std::optional<seconds> operator()(std::string_view algorithm, const options& o) const;
  /// The MPI library's own call, which is measured out of place. The same of the same ranks.
  [[nodiscard]] std::optional<seconds> native() const;
  /// As the first, by another model. Local.
  [[nodiscard]] std::optional<seconds> operator()(std::string_view algorithm, const options& o,
                                                  const machine_model& model) const;

 private:
  [[nodiscard]] std::optional<seconds> of(std::string_view algorithm, const detail::shape& s, const options& o,
                                          const machine_model& model) const;
  detail::shape shape_;
  detail::shape separate_;  // the same with two buffers
  bool persistent_;
};

/// The same for a redistribution of elements of `element` bytes from one layout to another, from array to array.
/// Collective over the world.
seconds predict_layouts(const layout& from, const layout& to, const layout_options& o, std::size_t element);

/// The model's prediction for a recording's calls, one after the other, each as often as it was recorded.
class replay_predictor {
 public:
  /// Collective over the world.
  replay_predictor(const test_case& test, bool persistent, std::size_t limit);

  /// The sum over all calls. Those that `algorithm` does not serve, or all for auto, go by what auto would take; `raw`:
  /// the MPI library's own calls. None where a call cannot be predicted. Collective over the world.
  [[nodiscard]] std::optional<seconds> operator()(std::string_view algorithm, const options& o, bool raw) const;

 private:
  // A call that this rank leads: the other members know the same of it.
  struct led {
    detail::shape shape;
    bool one_buffer;
    bool plan;  // made before it is started
    std::uint64_t repeats;
    detail::profile known;
  };
  [[nodiscard]] std::optional<seconds> of(const led& call, std::string_view algorithm, const options& o,
                                          bool raw) const;
  std::vector<led> calls_;
  std::size_t limit_;
};

}  // namespace taquin::harness
