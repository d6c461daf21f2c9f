// Compiled by tests that expect it to be refused: an address means nothing in another process.
#include <string_view>

#include "taquin/taquin.hpp"

#ifdef TAQUIN_TEST_pointer
MPI_Datatype type() { return taquin::datatype_of<int*>(); }
#else
MPI_Datatype type() { return taquin::datatype_of<std::string_view>(); }
#endif
