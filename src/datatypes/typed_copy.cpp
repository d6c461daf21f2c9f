#include "datatypes/typed_copy.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"

namespace taquin::detail {

namespace {

// MPI_Pack counts in ints: long runs go in chunks.
template <class Step>
void in_chunks(count_t count, const element& e, Step step) {
  const count_t chunk =
      std::clamp<count_t>(std::numeric_limits<int>::max() / std::max<count_t>(e.size, 1), 1, mpi::count_limit());
  for (count_t done = 0; done < count; done += chunk) step(done, static_cast<int>(std::min(chunk, count - done)));
}

}  // namespace

void pack(const std::byte* from, count_t count, const element& e, std::byte* to) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) {
    std::memcpy(to, from, static_cast<std::size_t>(count * e.size));
    return;
  }
  in_chunks(count, e, [&](count_t done, int n) {
    int position = 0;
    TAQUIN_MPI(MPI_Pack(from + done * e.extent, n, e.type, to + done * e.size, static_cast<int>(n * e.size), &position,
                        MPI_COMM_SELF));
  });
}

void unpack(const std::byte* from, std::byte* to, count_t count, const element& e) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) {
    std::memcpy(to, from, static_cast<std::size_t>(count * e.size));
    return;
  }
  in_chunks(count, e, [&](count_t done, int n) {
    int position = 0;
    TAQUIN_MPI(MPI_Unpack(from + done * e.size, static_cast<int>(n * e.size), &position, to + done * e.extent, n,
                          e.type, MPI_COMM_SELF));
  });
}

void typed_copy(const std::byte* from, count_t count, const element& e, std::byte* to, count_t to_count,
                const element& f) {
  if (count == 0 || e.size == 0) return;
  if (e.contiguous()) return unpack(from, to, to_count, f);
  if (f.contiguous()) return pack(from, count, e, to);
  const auto source = mpi::make_counted(count, e.type);
  const auto target = mpi::make_counted(to_count, f.type);
  // Several threads may come here, and their messages must not meet.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const MPI_Comm self = mpi::communicator::of(MPI_COMM_SELF).get();
  TAQUIN_MPI(MPI_Sendrecv(from, source.count, source.type, 0, 0, to, target.count, target.type, 0, 0, self,
                          MPI_STATUS_IGNORE));
}

}  // namespace taquin::detail
