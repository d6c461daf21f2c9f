#include "cli/redistribute_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <memory_resource>

#include "cli/command.hpp"
#include "cli/redistribution_race.hpp"
#include "harness/measure.hpp"
#include "harness/predictor.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/chunk_walk.hpp"
#include "layouts/copy_chunk.hpp"
#include "layouts/shape.hpp"
#include "mpi/check.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin::cli {

namespace {

// One rank's part of the array: fills it and compares it, and moves it as a program would without taquin.
class layout_problem_of_rank {
 public:
  layout_problem_of_rank(layout from, layout to, layout_options o, std::size_t element, int rank, int ranks)
      : from_(std::move(from)),
        to_(std::move(to)),
        options_(std::move(o)),
        element_(element),
        rank_(rank),
        ranks_(ranks),
        source_(static_cast<std::size_t>(from_.local_size(rank)) * element),
        target_(static_cast<std::size_t>(std::max(from_.local_size(rank), to_.local_size(rank))) * element) {}

  void fill() {
    for_each(from_, {}, [&](std::size_t at, std::uint64_t value) { put(&source_[at], value); });
    std::ranges::fill(target_, std::byte{0});
  }
  [[nodiscard]] count_t wrong_bytes() {
    count_t wrong = 0;
    std::vector<std::byte> want(element_);
    for_each(to_, options_.axes, [&](std::size_t at, std::uint64_t value) {
      put(want.data(), value);
      for (std::size_t b = 0; b < element_; ++b) wrong += target_[at + b] != want[b] ? 1 : 0;
    });
    return wrong;
  }

  // Packs all, exchanges, unpacks all.
  void by_hand() {
    auto* const heap = std::pmr::new_delete_resource();
    const detail::layout_shape shape(from_, to_, options_, heap);
    const std::size_t n = from_.dimensions().size();
    detail::local_side here(n, heap);
    detail::local_side there(n, heap);
    shape.set_from(here, rank_, static_cast<count_t>(element_));
    shape.set_to(there, rank_, static_cast<count_t>(element_));
    constexpr std::size_t runs = 512;
    const auto chunk = static_cast<count_t>(std::max<std::size_t>(65536 / element_, 1));
    detail::chunk_walk walk(shape.problem, chunk, runs, heap);
    detail::chunk_copier copier(n, element_, heap);
    std::vector<std::byte> packed(source_.size());
    std::vector<std::byte> arrived(target_.size());
    std::vector<count_t> sent(static_cast<std::size_t>(ranks_), 0);
    std::vector<count_t> received(sent);
    std::vector<count_t> send_at(sent);
    std::vector<count_t> receive_at(sent);
    const auto go = [&](bool sends, auto move) {
      std::vector<int> mine(n);
      std::vector<int> other(n);
      sends ? shape.sender(rank_, mine) : shape.receiver(rank_, mine);
      for (int r = 0; r < ranks_ && mine.front() != detail::outside_grid; ++r) {
        sends ? shape.receiver(r, other) : shape.sender(r, other);
        if (other.front() == detail::outside_grid) continue;
        if (sends ? walk.begin(mine, other) : walk.begin(other, mine)) do {
            move(static_cast<std::size_t>(r), static_cast<std::size_t>(walk.elements()) * element_);
          } while (walk.next());
      }
    };
    std::size_t at = 0;
    go(true, [&](std::size_t r, std::size_t bytes) {
      copier.pack(walk, here.at(source_.data()), packed.data() + at);
      at += bytes;
      sent[r] += static_cast<count_t>(bytes);
    });
    go(false, [&](std::size_t r, std::size_t bytes) { received[r] += static_cast<count_t>(bytes); });
    for (std::size_t r = 1; r < sent.size(); ++r) {
      send_at[r] = send_at[r - 1] + sent[r - 1];
      receive_at[r] = receive_at[r - 1] + received[r - 1];
    }
    alltoallv(packed.data(), sent.data(), send_at.data(), MPI_BYTE, arrived.data(), received.data(), receive_at.data(),
              MPI_BYTE, MPI_COMM_WORLD, {.algorithm = "native"});
    at = 0;
    go(false, [&](std::size_t, std::size_t bytes) {
      copier.unpack(walk, arrived.data() + at, there.at(target_.data()));
      at += bytes;
    });
  }

  // A redistribution in one array begins where the target is.
  void begin_in_target() { std::ranges::copy(source_, target_.begin()); }

  [[nodiscard]] const std::byte* source() const { return source_.data(); }
  [[nodiscard]] std::byte* target() { return target_.data(); }
  [[nodiscard]] const layout& from() const { return from_; }
  [[nodiscard]] const layout& to() const { return to_; }
  [[nodiscard]] std::size_t element() const { return element_; }
  [[nodiscard]] count_t bytes() const { return static_cast<count_t>(source_.size()); }
  [[nodiscard]] const layout_options& options() const { return options_; }

 private:
  void put(std::byte* to, std::uint64_t value) const {
    for (std::size_t b = 0; b < element_; ++b) to[b] = static_cast<std::byte>(value >> (b % 8 * 8));
  }

