#include "node/first_call.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/sizes.hpp"
#include "mpi/collectives.hpp"
#include "mpi/observer.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t words = sizeof(first_words) / sizeof(std::uint64_t);

void add(first_words& sum, const first_words& one) noexcept {
  sum.cannot += one.cannot;
  sum.differs += one.differs;
  sum.other_memory += one.other_memory;
  sum.goes_on += one.goes_on;
  sum.longest += one.longest;
}

// Records have 512 bytes, or 2, 4, 8, or 16 times as many. first_words::longest has a field for each of these sizes,
// which is 1 where the rank has a block that such a record does not hold: so sums tell whether some rank has.
constexpr unsigned sizes = 5;
constexpr unsigned field_bits = 12;
constexpr int most_ranks = 16;

constexpr std::size_t size(unsigned k) noexcept { return first_agreement::least_record << k; }
constexpr std::size_t holds(std::size_t record) noexcept { return record - sizeof(first_words); }
constexpr std::uint64_t field(std::uint64_t longest, unsigned k) noexcept {
  return longest >> (field_bits * k) & ((std::uint64_t{1} << field_bits) - 1);
}

// Every rank's blocks fit into such records.
constexpr bool fit(std::uint64_t longest, std::size_t record) noexcept {
  for (unsigned k = 0; k < sizes; ++k)
    if (size(k) == record) return field(longest, k) == 0;
  return false;
}

// Null: longer than any.
std::uint64_t fields(const first_call* call) noexcept {
  std::uint64_t all = 0;
  for (unsigned k = 0; k < sizes; ++k)
    if (call == nullptr || call->longest() > static_cast<count_t>(holds(size(k))))
      all |= std::uint64_t{1} << (field_bits * k);
  return all;
}

}  // namespace

std::size_t first_agreement::next_record(const first_words& sums, int ranks) noexcept {
  for (unsigned k = 0; ranks <= most_ranks && k < sizes && as_size(ranks) * size(k) <= records::most; ++k)
    if (field(sums.longest, k) == 0) return size(k);
  return 0;
}

std::span<const std::byte> first_agreement::record_of(int peer) const noexcept {
  return std::span(from_.bytes).subspan(as_size(peer) * record_, record_);
}

first_words first_agreement::sum(first_words mine, const first_call* call, int ranks, std::size_t record,
                                 MPI_Comm comm) {
  mine.longest = fields(call);
  if (record == 0 || ranks > most_ranks) {
    mine.longest = std::min<std::uint64_t>(mine.longest, 1);  // no field of a sum over so many ranks is read
    static_assert(sizeof(first_words) == words * sizeof(std::uint64_t));
    mpi::allreduce(std::span(reinterpret_cast<std::uint64_t*>(&mine), words), MPI_SUM, comm);
    return mine;
  }
  record_ = record;
  static_assert(2 * records::most <= mpi::collectives::most_at_once);
  records to;
  const std::size_t bytes = as_size(ranks) * record;
  std::fill_n(to.bytes.begin(), bytes, std::byte{0});
  const auto record_to = [&](int peer) { return std::span(to.bytes).subspan(as_size(peer) * record, record); };
  const bool fits = call != nullptr && call->longest() <= static_cast<count_t>(holds(record));
  try {
    for (int peer = 0; fits && peer < ranks; ++peer) call->write(peer, record_to(peer).subspan(sizeof(first_words)));
  } catch (const std::exception&) {  // the others must not wait for this rank; the agreement that follows reports it
    mine.cannot = 1;
    mine.longest = fields(nullptr);
  }
  for (int peer = 0; peer < ranks; ++peer) std::memcpy(record_to(peer).data(), &mine, sizeof mine);
  const inside_taquin own_call;
  mpi::collectives::run(std::span<const std::byte>(to.bytes).first(bytes), std::span(from_.bytes).first(bytes),
                        "MPI_Ialltoall",
                        [comm, each = static_cast<int>(record)](const void* own, void* theirs, MPI_Request* request) {
                          return mpi::collectives::begin_one(PMPI_Alltoall, PMPI_Ialltoall, comm, request, own, each,
                                                             MPI_BYTE, theirs, each, MPI_BYTE);
                        });
  first_words all{.cannot = 0, .goes_on = 0};
  for (int peer = 0; peer < ranks; ++peer) {
    first_words one;
    std::memcpy(&one, record_of(peer).data(), sizeof one);
    add(all, one);
  }
  came_ = fit(all.longest, record);
  return all;
}

void first_agreement::deliver(first_call& call, int ranks) const {
  for (int peer = 0; came_ && peer < ranks; ++peer) call.read(peer, record_of(peer).subspan(sizeof(first_words)));
}

}  // namespace taquin::detail
