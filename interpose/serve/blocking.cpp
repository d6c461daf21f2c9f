// The exchanges that taquin serves.
#include <mpi.h>

#include "interpose/serve/arguments.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/route.hpp"

using namespace taquin::interpose;

#define TAQUIN_INTERPOSE(NAME, FORM, SUFFIX, COUNT, DISPL)                   \
  static int intercepted_##NAME##SUFFIX(TAQUIN_TAKES(FORM, COUNT, DISPL)) {  \
    return serve(                                                            \
        comm, caller, [&] { return TAQUIN_EXCHANGE_##FORM; },                \
        [&] { return TAQUIN_NEXT(NAME##SUFFIX)(TAQUIN_ARGUMENTS_##FORM); }); \
  }                                                                          \
  TAQUIN_BOTH_NAMES(NAME##SUFFIX, (TAQUIN_TAKES(FORM, COUNT, DISPL)), (TAQUIN_ARGUMENTS_##FORM))
#define TAQUIN_INTERPOSE_ALL(SUFFIX, COUNT, DISPL)             \
  TAQUIN_INTERPOSE(Alltoall, alltoall, SUFFIX, COUNT, DISPL)   \
  TAQUIN_INTERPOSE(Alltoallv, alltoallv, SUFFIX, COUNT, DISPL) \
  TAQUIN_INTERPOSE(Alltoallw, alltoallw, SUFFIX, COUNT, DISPL)

TAQUIN_EACH_COUNT(TAQUIN_INTERPOSE_ALL)
