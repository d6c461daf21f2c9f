#include <mpi.h>

#include "taquin/error.hpp"

namespace taquin {

budget_exceeded::budget_exceeded(const std::string& what, std::size_t requested, std::size_t used, std::size_t limit)
    : error(what, MPI_ERR_NO_MEM), requested_(requested), used_(used), limit_(limit) {}

}  // namespace taquin
