#include "node/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/fingerprint.hpp"
#include "base/random_number.hpp"
#ifdef TAQUIN_SMPI
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#endif

namespace taquin::detail {

namespace {

std::byte* map(int file, std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (leaves_address_space()) return static_cast<std::byte*>(memory);
  munmap(memory, bytes);
  return nullptr;
}

#ifdef TAQUIN_SMPI
// Simulated machines have names alone.
std::uint64_t find_host_id() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  TAQUIN_MPI(PMPI_Get_processor_name(name.data(), &length));
  fingerprint id;
  id.add(std::string_view(name.data(), as_size(length)));
  return id.value();
}
#else
// Allocates nothing, because a rank without memory would then count as alone on a machine.
std::uint64_t find_host_id() {
  fingerprint id;
  std::array<char, 256> text{};
  if (const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    if (read(file, text.data(), text.size() - 1) > 0) id.add(std::string_view(text.data()));
    ::close(file);
  }
  if (gethostname(text.data(), text.size() - 1) == 0) id.add(std::string_view(text.data()));
  for (const char* name : {"/proc/self/ns/pid", "/proc/self/ns/ipc", "/proc/self/ns/user"}) {
    struct stat s {};
    if (stat(name, &s) == 0) id.add(s.st_ino);
  }
  return id.value();
}
#endif

// The signal that the system sends for a file over the limit (SIGXFSZ) ends the process.
bool may_make_file(std::size_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

constexpr int most_attempts = 100;  // signals of a profiler interrupt the allocation of pages

// Allocates the pages of these bytes of a file now.
bool take_pages(int file, std::size_t from, std::size_t bytes) noexcept {
  for (int attempt = 0; attempt < most_attempts; ++attempt)
    if (const int error = posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(bytes)); error != EINTR)
      return error == 0;
  return false;
}

#ifdef MADV_POPULATE_WRITE
// The same for a part of the memory, in whole pages, without an access.
bool take_part(std::byte* from, std::size_t bytes) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(from) % page;
  int code = -1;
  for (int attempt = 0; attempt < most_attempts && code != 0; ++attempt) {
    code = madvise(from - before, before + bytes, MADV_POPULATE_WRITE);
    if (code != 0 && errno != EINTR) return false;
  }
  return code == 0;
}

// Linux 5.14 and later.
bool can_take_parts() noexcept {
  static const bool can = [] {
    void* const page = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool taken = take_part(static_cast<std::byte*>(page), 1);
    munmap(page, 1);
    return taken;
  }();
  return can;
}
#else
bool take_part(std::byte* /*from*/, std::size_t /*bytes*/) noexcept { return false; }
bool can_take_parts() noexcept { return false; }
#endif

}  // namespace

mapping::mapping(mapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}

mapping& mapping::operator=(mapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

mapping::~mapping() {
  if (memory_ != nullptr) munmap(memory_, header + size_);
}

mapping mapping::create(std::size_t bytes, mapping_key& key, pages when) {
  key = {};
  const std::size_t all = header + bytes;
  if (!may_make_file(all)) return {};
  const int file = memfd_create("taquin", MFD_CLOEXEC);
  if (file < 0) return {};
  const bool whole = when == pages::in_parts && !can_take_parts();
  const bool made = ftruncate(file, static_cast<off_t>(all)) == 0 && take_pages(file, 0, whole ? all : header);
  std::byte* const memory = made ? map(file, all) : nullptr;
  if (memory == nullptr) {
    ::close(file);
    return {};
  }
  key = {random_number(), bytes, getpid(), file};
  std::memcpy(memory, &key.token, sizeof key.token);
  return {memory, bytes};
}

bool mapping::take(std::byte* from, std::size_t bytes) noexcept { return !can_take_parts() || take_part(from, bytes); }

bool mapping::take(const mapping_key& key, std::size_t from, std::size_t bytes) noexcept {
  return take_pages(key.file, header + from, bytes);
}

void mapping::give_back(const mapping_key& key, std::size_t from, std::size_t bytes) noexcept {
  static_cast<void>(fallocate(key.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(header + from),
                              static_cast<off_t>(bytes)));
}

mapping mapping::attach(const mapping_key& key) noexcept {
  if (key.file < 0) return {};
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "/proc/%d/fd/%d", key.process, key.file);
  const int file = open(name.data(), O_RDWR | O_CLOEXEC);
  if (file < 0) return {};
  struct stat s {};
  const bool fits = fstat(file, &s) == 0 && s.st_size == static_cast<off_t>(header + key.bytes);
  std::byte* memory = fits ? map(file, header + key.bytes) : nullptr;
  ::close(file);
  if (memory == nullptr) return {};
  mapping m(memory, key.bytes);
  return std::memcmp(memory, &key.token, sizeof key.token) == 0 ? std::move(m) : mapping();
}

bool leaves_address_space() noexcept {
  constexpr std::size_t least = std::size_t{1} << 20U;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) return true;
  void* const left = mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (left == MAP_FAILED) return false;
  munmap(left, least);
  return true;
}

void mapping::close(mapping_key& key) noexcept {
  if (key.file >= 0 && key.process == getpid()) ::close(key.file);
  key.file = -1;
}

std::uint64_t host_id() {
  static const std::uint64_t id = find_host_id();
  return id;
}

}  // namespace taquin::detail
