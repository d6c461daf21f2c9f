#include "node/detect.hpp"

#ifdef TAQUIN_HAVE_HWLOC
#include <hwloc.h>

#include <memory>
#endif

namespace taquin::detail {

#ifdef TAQUIN_HAVE_HWLOC

namespace {

// The number of the only object of this type that holds the whole set.
int number_of(hwloc_topology_t machine, hwloc_const_cpuset_t set, hwloc_obj_type_t type) {
  const hwloc_obj_t object = hwloc_get_next_obj_covering_cpuset_by_type(machine, set, type, nullptr);
  return object == nullptr ? -1 : static_cast<int>(object->logical_index);
}

binding query() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> machine(raw, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020500
  // Otherwise it moves the thread to each core, one after another, and waits for those that are busy.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
  if (hwloc_topology_load(raw) != 0) return {};
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (set == nullptr || hwloc_get_cpubind(raw, set.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  return {number_of(raw, set.get(), HWLOC_OBJ_PACKAGE), number_of(raw, set.get(), HWLOC_OBJ_L3CACHE)};
}

}  // namespace

binding binding_of_process() {
  static const binding found = query();
  return found;
}

#else

binding binding_of_process() { return {}; }

#endif

}  // namespace taquin::detail
