#include "harness/sparse_methods.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/sizes.hpp"
#include "harness/counts_exchanged.hpp"
#include "mpi/check.hpp"
#include "mpi/probed.hpp"

namespace taquin::harness {

namespace {

int size_of(MPI_Comm comm) {
  int size = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &size));
  return size;
}

// Appends.
void receive(mpi::probed& message, sparse_arrived& arrived) {
  const std::size_t at = arrived.data.size();
  arrived.sources.push_back(message.from);
  arrived.counts.push_back(message.bytes);
  arrived.data.resize(at + detail::as_size(message.bytes));
  message.receive(arrived.data.data() + at);
}

// Sends every block immediately; with `send` the MPI library's synchronous or plain one.
template <class Send>
void send_all(const sparse_sent& sent, std::vector<MPI_Request>& requests, Send send) {
  requests.resize(sent.destinations.size());
  const std::byte* at = sent.data.data();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    TAQUIN_MPI(send(at, static_cast<int>(sent.counts[i]), sent.destinations[i], &requests[i]));
    at += sent.counts[i];
  }
}

// Synchronous sends; a rank whose sends have all been received enters a barrier that does not block, and receives until
// that ends. Two tags in turn: messages of the next call may come before this one's barrier has ended everywhere.
class nbx_method final : public hand_written_sparse {
 public:
  explicit nbx_method(MPI_Comm comm) : comm_(comm) {}
  void run(const sparse_sent& sent, sparse_arrived& arrived) override {
    arrived.clear();
    const int tag = first_tag_ + (calls_++ & 1);
    send_all(sent, requests_, [&](const std::byte* at, int n, int to, MPI_Request* r) {
      return PMPI_Issend(at, n, MPI_BYTE, to, tag, comm_, r);
    });
    MPI_Request barrier = MPI_REQUEST_NULL;
    for (int done = 0; done == 0;) {
      if (mpi::probed message; message.poll(comm_, tag)) receive(message, arrived);
      if (barrier != MPI_REQUEST_NULL) {
        TAQUIN_MPI(PMPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
      } else {
        int left = 0;
        TAQUIN_MPI(PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &left, MPI_STATUSES_IGNORE));
        if (left != 0) TAQUIN_MPI(PMPI_Ibarrier(comm_, &barrier));
      }
    }
  }

 private:
  static constexpr int first_tag_ = 4711;
  MPI_Comm comm_;
  int calls_ = 0;
  std::vector<MPI_Request> requests_;
};

// A reduction counts each rank's incoming messages. It ends on no rank before all have entered the call, and so have
// received the messages of the one before: one tag is enough.
class counts_reduced_method final : public hand_written_sparse {
 public:
  explicit counts_reduced_method(MPI_Comm comm) : comm_(comm), blocks_(detail::as_size(size_of(comm))) {}
  void run(const sparse_sent& sent, sparse_arrived& arrived) override {
    arrived.clear();
    std::ranges::fill(blocks_, 0);
    for (const int to : sent.destinations) ++blocks_[detail::as_size(to)];
    int incoming = 0;
    TAQUIN_MPI(PMPI_Reduce_scatter_block(blocks_.data(), &incoming, 1, MPI_INT, MPI_SUM, comm_));
    send_all(sent, requests_, [&](const std::byte* at, int n, int to, MPI_Request* r) {
      return PMPI_Isend(at, n, MPI_BYTE, to, tag_, comm_, r);
    });
    for (; incoming > 0; --incoming) {
      mpi::probed message;
      message.wait(comm_, tag_);
      receive(message, arrived);
    }
    TAQUIN_MPI(PMPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

 private:
  static constexpr int tag_ = 4713;
  MPI_Comm comm_;
  std::vector<int> blocks_;
  std::vector<MPI_Request> requests_;
};

struct of_mpi_library {
  using count = int;
  MPI_Comm comm;
  void alltoall(const int* out, int* in) const { TAQUIN_MPI(PMPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm)); }
  void alltoallv(const void* from, const int* out, const int* out_at, void* to, const int* in, const int* in_at) const {
    TAQUIN_MPI(PMPI_Alltoallv(from, out, out_at, MPI_BYTE, to, in, in_at, MPI_BYTE, comm));
  }
};

std::unique_ptr<hand_written_sparse> make_counts_exchanged(MPI_Comm comm) {
  return std::make_unique<counts_exchanged_by<of_mpi_library>>(of_mpi_library{comm}, size_of(comm));
}

template <class Way>
std::unique_ptr<hand_written_sparse> make(MPI_Comm comm) {
  return std::make_unique<Way>(comm);
}

std::size_t of_requests(int, std::size_t blocks) { return blocks * sizeof(MPI_Request); }
std::size_t of_counts(int ranks, std::size_t blocks) {
  return detail::as_size(ranks) * sizeof(int) + of_requests(ranks, blocks);
}
std::size_t of_four_arrays(int ranks, std::size_t) { return 4 * detail::as_size(ranks) * sizeof(int); }

constexpr std::array all{
    sparse_method{"nbx", "hand-written: synchronous messages to all, received until a nonblocking barrier has ended",
                  "Hoefler, Siebert & Lumsdaine: NBX", "1 and a barrier", make<nbx_method>, of_requests,
                  detail::add_nbx_moves},
    sparse_method{"counts_reduced", "hand-written: a reduction counts the messages that arrive, then all are sent",
                  "MPI_Reduce_scatter_block", "1 and a reduction", make<counts_reduced_method>, of_counts,
                  detail::add_counts_reduced_moves},
    sparse_method{"counts_exchanged", "hand-written: an alltoall of counts, then an alltoallv",
                  "MPI_Alltoall, MPI_Alltoallv", "2 collectives", make_counts_exchanged, of_four_arrays,
                  detail::add_counts_exchanged_moves},
};

}  // namespace

std::span<const sparse_method> sparse_methods() noexcept { return all; }

const sparse_method* find_sparse_method(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all, name, &sparse_method::name);
  return found == all.end() ? nullptr : found;
}

statistics account(const sparse_method& method, const sparse_sent& sent, MPI_Comm comm) {
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  statistics s;
  s.rounds = 2;
  s.peak_memory = method.memory(size_of(comm), sent.destinations.size());
  for (std::size_t i = 0; i < sent.destinations.size(); ++i) {
    if (sent.destinations[i] == rank) continue;
    ++s.messages;
    s.bytes_sent += static_cast<std::uint64_t>(sent.counts[i]);
  }
  return s;
}

std::optional<std::string> beyond_sparse_methods(count_t bytes) {
  if (bytes <= std::numeric_limits<int>::max()) return std::nullopt;
  return "a hand-written exchange has counts of 32 bits: less than 2 GiB to and from a rank";
}

}  // namespace taquin::harness
