// MPI 4.1's functions that test several requests and complete none. Requests whose plan runs, and inactive ones, are
// not passed on. If all are taquin's the MPI library is not called.
#include <mpi.h>

#include <vector>

#include "interpose/serve/completion.hpp"
#include "interpose/serve/requests.hpp"

using namespace taquin::interpose;

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

namespace {

// The program's array: the requests of it that are passed on, and the places of those and of taquin's.
struct inspected {
  std::vector<MPI_Request> passed;
  std::vector<int> places;
  std::vector<int> inactive;
  std::vector<int> done;
  int running = 0;

  inspected(int n, const MPI_Request requests[]) {
    for (int i = 0; i < n; ++i) {
      const auto t = tracked(requests[i]);
      if (t == nullptr || (t->active() && !t->active_by_plan())) {
        passed.push_back(requests[i]);
        places.push_back(i);
      } else if (!t->active()) {
        inactive.push_back(i);
      } else if (t->poll()) {
        done.push_back(i);
      } else {
        ++running;
      }
    }
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(passed.size()); }
  [[nodiscard]] bool has_plans() const noexcept { return running > 0 || !done.empty(); }
};

int intercepted_Request_get_status_all(int n, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const guard g;
  inspected a(n, requests);
  if (a.size() == n) return TAQUIN_NEXT(Request_get_status_all)(n, a.passed.data(), flag, statuses);
  *flag = 0;
  if (a.running > 0) {
    let_mpi_progress();
    return MPI_SUCCESS;
  }
  std::vector<MPI_Status> reported(a.passed.size());
  int code = MPI_SUCCESS;
  *flag = 1;
  if (a.size() > 0) code = TAQUIN_NEXT(Request_get_status_all)(a.size(), a.passed.data(), flag, reported.data());
  if (code != MPI_SUCCESS || *flag == 0 || statuses == MPI_STATUSES_IGNORE) return code;
  for (std::size_t i = 0; i < a.places.size(); ++i) statuses[a.places[i]] = reported[i];
  for (const int i : a.inactive) empty(statuses + i);
  for (const int i : a.done) empty(statuses + i);
  return code;
}

int intercepted_Request_get_status_any(int n, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const guard g;
  inspected a(n, requests);
  if (!a.done.empty()) {
    *index = a.done.front();
    *flag = 1;
    empty(status);
    return MPI_SUCCESS;
  }
  if (a.size() == 0) {
    *index = MPI_UNDEFINED;
    *flag = a.running == 0 ? 1 : 0;
    if (*flag != 0) empty(status);
    return MPI_SUCCESS;
  }
  const int code = TAQUIN_NEXT(Request_get_status_any)(a.size(), a.passed.data(), index, flag, status);
  if (code != MPI_SUCCESS) return code;
  if (*index != MPI_UNDEFINED && *flag != 0) *index = a.places[static_cast<std::size_t>(*index)];
  if (*index == MPI_UNDEFINED && a.running > 0) *flag = 0;  // no request alone sets it
  return code;
}

int intercepted_Request_get_status_some(int n, const MPI_Request requests[], int* count, int indices[],
                                        MPI_Status statuses[]) {
  const guard g;
  inspected a(n, requests);
  int code = MPI_SUCCESS;
  *count = MPI_UNDEFINED;
  if (a.size() > 0) code = TAQUIN_NEXT(Request_get_status_some)(a.size(), a.passed.data(), count, indices, statuses);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; *count != MPI_UNDEFINED && i < *count; ++i)
    indices[i] = a.places[static_cast<std::size_t>(indices[i])];
  if (*count == MPI_UNDEFINED && a.has_plans()) *count = 0;
  for (const int i : a.done) {
    empty(nth(statuses, *count));
    indices[(*count)++] = i;
  }
  return code;
}

}  // namespace

TAQUIN_COMPLETES(Request_get_status_all, (int n, const MPI_Request requests[], int* flag, MPI_Status statuses[]),
                 (n, requests, flag, statuses))
TAQUIN_COMPLETES(Request_get_status_any,
                 (int n, const MPI_Request requests[], int* index, int* flag, MPI_Status* status),
                 (n, requests, index, flag, status))
TAQUIN_COMPLETES(Request_get_status_some,
                 (int n, const MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]),
                 (n, requests, count, indices, statuses))

#endif
