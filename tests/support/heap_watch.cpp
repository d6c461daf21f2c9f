#include "support/heap_watch.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace taquin::test {
namespace {

// Where the code of a program or of a shared library lies.
struct code_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool holds(std::uintptr_t at) const noexcept { return begin <= at && at < end; }
};

code_range code_around(const void* function) {
  struct search {
    std::uintptr_t at;
    code_range found;
  } s{reinterpret_cast<std::uintptr_t>(function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          const code_range range{begin, begin + segment.p_memsz};
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && range.holds(wanted.at)) {
            wanted.found = range;
            return 1;
          }
        }
        return 0;
      },
      &s);
  return s.found;
}

code_range program;
code_range mpi;
code_range below_mpi;  // the lowest of Open MPI's libraries: calls into it can leave no frame of the first

// The present allocations: a hash table in static memory, because it must not allocate itself.
class allocations {
 public:
  void clear() noexcept {
    if (count_ > 0) all_.fill({});
    count_ = 0;
  }
  void add(const void* memory, std::size_t bytes) noexcept {
    if (++count_ > all_.size() / 2) std::abort();
    std::size_t i = home(memory);
    while (all_[i].memory != nullptr) i = next(i);
    all_[i] = {memory, bytes};
  }
  /// Its bytes; 0 when it is not there.
  std::size_t remove(const void* memory) noexcept {
    std::size_t i = home(memory);
    while (all_[i].memory != memory) {
      if (all_[i].memory == nullptr) return 0;
      i = next(i);
    }
    const std::size_t bytes = all_[i].bytes;
    --count_;
    // The entries that follow move up, so that no search ends too early.
    for (std::size_t k = next(i); all_[k].memory != nullptr; k = next(k)) {
      const std::size_t distance = (k - home(all_[k].memory)) % all_.size();
      if (distance < (k - i) % all_.size()) continue;
      all_[i] = all_[k];
      i = k;
    }
    all_[i] = {};
    return bytes;
  }

 private:
  struct entry {
    const void* memory = nullptr;
    std::size_t bytes = 0;
  };
  static std::size_t next(std::size_t i) noexcept { return (i + 1) % size; }
  static std::size_t home(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) * 0x9e3779b97f4a7c15U >> 48U;
  }
  static constexpr std::size_t size = 1U << 16U;
  std::array<entry, size> all_{};
  std::size_t count_ = 0;
};

allocations taken;
std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;
std::size_t requests = 0;
int mapping_ranks = 1;
thread_local bool watching = false;
thread_local bool looking = false;  // at a stack, which may itself want memory

// The stack from the innermost frame outwards.
struct stack_walk {
  std::uintptr_t caller;  // judged from this frame on; 0: from where the stack first leaves the program
  bool started = false;
  bool ours = false;
};

_Unwind_Reason_Code arbiter(_Unwind_Context* frame, void* data) {
  auto& walk = *static_cast<stack_walk*>(data);
  const std::uintptr_t at = _Unwind_GetIP(frame);
  if (!walk.started) {
    if (walk.caller != 0 ? at != walk.caller : program.holds(at)) return _URC_NO_REASON;
    walk.started = true;
  }
  walk.ours = program.holds(at);
  return walk.ours || mpi.holds(at) || below_mpi.holds(at) ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

bool ours(const void* caller) {
  stack_walk walk{reinterpret_cast<std::uintptr_t>(caller)};
  looking = true;
  _Unwind_Backtrace(arbiter, &walk);
  looking = false;
  return walk.ours;
}

void note_taken(const void* memory, std::size_t bytes, const void* caller) {
  if (!watching || looking || memory == nullptr || !ours(caller)) return;
  ++requests;
  taken.add(memory, bytes);
  live_bytes += bytes;
  peak_bytes = std::max(peak_bytes, live_bytes);
}

void note_given_back(const void* memory) {
  if (watching && !looking && memory != nullptr) live_bytes -= taken.remove(memory);
}

}  // namespace

