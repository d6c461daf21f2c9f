/* Stands in for a build of the preloaded library: says that it was loaded. */
#include <stdio.h>

__attribute__((constructor)) static void loaded(void) { fputs("stand-in\n", stderr); }
