// The C API's blocking calls.
#include "taquin/alltoall.hpp"

#include "c/argument_lists.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "taquin/taquin.h"

using namespace taquin::detail;

#define TAQUIN_BLOCKING(NAME, FORM, SUFFIX, COUNT, DISPL)                                                    \
  int TAQUIN_##NAME##SUFFIX(TAQUIN_PARAMETERS_##FORM(COUNT, DISPL, MPI_Datatype, MPI_Comm)) {                \
    return guarded(comm, [&] { taquin::run(with_invalid_text(TAQUIN_EXCHANGE_##FORM), options_of(comm)); }); \
  }
TAQUIN_EACH_EXCHANGE(TAQUIN_BLOCKING)
