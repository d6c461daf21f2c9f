// Calls of taquin's own interfaces, which MPI does not see: the program's libtaquin reports them (mpi/observer.hpp).
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "interpose/event.hpp"
#include "interpose/inside.hpp"
#include "mpi/check.hpp"
#include "mpi/observer.hpp"

namespace taquin::interpose {

namespace {

struct reported_call {
  persistent_call made;  // of one that is started
  std::optional<call_event> event;
  moved data;
  std::uint64_t starts = 0;
};

reported_call& of(void* call) { return *static_cast<reported_call*>(call); }

std::unique_ptr<reported_call> made(MPI_Comm comm, bool at_once, const void* site) {
  int between = 0;
  TAQUIN_MPI(PMPI_Comm_test_inter(comm, &between));
  if (between != 0) return nullptr;  // the call will be refused
  auto call = std::make_unique<reported_call>();
  if (at_once) {
    call->event.emplace(comm, call_kind::sparse, call_form::blocking, site);
    if (call->event->comm == nullptr) return nullptr;
  } else {
    call->made = name_persistent(comm);
    if (call->made.comm == nullptr) return nullptr;
  }
  int size = 0;
  TAQUIN_MPI(PMPI_Comm_size(comm, &size));
  call->data.sent.resize(static_cast<std::size_t>(size));
  call->data.received.resize(static_cast<std::size_t>(size));
  return call;
}

// All ranks of the communicator come here: its name is agreed on whatever the result of the call. The program continues
// if this fails.
void* make(MPI_Comm comm, bool at_once, const void* site) {
  try {
    return made(comm, at_once, site).release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void sends(void* call, int rank, std::int64_t bytes) { of(call).data.sent[static_cast<std::size_t>(rank)] += bytes; }

void receives(void* call, int rank, std::int64_t bytes) {
  of(call).data.received[static_cast<std::size_t>(rank)] += bytes;
}

void start(void* call, const void* site) {
  reported_call& c = of(call);
  c.event.emplace(c.made, call_kind::sparse, site, c.starts++);
}

void end(void* call, const char* algorithm, std::size_t peak_memory, std::int64_t element_bytes) {
  reported_call& c = of(call);
  c.data.element_bytes = element_bytes;
  const outcome became{.algorithm = algorithm, .peak_memory = peak_memory};
  if (c.event->traits.form() == call_form::blocking) {
    c.event->ended(became, c.data);
  } else {
    c.event->started(became, c.data).completed();
  }
  c.event.reset();
}

void drop(void* call) { delete &of(call); }

bool set_inside(bool on) { return std::exchange(inside, on); }

constexpr taquin_observer observer{make, sends, receives, start, end, drop, set_inside};

}  // namespace

}  // namespace taquin::interpose

extern "C" [[gnu::visibility("default")]] const taquin_observer* taquin_observer_2() {
  return taquin::interpose::observing() ? &taquin::interpose::observer : nullptr;
}
