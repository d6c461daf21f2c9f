// Compiled by tests that expect it to be refused, in one sentence.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "taquin/taquin.hpp"

const std::vector<int> counts;
std::vector<int> numbers;

#if defined TAQUIN_TEST_pointer
MPI_Datatype type() { return taquin::datatype_of<int*>(); }
#elif defined TAQUIN_TEST_view
MPI_Datatype type() { return taquin::datatype_of<std::string_view>(); }
#elif defined TAQUIN_TEST_string
void call() { static_cast<void>(taquin::alltoallv(std::vector<std::string>(), counts, MPI_COMM_WORLD)); }
#elif defined TAQUIN_TEST_pair
void call(std::vector<std::pair<int, double> >& p) { taquin::alltoallv_in_place(p, counts, counts, MPI_COMM_WORLD); }
#elif defined TAQUIN_TEST_text_of_a_plan
void call(std::vector<std::string>& s) { taquin::plan_alltoallv(s, counts, s, counts, MPI_COMM_WORLD).run(); }
#elif defined TAQUIN_TEST_range_that_is_gone
void call() { taquin::plan_alltoallv(std::vector<int>(), counts, numbers, counts, MPI_COMM_WORLD).run(); }
#endif
