#include "mpi/collectives.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "mpi/backoff.hpp"
#include "mpi/watch.hpp"

namespace taquin::mpi {

namespace collectives {

namespace {

void run_in(const collective& c, const void* from, void* to, const int* layout, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(c.begin(from, to, layout, &request), call);
  complete(request, call);
}

// Memory for a collective's own copies of its arguments, that of most of them: no heap then, and nothing that one rank
// may lack. It serves one collective at a time, and none any more once one was left in the middle.
class copies {
 public:
  explicit copies(std::size_t bytes) {
    if (bytes <= reserve.size() && !in_use.exchange(true, std::memory_order_acquire)) {
      at_ = reserve.data();
    } else {
      heap_.reset(new std::byte[bytes]);
      at_ = heap_.get();
    }
  }
  copies(const copies&) = delete;
  copies& operator=(const copies&) = delete;
  ~copies() {
    if (heap_ == nullptr && !kept_) in_use.store(false, std::memory_order_release);
  }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }
  /// For ever: the MPI library may still use it.
  void keep() noexcept {
    kept_ = true;
    static_cast<void>(heap_.release());
  }

 private:
  alignas(std::max_align_t) static std::array<std::byte, most_reserved> reserve;
  static std::atomic<bool> in_use;
  std::byte* at_ = nullptr;
  std::unique_ptr<std::byte[]> heap_;
  bool kept_ = false;
};
alignas(std::max_align_t) std::array<std::byte, most_reserved> copies::reserve;
std::atomic<bool> copies::in_use{false};

// Each begins where any type may.
constexpr std::size_t padded(std::size_t bytes) noexcept {
  constexpr std::size_t unit = alignof(std::max_align_t);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void run(const collective& c, std::span<const std::byte> from, std::span<std::byte> to, std::span<const int> layout,
         const char* call) {
  if (!may_give_up()) return run_in(c, from.data(), to.data(), layout.data(), call);
  const auto bytes_of_layout = std::as_bytes(layout);
  copies own(padded(from.size()) + padded(to.size()) + bytes_of_layout.size());
  std::byte* const own_from = own.data();
  std::byte* const own_to = own_from + padded(from.size());
  std::byte* const own_layout = own_to + padded(to.size());
  std::ranges::copy(from, own_from);
  std::ranges::copy(to, own_to);
  std::ranges::copy(bytes_of_layout, own_layout);
  try {
    run_in(c, own_from, own_to, reinterpret_cast<const int*>(own_layout), call);
  } catch (...) {
    own.keep();
    throw;
  }
  std::copy_n(own_to, to.size(), to.data());
}

}  // namespace collectives

void barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(collectives::begin_one(PMPI_Barrier, PMPI_Ibarrier, comm, &request), "MPI_Ibarrier");
  complete(request, "MPI_Ibarrier");
}

bool holds_everywhere(bool mine, MPI_Comm comm) {
  std::int32_t all = mine ? 1 : 0;
  allreduce(all, MPI_MIN, comm);
  return all != 0;
}

}  // namespace taquin::mpi
