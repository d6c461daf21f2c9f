/* Stands in for a device's runtime: claims the addresses of one buffer, as CUDA's driver or as HIP would, and counts
 * how often it is asked. The program sets the range. */
#include <stddef.h>
#include <stdint.h>

uintptr_t device_begin, device_end;

#ifdef AS_CUDA
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address) {
  if (attribute != 2 || address < device_begin || address >= device_end) return 1;
  *(unsigned *)data = 2;
  return 0;
}
#else
struct attributes {
  int type, device;
  void *on_device, *on_host;
};
int hipPointerGetAttributes(struct attributes *a, const void *address) {
  if ((uintptr_t)address < device_begin || (uintptr_t)address >= device_end) return 1;
  a->on_device = (void *)address;
  a->on_host = NULL;
  return 0;
}
int hipGetLastError(void) { return 0; }
#endif
