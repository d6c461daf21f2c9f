// taquin redistribute: move blocks in place, verify every byte, time, tabulate.
#include "taquin/redistribute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <optional>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/misspelt.hpp"
#include "cli/plan_json.hpp"
#include "harness/block_maps.hpp"
#include "harness/measure.hpp"
#include "harness/output.hpp"
#include "harness/progress.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "redistribute/machine.hpp"
#include "taquin/error.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::cli {

namespace {

struct arguments {
  std::string workload = "shift";
  count_t blocks = 0;
  std::string bytes = "4M";
  std::string block_bytes = "16K";
  std::string free = "0%";
  std::vector<std::string> algorithms{"all"};
  std::string memory = "unlimited";
  bool shared_buffers = false;
  int repetitions = 0;
  std::string json;
  double least_progress = 0;
  std::uint64_t seed = 1;
};

struct choices {
  const arguments* given;
  const block_workload* workload;
  count_t block_bytes;
  count_t blocks;
  count_t live;
  memory_choice memory;
};

choices interpret(const arguments& a) {
  for (const std::string& name : a.algorithms)
    if (name != "all" && name != "native" && detail::find_redistribution(name) == nullptr)
      throw usage(
          fmt::format("unknown algorithm '{}'; known are all, auto, native, {}", name, detail::redistribution_names()));
  choices c{&a, &find_block_workload(a.workload), parse_size(a.block_bytes), a.blocks,
            0,  memory_choice::parse(a.memory)};
  if (c.block_bytes < 1) throw usage("a block has at least 1 byte");
  if (c.blocks == 0) c.blocks = std::max<count_t>(parse_size(a.bytes) / c.block_bytes, 1);
  const memory_choice free = memory_choice::parse(a.free);
  const auto part = free.relative
                        ? static_cast<count_t>(std::llround(static_cast<double>(c.blocks) * free.percent / 100))
                        : free.bytes;
  if (!free.limited || part > c.blocks) throw usage(fmt::format("--free {} of {} blocks", a.free, c.blocks));
  c.live = c.blocks - part;
  return c;
}

// The blocks of one rank, their places, and the MPI library's exchange of as many bytes between the same ranks.
class block_problem {
 public:
  block_problem(const choices& c, int rank, int ranks)
      : bytes_(detail::as_size(c.block_bytes)),
        rank_(rank),
        map_(c.workload->make(rank, ranks, c.blocks, c.live, c.given->seed)),
        wanted_(map_.ranks.size(), false),
        type_(mpi::contiguous(c.block_bytes, MPI_BYTE)),
        memory_(c.given->shared_buffers ? &shared_resource() : std::pmr::new_delete_resource()),
        data_(memory_),
        send_(memory_),
        receive_(memory_) {
    const auto p = detail::as_size(ranks);
    for (auto* v : {&sent_, &received_, &send_at_, &receive_at_}) v->assign(p, 0);
    for (const int r : map_.ranks)
      if (r >= 0) ++sent_[detail::as_size(r)];
    TAQUIN_MPI(PMPI_Alltoall(sent_.data(), 1, MPI_INT, received_.data(), 1, MPI_INT, MPI_COMM_WORLD));
    std::exclusive_scan(sent_.begin(), sent_.end(), send_at_.begin(), 0);
    std::exclusive_scan(received_.begin(), received_.end(), receive_at_.begin(), 0);
    std::vector<int> indices(detail::as_size(send_at_.back() + sent_.back()));
    std::vector<int> mine(detail::as_size(receive_at_.back() + received_.back()));
    auto next = send_at_;
    for (std::size_t k = 0; k < map_.ranks.size(); ++k)
      if (map_.ranks[k] >= 0) indices[detail::as_size(next[detail::as_size(map_.ranks[k])]++)] = map_.indices[k];
    TAQUIN_MPI(PMPI_Alltoallv(indices.data(), sent_.data(), send_at_.data(), MPI_INT, mine.data(), received_.data(),
                              receive_at_.data(), MPI_INT, MPI_COMM_WORLD));
    for (const int x : mine) wanted_[detail::as_size(x)] = true;
    data_.resize(map_.ranks.size() * bytes_);
    send_.resize(indices.size() * bytes_);
    receive_.resize(mine.size() * bytes_);
  }

  [[nodiscard]] const block_map_of_rank& map() const noexcept { return map_; }
  [[nodiscard]] std::byte* data() noexcept { return data_.data(); }
  [[nodiscard]] count_t bytes_sent() const noexcept { return static_cast<count_t>(send_.size()); }