  // Calls f(byte offset, value) for each element that this rank has, by the number of the element in the source.
  template <class F>
  void for_each(const layout& l, const std::vector<int>& axes, F f) {
    const auto& dimensions = l.dimensions();
    const std::size_t n = dimensions.size();
    std::vector<int> at(n);
    detail::layout_access::coordinates(l, rank_, at);
    if (at.front() == detail::outside_grid) return;
    std::vector<std::vector<std::uint64_t>> part(n);  // of an index of a dimension, in the element's number
    std::vector<std::uint64_t> weight(n, 1);
    for (std::size_t d = n - 1; d-- > 0;)
      weight[d] = weight[d + 1] * static_cast<std::uint64_t>(from_.dimensions()[d + 1].extent);
    for (std::size_t s = 0; s < n; ++s) {
      const std::size_t d = axes.empty() ? s : static_cast<std::size_t>(axes[s]);
      for (count_t i = 0; i < dimensions[d].extent;) {
        const detail::index_block b = detail::block_behind(dimensions[d], at[d], i);
        for (count_t k = b.begin; k < b.end; ++k) part[d].push_back(weight[s] * static_cast<std::uint64_t>(k));
        i = std::max(b.end, i + 1);
      }
    }
    if (std::ranges::any_of(part, [](const auto& p) { return p.empty(); })) return;
    std::vector<std::size_t> index(n, 0);
    for (std::size_t offset = 0;; offset += element_) {
      std::uint64_t number = 1;
      for (std::size_t d = 0; d < n; ++d) number += part[d][index[d]];
      f(offset, number * 0x9e3779b97f4a7c15U);
      std::size_t k = n;
      while (k-- > 0) {
        const auto d = static_cast<std::size_t>(detail::layout_access::axis(l, k));
        if (++index[d] < part[d].size()) break;
        index[d] = 0;
      }
      if (k == static_cast<std::size_t>(-1)) return;
    }
  }

  layout from_;
  layout to_;
  layout_options options_;
  std::size_t element_;
  int rank_;
  int ranks_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
};

constexpr std::string_view one_array = "in_one_array";

double repetition(layout_problem_of_rank& p, contender& c) {
  p.fill();
  if (c.requested == one_array) p.begin_in_target();
  const double seconds = timed(c.calls.front());
  c.wrong += p.wrong_bytes();
  return seconds;
}

// `figures` are of each record.
int execute_redistribute_layouts(const layout_arguments& a, layout_problem_of_rank& problem, MPI_Datatype type,
                                 int ranks, const nlohmann::json& figures) {
  count_t most = problem.bytes();
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  setting s{.workload = "layouts",
            .collective = "redistribute",
            .ranks = ranks,
            .in_place = false,
            .bytes_per_rank = most,
            .memory_limit = memory_choice::parse(a.memory).limit(most)};
  std::vector<contender> contenders(3);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  contenders[0].calls.emplace_back([&] { problem.by_hand(); });
  contenders[1].requested = "layouts";
  contenders[2].requested = one_array;
  layout_options o = problem.options();
  o.memory = s.memory_limit;
  const seconds predicted = predict_layouts(problem.from(), problem.to(), o, problem.element());
  try {
    o.stats = &contenders[1].stats;
    auto object = std::make_shared<layout_redistribution>(problem.source(), problem.from(), problem.target(),
                                                          problem.to(), type, MPI_COMM_WORLD, o);
    contenders[1].calls.emplace_back([object] { (*object)(); });
  } catch (const budget_exceeded& e) {
    contenders[1].fault = e.what();
  }
  try {
    o.stats = nullptr;
    problem.fill();
    problem.begin_in_target();
    redistribute(problem.target(), problem.from(), problem.to(), type, MPI_COMM_WORLD, o);
    o.stats = &contenders[2].stats;
    contenders[2].calls.emplace_back(
        [&, o] { redistribute(problem.target(), problem.from(), problem.to(), type, MPI_COMM_WORLD, o); });
  } catch (const budget_exceeded& e) {
    contenders[2].fault = e.what();
  }
  return race_redistributions(
      s, contenders, a.repetitions, a.json, [&](contender& one) { return repetition(problem, one); },
      [&](nlohmann::json& record, const contender& one) {
        if (!one.fault)
          record["predicted_s"] = one.requested == "layouts" ? nlohmann::json(predicted) : nlohmann::json();
        record["shape"] = a.flags.shape;
        record["from"] = a.flags.from;
        record["to"] = a.flags.to;
        record.update(figures);
      });
}

}  // namespace

int redistribute_layouts(const layout_arguments& a) {
  layout_move move(a.flags);
  return in_session([&](int rank, int ranks) {
    move.check(ranks);
    const layout better = move.to.relabelled(move.from, ranks, move.options);
    const count_t saved = move.bytes_moved(move.to) - move.bytes_moved(better);
    if (a.relabel) move.to = better;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TAQUIN_MPI(MPI_Type_contiguous(static_cast<int>(move.element), MPI_BYTE, &type));
    TAQUIN_MPI(MPI_Type_commit(&type));
    layout_problem_of_rank problem(move.from, move.to, move.options, move.element, rank, ranks);
    const int status = execute_redistribute_layouts(
        a, problem, type, ranks, {{"bytes_moved", move.bytes_moved(move.to)}, {"bytes_saved", saved}});
    TAQUIN_MPI(MPI_Type_free(&type));
    if (rank == 0 && a.json.empty() && saved > 0)
      fmt::print("\n{} {} of those that change ranks: layout::relabelled\n",
                 a.relabel ? "other ranks for the target saved" : "other ranks for the target (--relabel) would save",
                 show_size(saved));
    return status;
  });
}

}  // namespace taquin::cli
