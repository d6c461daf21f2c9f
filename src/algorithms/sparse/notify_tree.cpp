// notify_tree: notices go to their destinations by way of other ranks, as the blocks of a Bruck exchange do.
//
// Source: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
//         1997; with lists of notices instead of blocks as sc_notify of libsc (C. Burstedde) has them.
// Rounds: ⌈log2 p⌉, each one message of up to 64 notices; more follow one by one where more notices leave.
// Bytes: 24 for each notice in each round that it takes part in.
// Memory: notices of this rank, and those that pass through it: where all ranks send to one, up to p / 2 of them.
// Limits: none. The ranks that messages come from are known, and one that is followed by another leaves only when it is
//         received: nothing comes that no receive waits for but one message in each round. A rank has heard of all
//         others at the end, so calls behind each other cannot mix.
// Wins: many ranks, few peers.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <span>

#include "algorithms/sparse/algorithm.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/request_set.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t most = 64;  // notices in a message: what MPI libraries send at once

// One round. The last message is one that is not full.
class notify_round {
 public:
  notify_round(finding& f, int round)
      : f_(f),
        to_(f.notices.receiver(round)),
        from_(f.notices.sender(round)),
        memory_(few_.data(), few_.size(), std::pmr::new_delete_resource()),
        requests_(2, &memory_) {
    f.attempt([&] { leaving_ = f.notices.leave(round); });
  }

  void run() {
    send();
    receive();
    while (requests_.in_flight() > 0)
      requests_.wait_some([&](std::size_t i, const MPI_Status& status) { i == 0 ? sent() : came(status); },
                          [](std::size_t) { return static_cast<count_t>(most * sizeof(notice)); });
  }

 private:
  void send() {
    const std::size_t n = std::min(most, leaving_.size());
    const int length = static_cast<int>(n * sizeof(notice));
    if (n < most)
      requests_.send(0, leaving_.data(), length, MPI_BYTE, to_, f_.tag, f_.comm.get());
    else
      requests_.send_synchronously(0, leaving_.data(), length, MPI_BYTE, to_, f_.tag, f_.comm.get());
    ++f_.messages;
    f_.bytes += n * sizeof(notice);
  }
  void sent() {
    if (leaving_.size() < most) return;
    leaving_ = leaving_.subspan(most);
    send();
  }
  void receive() {
    requests_.receive(1, in_.data(), static_cast<int>(sizeof in_), MPI_BYTE, from_, f_.tag, f_.comm.get());
  }
  void came(const MPI_Status& status) {
    int bytes = 0;
    TAQUIN_MPI(PMPI_Get_count(&status, MPI_BYTE, &bytes));
    const std::size_t n = as_size(bytes) / sizeof(notice);
    f_.attempt([&] { f_.notices.add(std::span<const notice>(in_).first(n)); });
    if (n == most) receive();
  }

  finding& f_;
  std::span<const notice> leaving_;
  int to_;
  int from_;
  std::array<std::byte, 256> few_{};  // a rank without memory takes part all the same
  std::pmr::monotonic_buffer_resource memory_;
  mpi::request_set requests_;
  std::array<notice, most> in_{};
};

void find(finding& f) {
  for (int k = 0; k < notice_rounds::rounds(f.comm.size()); ++k) notify_round(f, k).run();
}

}  // namespace

extern const sparse_algorithm notify_tree;
const sparse_algorithm notify_tree{
    .name = "notify_tree",
    .summary = "notices of blocks in log rounds by way of other ranks, then data as their receivers ask for them",
    .source = "Bruck et al.; sc_notify of libsc",
    .rounds = "⌈log2 p⌉ + 2",
    .find = find};

}  // namespace taquin::detail