  // A block tells where it goes.
  void fill() {
    for (std::size_t k = 0; k < map_.ranks.size(); ++k) {
      const bool live = map_.ranks[k] >= 0;
      write(data_.data() + k * bytes_, live ? word_of(map_.ranks[k], map_.indices[k]) : ~std::uint64_t{0});
    }
  }
  [[nodiscard]] count_t wrong_bytes() const {
    count_t wrong = 0;
    for (std::size_t x = 0; x < wanted_.size(); ++x)
      if (wanted_[x]) wrong += differing(data_.data() + x * bytes_, word_of(rank_, static_cast<int>(x)));
    return wrong;
  }

  // The MPI library's exchange, out of place: blocks tell only from whom to whom.
  void fill_native() {
    std::byte* at = send_.data();
    for (std::size_t r = 0; r < sent_.size(); ++r)
      for (int k = 0; k < sent_[r]; ++k, at += bytes_) write(at, word_of(rank_, static_cast<int>(r)));
    std::ranges::fill(receive_, std::byte{0xa5});
  }
  void run_native() {
    TAQUIN_MPI(PMPI_Alltoallv(send_.data(), sent_.data(), send_at_.data(), type_.get(), receive_.data(),
                              received_.data(), receive_at_.data(), type_.get(), MPI_COMM_WORLD));
  }
  [[nodiscard]] count_t wrong_native() const {
    count_t wrong = 0;
    const std::byte* at = receive_.data();
    for (std::size_t r = 0; r < received_.size(); ++r)
      for (int k = 0; k < received_[r]; ++k, at += bytes_) wrong += differing(at, word_of(static_cast<int>(r), rank_));
    return wrong;
  }
  void account_native(statistics& s) const {
    s.rounds = 1;
    for (std::size_t r = 0; r < sent_.size(); ++r) {
      if (static_cast<int>(r) == rank_ || sent_[r] == 0) continue;
      ++s.messages;
      s.bytes_sent += static_cast<std::uint64_t>(sent_[r]) * bytes_;
    }
  }

 private:
  static std::uint64_t word_of(int rank, int index) {
    return (static_cast<std::uint64_t>(rank) << 32U | static_cast<std::uint32_t>(index)) * 0x9e3779b97f4a7c15ULL + 1;
  }
  template <class Visit>
  void words(std::uint64_t word, Visit visit) const {
    for (std::size_t at = 0; at < bytes_; at += sizeof word, ++word)
      visit(at, word, std::min(sizeof word, bytes_ - at));
  }
  void write(std::byte* block, std::uint64_t first) const {
    words(first, [&](std::size_t at, std::uint64_t w, std::size_t n) { std::memcpy(block + at, &w, n); });
  }
  [[nodiscard]] count_t differing(const std::byte* block, std::uint64_t first) const {
    count_t wrong = 0;
    words(first, [&](std::size_t at, std::uint64_t w, std::size_t n) {
      if (std::memcmp(block + at, &w, n) != 0) wrong += static_cast<count_t>(n);
    });
    return wrong;
  }