heap_watch::heap_watch() {
  if (mpi.end == 0) {
    program = code_around(reinterpret_cast<const void*>(&code_around));
    mpi = code_around(dlsym(RTLD_DEFAULT, "PMPI_Init"));
    if (program.end == 0 || mpi.end == 0) std::abort();
    if (const void* const opal = dlsym(RTLD_DEFAULT, "opal_progress"); opal != nullptr) below_mpi = code_around(opal);
  }
  MPI_Comm_size(MPI_COMM_WORLD, &mapping_ranks);
  taken.clear();
  live_bytes = peak_bytes = requests = 0;
  watching = true;
}

heap_watch::~heap_watch() { watching = false; }
std::size_t heap_watch::live() noexcept { return live_bytes; }
std::size_t heap_watch::peak() noexcept { return peak_bytes; }
std::size_t heap_watch::calls() noexcept { return requests; }

}  // namespace taquin::test

#ifdef __SANITIZE_ADDRESS__

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {
[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* memory, std::size_t bytes) {
      taquin::test::note_taken(const_cast<const void*>(memory), bytes, nullptr);
    },
    [](const volatile void* memory) { taquin::test::note_given_back(const_cast<const void*>(memory)); });
}  // namespace

#else

// These take the place of the C library's in the whole process, libstdc++ and the MPI library included.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

using taquin::test::note_given_back;
using taquin::test::note_taken;

namespace {

// Memory that all ranks map together counts by each rank's share.
std::size_t share_of(std::size_t bytes, int flags) {
  const auto ranks = static_cast<std::size_t>(taquin::test::mapping_ranks);
  return (flags & MAP_SHARED) != 0 ? (bytes + ranks - 1) / ranks : bytes;
}

// While memory is copied to another place both are there.
void note_resized(const void* memory, const void* other, std::size_t bytes, const void* caller) {
  if (other == memory) note_given_back(memory);
  note_taken(other, bytes, caller);
  if (other != memory && (other != nullptr || bytes == 0)) note_given_back(memory);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) noexcept {
  void* memory = __libc_malloc(bytes);
  note_taken(memory, bytes, __builtin_return_address(0));
  return memory;
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  void* memory = __libc_calloc(count, size);
  note_taken(memory, count * size, __builtin_return_address(0));
  return memory;
}

void free(void* memory) noexcept {
  note_given_back(memory);
  __libc_free(memory);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  void* other = __libc_realloc(memory, bytes);
  note_resized(memory, other, bytes, __builtin_return_address(0));
  return other;
}

void* reallocarray(void* memory, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* other = __libc_realloc(memory, bytes);
  note_resized(memory, other, bytes, __builtin_return_address(0));
  return other;
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* memory = __libc_memalign(alignment, bytes);
  note_taken(memory, bytes, __builtin_return_address(0));
  return memory;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* memory = __libc_memalign(alignment, bytes);
  note_taken(memory, bytes, __builtin_return_address(0));
  return memory;
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void* place = __libc_memalign(alignment, bytes);
  if (place == nullptr) return ENOMEM;
  note_taken(place, bytes, __builtin_return_address(0));
  *memory = place;
  return 0;
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* memory = reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
  if (memory != MAP_FAILED) note_taken(memory, share_of(bytes, flags), __builtin_return_address(0));
  return memory;
}

void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off64_t offset) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* memory = reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
  if (memory != MAP_FAILED) note_taken(memory, share_of(bytes, flags), __builtin_return_address(0));
  return memory;
}

int munmap(void* memory, std::size_t bytes) noexcept {
  note_given_back(memory);
  return static_cast<int>(syscall(SYS_munmap, memory, bytes));
}

void* mremap(void* memory, std::size_t before, std::size_t bytes, int flags, ...) noexcept {
  std::va_list more;
  va_start(more, flags);
  void* to = va_arg(more, void*);
  va_end(more);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* other = reinterpret_cast<void*>(syscall(SYS_mremap, memory, before, bytes, flags, to));
  if (other != MAP_FAILED) {
    note_given_back(memory);
    note_taken(other, bytes, __builtin_return_address(0));
  }
  return other;
}

}  // extern "C"

#endif
