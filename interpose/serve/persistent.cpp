// Persistent all-to-all calls: served by a plan where that measures better than the MPI library's own.
#include <mpi.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/environment.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/persistent_service.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/settings.hpp"
#include "taquin/exchange.hpp"

using taquin::exchange;
using namespace taquin::interpose;

namespace {

using persistent_by = settings::persistent_by;

// An algorithm that the user has named does all that it can, as with blocking calls.
bool is_measured(const settings& s) {
  const auto& name = taquin::detail::environment::get().algorithm;
  return s.persistent == persistent_by::measured && (name.empty() || name == "auto");
}

// Null where the plan would be the MPI library's own exchange. Collective.
std::shared_ptr<tracked_request> tracked_plan(const exchange& x, const settings& s) {
  auto served = persistent_service::make(x, s.memory, is_measured(s));
  if (served == nullptr) return nullptr;
  std::shared_ptr<tracked_request> made;
  taquin::mpi::make_everywhere(x.comm, [&] { made = std::make_shared<tracked_request>(x.comm, std::move(served)); });
  return made;
}

// `native` makes the MPI library's request, which the program gets in any case.
template <class Make, class Native>
int make_persistent(MPI_Comm comm, const void* site, MPI_Request* request, Make&& make, Native&& native) noexcept {
  return in_frame(comm, call_form::persistent, native, [&] {
    const settings& s = settings::get();
    const exchange x = make();
    std::shared_ptr<tracked_request> made;
    outcome left;
    const auto make_plan = [&] { made = tracked_plan(x, s); };
    if (!s.route)
      left.reason = reasons::only_recorded;
    else if (s.persistent == persistent_by::library)
      left.reason = reasons::by_settings;
    else if (make_through(x, site, &left, std::cref(make_plan)) && made == nullptr)
      left.reason = reasons::chosen;
    if (made == nullptr && observing()) made = std::make_shared<tracked_request>(comm, nullptr);
    const int code = native();
    if (code != MPI_SUCCESS || made == nullptr) return code;
    if (observing())
      made->observe(
          {name_persistent(comm), static_cast<taquin::workloads::call_kind>(x.kind), site, moved_by(x), left});
    track(*request, std::move(made));
    return code;
  });
}

}  // namespace

#define TAQUIN_SERVE_INIT(PREFIX, X, LIKE, COUNT, DISPL)                                                        \
  static int intercepted_##PREFIX##_##X PARAMETERS_INIT(LIKE, COUNT, DISPL) {                                   \
    return make_persistent(                                                                                     \
        comm, caller, request, [&] { return off_devices(TAQUIN_EXCHANGE_##LIKE); },                             \
        [&] { return TAQUIN_NEXT_INIT(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL)) ARGUMENTS_INIT(LIKE); }); \
  }                                                                                                             \
  TAQUIN_INIT_NAMES(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL), ARGUMENTS_INIT(LIKE))
#define TAQUIN_INITS(PREFIX, SUFFIX, COUNT, DISPL)                           \
  TAQUIN_SERVE_INIT(PREFIX, Alltoall_init##SUFFIX, alltoall, COUNT, DISPL)   \
  TAQUIN_SERVE_INIT(PREFIX, Alltoallv_init##SUFFIX, alltoallv, COUNT, DISPL) \
  TAQUIN_SERVE_INIT(PREFIX, Alltoallw_init##SUFFIX, alltoallw, COUNT, DISPL)

TAQUIN_EACH_INIT(TAQUIN_INITS)
