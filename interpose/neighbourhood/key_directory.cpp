#include "interpose/neighbourhood/key_directory.hpp"

#include <algorithm>
#include <bit>

#include "mpi/check.hpp"
#include "mpi/collectives.hpp"

namespace taquin::interpose {

namespace {

constexpr int tag = 0;

std::uint64_t mark_of(int number) noexcept { return static_cast<std::uint64_t>(number) + 1; }

// From the first rank of the node, in a blocking call.
detail::mapping_key share(MPI_Comm comm, std::span<const int> here, int rank, detail::mapping_key key) {
  if (rank != here.front()) {
    TAQUIN_MPI(PMPI_Recv(&key, sizeof key, MPI_BYTE, here.front(), tag, comm, MPI_STATUS_IGNORE));
    return key;
  }
  for (const int other : here.subspan(1)) TAQUIN_MPI(PMPI_Send(&key, sizeof key, MPI_BYTE, other, tag, comm));
  return key;
}

}  // namespace

std::unique_ptr<key_directory> key_directory::make(MPI_Comm comm, std::span<const int> here) {
  std::unique_ptr<key_directory> made;
  mpi::make_everywhere(comm, [&] {
    made.reset(new key_directory);
    made->here_.assign(here.begin(), here.end());
  });
  TAQUIN_MPI(PMPI_Comm_rank(comm, &made->rank_));
  detail::mapping_key key;
  if (made->rank_ == here.front()) {
    const std::size_t bytes = here.size() * entries * sizeof(entry);
    made->memory_ = detail::mapping::create(bytes, key, detail::mapping::pages::as_written);
    if (!made->memory_.empty() && !detail::mapping::take(key, 0, bytes)) made->memory_ = {};
  }
  const detail::mapping_closer closes(key);
  const detail::mapping_key shared = share(comm, here, made->rank_, key);
  if (made->rank_ != here.front()) made->memory_ = detail::mapping::attach(shared);
  return mpi::holds_everywhere(!made->memory_.empty(), comm) ? std::move(made) : nullptr;
}

key_directory::entry& key_directory::of(int rank, int number) const noexcept {
  const auto nth = detail::as_size(std::ranges::lower_bound(here_, rank) - here_.begin());
  return reinterpret_cast<entry*>(memory_.data())[nth * entries + detail::as_size(number) % entries];
}

bool key_directory::publish(int number, const detail::mapping_key& key) noexcept {
  entry& e = of(rank_, number);
  if (e.number.load(std::memory_order_relaxed) != 0) return false;
  const auto words = std::bit_cast<key_words>(key);
  std::atomic_thread_fence(std::memory_order_release);  // the number was taken away before
  for (std::size_t i = 0; i < words.size(); ++i) e.key[i].store(words[i], std::memory_order_relaxed);
  e.number.store(mark_of(number), std::memory_order_release);
  return true;
}

void key_directory::withdraw(int number) noexcept {
  entry& e = of(rank_, number);
  if (e.number.load(std::memory_order_relaxed) == mark_of(number)) e.number.store(0, std::memory_order_relaxed);
}

std::optional<detail::mapping_key> key_directory::find(int rank, int number) const noexcept {
  const entry& e = of(rank, number);
  if (e.number.load(std::memory_order_acquire) != mark_of(number)) return std::nullopt;
  key_words words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = e.key[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (e.number.load(std::memory_order_relaxed) != mark_of(number)) return std::nullopt;
  return std::bit_cast<detail::mapping_key>(words);
}

}  // namespace taquin::interpose
