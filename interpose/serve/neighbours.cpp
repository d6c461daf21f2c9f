#include "interpose/serve/neighbours.hpp"

#include <mpi.h>

#include <numeric>
#include <optional>
#include <utility>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/call_sides.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/prepared_start.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "mpi/owned.hpp"

using taquin::blocks;
using taquin::count_t;
using taquin::detail::as_size;
using namespace taquin::interpose;
using kind = taquin::workloads::call_kind;

namespace {

// A nonblocking call, or a persistent one.
class neighbour_call final : public served_exchange {
 public:
  neighbour_call(std::shared_ptr<neighbour_service> service, const taquin::exchange& x)
      : service_(std::move(service)),
        send_(x.send, service_->destinations().size(), true),
        recv_(x.recv, service_->sources().size(), true) {
    make();
  }

  void prepare_start() override {
    service_->prepare_start();
    make();
  }
  [[nodiscard]] bool is_next() override { return service_->next_start() == neighbour_service::by::taquin; }
  void start() override {
    send_.stage();
    recv_.stage();
    call_->start(send_.view(), recv_.view());
  }
  [[nodiscard]] bool test() override {
    if (!call_->test()) return false;
    recv_.deliver();
    return true;
  }
  void wait() override {
    call_->wait();
    recv_.deliver();
  }
  [[nodiscard]] outcome by_taquin() const override { return service_->by_slots(); }
  [[nodiscard]] outcome by_library() const override { return service_->start_by_library(); }

 private:
  void make() {
    if (call_) return;
    if (auto slots = service_->candidate()) call_.emplace(std::move(slots));
  }

  std::shared_ptr<neighbour_service> service_;
  held_side send_, recv_;
  std::optional<neighbour_exchange> call_;  // once slots may do a start
};

// The data of a call, as rows over all ranks of the communicator. A service knows the neighbours: MPI need not be
// asked.
moved among_neighbours(MPI_Comm comm, const taquin::exchange& x, const neighbour_service* service) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  moved r;
  const auto add = [&](std::vector<count_t>& row, bool send, const blocks& side) {
    row.assign(as_size(size), 0);
    std::vector<int> requested;
    if (service == nullptr) requested = neighbours_of(comm, send);
    const auto& peers = service == nullptr ? requested : send ? service->destinations() : service->sources();
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const int at = static_cast<int>(i);
      if (peers[i] == MPI_PROC_NULL || side.counts[at] <= 0) continue;
      const count_t element = side.types != nullptr ? taquin::element::of(side.types[i]).size : side.element.size;
      row[as_size(peers[i])] += side.counts[at] * element;
      if (send) r.element_bytes = std::gcd(r.element_bytes, element);
    }
  };
  add(r.sent, true, x.send);
  add(r.received, false, x.recv);
  return r;
}

// The communicator's service, by `of`; null where the MPI library does all its calls.
std::shared_ptr<neighbour_service> service_by(std::shared_ptr<neighbour_service> (*of)(MPI_Comm), MPI_Comm comm) {
  const bool by_library = !settings::get().route || taquin::detail::environment::get().algorithm == "native";
  return by_library ? nullptr : of(comm);
}

// A call of the communicator counts whatever its arguments are: other ranks cannot know those. The MPI
// library reports invalid ones.
bool is_valid_call(const neighbour_service& s, const taquin::exchange& x) {
  return is_valid(x.send, s.destinations().size()) && is_valid(x.recv, s.sources().size());
}

// Without a service the MPI library does all calls.
outcome without_service() {
  if (!settings::get().route) return {.reason = reasons::only_recorded};
  if (taquin::detail::environment::get().algorithm == "native") return {.reason = reasons::by_settings};
  return {.reason = reasons::no_topology};
}

outcome blocking_by_library(const neighbour_service* s) {
  return s == nullptr ? without_service() : s->blocking_by_library();
}

outcome start_by_library(const neighbour_service* s, const taquin::exchange& x) {
  if (s == nullptr) return without_service();
  return is_valid_call(*s, x) ? s->start_by_library() : outcome{.reason = reasons::arguments};
}

template <class Make, class Native>
int do_blocking(MPI_Comm comm, const void* site, kind what, Make&& make, Native&& native) noexcept {
  return in_frame(comm, call_form::blocking, native, [&] {
    const taquin::exchange x = make();
    const auto s = service_by(neighbour_service::of_all, comm);
    std::optional<call_event> seen;
    if (observing()) seen.emplace(comm, what, call_form::blocking, site);
    auto who = s == nullptr ? neighbour_service::by::library : s->next_blocking(x);
    outcome left;
    if (seen && who == neighbour_service::by::library) left = blocking_by_library(s.get());
    if (s != nullptr && !is_valid_call(*s, x)) {
      who = neighbour_service::by::library;
      left = {.reason = reasons::arguments};
    }
    const double started_at = now();
    if (who == neighbour_service::by::taquin) {
      s->exchange(x.send, x.recv);
    } else if (const int code = native(); code != MPI_SUCCESS) {
      return code;
    }
    if (s != nullptr) s->took(who, now() - started_at);
    if (seen)
      seen->ended(who == neighbour_service::by::taquin ? s->by_taquin() : left, among_neighbours(comm, x, s.get()));
    return MPI_SUCCESS;
  });
}

