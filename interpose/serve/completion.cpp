// Start, completion and release of requests. Arrays may mix the program's own requests with those that taquin tracks.
// While the plan of a tracked request runs, the MPI library's request is inactive. In the array that is passed on
// MPI_REQUEST_NULL takes its place, for which the MPI library gives the status of an inactive request. The same is done
// for requests that really are inactive, because MPICH 4.0 waits for them for ever.
#include "interpose/serve/completion.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "interpose/serve/request_array.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "mpi/backoff.hpp"

using namespace taquin::interpose;

namespace {

void complete(const found& one, double started_at) noexcept {
  // The MPI library has one handle for all requests that are immediately complete: the first of them in an array stands
  // for all.
  if (!one.request->persistent() && !untrack(one.handle, one.request.get())) return;
  one.request->completed(now() - started_at);
  if (one.by_plan && !one.request->persistent()) *one.program = MPI_REQUEST_NULL;
}

// Ends a request whose plan is complete, in a call for one request.
int end_one(const found& one, MPI_Status* status, double started_at) noexcept {
  const int code = one.request->code();
  const MPI_Comm comm = one.request->comm();
  complete(one, started_at);
  empty(status);
  return code == MPI_SUCCESS ? code : raise(comm, code);
}

// The same in a call for several requests: the status has the error.
int end_of_several(const found& one, MPI_Status* status, double started_at) noexcept {
  const int code = one.request->code();
  complete(one, started_at);
  empty(status);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
  return code;
}

// If a call for several requests has an error, the statuses of all of them must be set.
void all_well(MPI_Status* statuses, int n) noexcept {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < n; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
}

const found* first_done(const request_array& a) {
  for (const found& one : a.all())
    if (one.by_plan && one.request->poll()) return &one;
  return nullptr;
}

int intercepted_Start(MPI_Request* request) {
  const completing g;
  const auto native = [&] { return TAQUIN_NEXT(Start)(request); };
  const auto t = tracked(*request);
  if (t == nullptr || !t->persistent()) return native();
  return t->start(native);
}

int intercepted_Startall(int n, MPI_Request requests[]) {
  const completing g;
  std::vector<MPI_Request> others;
  std::vector<int> places;
  others.reserve(static_cast<std::size_t>(std::max(n, 0)));  // before anything is started
  places.reserve(others.capacity());
  for (int i = 0; i < n; ++i) {
    MPI_Request* const one = requests + i;
    if (const auto t = tracked(*one); t != nullptr && t->persistent()) {
      if (const int code = t->start([&] { return TAQUIN_NEXT(Start)(one); }); code != MPI_SUCCESS) return code;
    } else {
      others.push_back(*one);
      places.push_back(i);
    }
  }
  if (others.empty() && n > 0) return MPI_SUCCESS;
  const int code = TAQUIN_NEXT(Startall)(n > 0 ? static_cast<int>(others.size()) : n, others.data());
  for (std::size_t i = 0; i < places.size(); ++i) requests[places[i]] = others[i];
  return code;
}

int intercepted_Wait(MPI_Request* request, MPI_Status* status) {
  const completing g;
  const double started_at = now();
  const found one = poll_at(0, request);
  if (one.by_plan) {
    one.request->finish();
    return end_one(one, status, started_at);
  }
  if (one.is_inactive()) {
    empty(status);
    return MPI_SUCCESS;
  }
  const int code = TAQUIN_NEXT(Wait)(request, status);
  if (one.request != nullptr) complete(one, started_at);
  return code;
}

int intercepted_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const completing g;
  const double started_at = now();
  const found one = poll_at(0, request);
  if (one.by_plan) {
    *flag = one.request->poll() ? 1 : 0;
    if (*flag != 0) return end_one(one, status, started_at);
    one.request->spent(now() - started_at);
    return MPI_SUCCESS;
  }
  if (one.is_inactive()) {
    *flag = 1;
    empty(status);
    return MPI_SUCCESS;
  }
  const int code = TAQUIN_NEXT(Test)(request, flag, status);
  if (one.request != nullptr && (code != MPI_SUCCESS || *flag != 0))
    complete(one, started_at);
  else if (one.request != nullptr)
    one.request->spent(now() - started_at);
  return code;
}

