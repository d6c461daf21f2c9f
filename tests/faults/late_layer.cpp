// The program's definitions precede those of shared libraries. Freed memory is overwritten immediately.
#include "faults/late_layer.hpp"

#include <malloc.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "support/next_function.hpp"

namespace taquin::test {

namespace {

int messages_left = 0;
void (*then)() = nullptr;

void posts_message() noexcept {
  if (then != nullptr && messages_left-- == 0) std::exchange(then, nullptr)();
}

bool (*time_to_fail)() = nullptr;
int polls_left = 0;

bool poll_fails() noexcept {
  if (time_to_fail == nullptr || !time_to_fail() || polls_left-- > 0) return false;
  time_to_fail = nullptr;
  return true;
}

/// The memory that a send reads.
struct part {
  const void* begin = nullptr;
  std::size_t bytes = 0;

  /// A checksum; none where the memory is not there.
  [[nodiscard]] std::optional<std::uint64_t> sum() const {
    std::vector<std::byte> copy(bytes);
    const iovec here{copy.data(), bytes};
    const iovec there{const_cast<void*>(begin), bytes};
    if (bytes > 0 && process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes))
      return std::nullopt;
    std::uint64_t all = bytes;
    for (const std::byte b : copy) all = all * 1099511628211U + static_cast<std::uint64_t>(b);
    return all;
  }
};

std::map<MPI_Request, part>& posted() {
  static auto* const all = new std::map<MPI_Request, part>;
  return *all;
}
struct kept {
  part memory;
  std::optional<std::uint64_t> sum;
};
std::vector<kept>& without_owner() {
  static auto* const all = new std::vector<kept>;
  return *all;
}

// Nothing of a type with gaps, whose bytes are the program's.
part part_of(const void* begin, int count, MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  if (lower != 0 || extent != size) return {};
  return {begin, static_cast<std::size_t>(count) * static_cast<std::size_t>(size)};
}

}  // namespace

void at_message(int n, void (*what)()) noexcept {
  messages_left = n;
  then = what;
}

void fail_a_poll_when(bool (*is_time)()) noexcept {
  constexpr int polls = 20;  // this rank does what it can before
  polls_left = polls;
  time_to_fail = is_time;
}

bool was_late() noexcept { return std::exchange(then, nullptr) == nullptr; }

given_up poll_given_up() {
  given_up all;
  for (const kept& k : std::exchange(without_owner(), {})) {
    ++all.sends;
    if (!k.sum || k.memory.sum() != k.sum) ++all.spoiled;
  }
  return all;
}

}  // namespace taquin::test

void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) std::memset(memory, 0xdd, malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

using namespace taquin::test;

extern "C" int PMPI_Issend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {
  static auto* const real = next_function<decltype(PMPI_Issend)>("PMPI_Issend");
  posts_message();
  const int code = real(b, n, t, to, tag, c, r);
  posted()[*r] = part_of(b, n, t);
  return code;
}
extern "C" int PMPI_Isend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {
  return PMPI_Issend(b, n, t, to, tag, c, r);
}
extern "C" int PMPI_Send_init(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {
  const int code = PMPI_Ssend_init(b, n, t, to, tag, c, r);
  posted()[*r] = part_of(b, n, t);
  return code;
}
extern "C" int PMPI_Start(MPI_Request* r) {
  static auto* const real = next_function<decltype(PMPI_Start)>("PMPI_Start");
  posts_message();
  return real(r);
}
extern "C" int PMPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  static auto* const real = next_function<decltype(PMPI_Irecv)>("PMPI_Irecv");
  posts_message();
  const int code = real(b, n, t, from, tag, c, r);
  posted().erase(*r);
  return code;
}
extern "C" int PMPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  static auto* const real = next_function<decltype(PMPI_Recv)>("PMPI_Recv");
  posts_message();
  return real(b, n, t, from, tag, c, s);
}
#define TAQUIN_FAILING_POLL(name, parameters, arguments)                    \
  extern "C" int PMPI_##name parameters {                                   \
    static auto* const real = next_function<int parameters>("PMPI_" #name); \
    return poll_fails() ? MPI_ERR_OTHER : real arguments;                   \
  }
TAQUIN_FAILING_POLL(Test, (MPI_Request * r, int* done, MPI_Status* s), (r, done, s))
TAQUIN_FAILING_POLL(Testall, (int n, MPI_Request* r, int* done, MPI_Status* s), (n, r, done, s))
TAQUIN_FAILING_POLL(Testsome, (int n, MPI_Request* r, int* done, int* which, MPI_Status* s), (n, r, done, which, s))
TAQUIN_FAILING_POLL(Iprobe, (int from, int tag, MPI_Comm c, int* found, MPI_Status* s), (from, tag, c, found, s))

extern "C" int PMPI_Request_free(MPI_Request* r) {
  static auto* const real = next_function<decltype(PMPI_Request_free)>("PMPI_Request_free");
  int done = 1;
  if (const auto found = posted().find(*r); found != posted().end()) {
    PMPI_Request_get_status(*r, &done, MPI_STATUS_IGNORE);
    if (done == 0) without_owner().push_back({found->second, found->second.sum()});
    posted().erase(found);
  }
  return real(r);
}
