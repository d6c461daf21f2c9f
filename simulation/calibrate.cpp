#include "simulation/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <thread>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "select/profile.hpp"
#include "simulation/calibrate_line.hpp"

namespace taquin::detail {

namespace {

constexpr int tag = 0;
constexpr int most_in_train = 64;  // consecutive messages
constexpr int least_in_train = 4;
constexpr count_t train_bytes = count_t{16} << 20;

seconds median(std::vector<seconds> v) { return percentiles(std::move(v)).median; }

// Enough repetitions for a median, few enough for large messages.
int repetitions(count_t bytes) { return bytes <= 65536 ? 60 : 16; }

// Large messages fill the link with a few.
int train_of(count_t bytes) {
  return static_cast<int>(std::clamp<count_t>(train_bytes / bytes, least_in_train, most_in_train));
}

// Bytes of the longest of messages up to `most`.
count_t longest_train(count_t most) {
  return std::max(std::min(most * most_in_train, train_bytes), most * least_in_train);
}

void work(seconds duration) {
  const double end = PMPI_Wtime() + duration;
  while (PMPI_Wtime() < end) {
  }
}

/// Both ends of a pair run the same functions: `first` leads.
class pair_meter {
 public:
  pair_meter(MPI_Comm comm, int other, bool first, count_t most)
      : comm_(comm), other_(other), first_(first), buffer_(as_size(longest_train(most))) {}

  message_sample measure(count_t bytes) {
    bytes_ = static_cast<int>(bytes);
    message_sample s;
    s.bytes = bytes;
    for (int i = 0; i < 5; ++i) round_trip();  // warm up: connections, caches
    std::vector<seconds> one_way, one, train, send_overhead, receive_overhead;
    const int length = train_of(bytes);
    for (int i = 0; i < repetitions(bytes); ++i) {
      one_way.push_back(round_trip() / 2);
      one.push_back(saturate(1));
      train.push_back(saturate(length));
    }
    const seconds delay = 2 * median(one_way);
    for (int i = 0; i < repetitions(bytes); ++i) {
      send_overhead.push_back(time_send(delay));
      receive_overhead.push_back(time_receive(delay));
    }
    s.one_way = median(one_way);
    s.uncertainty = uncertainty_of(one_way);
    s.gap = std::max(0.0, (median(train) - median(one)) / (length - 1));
    s.send_overhead = std::min(median(send_overhead), s.one_way);
    s.receive_overhead = std::min(median(receive_overhead), s.one_way);
    return s;
  }

 private:
  void send(std::size_t slot = 0) { TAQUIN_MPI(PMPI_Send(at(slot), bytes_, MPI_BYTE, other_, tag, comm_)); }
  void receive(std::size_t slot = 0) {
    TAQUIN_MPI(PMPI_Recv(at(slot), bytes_, MPI_BYTE, other_, tag, comm_, MPI_STATUS_IGNORE));
  }
  std::byte* at(std::size_t slot) { return buffer_.data() + slot * as_size(bytes_); }
  void signal() { TAQUIN_MPI(PMPI_Send(nullptr, 0, MPI_BYTE, other_, tag, comm_)); }
  void await() { TAQUIN_MPI(PMPI_Recv(nullptr, 0, MPI_BYTE, other_, tag, comm_, MPI_STATUS_IGNORE)); }

  seconds round_trip() {
    const double begin = PMPI_Wtime();
    if (first_) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    return PMPI_Wtime() - begin;
  }

  // Saturation: a train of messages and one answer. Each further message adds the gap: the latency and the answer are
  // in any train.
  seconds saturate(int length) {
    std::array<MPI_Request, most_in_train> all;
    const std::span requests(all.data(), as_size(length));
    const double begin = PMPI_Wtime();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (first_) {
        TAQUIN_MPI(PMPI_Isend(at(i), bytes_, MPI_BYTE, other_, tag, comm_, &requests[i]));
      } else {
        TAQUIN_MPI(PMPI_Irecv(at(i), bytes_, MPI_BYTE, other_, tag, comm_, &requests[i]));
      }
    }
    TAQUIN_MPI(PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    if (first_) {
      await();
    } else {
      signal();
    }
    return PMPI_Wtime() - begin;
  }