int intercepted_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const completing g;
  const found one = poll_at(0, &request);
  if (!one.by_plan && !one.is_inactive()) return TAQUIN_NEXT(Request_get_status)(request, flag, status);
  *flag = one.is_inactive() || one.request->poll() ? 1 : 0;
  if (*flag != 0) empty(status);
  return MPI_SUCCESS;
}

int intercepted_Request_free(MPI_Request* request) {
  const completing g;
  const auto t = tracked(*request);
  if (t != nullptr && t->active_by_plan()) return raise(t->comm(), MPI_ERR_REQUEST);
  if (t != nullptr && t->persistent()) untrack(*request);
  return TAQUIN_NEXT(Request_free)(request);
}

int end_all(request_array& a, int n, MPI_Status* statuses, int code, double started_at) {
  a.copy_back();
  a.each(false, [&](const found& one) { complete(one, started_at); });
  int worst = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_NULL;
  const bool failed =
      std::ranges::any_of(a.all(), [](const found& one) { return one.by_plan && one.request->code() != MPI_SUCCESS; });
  if (failed && code == MPI_SUCCESS) all_well(statuses, n);
  for (const found& one : a.all()) {
    if (!one.by_plan) continue;
    const MPI_Comm own = one.request->comm();
    MPI_Status* const status = nth(statuses, one.at);
    const int ended = end_of_several(one, status, started_at);
    if (ended == MPI_SUCCESS || worst != MPI_SUCCESS) continue;
    worst = MPI_ERR_IN_STATUS;
    comm = own;
  }
  if (code != MPI_SUCCESS || worst == MPI_SUCCESS) return code;
  return raise(comm, worst);
}

int intercepted_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
  const completing g;
  const double started_at = now();
  request_array a(n, requests);
  a.each(true, [](const found& one) { one.request->finish(); });
  return end_all(a, n, statuses, TAQUIN_NEXT(Waitall)(n, a.data(), statuses), started_at);
}

int intercepted_Testall(int n, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const completing g;
  const double started_at = now();
  request_array a(n, requests);
  bool done = true;
  a.each(true, [&](const found& one) { done = one.request->poll() && done; });
  if (!done) {  // the others must not be completed alone
    let_mpi_progress();
    *flag = 0;
  }
  const int code = done ? TAQUIN_NEXT(Testall)(n, a.data(), flag, statuses) : MPI_SUCCESS;
  if (code != MPI_SUCCESS || *flag != 0) return end_all(a, n, statuses, code, started_at);
  for (const found& one : a.all()) one.request->spent(now() - started_at);
  return code;
}

// MPI_Testany's flag, once; the plans come first.
bool any(request_array& a, int n, int* index, int* flag, MPI_Status* status, double started_at, int& code) {
  if (const found* const one = first_done(a)) {
    *index = one->at;
    *flag = 1;
    code = end_one(*one, status, started_at);
    return true;
  }
  code = TAQUIN_NEXT(Testany)(n, a.data(), index, flag, status);
  a.copy_back();
  const bool one = code != MPI_SUCCESS || (*flag != 0 && *index != MPI_UNDEFINED);
  if (const found* const own = one ? a.at(*index) : nullptr) complete(*own, started_at);
  return one;
}

int intercepted_Waitany(int n, MPI_Request requests[], int* index, MPI_Status* status) {
  const completing g;
  const double started_at = now();
  request_array a(n, requests);
  if (!a.has_plans()) {
    const int code = TAQUIN_NEXT(Waitany)(n, a.data(), index, status);
    a.copy_back();
    if (const found* const own = a.at(*index)) complete(*own, started_at);
    return code;
  }
  int code = MPI_SUCCESS;
  int flag = 0;
  for (taquin::mpi::backoff wait; !any(a, n, index, &flag, status, started_at, code);) wait.pause();
  return code;
}

