#include "mpi/failure.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "taquin/failure.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace taquin::mpi {

namespace {

#ifdef MPIX_ERR_PROC_FAILED
const int proc_failed = MPIX_ERR_PROC_FAILED;
const int proc_failed_pending = MPIX_ERR_PROC_FAILED_PENDING;
const int revoked = MPIX_ERR_REVOKED;
#else
const int proc_failed = MPI_ERR_OTHER;
const int proc_failed_pending = MPI_ERR_LASTCODE;  // none
const int revoked = MPI_ERR_OTHER;
#endif

constexpr std::string_view begins = "failed ranks: ";
constexpr std::string_view of_revoked = "revoked: ";

struct functions {
  int (*get_failed)(MPI_Comm, MPI_Group*) = nullptr;
  int (*is_revoked)(MPI_Comm, int*) = nullptr;
  int (*revoke)(MPI_Comm) = nullptr;
};

template <class Function>
void find(Function& f, const char* name) {
  f = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// All of them or none, where the library was started to survive failures.
const functions& survive() noexcept {
  static const functions all = [] {
    functions f;
#ifdef MPIX_ERR_PROC_FAILED
    const char* const requested = std::getenv("OMPI_MCA_mpi_ft_enable");  // by mpirun --with-ft ulfm
    if (requested == nullptr || std::string_view(requested) == "0" || std::string_view(requested) == "false") return f;
    find(f.get_failed, "PMPIX_Comm_get_failed");
    find(f.is_revoked, "PMPIX_Comm_is_revoked");
    find(f.revoke, "PMPIX_Comm_revoke");
    MPI_Group none = MPI_GROUP_NULL;
    if (f.get_failed == nullptr || f.is_revoked == nullptr || f.revoke == nullptr ||
        f.get_failed(MPI_COMM_SELF, &none) != MPI_SUCCESS)
      return functions{};
    PMPI_Group_free(&none);
#endif
    return f;
  }();
  return all;
}

// Records and their communicators.
std::mutex guard;
std::map<const call_record*, MPI_Comm>& users() {
  static std::map<const call_record*, MPI_Comm> all;
  return all;
}
MPI_Comm user_of(const call_record& r) {
  const std::scoped_lock lock(guard);
  const auto found = users().find(&r);
  return found == users().end() ? MPI_COMM_NULL : found->second;
}

std::vector<int> failed_ranks(MPI_Comm comm) {
  std::vector<int> ranks;
  MPI_Group failed = MPI_GROUP_NULL;
  if (survive().get_failed == nullptr || survive().get_failed(comm, &failed) != MPI_SUCCESS) return ranks;
  int n = 0;
  PMPI_Group_size(failed, &n);
  if (n > 0) {
    MPI_Group all = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &all);
    std::vector<int> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    ranks.resize(numbers.size());
    PMPI_Group_translate_ranks(failed, n, numbers.data(), all, ranks.data());
    PMPI_Group_free(&all);
    std::ranges::sort(ranks);
  }
  PMPI_Group_free(&failed);
  return ranks;
}

}  // namespace

bool is_revoked(MPI_Comm comm) noexcept {
  int yes = 0;
  return survive().is_revoked != nullptr && survive().is_revoked(comm, &yes) == MPI_SUCCESS && yes != 0;
}

bool survives_failures() noexcept { return survive().revoke != nullptr; }

bool is_failure(int mpi_class) noexcept {
  return survives_failures() && (mpi_class == proc_failed || mpi_class == proc_failed_pending || mpi_class == revoked);
}

void know_user(const call_record& r, MPI_Comm user) {
  if (!survives_failures()) return;
  const std::scoped_lock lock(guard);
  users()[&r] = user;
}

void forget_user(const call_record& r) noexcept {
  const std::scoped_lock lock(guard);
  users().erase(&r);
}

void refuse_failed(const std::vector<int>& ranks, const call_record* r) {
  const std::string name =
      r != nullptr && r->name[0] != '\0' ? fmt::format("'{}'", r->name.data()) : std::string("the communicator");
  const std::string what =
      ranks.empty() ? fmt::format("{}{} cannot be used any more", of_revoked, name)
                    : fmt::format("{}{}; taquin cannot use {} any more", begins, fmt::join(ranks, ", "), name);
  throw peer_failed(what, ranks.empty() ? revoked : proc_failed, ranks);
}

void check_for_failures(const call_record& r, bool at_once) {
  constexpr double every = 0.01;
  if (!survives_failures()) return;
  thread_local double last = 0;
  const double now = PMPI_Wtime();
  if (!at_once && now - last < every) return;
  last = now;
  const MPI_Comm user = user_of(r);
  if (user == MPI_COMM_NULL) return;
  if (const auto ranks = failed_ranks(user); !ranks.empty()) refuse_failed(ranks, &r);
  if (is_revoked(user)) refuse_failed({}, &r);
}

// A peer may have revoked taquin's communicator before this rank knows the failed ranks: the library reports them soon.
void refuse_failure(int code) {
  const communicator* const comm = present::current();
  if (comm == nullptr || comm->record == nullptr) refuse_failed({}, nullptr);
  const call_record& r = comm->calls();
  const MPI_Comm user = user_of(r);
  constexpr double timeout = 0.5;
  for (const double begin = PMPI_Wtime(); user != MPI_COMM_NULL && PMPI_Wtime() - begin < timeout; sched_yield()) {
    if (const auto ranks = failed_ranks(user); !ranks.empty()) refuse_failed(ranks, &r);
    if (class_of(code) == revoked && is_revoked(user)) break;
    int any = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
  }
  refuse_failed({}, &r);
}

void refuse_if_gone(int error, int rank) {
  if (error != ESRCH || !survives_failures()) return;
  const communicator* const comm = present::current();
  refuse_failed({rank}, comm == nullptr ? nullptr : comm->record.get());
}

void refuse_if_failed(std::string_view why, const call_record& r) {
  if (why.starts_with(of_revoked)) refuse_failed({}, &r);
  if (!why.starts_with(begins)) return;
  std::vector<int> ranks;
  const char* at = why.data() + begins.size();
  const char* const end = why.data() + why.size();
  for (int rank = 0; at < end && *at != ';';) {
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error == std::errc()) ranks.push_back(rank);
    at = error == std::errc() ? next : at + 1;
  }
  refuse_failed(ranks, &r);
}

void revoke_after(const std::exception& why, MPI_Comm own) noexcept {
  if (own == MPI_COMM_NULL || !survives_failures() || dynamic_cast<const peer_failed*>(&why) == nullptr) return;
  survive().revoke(own);
}

}  // namespace taquin::mpi