  // The sender's part: the call, and its completion after work that is longer than the message's latency.
  seconds time_send(seconds delay) {
    if (!first_) {
      receive();
      signal();
      return 0;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    double begin = PMPI_Wtime();
    TAQUIN_MPI(PMPI_Isend(at(0), bytes_, MPI_BYTE, other_, tag, comm_, &request));
    seconds busy = PMPI_Wtime() - begin;
    work(delay);
    begin = PMPI_Wtime();
    TAQUIN_MPI(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    busy += PMPI_Wtime() - begin;
    await();
    return busy;
  }

  // The receiver's part: the message arrives while this side works. It is measured at the sender, from the answer, as
  // by Kielmann et al.
  seconds time_receive(seconds delay) {
    if (!first_) {
      receive();
      send();
      return 0;
    }
    send();
    work(2 * delay);
    const double begin = PMPI_Wtime();
    receive();
    return PMPI_Wtime() - begin;
  }

  MPI_Comm comm_;
  int other_;
  bool first_;
  int bytes_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

void sleep_until_all_are_here(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  TAQUIN_MPI(PMPI_Ibarrier(comm, &request));
  for (int done = 0; done == 0;) {
    TAQUIN_MPI(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

namespace {

// Powers of two. Models are fitted to every second one, beginning with the first; the others validate them.
std::vector<message_sample> measure_pair(MPI_Comm comm, int rank, int other, count_t most) {
  std::vector<message_sample> samples;
  if (rank == 0 || rank == other) {
    pair_meter meter(comm, rank == 0 ? other : 0, rank == 0, most);
    for (count_t bytes = 1; bytes <= most; bytes *= 2) samples.push_back(meter.measure(bytes));
  }
  sleep_until_all_are_here(comm);
  std::uint64_t count = samples.size();
  TAQUIN_MPI(PMPI_Bcast(&count, 1, MPI_UINT64_T, 0, comm));
  samples.resize(count);
  TAQUIN_MPI(PMPI_Bcast(samples.data(), static_cast<int>(count * sizeof(message_sample)), MPI_BYTE, 0, comm));
  return samples;
}

/// Copies, or gathers of runs with gaps between them: per run, from cold and warm sizes equally.
local_cost measure_local(bool strided) {
  std::vector<count_t> bytes;
  std::vector<seconds> times;
  constexpr std::size_t most = std::size_t{1} << 22;
  std::vector<std::byte> from(2 * most, std::byte{1});
  std::vector<std::byte> to(most);
  for (std::size_t run = 16; run <= most; run *= 8) {
    const std::size_t runs = std::min<std::size_t>(16384, most / run);
    const std::size_t distance = most / runs;  // over all of the memory, which is larger than the nearest cache
    std::vector<seconds> t;
    for (int i = 0; i < 9; ++i) {
      const double begin = PMPI_Wtime();
      for (std::size_t k = 0; k < runs; ++k)
        std::memcpy(to.data() + k * (strided ? run : distance), from.data() + k * distance * (strided ? 2 : 1), run);
      t.push_back((PMPI_Wtime() - begin) / static_cast<double>(runs));
    }
    bytes.push_back(static_cast<count_t>(run));
    times.push_back(std::max(median(t), 1e-10));
  }
  const line l = fit_line(bytes, times);
  return {l.each, l.per_byte};
}

/// The cost of a round of all ranks beyond its messages: that of a barrier's rounds. The fastest of several batches,
/// because a rank that is not running makes all others wait.
seconds measure_wait(MPI_Comm comm, const machine_model& m, int level, int size) {
  constexpr int batch = 20;
  seconds best = 1;
  for (int i = 0; i < 20; ++i) {
    const double begin = PMPI_Wtime();
    for (int k = 0; k < batch; ++k) TAQUIN_MPI(PMPI_Barrier(comm));
    best = std::min(best, (PMPI_Wtime() - begin) / batch);
  }
  int rounds = 0;
  for (int reach = 1; reach < size; reach *= 2) ++rounds;
  const message_cost c = m.cost(level, 1);
  return std::max(0.0, best / rounds - (c.sender + c.port + c.latency + c.receiver));
}

}  // namespace

calibration calibrate(MPI_Comm user, count_t most_bytes) {
  auto& state = mpi::communicator::get_or_create(user);
  const MPI_Comm comm = state.get();
  const int rank = state.rank();
  const int size = state.size();
  calibration c;
  c.model = machine_model::built_in();
  c.model.ranks = size;
  if (size > 1) {
    const auto nodes = first_ranks_of_machines(comm);
    const std::array<bool, 2> same{true, false};
    int on_node = 0;
    for (const int n : nodes) on_node += n == nodes[0] ? 1 : 0;
    for (std::size_t level = 0; level < 2; ++level) {
      const auto other =
          std::find_if(nodes.begin() + 1, nodes.end(), [&](int n) { return (n == nodes[0]) == same[level]; });
      if (other == nodes.end()) continue;
      const auto all = measure_pair(comm, rank, static_cast<int>(other - nodes.begin()), most_bytes);
      for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? c.samples : c.checks)[level].push_back(all[i]);
      c.model.levels[level] = fit(c.samples[level]);
    }
    if (c.samples[0].empty()) c.model.levels[0] = c.model.levels[1];  // no two ranks share a node
    const auto cores = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
    c.model.ranks_per_core = std::max(1.0, on_node / cores);
    c.model.line = measure_line(comm, nodes, c.model.line);
    c.model.wait = measure_wait(comm, c.model, c.samples[1].empty() ? 0 : 1, size);
  }
  c.model.copy = measure_local(false);
  c.model.pack = measure_local(true);
  c.model.machine = machine_name();
  // Rank 0's figures hold for all.
  std::string json = to_json({c.model, {}});
  auto bytes = static_cast<int>(json.size());
  TAQUIN_MPI(PMPI_Bcast(&bytes, 1, MPI_INT, 0, comm));
  json.resize(as_size(bytes));
  TAQUIN_MPI(PMPI_Bcast(json.data(), bytes, MPI_BYTE, 0, comm));
  c.model = from_json(json).model;
  return c;
}

std::vector<fit_quality> qualities(const calibration& c) {
  std::vector<fit_quality> all;
  for (std::size_t level = 0; level < c.samples.size(); ++level) {
    if (c.samples[level].empty()) continue;
    for (const model_kind kind : all_models) {
      const fit_error e = error_of(c.model.levels[level], kind, c.checks[level]);
      all.push_back({kind, static_cast<int>(level), e.median, e.p90});
    }
  }
  return all;
}

std::string poor_fits(model_kind used, const std::vector<fit_quality>& fits) {
  constexpr std::array where{"within a node", "between nodes"};
  constexpr double percent = 100;
  std::string text;
  for (const fit_quality& f : fits) {
    if (f.kind != used || f.median <= poor_fit) continue;
    const fit_quality* best = &f;
    for (const fit_quality& other : fits)
      if (other.level == f.level && other.median < best->median) best = &other;
    text += fmt::format("warning: {} {} is off by {:.0f}% (median), above {:.0f}%: predictions by it are poor; ",
                        name_of(used), where[as_size(f.level)], percent * f.median, percent * poor_fit);
    text += best->median <= poor_fit ? fmt::format("{} is off by {:.0f}%: set \"model\" to it in the profile\n",
                                                   name_of(best->kind), percent * best->median)
                                     : std::string("no model fits better: measure again with nothing else running\n");
  }
  return text;
}

std::string doubts(const calibration& c) {
  constexpr std::array where{"within a node", "between nodes"};
  constexpr double percent = 100;
  constexpr double vague = 0.1;
  std::string text;
  for (std::size_t level = 0; level < c.samples.size(); ++level) {
    std::vector<double> spread;
    for (const auto* some : {&c.samples[level], &c.checks[level]})
      for (const message_sample& s : *some) spread.push_back(s.uncertainty);
    if (spread.empty()) continue;
    const auto vague_ones = std::ranges::count_if(spread, [&](double u) { return u > vague; });
    const auto many = spread.size();
    const fit_error u = percentiles(std::move(spread));
    text += fmt::format("{}: one-way times are known to {:.1f}% (median), {:.1f}% (90% of sizes)", where[level],
                        percent * u.median, percent * u.p90);
    if (vague_ones > 0) text += fmt::format("; {} of {} sizes to no better than 10%", vague_ones, many);
    if (const auto raised = raised_gaps(c.samples[level]); raised > 0)
      text += fmt::format(
          "; at {} of {} sizes messages follow each other faster than a single one is handled, which "
          "PLogP excludes: its gap is the overhead there",
          raised, c.samples[level].size());
    text += "\n";
  }
  return text;
}

profile profile_of(const calibration& c) {
  profile p{.model = c.model, .points = {}};
  p.fits = qualities(c);
  p.made_on = this_hardware();
  return p;
}

}  // namespace taquin::detail
