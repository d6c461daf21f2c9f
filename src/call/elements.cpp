#include "call/elements.hpp"

#include <fmt/format.h>

#include <span>

#include "base/collective_error.hpp"
#include "base/fingerprint.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

constinit thread_local std::string_view known;

std::string broadcast_text(MPI_Comm comm, int root, int rank, std::string_view mine) {
  std::uint64_t length = mine.size();
  mpi::broadcast(std::span(&length, 1), root, comm);
  std::string text(rank == root ? mine : std::string_view());
  text.resize(length);
  mpi::broadcast(std::span(text), root, comm);
  return text;
}

// The first rank for which it is true; the number of ranks: none.
int first_rank(MPI_Comm comm, int ranks, int rank, bool mine) {
  int first = mine ? rank : ranks;
  mpi::allreduce(first, MPI_MIN, comm);
  return first;
}

}  // namespace

known_elements::known_elements(std::string_view text) noexcept : before_(known) { known = text; }
known_elements::~known_elements() { known = before_; }
std::string_view known_elements::here() noexcept { return known; }

std::uint64_t known_elements::fingerprint() noexcept {
  if (known.empty()) return 0;
  detail::fingerprint all;
  all.add(known);
  return all.value();
}

std::string agree_on_elements(MPI_Comm comm, std::string_view mine) {
  int ranks = 0;
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  const int first = first_rank(comm, ranks, rank, !mine.empty());
  if (first == ranks) return {};
  std::string text = broadcast_text(comm, first, rank, mine);
  const int other = first_rank(comm, ranks, rank, !mine.empty() && mine != text);
  if (other == ranks) return text;
  const std::string different = broadcast_text(comm, other, rank, mine);
  const auto shown = [](std::string_view all) { return all.substr(0, all.find('\n')); };
  throw_on_all_ranks([&] {
    return usage_error(fmt::format("ranks disagree on the elements: rank {} gives {}, rank {} gives {}", first,
                                   shown(text), other, shown(different)),
                       MPI_ERR_TYPE);
  });
}

}  // namespace taquin::detail
