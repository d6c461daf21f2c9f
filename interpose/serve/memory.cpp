// Memory that the program asks MPI for, where exchanges of large blocks can be plain copies: that of MPI_Alloc_mem,
// where the user wants it to be such that ranks of a node can map it, and that of shared windows, which they have
// mapped.
#include <mpi.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "node/shared_buffers.hpp"
#include "taquin/shared_buffer.hpp"

using namespace taquin::interpose;
using taquin::detail::as_size;
using taquin::detail::common_memory;

namespace {

// Less does not gain by being mapped; and each has a file descriptor, of which a process may have 1024.
constexpr MPI_Aint least_shared = MPI_Aint{64} << 10U;
constexpr int most_shared = 256;
std::atomic<int> shared{0};

bool is_shared(const void* memory) noexcept { return taquin::detail::find_shared(memory, 1).has_value(); }

void* shared_memory(MPI_Aint bytes) noexcept {
  if (!in_service() || !settings::get().shared_memory_for_program || bytes < least_shared) return nullptr;
  if (shared.fetch_add(1) < most_shared) try {
      return taquin::allocate_shared(as_size(bytes));
    } catch (const std::bad_alloc&) {  // the MPI library may have some
    }
  --shared;
  return nullptr;
}

// Parts of a window get the number by which all its ranks know them: of the file that is mapped there, and the place in
// it. No rank needs to be asked. Those that are not found stay 0.
void number_by_file(std::span<common_memory> parts) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (maps == nullptr) return;
  char* text = nullptr;
  std::size_t space = 0;
  while (getline(&text, &space, maps.get()) > 0) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    unsigned major = 0;
    unsigned minor = 0;
    std::uint64_t inode = 0;
    char sharing = 0;
    // NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers
    if (std::sscanf(text, "%lx-%lx %*c%*c%*c%c %lx %x:%x %lu", &begin, &end, &sharing, &offset, &major, &minor,
                    &inode) != 7 ||
        sharing != 's')
      continue;
    for (common_memory& part : parts) {
      const auto at = reinterpret_cast<std::uint64_t>(part.begin);
      if (part.bytes == 0 || at < begin || at >= end || part.bytes > end - at) continue;
      taquin::detail::fingerprint id;
      id.add(major);
      id.add(minor);
      id.add(inode);
      id.add(offset + (at - begin));
      part.token = id.value();
    }
  }
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): getline's
}

struct known_parts {
  std::vector<std::uint64_t> tokens;
  known_parts() = default;
  known_parts(const known_parts&) = delete;
  known_parts& operator=(const known_parts&) = delete;
  ~known_parts() {
    for (const std::uint64_t token : tokens) taquin::detail::forget_common(token);
  }
};

int forget(MPI_Win, int, void* parts, void*) {
  delete static_cast<known_parts*>(parts);
  return MPI_SUCCESS;
}

int key_of_windows() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    TAQUIN_MPI(PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget, &made, nullptr));
    return made;
  }();
  return key;
}

// Local: a rank that does not know the window's memory has its blocks copied by the kernel, as other memory.
void know(MPI_Win window, int rank, int ranks) {
  std::vector<common_memory> parts(as_size(ranks));
  for (int r = 0; r < ranks; ++r) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* base = nullptr;
    TAQUIN_MPI(PMPI_Win_shared_query(window, r, &bytes, &unit, static_cast<void*>(&base)));
    parts[as_size(r)] = {static_cast<std::byte*>(base), as_size(bytes), 0};
  }
  number_by_file(parts);
  auto known = std::make_unique<known_parts>();
  known->tokens.reserve(parts.size());
  for (int r = 0; r < ranks; ++r) {
    const common_memory& part = parts[as_size(r)];
    if (part.token == 0) continue;
    taquin::detail::know_common(part, r == rank);
    known->tokens.push_back(part.token);
  }
  TAQUIN_MPI(PMPI_Win_set_attr(window, key_of_windows(), known.get()));
  known.release();  // NOLINT(bugprone-unused-return-value): the window's
}

template <class Native>
int allocate_window(MPI_Comm comm, MPI_Win* window, Native&& native) noexcept {
  const guard g;
  const int code = native();
  if (code != MPI_SUCCESS || !served(comm)) return code;
  try {
    int rank = 0;
    int ranks = 1;
    TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
    TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
    know(*window, rank, ranks);
  } catch (const std::exception&) {  // as if unknown
  }
  return code;
}

int intercepted_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* memory) {
  const guard g;
  if (void* const own = shared_memory(bytes); own != nullptr) {
    *static_cast<void**>(memory) = own;
    return MPI_SUCCESS;
  }
  return TAQUIN_NEXT(Alloc_mem)(bytes, info, memory);
}

int intercepted_Free_mem(void* memory) {
  const guard g;
  if (shared.load(std::memory_order_relaxed) == 0 || !is_shared(memory)) return TAQUIN_NEXT(Free_mem)(memory);
  taquin::free_shared(memory);
  --shared;
  return MPI_SUCCESS;
}

}  // namespace

TAQUIN_BOTH_NAMES(Alloc_mem, (MPI_Aint bytes, handle info, void* memory), (bytes, info, memory))
TAQUIN_BOTH_NAMES(Free_mem, (void* memory), (memory))

#define TAQUIN_WINDOW(SUFFIX, COUNT, DISPL)                                                                    \
  static int intercepted_Win_allocate_shared##SUFFIX(MPI_Aint bytes, DISPL unit, MPI_Info info, MPI_Comm comm, \
                                                     void* base, MPI_Win* window) {                            \
    return allocate_window(comm, window, [&] {                                                                 \
      return TAQUIN_NEXT(Win_allocate_shared##SUFFIX)(bytes, unit, info, comm, base, window);                  \
    });                                                                                                        \
  }                                                                                                            \
  TAQUIN_BOTH_NAMES(Win_allocate_shared##SUFFIX,                                                               \
                    (MPI_Aint bytes, DISPL unit, handle info, handle comm, void* base, MPI_Win* window),       \
                    (bytes, unit, info, comm, base, window))
TAQUIN_EACH_COUNT(TAQUIN_WINDOW)