int intercepted_Testany(int n, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const completing g;
  const double started_at = now();
  request_array a(n, requests);
  int code = MPI_SUCCESS;
  if (any(a, n, index, flag, status, started_at, code) || !a.has_plans()) return code;
  *flag = 0;  // inactive ones alone would set it
  *index = MPI_UNDEFINED;
  return code;
}

// MPI_Testsome, once: those of the MPI library, then those whose plan is done.
int some(request_array& a, int n, int* count, int indices[], MPI_Status statuses[], double started_at) {
  int code = TAQUIN_NEXT(Testsome)(n, a.data(), count, indices, statuses);
  a.copy_back();
  if (*count == MPI_UNDEFINED) *count = a.has_plans() ? 0 : MPI_UNDEFINED;
  const int natives = *count;
  for (int i = 0; i < natives; ++i)
    if (const found* const own = a.at(indices[i])) complete(*own, started_at);
  bool failed = code != MPI_SUCCESS;
  int worst = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_NULL;
  for (const found& one : a.all()) {
    if (!one.by_plan || !one.request->poll()) continue;
    const MPI_Comm own = one.request->comm();
    if (one.request->code() != MPI_SUCCESS && !failed) {
      all_well(statuses, *count);
      failed = true;
    }
    const int ended = end_of_several(one, nth(statuses, *count), started_at);
    indices[(*count)++] = one.at;
    if (ended == MPI_SUCCESS || worst != MPI_SUCCESS) continue;
    worst = MPI_ERR_IN_STATUS;
    comm = own;
  }
  if (code == MPI_SUCCESS && worst != MPI_SUCCESS) code = raise(comm, worst);
  return code;
}

int intercepted_Waitsome(int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]) {
  const completing g;
  const double started_at = now();
  request_array a(n, requests);
  if (a.has_plans()) {
    for (taquin::mpi::backoff wait;; wait.pause())
      if (const int code = some(a, n, count, indices, statuses, started_at); code != MPI_SUCCESS || *count > 0)
        return code;
  }
  const int code = TAQUIN_NEXT(Waitsome)(n, a.data(), count, indices, statuses);
  a.copy_back();
  for (int i = 0; *count != MPI_UNDEFINED && i < *count; ++i)
    if (const found* const own = a.at(indices[i])) complete(*own, started_at);
  return code;
}

int intercepted_Testsome(int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]) {
  const completing g;
  request_array a(n, requests);
  return some(a, n, count, indices, statuses, now());
}

}  // namespace

TAQUIN_COMPLETES(Start, (MPI_Request * request), (request))
TAQUIN_COMPLETES(Startall, (int n, MPI_Request requests[]), (n, requests))
TAQUIN_COMPLETES(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
TAQUIN_COMPLETES(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses))
TAQUIN_COMPLETES(Waitany, (int n, MPI_Request requests[], int* index, MPI_Status* status), (n, requests, index, status))
TAQUIN_COMPLETES(Waitsome, (int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]),
                 (n, requests, count, indices, statuses))
TAQUIN_COMPLETES(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
TAQUIN_COMPLETES(Testall, (int n, MPI_Request requests[], int* flag, MPI_Status statuses[]),
                 (n, requests, flag, statuses))
TAQUIN_COMPLETES(Testany, (int n, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
                 (n, requests, index, flag, status))
TAQUIN_COMPLETES(Testsome, (int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]),
                 (n, requests, count, indices, statuses))
TAQUIN_COMPLETES(Request_get_status, (handle request, int* flag, MPI_Status* status), (request, flag, status))
TAQUIN_COMPLETES(Request_free, (MPI_Request * request), (request))
