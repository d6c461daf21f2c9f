// Beginning and end, and the switch by region.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "interpose/event.hpp"
#include "interpose/say.hpp"
#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/device.hpp"
#include "interpose/serve/mpi_library.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/presence.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/serve/site_rules.hpp"
#include "mpi/attribute.hpp"
#include "mpi/collectives.hpp"
#include "mpi/progress.hpp"

namespace taquin::interpose {

constinit thread_local bool inside = false;
constinit thread_local const void* caller = nullptr;
bool other_library = false;

namespace {

std::atomic<bool> started{false};  // MPI_Init was called

// Collective, while MPI may still be called.
void end() noexcept {
  agreed_slots::end_all();
  untrack_all();
  if (in_service() && observing()) write_observations();
  end_service();
  forget_absent_ranks();
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, those that were set last before others. taquin's is set
// in MPI_Init: the program's functions there still complete its requests.
void end_with_self() {
  static const mpi::attribute<char> last([](MPI_Comm, int, void*, void*) {
    const guard g;
    end();
    return MPI_SUCCESS;
  });
  static char value = 0;
  last.set(MPI_COMM_SELF, &value);
}

// The reason of all ranks is said by one.
void stand_aside(const std::exception& why) noexcept {
  const auto* const e = dynamic_cast<const error*>(&why);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 || e == nullptr || !e->collective()) print_message("taquin stands aside: ", why.what());
}

// A part of the beginning; false where it has failed on this rank.
bool can(void (*part)()) noexcept {
  try {
    part();
    return true;
  } catch (const std::exception& e) {
    stand_aside(e);
    return false;
  }
}

// Whether a part of the beginning is done on all ranks of MPI_COMM_WORLD. Collective.
bool all(bool done) noexcept {
  try {
    return mpi::holds_everywhere(done, MPI_COMM_WORLD);
  } catch (const std::exception& e) {
    stand_aside(e);
    return false;
  }
}

// Collective among the ranks that have the library: after the MPI library has started, before the program continues.
void begin() noexcept {
  started = true;
  other_library = !is_the_library_built_for();
  if (other_library) return;
  const bool ends = can(end_with_self);
  if (!agree_to_serve()) return;
  report_warnings();
  mpi::at_begin_of_progress_thread = []() noexcept { inside = true; };  // its calls are taquin's
  if (all(ends) && all(can(start_observing)) && all(can(load_site_rules)) && all(can(agreed_slots::begin_all))) {
    find_devices();
    begin_service();
  }
}

std::filesystem::file_time_type loaded;

int errors = -1;  // standard error, kept for programs that close theirs before they end

bool recorded_process() {
  const char* process = std::getenv("TAQUIN_RECORD_PROCESS");
  return process != nullptr && std::to_string(getpid()) == process;
}

__attribute__((constructor)) void note_begin() {
  if (!recorded_process()) return;
  loaded = std::filesystem::file_time_type::clock::now();
  errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
}

// `taquin record` of a program without MPI: nothing else would say that there is no file. A script's programs may have
// written one.
__attribute__((destructor)) void report_without_mpi() noexcept try {
  if (errors < 0) return;
  const std::string& file = settings::get().record;
  if (started || file.empty() || !recorded_process()) return;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(file, none);
  if (none || written < loaded)
    dprintf(errors, "taquin: the program ended without a call of MPI_Init: nothing is recorded\n");
} catch (...) {  // no memory: the program ends in its own way
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

namespace taquin::interpose {

namespace {

// A tool below may call the second name, and then means the MPI library.
constinit thread_local bool finalizing = false;

// Attributes' functions of the program run in the MPI library's call, which is therefore not inside taquin.
int finalize(bool second_name) noexcept {
  if (inside || (second_name && finalizing)) return TAQUIN_REAL(Finalize)();
  finalizing = true;
  return TAQUIN_NEXT(Finalize)();
}

}  // namespace

}  // namespace taquin::interpose

extern "C" int exported_MPI_Finalize() __asm__("MPI_Finalize");
extern "C" int exported_MPI_Finalize() { return finalize(false); }
extern "C" int exported_PMPI_Finalize() __asm__("PMPI_Finalize");
extern "C" int exported_PMPI_Finalize() { return finalize(true); }

TAQUIN_BOTH_NAMES(Init, (int* argc, char*** argv), (argc, argv))
TAQUIN_BOTH_NAMES(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided))

// Arguments after the level are for other tools, which this library cannot pass on; none is known to take any.
#define TAQUIN_PCONTROL(NAME)                        \
  extern "C" int NAME(const int level, ...) {        \
    if (inside) return TAQUIN_REAL(Pcontrol)(level); \
    const guard g;                                   \
    switch_service(level != 0);                      \
    return TAQUIN_NEXT(Pcontrol)(level);             \
  }
TAQUIN_PCONTROL(MPI_Pcontrol)
TAQUIN_PCONTROL(PMPI_Pcontrol)
