#include "algorithms/sparse/routed.hpp"

#include <mpi.h>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/request_set.hpp"
#include "mpi/watch.hpp"

namespace taquin::detail {

namespace {

// Each class has a tag, so that one receive from any rank is posted for it. A message that is followed by another is
// sent synchronously: the next one is sent when it has been received.
class routed_find final : private mpi::awaited {
 public:
  routed_find(finding& f, int radix)
      : f_(f),
        router_(f.comm.rank(), f.comm.size(), radix, f.message_bytes, f.mine, f.element_bytes, f.memory),
        requests_(router_.outgoing() + router_.incoming(), f.memory) {
    requests_.describe_by(this);
  }

  void run() {
    for (;;) {
      router_.advance([this](std::span<const std::byte> one) { f_.add(one); });
      post();
      if (router_.over() && requests_.in_flight() == 0) return;
      requests_.wait_some([this](std::size_t i, const MPI_Status& status) { complete(i, status); },
                          [this](std::size_t) { return static_cast<count_t>(f_.message_bytes); });
    }
  }

 private:
  void post() {
    const std::size_t sends = router_.outgoing();
    for (std::size_t k = 0; k < router_.incoming(); ++k) {
      if (requests_.active(sends + k) || !router_.wants(k)) continue;
      const auto room = router_.room(k);
      requests_.receive(sends + k, room.data(), static_cast<int>(room.size()), MPI_BYTE, MPI_ANY_SOURCE,
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
    router_.came(i - router_.outgoing(), as_size(bytes));
  }

  [[nodiscard]] int tag(int of) const noexcept { return f_.tag + finding::first_tag + of; }

  void describe(mpi::wait_note& note) const override {
    note.what = "notices of a sparse exchange";
    note.comm = f_.comm.get();
  }

  finding& f_;
  notice_router router_;
  mpi::request_set requests_;  // last: ended first
};

}  // namespace

void find_routed(finding& f, int radix) {
  f.rounds = as_size(notice_router::classes(f.comm.size(), radix));
  routed_find(f, radix).run();
}

// A round for each class; a rank's notices are handed on in each, of which a message has about 100.
std::uint64_t routed_nanoseconds(const sparse_shape& s, int radix) noexcept {
  const auto rounds = static_cast<std::uint64_t>(notice_router::classes(s.ranks, radix));
  const auto messages = static_cast<std::uint64_t>(notice_router::channels(s.ranks, radix));
  return rounds * (sparse_latency + s.blocks / 100 * sparse_overhead) + 2 * messages * sparse_overhead;
}

std::size_t routed_memory(int ranks, int radix, std::size_t message_bytes) noexcept {
  return notice_router::footprint(ranks, radix, message_bytes) +
         mpi::request_set::bytes(as_size(notice_router::channels(ranks, radix) + notice_router::classes(ranks, radix)));
}

}  // namespace taquin::detail
