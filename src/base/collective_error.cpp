#include "base/collective_error.hpp"

#include <mpi.h>

#include <exception>

namespace taquin::detail {

namespace {

const std::exception_ptr lack_of_memory =
    std::make_exception_ptr(on_all_ranks(usage_error("out of memory on a rank", MPI_ERR_NO_MEM)));

}  // namespace

void throw_lack_of_memory() { std::rethrow_exception(lack_of_memory); }

}  // namespace taquin::detail
