// notify_nbx: notices and small data go straight to their destinations; a nonblocking barrier detects that all
// have arrived.
//
// Source: T. Hoefler, C. Siebert & A. Lumsdaine, "Scalable communication protocols for dynamic sparse data exchange",
//         2010: nonblocking consensus. Here a rank has at most `in_flight` messages in flight, and consecutive calls
//         have different tags, so that no barrier separates them.
// Rounds: 1, and a nonblocking barrier.
// Bytes: 24 for each notice, and its data where they are small.
// Memory: a message for each of `in_flight`.
// Limits: as many messages as a rank has sources may wait there, one of each: 4 KiB at most, less in little memory.
// Wins: few peers, many ranks, where latencies count and not messages.
#include <mpi.h>

#include <array>
#include <memory_resource>

#include "algorithms/sparse/direct.hpp"
#include "mpi/backoff.hpp"
#include "mpi/request_set.hpp"

namespace taquin::detail {

namespace {

// A barrier whose messages are this file's own: in round k a rank sends to the one 2^k above. Abort handles them like
// other messages.
class consensus final : private mpi::awaited {
 public:
  explicit consensus(finding& f) : f_(f), notices_(f), memory_(few_.data(), few_.size()), requests_(2, &memory_) {}
  consensus(const consensus&) = delete;
  consensus& operator=(const consensus&) = delete;

  void run() {
    for (mpi::backoff waiting(this); !over();) {
      bool news = notices_.send();
      news = notices_.take() || news;
      news = tell() || news;
      if (news)
        waiting.reset();
      else
        waiting.pause();
    }
  }

 private:
  [[nodiscard]] bool over() const noexcept { return begun_ && step_ >= f_.comm.size() && requests_.in_flight() == 0; }

  bool tell() {
    if (!begun_ && !notices_.sent()) return false;
    if (requests_.in_flight() > 0) {
      requests_.test_some([](std::size_t, const MPI_Status&) {}, [](std::size_t) { return count_t{0}; });
      if (requests_.in_flight() > 0) return false;
    }
    step_ = begun_ ? step_ * 2 : 1;
    begun_ = true;
    if (step_ >= f_.comm.size()) return true;
    const int p = f_.comm.size();
    const auto to = static_cast<int>((f_.comm.rank() + step_) % p);
    const auto from = static_cast<int>((f_.comm.rank() + p - step_) % p);
    const int tag = f_.tag + finding::first_tag + 1;
    requests_.receive(0, nullptr, 0, MPI_BYTE, from, tag, f_.comm.get());
    requests_.send(1, nullptr, 0, MPI_BYTE, to, tag, f_.comm.get());
    ++f_.messages;
    return true;
  }

  void describe(mpi::wait_note& note) const override {
    note.what = "notices of a sparse exchange";
    note.comm = f_.comm.get();
  }

  finding& f_;
  direct_notices notices_;
  bool begun_ = false;
  std::int64_t step_ = 0;  // to the receiver of this round
  std::array<std::byte, 64> few_{};
  std::pmr::monotonic_buffer_resource memory_;
  mpi::request_set requests_;  // last: ended first
};

void find(finding& f) {
  f.rounds = 2;
  consensus(f).run();
}

std::size_t memory(int, std::size_t in_flight, std::size_t message_bytes) noexcept {
  return direct_notices::footprint(in_flight, message_bytes);
}

std::uint64_t nanoseconds(const sparse_shape& s) noexcept {
  std::uint64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < s.ranks) ++rounds;
  return direct_notices::nanoseconds(s) + rounds * (sparse_latency + 2 * sparse_overhead);
}

}  // namespace

extern const sparse_algorithm notify_nbx;
const sparse_algorithm notify_nbx{
    .name = "notify_nbx",
    .summary = "headers and small data immediately, until a nonblocking consensus; other data on request",
    .source = "Hoefler, Siebert & Lumsdaine: NBX",
    .rounds = "2 + 2",
    .find = find,
    .memory = memory,
    .nanoseconds = nanoseconds,
    .most_ranks = direct_notices::most_ranks};

}  // namespace taquin::detail
