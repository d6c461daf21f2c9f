// notify_tree: notices and small data go to their destinations through other ranks, as the blocks of a Bruck exchange
// do.
//
// Source: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
//         1997; with lists of notices instead of blocks as sc_notify of libsc (C. Burstedde) has them.
// Rounds: log_r p of r − 1 messages each, r up to 8; more follow one by one where more leaves than a message holds.
// Bytes: 24 for each notice, and its data where they are small, in each round that it takes part in.
// Memory: a message for each that leaves or comes, whatever the ranks send: what passes through waits at its sender.
// Limits: none. At most as many messages as `in_flight` are on their way from a rank and to it, or log2 p.
// Wins: many ranks, small data.
#include <mpi.h>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/router.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "mpi/check.hpp"
#include "mpi/deadline.hpp"
#include "mpi/request_set.hpp"

namespace taquin::detail {

namespace {

int radix_of(int ranks, std::size_t in_flight) noexcept {
  return header_router::radix_for(ranks, agreement_radix(ranks), in_flight);
}

// Each class has a tag, so that one receive from whatever rank is posted for it. A message that is followed by another
// is sent synchronously: the next one leaves when it has been received.
class tree_find final : private mpi::awaited {
 public:
  tree_find(finding& f, int radix)
      : f_(f),
        router_(f.comm.rank(), f.comm.size(), radix, f.message_bytes, f.mine, f.element_bytes, f.memory),
        requests_(router_.outgoing() + router_.incoming(), f.memory) {
    requests_.describe_by(this);
  }

  void run() {
    for (;;) {
      router_.advance([this](std::span<const std::byte> one) { f_.add(one); });
      post();
      if (router_.done() && requests_.in_flight() == 0) return;
      requests_.wait_some([this](std::size_t i, const MPI_Status& status) { complete(i, status); },
                          [this](std::size_t) { return static_cast<count_t>(f_.message_bytes); });
    }
  }

 private:
  void post() {
    const std::size_t sends = router_.outgoing();
    for (std::size_t k = 0; k < router_.incoming(); ++k) {
      if (requests_.active(sends + k) || !router_.wants(k)) continue;
      const auto buffer = router_.buffer(k);
      requests_.receive(sends + k, buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, MPI_ANY_SOURCE,
                        tag(static_cast<int>(k)), f_.comm.get());
    }
    for (std::size_t c = 0; c < sends; ++c) {
      if (!router_.ready(c)) continue;
      const auto what = router_.begin(c);
      const auto n = static_cast<int>(what.size());
      if (router_.followed(c))
        requests_.send_synchronously(c, what.data(), n, MPI_BYTE, router_.receiver(c), tag(router_.class_of(c)),
                                     f_.comm.get());
      else
        requests_.send(c, what.data(), n, MPI_BYTE, router_.receiver(c), tag(router_.class_of(c)), f_.comm.get());
      ++f_.messages;
      f_.bytes += what.size();
    }
  }

  void complete(std::size_t i, const MPI_Status& status) {
    if (i < router_.outgoing()) return router_.sent(i);
    int bytes = 0;
    TAQUIN_MPI(PMPI_Get_count(&status, MPI_BYTE, &bytes));
    router_.arrived(i - router_.outgoing(), as_size(bytes));
  }

  [[nodiscard]] int tag(int of) const noexcept { return f_.tag + finding::first_tag + of; }

  void describe(mpi::wait_record& to) const override {
    to.what = "headers of a sparse exchange";
    to.comm = f_.comm.get();
  }

  finding& f_;
  header_router router_;
  mpi::request_set requests_;  // last: ended first
};

void find(finding& f) {
  const int radix = radix_of(f.comm.size(), f.in_flight);
  f.rounds = as_size(header_router::classes(f.comm.size(), radix));
  tree_find(f, radix).run();
}

std::size_t memory_of_notify_tree(int ranks, std::size_t in_flight, std::size_t message_bytes) noexcept {
  const int radix = radix_of(ranks, in_flight);
  return header_router::footprint(ranks, radix, message_bytes) +
         mpi::request_set::bytes(as_size(header_router::channels(ranks, radix) + header_router::classes(ranks, radix)));
}

}  // namespace

extern const sparse_algorithm notify_tree;
const sparse_algorithm notify_tree{
    .name = "notify_tree",
    .summary = "headers in log rounds by way of other ranks, with small data; other data on request",
    .source = "Bruck et al.; sc_notify of libsc",
    .rounds = "⌈log_r p⌉ + 2",
    .find = find,
    .memory = memory_of_notify_tree,
    .radix = radix_of};

}  // namespace taquin::detail
