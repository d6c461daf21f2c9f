#include "interpose/serve/device.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace taquin::interpose {

namespace {

// CUDA's driver.
using cuda_query = int (*)(void* data, int attribute, std::uint64_t address);
constexpr int cuda_memory_type = 2;  // the attribute
constexpr unsigned cuda_device = 2;

// HIP. `host` is null for memory of a device, in every version; the meaning of the numbers of `type` has changed.
struct hip_attributes {
  int type = 0;
  int device = 0;
  void* on_device = nullptr;
  void* on_host = nullptr;
  std::byte more[240]{};
};
using hip_query = int (*)(hip_attributes* attributes, const void* address);
using hip_error = int (*)();

// Level Zero.
struct ze_properties {
  int structure = 0x14;  // ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
  void* next = nullptr;
  int type = 0;
  std::uint64_t id = 0;
  std::uint64_t page_size = 0;
};
struct ze_context_description {
  int structure = 0xd;  // ZE_STRUCTURE_TYPE_CONTEXT_DESC
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
constexpr int ze_device = 2;
using ze_drivers = int (*)(std::uint32_t* count, void** drivers);
using ze_context = int (*)(void* driver, const ze_context_description* description, void** context);
using ze_query = int (*)(void* context, const void* address, ze_properties* properties, void** device);

struct runtimes {
  cuda_query cuda = nullptr;
  hip_query hip = nullptr;
  hip_error hip_forget = nullptr;
  ze_query ze = nullptr;
  void* context = nullptr;

  [[nodiscard]] bool any() const noexcept { return cuda != nullptr || hip != nullptr || ze != nullptr; }
};

template <class F>
F look_up(const char* name) noexcept {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

void find(runtimes& r) noexcept {
  r.cuda = look_up<cuda_query>("cuPointerGetAttribute");
  r.hip = look_up<hip_query>("hipPointerGetAttributes");
  r.hip_forget = look_up<hip_error>("hipGetLastError");
  const auto drivers = look_up<ze_drivers>("zeDriverGet");
  const auto make = look_up<ze_context>("zeContextCreate");
  if (drivers == nullptr || make == nullptr || r.context != nullptr) return;
  void* driver = nullptr;
  std::uint32_t one = 1;
  const ze_context_description description;
  if (drivers(&one, &driver) == 0 && one > 0 && make(driver, &description, &r.context) == 0)
    r.ze = look_up<ze_query>("zeMemGetAllocProperties");
}

// How many libraries this process has loaded so far: a runtime may be loaded after MPI_Init.
unsigned long long libraries_loaded() noexcept {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

const runtimes& current() noexcept {
  static std::mutex mutex;
  static runtimes found;
  static std::atomic<unsigned long long> known{0};
  const auto loaded = libraries_loaded();
  if (known.load(std::memory_order_acquire) != loaded) {
    const std::lock_guard lock(mutex);
    find(found);
    known.store(loaded, std::memory_order_release);
  }
  return found;
}

bool claimed(const runtimes& r, const void* address) noexcept {
  if (unsigned type = 0;
      r.cuda != nullptr && r.cuda(&type, cuda_memory_type, reinterpret_cast<std::uintptr_t>(address)) == 0)
    if (type == cuda_device) return true;
  if (hip_attributes a; r.hip != nullptr) {
    if (r.hip(&a, address) == 0) {
      if (a.on_device != nullptr && a.on_host == nullptr) return true;
    } else if (r.hip_forget != nullptr) {
      r.hip_forget();  // or the program finds the error of an ordinary address
    }
  }
  if (ze_properties p; r.ze != nullptr && r.ze(r.context, address, &p, nullptr) == 0) return p.type == ze_device;
  return false;
}

}  // namespace

bool in_device_memory(const blocks& side, std::size_t peers) noexcept {
  const runtimes& r = current();
  if (!r.any() || side.counts.missing() || side.displs.missing()) return false;
  for (std::size_t i = 0; i < peers; ++i) {
    const int at = static_cast<int>(i);
    if (side.counts[at] <= 0) continue;
    const auto* const first = static_cast<const std::byte*>(side.base) + side.offset(at);
    return first != nullptr && claimed(r, first);
  }
  return false;
}

bool has_device_runtime() noexcept { return current().any(); }

void find_devices() noexcept { static_cast<void>(current()); }

}  // namespace taquin::interpose
