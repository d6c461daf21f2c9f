// Stands between the library and the MPI library: the program's definitions come before those of shared libraries.
#include "faults/layer.hpp"

#include <mpi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "support/next_function.hpp"

namespace taquin::test {

namespace {

struct armed {
  fault what;
  int left;
  std::uint32_t random;
  bool happened;
};
thread_local std::optional<armed> now;

thread_local int steps_left = 0;
thread_local void (*then)() = nullptr;

void step() noexcept {
  if (then != nullptr && steps_left-- == 0) std::exchange(then, nullptr)();
}

// The call that must fail is here.
bool is_time(fault what) noexcept {
  if (!now || now->what != what || now->left-- != 0) return false;
  now->happened = true;
  return true;
}

bool none_is_left() noexcept {
  if (!now || now->what != fault::no_memory || now->left-- > 0) return false;
  now->left = 0;
  now->happened = true;
  return true;
}

bool call_fails() noexcept {
  step();
  if (!now) return false;
  if (now->what == fault::delay) {
    now->happened = true;
    now->random = now->random * 1664525U + 1013904223U;
    constexpr unsigned int most_microseconds = 100;
    usleep((now->random >> 16U) % most_microseconds);
  }
  if (is_time(fault::death)) kill(getpid(), SIGKILL);
  return is_time(fault::mpi_call);
}

bool type_call_fails() noexcept { return is_time(fault::datatype); }

bool type_fails() noexcept {
  const bool fails = call_fails();
  return type_call_fails() || fails;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  step();
  if (is_time(fault::memory) || none_is_left()) throw std::bad_alloc();
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(bytes > 0 ? bytes : 1)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void layer::arm(fault what, int n) noexcept { now = armed{what, n, static_cast<std::uint32_t>(n) + 1, false}; }

void at_step(int n, void (*what)()) noexcept {
  steps_left = n;
  then = what;
}

bool layer::disarm() noexcept {
  const bool happened = now && now->happened;
  now.reset();
  return happened;
}

}  // namespace taquin::test

void* operator new(std::size_t bytes) { return taquin::test::allocate(bytes, 1); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return taquin::test::allocate(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return taquin::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int sched_yield() noexcept {
  taquin::test::step();
  return static_cast<int>(syscall(SYS_sched_yield));
}

#define TAQUIN_FAULTY_BY(fails, name, parameters, arguments)                              \
  extern "C" int PMPI_##name parameters {                                                 \
    static auto* const next = taquin::test::next_function<int parameters>("PMPI_" #name); \
    return taquin::test::fails() ? MPI_ERR_OTHER : next arguments;                        \
  }
#define TAQUIN_FAULTY(name, parameters, arguments) TAQUIN_FAULTY_BY(call_fails, name, parameters, arguments)

TAQUIN_FAULTY(Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
              (b, n, t, to, tag, c, r))
TAQUIN_FAULTY(Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
              (b, n, t, from, tag, c, r))
TAQUIN_FAULTY(Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
              (b, n, t, from, tag, c, s))
TAQUIN_FAULTY(Send_init, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
              (b, n, t, to, tag, c, r))
TAQUIN_FAULTY(Recv_init, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
              (b, n, t, from, tag, c, r))
TAQUIN_FAULTY(Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
TAQUIN_FAULTY(Start, (MPI_Request * r), (r))
TAQUIN_FAULTY(Ibarrier, (MPI_Comm c, MPI_Request* r), (c, r))
TAQUIN_FAULTY(Wait, (MPI_Request * r, MPI_Status* s), (r, s))
TAQUIN_FAULTY(Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s))
TAQUIN_FAULTY(Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* r), (b, n, t, root, c, r))
TAQUIN_FAULTY(Iallreduce, (const void* s, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request* r),
              (s, d, n, t, o, c, r))
TAQUIN_FAULTY(Ialltoall,
              (const void* s, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c, MPI_Request* r),
              (s, n, t, d, m, u, c, r))
TAQUIN_FAULTY(Iallgather,
              (const void* s, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c, MPI_Request* r),
              (s, n, t, d, m, u, c, r))
TAQUIN_FAULTY(Get_count, (const MPI_Status* s, MPI_Datatype t, int* n), (s, t, n))
#define TAQUIN_FAULTY_TYPE(name, parameters, arguments) TAQUIN_FAULTY_BY(type_fails, name, parameters, arguments)
TAQUIN_FAULTY_TYPE(Type_commit, (MPI_Datatype * t), (t))
TAQUIN_FAULTY_TYPE(Type_create_struct,
                   (int n, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype* t),
                   (n, lengths, places, types, t))
TAQUIN_FAULTY_TYPE(Type_create_hindexed,
                   (int n, const int lengths[], const MPI_Aint places[], MPI_Datatype one, MPI_Datatype* t),
                   (n, lengths, places, one, t))
// Those that no other fault counts: steps of other tests stay as they are.
#define TAQUIN_FAULTY_LOOK(name, parameters, arguments) TAQUIN_FAULTY_BY(type_call_fails, name, parameters, arguments)
TAQUIN_FAULTY_LOOK(Type_create_hindexed_block,
                   (int n, int length, const MPI_Aint places[], MPI_Datatype one, MPI_Datatype* t),
                   (n, length, places, one, t))
TAQUIN_FAULTY_LOOK(Type_create_hvector, (int n, int length, MPI_Aint stride, MPI_Datatype one, MPI_Datatype* t),
                   (n, length, stride, one, t))
TAQUIN_FAULTY_LOOK(Type_create_resized, (MPI_Datatype one, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* t),
                   (one, lower, extent, t))
TAQUIN_FAULTY_LOOK(Type_contiguous, (int n, MPI_Datatype one, MPI_Datatype* t), (n, one, t))
TAQUIN_FAULTY_LOOK(Type_dup, (MPI_Datatype one, MPI_Datatype* t), (one, t))
TAQUIN_FAULTY_LOOK(Type_size_x, (MPI_Datatype t, MPI_Count* n), (t, n))
TAQUIN_FAULTY_LOOK(Type_get_extent_x, (MPI_Datatype t, MPI_Count* lower, MPI_Count* extent), (t, lower, extent))
TAQUIN_FAULTY_LOOK(Type_get_true_extent_x, (MPI_Datatype t, MPI_Count* lower, MPI_Count* extent), (t, lower, extent))
TAQUIN_FAULTY_LOOK(Type_get_envelope, (MPI_Datatype t, int* ints, int* places, int* types, int* combiner),
                   (t, ints, places, types, combiner))
TAQUIN_FAULTY_LOOK(Type_get_contents,
                   (MPI_Datatype t, int ints, int places, int types, int i[], MPI_Aint p[], MPI_Datatype d[]),
                   (t, ints, places, types, i, p, d))
TAQUIN_FAULTY_LOOK(Type_set_attr, (MPI_Datatype t, int key, void* value), (t, key, value))
