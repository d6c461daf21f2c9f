// Limits of the machine, and the share of them that an exchange reaches: MPI_Alltoall by taquin and by the MPI library,
// interleaved with the time to hand a cache line from core to core, and with one copy of the same bytes by every rank
// at the same time, out of memory that ranks share and out of another process. No exchange on a node takes less than a
// line's way and the shorter of these copies; one whose blocks lie in the processes' own memory, the copy out of
// another process, or two copies through shared memory. Among hosts: a message from the first rank to the last.
//   mpirun -n 2 bench_limits > results/limits/NAME.json
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "node/single_copy.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::harness {
namespace {

using detail::as_size;

struct settings {
  std::vector<int> sizes{8, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  int repetitions = 200;
};

constexpr std::size_t line = 64;

// Memory of each rank that the others of its node see.
class shared_memory {
 public:
  shared_memory(MPI_Comm node, std::size_t bytes) {
    void* mine = nullptr;
    TAQUIN_MPI(MPI_Win_allocate_shared(static_cast<MPI_Aint>(line + bytes), 1, MPI_INFO_NULL, node, &mine, &window_));
    std::memset(mine, 0, line + bytes);
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory() { MPI_Win_free(&window_); }

  // A line of its own at the beginning, then the bytes.
  [[nodiscard]] std::byte* of(int rank) const {
    MPI_Aint size = 0;
    int unit = 0;
    void* at = nullptr;
    TAQUIN_MPI(MPI_Win_shared_query(window_, rank, &size, &unit, &at));
    return static_cast<std::byte*>(at);
  }
  [[nodiscard]] std::atomic<std::uint64_t>& word(int rank) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(of(rank));
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

// Seconds of `call`, on the slowest rank: as many consecutive calls as the clock needs.
double time_of(const std::function<void()>& call, int calls, MPI_Comm comm) {
  TAQUIN_MPI(MPI_Barrier(comm));
  const double begin = MPI_Wtime();
  for (int k = 0; k < calls; ++k) call();
  double seconds = (MPI_Wtime() - begin) / calls;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
  return seconds;
}

// A line's way from rank 0 to the last and back; the others wait in the barrier.
class line_to_and_fro {
 public:
  line_to_and_fro(const shared_memory& memory, int rank, int ranks)
      : mine_(memory.word(rank)),
        peer_(memory.word(ranks - 1 - rank)),
        rank_(rank),
        plays_(rank == 0 || rank == ranks - 1) {}
  void operator()() {
    if (!plays_) return;
    ++turn_;
    if (rank_ == 0) mine_.store(turn_, std::memory_order_release);
    while (peer_.load(std::memory_order_acquire) < turn_) {
    }
    if (rank_ != 0) mine_.store(turn_, std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t>&mine_, &peer_;
  int rank_;
  bool plays_;
  std::uint64_t turn_ = 0;
};

void message_to_and_fro(std::byte* data, int bytes, int rank, int ranks) {
  const int peer = ranks - 1 - rank;
  if (rank == 0) TAQUIN_MPI(MPI_Send(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
  if (rank == 0 || rank == ranks - 1)
    TAQUIN_MPI(MPI_Recv(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank == ranks - 1) TAQUIN_MPI(MPI_Send(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
}

struct measured_way {
  std::string name;
  std::function<void()> call;
  double share = 1;  // of a call's seconds
  std::vector<double> seconds{};
};

class one_size {
 public:
  one_size(int bytes, int rank, int ranks, MPI_Comm node)
      : bytes_(bytes),
        block_(as_size(bytes)),
        rank_(rank),
        ranks_(ranks),
        memory_(node, block_ * as_size(ranks)),
        sent_(block_ * as_size(ranks), std::byte{1}),
        received_(sent_.size()),
        sent_shared_(sent_.size()),
        received_shared_(sent_.size()) {
    std::ranges::copy(sent_, sent_shared_.data());
    int here = 0;
    TAQUIN_MPI(MPI_Comm_size(node, &here));
    if (here == ranks)
      add_copies(node);
    else
      ways_.push_back({"message", [this] { message_to_and_fro(sent_.data(), bytes_, rank_, ranks_); }, 0.5});
    ways_.push_back(
        {"mpi", [this] {
           TAQUIN_MPI(MPI_Alltoall(sent_.data(), bytes_, MPI_BYTE, received_.data(), bytes_, MPI_BYTE, MPI_COMM_WORLD));
         }});
    const auto by_taquin = [this](std::byte* from, std::byte* to) {
      return [=, this] { alltoall(from, bytes_, MPI_BYTE, to, bytes_, MPI_BYTE, MPI_COMM_WORLD); };
    };
    ways_.push_back({"taquin", by_taquin(sent_.data(), received_.data())});
    ways_.push_back({"shared_buffers", by_taquin(sent_shared_.data(), received_shared_.data())});
  }

  nlohmann::ordered_json measure(int repetitions) {
    const int calls = std::clamp((1 << 20) / (bytes_ * ranks_), 1, 500);
    for (int k = 0; k < repetitions + warm_up; ++k)
      for (measured_way& w : ways_) {
        const double seconds = w.share * time_of(w.call, calls, MPI_COMM_WORLD);
        if (k >= warm_up) w.seconds.push_back(seconds);
      }
    nlohmann::ordered_json row{{"ranks", ranks_}, {"bytes_per_pair", bytes_}, {"samples", repetitions}};
    for (const measured_way& w : ways_) {
      const summary s = summarise(w.seconds);
      row[w.name + "_s"] = s.median;
      row[w.name + "_ci95_s"] = {s.ci95.low, s.ci95.high};
    }
    const double limit =
        row.contains("message_s")
            ? row["message_s"].get<double>()
            : row["line_s"].get<double>() + std::min(row["copy_s"].get<double>(), row["read_s"].get<double>());
    row["limit_s"] = limit;
    row["share_of_limit"] = limit / row["taquin_s"].get<double>();
    row["share_with_shared_buffers"] = limit / row["shared_buffers_s"].get<double>();
    return row;
  }

 private:
  static constexpr int warm_up = 12;  // calls too, by which communicators find their way

  // Each rank copies a block of every rank, its own included, as the exchange does.
  void add_copies(MPI_Comm node) {
    ways_.push_back({"line", line_to_and_fro(memory_, rank_, ranks_), 0.5});
    for (int r = 0; r < ranks_; ++r) theirs_.push_back(memory_.of(r) + line + as_size(rank_) * block_);
    ways_.push_back({"copy", [this] {
                       for (std::size_t r = 0; r < theirs_.size(); ++r)
                         std::memcpy(received_.data() + r * block_, theirs_[r], block_);
                     }});
    where_.resize(as_size(ranks_));
    where_[as_size(rank_)] = {static_cast<std::int64_t>(getpid()), reinterpret_cast<std::int64_t>(sent_.data())};
    TAQUIN_MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, where_.data(), 2, MPI_INT64_T, node));
    ways_.push_back({"read", [this] {
                       for (std::size_t r = 0; r < where_.size(); ++r) read(r);
                     }});
  }
  void read(std::size_t r) {
    std::byte* const to = received_.data() + r * block_;
    if (r == as_size(rank_)) {
      std::memcpy(to, sent_.data() + r * block_, block_);
      return;
    }
    const auto from = static_cast<std::uint64_t>(where_[r][1]) + as_size(rank_) * block_;
    if (detail::single_copy(static_cast<pid_t>(where_[r][0]), from, to, block_) != 0)
      throw failure("a process may not read another one's memory here");
  }

  int bytes_;
  std::size_t block_;
  int rank_, ranks_;
  shared_memory memory_;
  std::vector<std::byte> sent_, received_;
  shared_buffer<std::byte> sent_shared_, received_shared_;
  std::vector<std::byte*> theirs_;
  std::vector<std::array<std::int64_t, 2>> where_;
  std::vector<measured_way> ways_;
};

int work(const settings& s, int rank, int ranks) {
  MPI_Comm node = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const int bytes : s.sizes) rows.push_back(one_size(bytes, rank, ranks, node).measure(s.repetitions));
  TAQUIN_MPI(MPI_Comm_free(&node));
  if (rank == 0) fmt::print("{}\n", rows.dump(1));
  return 0;
}

}  // namespace
}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("what the machine allows, and the share of it that MPI_Alltoall reaches");
  taquin::harness::settings s;
  app.add_option("--sizes", s.sizes, "bytes of a block")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--repetitions", s.repetitions, "of each size")->check(CLI::Range(6, 100000));
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
