#include "simulation/layout_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory_resource>
#include <vector>

#include "base/sizes.hpp"
#include "layouts/arguments.hpp"
#include "layouts/common.hpp"
#include "layouts/shape.hpp"
#include "layouts/transfer.hpp"
#include "model/terms.hpp"
#include "schedule/schedule.hpp"
#include "simulation/evaluate.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// The messages of one rank in one direction, within its node (0) and to other nodes (1).
struct load {
  std::array<double, 2> messages{};
  std::array<double, 2> bytes{};
  double longest = 0;
  double runs = 0;
  double own = 0;

  [[nodiscard]] double all_messages() const noexcept { return messages[0] + messages[1]; }
  [[nodiscard]] double all_bytes() const noexcept { return bytes[0] + bytes[1]; }
};

class layout_simulation {
 public:
  layout_simulation(const layout& from, const layout& to, const layout_options& o, std::size_t element,
                    const topology& nodes, const machine_model& m)
      : from_(from),
        to_(to),
        options_(o),
        element_(static_cast<count_t>(element)),
        nodes_(nodes.nodes()),
        model_(m),
        ranks_(static_cast<int>(nodes_.group.size())),
        shape_(from, to, o, std::pmr::new_delete_resource()),
        sizes_(transfer_sizes::within(o.memory, from.dimensions().size(), element, o.in_flight)),
        terms_({.ranks = ranks_}, m) {}

  [[nodiscard]] layout_time slowest() const {
    layout_time t;
    for (const int rank : {0, ranks_ / 2, ranks_ - 1}) {
      const load sent = load_of(rank, true);
      const load received = load_of(rank, false);
      if (const auto bytes = static_cast<count_t>(sent.all_bytes()); bytes > t.bytes || t.messages == 0) {
        t.bytes = bytes;
        t.messages = static_cast<count_t>(sent.all_messages());
      }
      t.formula = std::max(t.formula, time(sent, received, rank));
    }
    return t;
  }

  // None: there are too many messages.
  [[nodiscard]] std::optional<seconds> run(count_t most_messages) const {
    std::vector<schedule> all;
    all.reserve(as_size(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      schedule& s = all.emplace_back(std::pmr::new_delete_resource());
      s.add_type(element::bytes(1));
      for (const bool sends : {false, true}) {
        const layout_peers peers = peers_of(rank, sends);
        if ((most_messages -= peers.count()) < 0) return std::nullopt;
        count_t bytes = 0;
        peers.each([&](int peer, count_t elements) {
          bytes += elements * element_;
          if (peer == rank) return;
          for (count_t left = elements; left > 0; left -= sizes_.elements) {
            --most_messages;
            const region chunk = bytes_at(std::min(left, sizes_.elements) * element_);
            sends ? s.send(peer, chunk) : s.recv(peer, chunk);
          }
        });
        if (most_messages < 0) return std::nullopt;
        if (bytes > 0) s.add_copy(bytes_at(bytes), bytes_at(bytes));  // packed, and unpacked
      }
      s.end_round();
    }
    std::vector<const schedule*> pointers;
    pointers.reserve(all.size());
    for (const schedule& s : all) pointers.push_back(&s);
    return evaluate_slowest(pointers, model_, nodes_.group);
  }

 private:
  [[nodiscard]] layout_peers peers_of(int rank, bool sends) const {
    return {shape_, from_, to_, options_, rank, sends};
  }

  [[nodiscard]] load load_of(int rank, bool sends) const {
    load l;
    const double run = std::min(run_length(from_, shape_.problem.order.back()),
                                run_length(to_, there(as_size(shape_.problem.fastest_there))));
    peers_of(rank, sends).each([&](int peer, count_t elements) {
      const auto bytes = static_cast<double>(elements * element_);
      l.runs += std::max(static_cast<double>(elements) / run, 1.0);
      if (peer == rank) {
        l.own += bytes;
        return;
      }
      const std::size_t level = nodes_.group[as_size(peer)] == nodes_.group[as_size(rank)] ? 0 : 1;
      l.messages[level] += std::ceil(static_cast<double>(elements) / static_cast<double>(sizes_.elements));
      l.bytes[level] += bytes;
      l.longest = std::max(l.longest, static_cast<double>(std::min(elements, sizes_.elements) * element_));
    });
    return l;
  }

  [[nodiscard]] int there(std::size_t d) const {
    return options_.axes.empty() ? static_cast<int>(d) : options_.axes[d];
  }
  // Consecutive indices of one process, about.
  static double run_length(const layout& l, int d) {
    const dimension& x = l.dimensions()[as_size(d)];
    const count_t even = std::max<count_t>(x.extent / x.processes, 1);
    return static_cast<double>(x.block > 0 ? std::min(x.block, std::max<count_t>(x.extent, 1)) : even);
  }

  // Windows of chunks one after the other, and all that the rank's core does to them.
  [[nodiscard]] seconds time(const load& sent, const load& received, int rank) const {
    seconds t = terms_.packs(sent.runs, sent.all_bytes()) + terms_.packs(received.runs, received.all_bytes()) +
                terms_.copies(1, sent.own);
    const auto group = as_size(nodes_.group[as_size(rank)]);
    const double on_node = nodes_.first[group + 1] - nodes_.first[group];
    for (const int level : {0, 1}) {
      const auto k = static_cast<std::size_t>(level);
      const load& most = sent.messages[k] >= received.messages[k] ? sent : received;
      const double messages = most.messages[k];
      if (messages <= 0) continue;
      const double window = std::min(messages, static_cast<double>(sizes_.buffers));
      t += messages / window *
           terms_.round_on(level, window, most.bytes[k] * window / messages, most.longest, level == 0 ? 1 : on_node);
    }
    return t;
  }

  const layout& from_;
  const layout& to_;
  const layout_options& options_;
  count_t element_;
  const level& nodes_;
  const machine_model& model_;
  int ranks_;
  layout_shape shape_;
  transfer_sizes sizes_;
  terms terms_;
};

}  // namespace

layout_time time_of(const layout& from, const layout& to, const layout_options& o, std::size_t element,
                    const topology& nodes, const machine_model& m, count_t most_messages) {
  if (const auto wrong = invalid_part(from, to, o); !wrong.empty()) throw usage_error(wrong, MPI_ERR_ARG);
  const layout_simulation all(from, to, o, element, nodes, m);
  layout_time t = all.slowest();
  if (most_messages > 0) t.run = all.run(most_messages);
  return t;
}

}  // namespace taquin::detail
