// With the thread sanitizer: which of its reports are none. Open MPI's threads wake each other by a mutex that lies on
// the stack of the one that waits. Open MPI is not instrumented, so the sanitizer knows no stack for that access, and
// takes the next use of the same place for a race. taquin shares nothing that lies on a stack in this way: all of its
// accesses have a stack.
#include <cstdint>
#include <string_view>

extern "C" {
int __tsan_get_report_data(void* report, const char** description, int* count, int* stacks, int* accesses, int* places,
                           int* mutexes, int* threads, int* tids, void** sleep_trace, std::uintptr_t trace_size);
int __tsan_get_report_mop(void* report, std::uintptr_t i, int* tid, void** address, int* size, int* write, int* atomic,
                          void** trace, std::uintptr_t trace_size);
int __tsan_get_report_loc(void* report, std::uintptr_t i, const char** type, void** address, std::uintptr_t* start,
                          std::uintptr_t* size, int* tid, int* fd, int* suppressable, void** trace,
                          std::uintptr_t trace_size);
}

namespace __tsan {

class ReportDesc;

// Called by the sanitizer for each report; true: it is not printed and fails nothing.
bool OnReport(const ReportDesc* report, bool suppressed) {
  if (suppressed) return true;
  auto* const r = const_cast<void*>(static_cast<const void*>(report));
  const char* text = nullptr;
  int accesses = 0;
  int places = 0;
  int unused = 0;
  void* trace[1] = {};
  __tsan_get_report_data(r, &text, &unused, &unused, &accesses, &places, &unused, &unused, &unused, trace, 1);
  bool on_stack = false;
  for (int i = 0; i < places; ++i) {
    std::uintptr_t start = 0;
    std::uintptr_t size = 0;
    void* address = nullptr;
    __tsan_get_report_loc(r, static_cast<std::uintptr_t>(i), &text, &address, &start, &size, &unused, &unused, &unused,
                          trace, 1);
    on_stack = on_stack || std::string_view(text) == "stack";
  }
  bool unknown = false;
  for (int i = 0; i < accesses; ++i) {
    void* address = nullptr;
    trace[0] = nullptr;
    __tsan_get_report_mop(r, static_cast<std::uintptr_t>(i), &unused, &address, &unused, &unused, &unused, trace, 1);
    unknown = unknown || trace[0] == nullptr;
  }
  return on_stack && unknown;
}

}  // namespace __tsan
