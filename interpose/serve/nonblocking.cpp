// Nonblocking exchanges among all ranks: by slots where that is faster, otherwise by the MPI library. Those of the
// library are followed until they are complete where they are observed or timed.
#include <mpi.h>

#include <memory>
#include <optional>
#include <utility>

#include "interpose/event.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/call_sides.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/prepared_start.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/serve/start_service.hpp"

using namespace taquin::interpose;
using kind = taquin::workloads::call_kind;

namespace {

// A call that slots may do. Also one that the MPI library does, to be compared.
class start_call final : public served_exchange {
 public:
  start_call(std::shared_ptr<start_service> service, std::shared_ptr<neighbourhood> slots, const taquin::exchange& x)
      : service_(std::move(service)),
        send_(x.send, service_->ranks(), true),
        recv_(x.recv, service_->ranks(), true),
        call_(std::move(slots)) {}

  void take(const start_service::turn& turn) noexcept { turn_ = turn; }
  [[nodiscard]] bool is_next() override { return true; }
  void start() override {
    send_.stage();
    recv_.stage();
    call_.start(send_.view(), recv_.view());
  }
  [[nodiscard]] bool test() override {
    if (!call_.test()) return false;
    recv_.deliver();
    return true;
  }
  void wait() override {
    call_.wait();
    recv_.deliver();
  }
  void completed(double seconds) override {
    if (turn_.timed) service_->took(turn_, seconds);
  }
  [[nodiscard]] outcome by_taquin() const override { return service_->by_slots(); }

 private:
  std::shared_ptr<start_service> service_;
  start_service::turn turn_{};
  held_side send_, recv_;
  neighbour_exchange call_;
};

outcome by_library(const start_service::turn& turn) { return {.reason = turn.reason, .trial = turn.lost}; }

// Null where the MPI library does the call on all ranks, as with one buffer.
std::shared_ptr<start_service> service_for(MPI_Comm comm, const taquin::exchange& x) {
  return x.in_place ? nullptr : start_service::of(comm);
}

template <class Make, class Native>
int begin(MPI_Comm comm, const void* site, kind what, MPI_Request* request, Make&& make, Native&& native) noexcept {
  return in_frame(comm, call_form::nonblocking, native, [&] {
    const taquin::exchange x = make();
    const auto s = service_for(comm, x);
    const bool valid = s != nullptr && is_valid(x.send, s->ranks()) && is_valid(x.recv, s->ranks());
    if (s != nullptr) s->prepare(comm, x);
    auto slots = valid ? s->candidate(x) : nullptr;
    prepared_start<start_call> prepared(comm, slots != nullptr,
                                        [&] { return std::make_unique<start_call>(s, std::move(slots), x); });
    start_service::turn turn = s != nullptr ? s->next(comm, x) : start_service::turn{};
    // The call counts all the same: other ranks cannot know. The MPI library reports the error.
    if (s != nullptr && !valid) turn = {{}, 0, reasons::arguments, {}};
    if (s == nullptr && observing()) turn.reason = x.in_place ? reasons::one_buffer : start_service::reason_without();
    if (!turn.by_slots && !turn.timed && !observing()) return native();
    const double started_at = now();
    std::optional<call_event> seen;
    if (observing()) seen.emplace(comm, what, call_form::nonblocking, site);
    if (turn.by_slots || turn.timed) prepared.server().take(turn);
    if (turn.by_slots)
      prepared.server().start();
    else if (const int code = native(); code != MPI_SUCCESS)
      return code;
    call_in_flight in_flight;
    if (seen) in_flight = seen->started(turn.by_slots ? s->by_slots() : by_library(turn), moved_by(x));
    in_flight.seconds = now() - started_at;
    prepared.posted(request, turn.by_slots, in_flight);
    return MPI_SUCCESS;
  });
}

}  // namespace

#define TAQUIN_BEGIN(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                      \
  static int intercepted_##X##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request* request) { \
    return begin(                                                                              \
        comm, caller, kind::KIND, request, [&] { return TAQUIN_EXCHANGE_##LIKE; },             \
        [&] { return TAQUIN_NEXT(X##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE, request); });             \
  }                                                                                            \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request * request),      \
                    (TAQUIN_ARGUMENTS_##LIKE, request))
#define TAQUIN_SURFACE(SUFFIX, COUNT, DISPL)                           \
  TAQUIN_BEGIN(Ialltoall, alltoall, alltoall, SUFFIX, COUNT, DISPL)    \
  TAQUIN_BEGIN(Ialltoallv, alltoallv, alltoallv, SUFFIX, COUNT, DISPL) \
  TAQUIN_BEGIN(Ialltoallw, alltoallw, alltoallw, SUFFIX, COUNT, DISPL)

TAQUIN_EACH_COUNT(TAQUIN_SURFACE)
