#include "node/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <new>
#include <utility>

#include "base/environment.hpp"
#include "base/random_number.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "node/mapping.hpp"

namespace taquin::detail {

shared_segment::shared_segment(shared_segment&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_), ranks_(other.ranks_), base_(other.base_) {}

shared_segment& shared_segment::operator=(shared_segment&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(ranks_, other.ranks_);
  std::swap(base_, other.base_);
  return *this;
}

shared_segment::~shared_segment() {
  if (memory_ != nullptr) munmap(memory_, overhead + size_);
}

namespace {

using segment_name = std::array<char, 48>;

void* map(int file, std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The name is random: on another machine, which a rank may be on where the caller says what the nodes are, it means
// nothing.
void* create(segment_name& name, std::size_t bytes) {
  if (!may_make_file(bytes)) return nullptr;
  std::snprintf(name.data(), name.size(), "/taquin-%016" PRIx64 "%016" PRIx64, random_number(), random_number());
  const int file = shm_open(name.data(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file < 0) return nullptr;
  void* memory = take_pages(file, bytes) ? map(file, bytes) : nullptr;
  close(file);
  if (memory == nullptr) shm_unlink(name.data());
  return memory;
}

// Removes a name at the end, an error's too.
class unlinked {
 public:
  explicit unlinked(const char* name) noexcept : name_(name) {}
  unlinked(const unlinked&) = delete;
  unlinked& operator=(const unlinked&) = delete;
  ~unlinked() {
    if (name_ != nullptr && *name_ != '\0') shm_unlink(name_);
  }

 private:
  const char* name_;
};

void* attach(const segment_name& name, std::size_t bytes) noexcept {
  const int file = shm_open(name.data(), O_RDWR, 0);
  if (file < 0) return nullptr;
  void* memory = lseek(file, 0, SEEK_END) == static_cast<off_t>(bytes) ? map(file, bytes) : nullptr;
  close(file);
  return memory;
}

}  // namespace

shared_segment shared_segment::make(MPI_Comm node, std::size_t bytes) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(node, &rank));
  TAQUIN_MPI(PMPI_Comm_size(node, &ranks));
  shared_segment s;
  s.size_ = bytes;
  s.ranks_ = static_cast<std::uint64_t>(ranks);
  segment_name name{};
  const unlinked when_attached(rank == 0 ? name.data() : nullptr);
  const bool wanted = environment::get().shared_memory;
  if (rank == 0 && wanted) {
    s.memory_ = create(name, overhead + bytes);
    if (s.memory_ == nullptr) name[0] = '\0';
    if (s.memory_ != nullptr) new (s.memory_) counter_type(0);
  }
  mpi::broadcast(std::span<char>(name), 0, node);
  if (rank != 0 && wanted && name[0] != '\0') s.memory_ = attach(name, overhead + bytes);
  return mpi::holds_everywhere(s.memory_ != nullptr, node) ? std::move(s) : shared_segment();
}

}  // namespace taquin::detail
