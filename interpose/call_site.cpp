#include "interpose/call_site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#ifdef TAQUIN_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace taquin::interpose {

namespace {

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? std::string(text.get()) : std::string(name);
}

std::string offset_in(const std::string& name, std::uint64_t offset) { return fmt::format("{}+{:#x}", name, offset); }

struct wanted {
  const std::string& object;
  std::uintptr_t base = 0;
  bool found = false;
};

// The name that dladdr gives is the loader's, but for the program itself, which the loader calls "".
std::uintptr_t base_of(const std::string& object) {
  Dl_info info{};
  wanted w{object};
  dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* data) {
        auto& sought = *static_cast<wanted*>(data);
        for (int i = 0; i < each->dlpi_phnum; ++i) {
          if (each->dlpi_phdr[i].p_type != PT_LOAD) continue;
          Dl_info about{};
          const auto first = each->dlpi_addr + each->dlpi_phdr[i].p_vaddr;
          // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in this process
          if (dladdr(reinterpret_cast<void*>(first), &about) == 0 || sought.object != about.dli_fname) break;
          sought.base = reinterpret_cast<std::uintptr_t>(about.dli_fbase);
          sought.found = true;
          return 1;
        }
        return 0;
      },
      &w);
  static_cast<void>(info);
  return w.found ? w.base : 0;
}

#ifdef TAQUIN_HAVE_LIBDW
#define TAQUIN_DW_FUNCTIONS           \
  TAQUIN_DW(dwfl_begin)               \
  TAQUIN_DW(dwfl_end)                 \
  TAQUIN_DW(dwfl_linux_proc_report)   \
  TAQUIN_DW(dwfl_report_end)          \
  TAQUIN_DW(dwfl_addrmodule)          \
  TAQUIN_DW(dwfl_module_addrinfo)     \
  TAQUIN_DW(dwfl_module_getsrc)       \
  TAQUIN_DW(dwfl_lineinfo)            \
  TAQUIN_DW(dwfl_linux_proc_find_elf) \
  TAQUIN_DW(dwfl_standard_find_debuginfo)

// Loaded when it is needed: programs that want no report do not carry it.
struct debug_information {
#define TAQUIN_DW(f) decltype(&::f) f = nullptr;  // NOLINT(bugprone-macro-parentheses): a name
  TAQUIN_DW_FUNCTIONS
#undef TAQUIN_DW
  Dwfl* session = nullptr;
  Dwfl_Callbacks callbacks{};

  debug_information() {
    void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    bool all = true;
#define TAQUIN_DW(f)                                     \
  f = reinterpret_cast<decltype(f)>(dlsym(library, #f)); \
  all = all && (f) != nullptr;
    TAQUIN_DW_FUNCTIONS
#undef TAQUIN_DW
#undef TAQUIN_DW_FUNCTIONS
    if (!all) return;
    callbacks.find_elf = dwfl_linux_proc_find_elf;
    callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    session = dwfl_begin(&callbacks);
    if (session == nullptr) return;
    dwfl_linux_proc_report(session, getpid());
    dwfl_report_end(session, nullptr, nullptr);
  }
};

void add_lines(call_site& site, std::uintptr_t address) {
  static const debug_information d;
  if (d.session == nullptr) return;
  Dwfl_Module* const module = d.dwfl_addrmodule(d.session, address);
  if (module == nullptr) return;
  GElf_Off offset = 0;
  GElf_Sym symbol{};
  if (const char* name = d.dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr)) {
    site.function = demangled(name);
    site.address = offset_in(site.function, offset);
  }
  if (Dwfl_Line* const line = d.dwfl_module_getsrc(module, address))
    if (const char* file = d.dwfl_lineinfo(line, nullptr, &site.line, nullptr, nullptr, nullptr)) site.file = file;
}
#endif

}  // namespace

std::string call_site::words() const {
  if (!file.empty()) return fmt::format(" at {}:{}", file.substr(file.rfind('/') + 1), line);
  if (!function.empty()) return " in " + address;
  return address.empty() ? "" : " at " + address;
}

call_site resolve(const std::string& object, std::uint64_t offset) {
  call_site site;
  const auto base = base_of(object);
  if (base == 0) return site;
  const auto address = base + offset - 1;  // inside the call, not behind it
  site.address = offset_in(object.substr(object.rfind('/') + 1), offset - 1);
  Dl_info info{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in this process
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    site.function = demangled(info.dli_sname);
    site.address = offset_in(site.function, address - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
  }
#ifdef TAQUIN_HAVE_LIBDW
  add_lines(site, address);
#endif
  return site;
}

namespace {

// Fortran's procedures are called by the program and call MPI's C functions: the place is one further up.
const void* past_wrappers(const void* site) {
  constexpr int most = 16;
  std::array<void*, most> frames{};
  const int n = backtrace(frames.data(), most);
  auto* at = std::find(frames.begin(), frames.begin() + n, site);
  for (; at != frames.begin() + n; ++at) {
    Dl_info info{};
    if (dladdr(*at, &info) == 0 || std::string_view(info.dli_fname).find("libmpi") == std::string_view::npos)
      return *at;
  }
  return site;
}

}  // namespace

const place& place_of(const void* address) {
  static std::mutex mutex;
  static auto* const places = new std::unordered_map<const void*, place>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = places->find(address); found != places->end()) return found->second;
  }
  Dl_info info{};
  const void* at = address;
  if (dladdr(at, &info) != 0 && info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).find("libmpi") != std::string_view::npos) {
    at = past_wrappers(address);
    if (at != address) return place_of(at);  // for this call alone: the same procedure has other callers
  }
  const auto offset = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  const std::lock_guard lock(mutex);
  return places->try_emplace(address, place{info.dli_fname != nullptr ? info.dli_fname : "?", offset, address})
      .first->second;
}

}  // namespace taquin::interpose