  std::size_t bytes_;
  int rank_;
  block_map_of_rank map_;
  std::vector<bool> wanted_;  // places that a block comes to
  mpi::datatype type_;
  std::vector<int> sent_;  // blocks, per rank
  std::vector<int> received_;
  std::vector<int> send_at_;
  std::vector<int> receive_at_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::byte> data_;
  std::pmr::vector<std::byte> send_;
  std::pmr::vector<std::byte> receive_;
};

double timed(const std::function<void()>& call) {
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double start = MPI_Wtime();
  call();
  double seconds = MPI_Wtime() - start;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return seconds;
}

double repetition(block_problem& p, contender& c) {
  if (c.raw) {
    p.fill_native();
  } else {
    p.fill();
  }
  const double seconds = timed(c.calls.front());
  c.wrong += c.raw ? p.wrong_native() : p.wrong_bytes();
  return seconds;
}

std::vector<contender> line_up(const choices& c) {
  std::vector<contender> all(1);
  all[0].asked = "native";
  all[0].raw = true;
  const auto add = [&](std::string_view name) {
    if (std::ranges::any_of(all, [&](const contender& x) { return x.asked == name; })) return;
    all.emplace_back();
    all.back().asked = name;
  };
  for (const std::string& name : c.given->algorithms) {
    if (name != "all") add(name);
    for (const auto* a : detail::redistributions())
      if (name == "all") add(a->name);
  }
  return all;
}

// For the report page: what the algorithm does event by event, from a run of all ranks in one process, with as many
// blocks as that bears, in the proportions of what was measured. Null where even few are too many.
nlohmann::json over_time(const choices& c, const std::string& name, int ranks) {
  constexpr count_t most_blocks = 2048;  // of all ranks
  constexpr count_t least_blocks = 8;
  const auto* algorithm = detail::find_redistribution(name);
  const count_t blocks = std::min(c.blocks, most_blocks / ranks);
  if (algorithm == nullptr || blocks < std::min(c.blocks, least_blocks)) return {};
  const count_t live = (blocks * c.live + c.blocks - 1) / c.blocks;
  return plan_redistribution(*algorithm, c.given->workload, ranks, blocks, live, c.block_bytes, c.given->seed);
}

int work(const choices& c, int rank, int ranks) {
  output out(c.given->json, rank);
  progress display(rank == 0);
  block_problem problem(c, rank, ranks);
  count_t most = problem.bytes_sent();
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  setting s{.workload = c.given->workload,
            .collective = "redistribute",
            .ranks = ranks,
            .in_place = true,
            .bytes_per_rank = most,
            .memory_limit = c.memory.limit(most),
            .seed = c.given->seed};
  auto contenders = line_up(c);
  std::vector<std::shared_ptr<redistribution>> objects;
  contenders[0].calls.emplace_back([&] { problem.run_native(); });
  for (contender& one : contenders) {
    if (one.raw) continue;
    try {
      auto object = std::make_shared<redistribution>(problem.data(), c.blocks, c.block_bytes, MPI_BYTE, MPI_COMM_WORLD,
                                                     redistribute_options{.algorithm = one.asked,
                                                                          .memory = s.memory_limit,
                                                                          .least_progress = c.given->least_progress,
                                                                          .stats = &one.stats});
      one.calls.emplace_back([&problem, object] { (*object)(problem.map().ranks, problem.map().indices); });
    } catch (const budget_exceeded& e) {
      one.fault = e.what();
    }
  }
  s.how = race(
      contenders, 1, {.repetitions = c.given->repetitions}, [&](contender& one) { return repetition(problem, one); },
      [&](double part) { display.show(s.workload, part); });
  display.clear();
  int status = 0;
  std::vector<nlohmann::json> records;
  for (contender& one : contenders) {
    one.calls.clear();
    if (one.raw) problem.account_native(one.stats);
    if (!one.fault) reduce(one, one.raw ? 1 : static_cast<std::uint64_t>(s.how.repetitions));
    if (one.fault || one.wrong != 0) status = failure_status;
    records.push_back(record(s, one));
    records.back()["blocks"] = c.blocks;
    records.back()["block_bytes"] = c.block_bytes;
    records.back()["free_blocks"] = c.blocks - c.live;
    if (rank == 0 && !c.given->json.empty() && !one.raw && !one.fault)
      records.back()["over_time"] = over_time(c, one.name, ranks);
  }
  if (out.text() != nullptr) print_table(out.text(), records);
  out.add(std::move(records));
  out.finish();
  return status;
}

std::string footer() {
  return block_workload_help() + R"(
Blocks are moved in place; "native" is the MPI library's alltoallv of the same bytes between the same ranks, out of
place. Any wrong byte makes the exit status 1.

Examples:
  mpirun -n 8 taquin redistribute -w shift -b 50M                       no free block
  mpirun -n 8 taquin redistribute -w transpose --free 20% -a auto,parking
  mpirun -n 8 taquin redistribute -w random --blocks 100000 --block-bytes 64)";
}

std::function<int()> setup(CLI::App& app) {
  auto a = std::make_shared<arguments>();
  app.add_option("-w,--workload", a->workload, "where blocks go, see below")->capture_default_str();
  auto* bytes = app.add_option("-b,--bytes", a->bytes, "bytes of a rank's array")->capture_default_str();
  app.add_option("--blocks", a->blocks, "blocks of a rank's array, instead of --bytes")
      ->check(CLI::Range(count_t{1}, count_t{2147483646}))
      ->excludes(bytes);
  app.add_option("--block-bytes", a->block_bytes, "bytes of a block")->capture_default_str();
  app.add_option("--free", a->free, "free blocks of a rank's array: a number or a part")
      ->capture_default_str()
      ->type_name("NUMBER|PERCENT%");
  app.add_option("-a,--algorithm", a->algorithms, "names from 'taquin list --redistribution', auto, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME[,NAME...]");
  app.add_option("-m,--memory", a->memory, "extra bytes per rank: 64K, 1% of what a rank sends, unlimited")
      ->capture_default_str();
  app.add_option("--least-progress", a->least_progress,
                 "part of the remaining blocks below which a round makes the algorithm hand over; 0: never")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--shared-buffers", a->shared_buffers, "buffers that the ranks of a node map");
  app.add_option("--reps", a->repetitions, "repetitions; default: 10 to 200, about 2 s for each algorithm")
      ->check(at_least_one());
  app.add_option("--json", a->json, "write records to a file, or with - to standard output")->type_name("FILE");
  app.add_option("--seed", a->seed, "of random workloads")->capture_default_str();
  app.footer(footer());
  return [a] {
    const choices c = interpret(*a);
    return in_session([&](int rank, int ranks) { return work(c, rank, ranks); });
  };
}

}  // namespace

const command redistribute_command{"redistribute", "move blocks in place, verify every byte, time, tabulate", setup};

}  // namespace taquin::cli
