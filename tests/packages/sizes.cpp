// Prints what of the public types is part of the ABI: their sizes, and where the fields of TAQUIN_Options lie.
#include <cstddef>
#include <cstdio>

#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

int main() {
#define TAQUIN_SIZE(TYPE) std::printf("size of " #TYPE " %zu\n", sizeof(TYPE))
  TAQUIN_SIZE(taquin::block);
  TAQUIN_SIZE(taquin::blocks);
  TAQUIN_SIZE(taquin::budget_exceeded);
  TAQUIN_SIZE(taquin::count_view);
  TAQUIN_SIZE(taquin::datatype);
  TAQUIN_SIZE(taquin::dimension);
  TAQUIN_SIZE(taquin::element);
  TAQUIN_SIZE(taquin::error);
  TAQUIN_SIZE(taquin::exchange);
  TAQUIN_SIZE(taquin::layout);
  TAQUIN_SIZE(taquin::layout::place);
  TAQUIN_SIZE(taquin::layout_options);
  TAQUIN_SIZE(taquin::layout_redistribution);
  TAQUIN_SIZE(taquin::mpi_error);
  TAQUIN_SIZE(taquin::options);
  TAQUIN_SIZE(taquin::plan);
  TAQUIN_SIZE(taquin::redistribute_options);
  TAQUIN_SIZE(taquin::redistribution);
  TAQUIN_SIZE(taquin::statistics);
  TAQUIN_SIZE(taquin::timed_out);
  TAQUIN_SIZE(taquin::usage_error);
#define TAQUIN_FIELD(FIELD) std::printf("offset of TAQUIN_Options." #FIELD " %zu\n", offsetof(TAQUIN_Options, FIELD))
  TAQUIN_FIELD(size);
  TAQUIN_FIELD(node_count);
#define TAQUIN_OPTION(NAME, ...) TAQUIN_FIELD(NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, ...) TAQUIN_FIELD(NAME);
#include "base/options.def"
}
