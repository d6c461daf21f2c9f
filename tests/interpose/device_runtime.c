/* Stands in for a device's runtime: claims the addresses of one buffer, as CUDA's driver or as HIP would. The program
 * sets the range; with DEVICE_HAS_ALL in the environment it is all memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

uintptr_t device_begin, device_end;

__attribute__((constructor)) static void claim_all(void) {
  if (getenv("DEVICE_HAS_ALL") != NULL) device_end = UINTPTR_MAX;
}

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
