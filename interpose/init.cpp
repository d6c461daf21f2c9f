// Beginning and end, and the switch by region.
#include <mpi.h>

#include <atomic>

#include "interpose/mpi_library.hpp"
#include "interpose/next.hpp"
#include "interpose/presence.hpp"
#include "interpose/recorder.hpp"
#include "interpose/route.hpp"

namespace taquin::interpose {

thread_local bool inside = false;

namespace {

// Collective among the ranks that have the library: after the MPI library has started, before the program goes on.
void begin() noexcept {
  if (!is_the_library_built_for() || !agree_to_serve()) return;
  tell_warnings();
  begin_service();
}

void end() noexcept {
  if (served(MPI_COMM_WORLD) && !settings::get().record.empty()) write_record();
  end_service();
  forget_absent_ranks();
}

}  // namespace

}  // namespace taquin::interpose

using namespace taquin::interpose;

static int intercepted_Init(int* argc, char*** argv) {
  const guard g;
  const int code = TAQUIN_NEXT(Init)(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

static int intercepted_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const guard g;
  const int code = TAQUIN_NEXT(Init_thread)(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

static int intercepted_Finalize() {
  const guard g;
  end();
  return TAQUIN_NEXT(Finalize)();
}

TAQUIN_BOTH_NAMES(Init, (int* argc, char*** argv), (argc, argv))
TAQUIN_BOTH_NAMES(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided))
TAQUIN_BOTH_NAMES(Finalize, (), ())

// What follows the level is for other tools, which this library cannot pass on; none is known to take any.
#define TAQUIN_PCONTROL(NAME)                        \
  extern "C" int NAME(const int level, ...) {        \
    if (inside) return TAQUIN_REAL(Pcontrol)(level); \
    const guard g;                                   \
    switch_service(level != 0);                      \
    return TAQUIN_NEXT(Pcontrol)(level);             \
  }
TAQUIN_PCONTROL(MPI_Pcontrol)
TAQUIN_PCONTROL(PMPI_Pcontrol)