template <class Make, class Native>
int do_nonblocking(MPI_Comm comm, const void* site, kind what, MPI_Request* request, Make&& make,
                   Native&& native) noexcept {
  return in_frame(comm, call_form::nonblocking, native, [&] {
    const taquin::exchange x = make();
    const auto s = service_by(neighbour_service::of, comm);
    const bool valid = s != nullptr && is_valid_call(*s, x);
    if (s != nullptr) s->prepare_start();
    prepared_start<neighbour_call> prepared(comm, valid && s->candidate() != nullptr,
                                            [&] { return std::make_unique<neighbour_call>(s, x); });
    const bool by_slots = s != nullptr && s->next_start() == neighbour_service::by::taquin && valid;
    if (!by_slots && !observing()) return native();
    const double started_at = now();
    std::optional<call_event> seen;
    if (observing()) seen.emplace(comm, what, call_form::nonblocking, site);
    if (by_slots)
      prepared.server().start();
    else if (const int code = native(); code != MPI_SUCCESS)
      return code;
    call_in_flight in_flight = seen ? seen->started(by_slots ? s->by_slots() : start_by_library(s.get(), x),
                                                    among_neighbours(comm, x, s.get()))
                                    : call_in_flight{};
    in_flight.seconds = now() - started_at;
    prepared.posted(request, by_slots, in_flight);
    return MPI_SUCCESS;
  });
}

template <class Make, class Native>
int make_persistent(MPI_Comm comm, const void* site, kind what, MPI_Request* request, Make&& make,
                    Native&& native) noexcept {
  return in_frame(comm, call_form::persistent, native, [&] {
    const taquin::exchange x = make();
    const auto s = service_by(neighbour_service::of_all, comm);
    std::shared_ptr<tracked_request> made;
    const auto by = settings::get().persistent;
    const bool serves = s != nullptr && by != settings::persistent_by::library;
    if (serves) {
      if (by == settings::persistent_by::plan) s->make_slots();
      made = on_all_ranks_or_none(comm, [&] {
        auto call = is_valid_call(*s, x) ? std::make_unique<neighbour_call>(s, x) : nullptr;
        return call == nullptr ? nullptr : std::make_shared<tracked_request>(comm, std::move(call));
      });
    }
    if (made == nullptr && observing()) made = std::make_shared<tracked_request>(comm, nullptr);
    const int code = native();
    if (code != MPI_SUCCESS || made == nullptr) return code;
    if (observing()) {
      const outcome left = s != nullptr && !serves && is_valid_call(*s, x) ? outcome{.reason = reasons::by_settings}
                                                                           : start_by_library(s.get(), x);
      made->observe({name_persistent(comm), what, site, among_neighbours(comm, x, s.get()), left});
    }
    track(*request, std::move(made));
    return code;
  });
}

}  // namespace

#define TAQUIN_NEIGHBOURS(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                     \
  static int intercepted_##X##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL)) {                           \
    return do_blocking(                                                                            \
        comm, caller, kind::KIND, [&] { return TAQUIN_EXCHANGE_##LIKE; },                          \
        [&] { return TAQUIN_NEXT(X##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE); });                          \
  }                                                                                                \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL)), (TAQUIN_ARGUMENTS_##LIKE))      \
  static int intercepted_I##KIND##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request* request) { \
    return do_nonblocking(                                                                         \
        comm, caller, kind::KIND, request, [&] { return TAQUIN_EXCHANGE_##LIKE; },                 \
        [&] { return TAQUIN_NEXT(I##KIND##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE, request); });           \
  }                                                                                                \
  TAQUIN_BOTH_NAMES(I##KIND##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request * request),    \
                    (TAQUIN_ARGUMENTS_##LIKE, request))
#define TAQUIN_NEIGHBOURS_ALL(SUFFIX, COUNT, DISPL)                                          \
  TAQUIN_NEIGHBOURS(Neighbor_alltoall, alltoall, neighbor_alltoall, SUFFIX, COUNT, DISPL)    \
  TAQUIN_NEIGHBOURS(Neighbor_alltoallv, alltoallv, neighbor_alltoallv, SUFFIX, COUNT, DISPL) \
  TAQUIN_NEIGHBOURS(Neighbor_alltoallw, alltoallw, neighbor_alltoallw, SUFFIX, COUNT, MPI_Aint)
#define TAQUIN_NEIGHBOURS_INIT(PREFIX, X, LIKE, KIND, COUNT, DISPL)                                             \
  static int intercepted_##PREFIX##_##X PARAMETERS_INIT(LIKE, COUNT, DISPL) {                                   \
    return make_persistent(                                                                                     \
        comm, caller, kind::KIND, request, [&] { return TAQUIN_EXCHANGE_##LIKE; },                              \
        [&] { return TAQUIN_NEXT_INIT(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL)) ARGUMENTS_INIT(LIKE); }); \
  }                                                                                                             \
  TAQUIN_INIT_NAMES(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL), ARGUMENTS_INIT(LIKE))
#define TAQUIN_NEIGHBOURS_INIT_ALL(PREFIX, SUFFIX, COUNT, DISPL)                                               \
  TAQUIN_NEIGHBOURS_INIT(PREFIX, Neighbor_alltoall_init##SUFFIX, alltoall, neighbor_alltoall, COUNT, DISPL)    \
  TAQUIN_NEIGHBOURS_INIT(PREFIX, Neighbor_alltoallv_init##SUFFIX, alltoallv, neighbor_alltoallv, COUNT, DISPL) \
  TAQUIN_NEIGHBOURS_INIT(PREFIX, Neighbor_alltoallw_init##SUFFIX, alltoallw, neighbor_alltoallw, COUNT, MPI_Aint)

TAQUIN_EACH_COUNT(TAQUIN_NEIGHBOURS_ALL)
TAQUIN_EACH_INIT(TAQUIN_NEIGHBOURS_INIT_ALL)
