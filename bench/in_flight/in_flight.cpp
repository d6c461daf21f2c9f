// Unexpected messages, which arrive at a rank before it posts their receive, and their bytes: the most at any rank, in
// many calls for which rank 0 is late. With the MPI library's alltoallv and with taquin's, without shared memory.
// mpirun -n 16 bench_in_flight
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "counter.hpp"
#include "first_calls.hpp"
#include "harness/session.hpp"
#include "taquin/taquin.hpp"

namespace taquin::in_flight {
namespace {

// Bytes from one rank to another.
int bytes(std::string_view pattern, int from, int to, int ranks) {
  constexpr int usual = 512;
  if (from == to) return 0;
  if (pattern == "all_to_one") return to == 0 ? usual : 0;
  const unsigned h = static_cast<unsigned>(from * ranks + to) * 2654435761U;
  if (pattern == "random") return (h >> 16U) % 4 == 0 ? usual : 0;
  return to == 0 ? 2 * usual : 16;  // hot: little to all, much to one
}

class traffic {
 public:
  traffic(std::string_view pattern, int rank, int ranks) : rank_(rank), ranks_(ranks) {
    for (int k = 0; k < ranks; ++k) {
      out_.push_back(bytes(pattern, rank, k, ranks));
      in_.push_back(bytes(pattern, k, rank, ranks));
    }
    std::exclusive_scan(out_.begin(), out_.end(), std::back_inserter(out_at_), 0);
    std::exclusive_scan(in_.begin(), in_.end(), std::back_inserter(in_at_), 0);
    send_.resize(static_cast<std::size_t>(out_at_.back() + out_.back()) + 1);
    recv_.resize(static_cast<std::size_t>(in_at_.back() + in_.back()) + 1);
  }
  void fill(int call) {
    for (int k = 0; k < ranks_; ++k) std::fill_n(send_.begin() + out_at_[at(k)], out_[at(k)], value(call, rank_, k));
    std::ranges::fill(recv_, '?');
  }
  [[nodiscard]] bool right(int call) const {
    for (int k = 0; k < ranks_; ++k)
      for (int i = 0; i < in_[at(k)]; ++i)
        if (recv_[at(in_at_[at(k)] + i)] != value(call, k, rank_)) return false;
    return recv_.back() == '?';
  }
  void native() {
    MPI_Alltoallv(send_.data(), out_.data(), out_at_.data(), MPI_CHAR, recv_.data(), in_.data(), in_at_.data(),
                  MPI_CHAR, MPI_COMM_WORLD);
  }
  void ours(const std::string& algorithm) {
    options o;
    o.algorithm = algorithm;
    run(exchange::alltoallv(send_.data(), count_view(out_.data()), count_view(out_at_.data()), MPI_CHAR, recv_.data(),
                            count_view(in_.data()), count_view(in_at_.data()), MPI_CHAR, MPI_COMM_WORLD),
        o);
  }

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  static char value(int call, int from, int to) { return static_cast<char>('a' + (call + 3 * from + 5 * to) % 26); }
  int rank_, ranks_;
  std::vector<int> out_, in_, out_at_, in_at_;
  std::vector<char> send_, recv_;
};

// All ranks have these numbers; false where a byte is wrong on this one.
template <class Call>
bool measure(const settings& o, traffic& t, int rank, peaks& most, Call call) {
  bool good = true;
  for (int k = 0; k < 6; ++k) call();  // communicators and what calls decide once
  begin();
  for (int k = 0; k < o.calls; ++k) {
    if (rank == 0 && k % (o.calls / 2) == 2) be_late(o);
    t.fill(k);
    call();
    good = t.right(k) && good;
  }
  most = end();
  return good;
}

int work(const settings& o, int rank, int ranks) {
  if (!install()) {
    if (rank == 0) fmt::print(stderr, "the MPI library's table of functions is not known\n");
    return 77;
  }
  bool good = !o.first || first_calls(o, rank, ranks);
  if (o.first) return good ? 0 : 1;
  for (const std::string& pattern : o.patterns) {
    traffic t(pattern, rank, ranks);
    const auto row = [&](const std::string& name, auto call) {
      peaks most;
      good = measure(o, t, rank, most, call) && good;
      if (rank == 0)
        fmt::print("{:>5} {:<11} {:<12} {:>9} {:>10} {:>8}\n", ranks, pattern, name, most.messages, most.bytes,
                   most.untaken);
      if (rank == 0) std::fflush(stdout);
    };
    row("MPI library", [&] { t.native(); });
    for (const std::string& algorithm : o.algorithms) row("taquin " + algorithm, [&] { t.ours(algorithm); });
  }
  int wrong = good ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return wrong;
}

}  // namespace
}  // namespace taquin::in_flight

int main(int argc, char** argv) {
  CLI::App app("unexpected messages, which arrive before their receive is posted");
  taquin::in_flight::settings s;
  app.add_option("--calls", s.calls, "of each kind")->check(CLI::Range(6, 400));
  app.add_option("--late", s.late, "milliseconds that rank 0 comes late, twice");
  app.add_option("--algorithms", s.algorithms, "of taquin")->delimiter(',');
  app.add_option("--patterns", s.patterns, "all_to_one, random, hot")->delimiter(',');
  app.add_flag("--first", s.first, "the first call on a communicator, by what its messages belong to");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::in_flight::work(s, rank, ranks); });
}
