#include "base/collective_error.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <exception>

namespace taquin::detail {

namespace {

const std::exception_ptr lack_of_memory =
    std::make_exception_ptr(on_all_ranks(usage_error("out of memory on a rank", MPI_ERR_NO_MEM)));

}  // namespace

void throw_lack_of_memory() { std::rethrow_exception(lack_of_memory); }

void throw_memory_needed(std::string_view what, std::size_t needed, std::size_t usual, std::size_t allowed) {
  throw_on_all_ranks([&] {
    return budget_exceeded(
        fmt::format("{} needs at least {} bytes of scratch memory, {} are allowed{}", what, needed, allowed,
                    usual > needed ? fmt::format("; {} are as good as no limit", usual) : std::string()),
        needed, 0, allowed);
  });
}

}  // namespace taquin::detail
