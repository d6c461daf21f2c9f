#include "mpi/check.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/sizes.hpp"
#include "mpi/failure.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

int class_of(int code) {
  int mpi_class = MPI_ERR_UNKNOWN;
  PMPI_Error_class(code, &mpi_class);
  return mpi_class;
}

bool running() {
  int started = 0;
  PMPI_Initialized(&started);
  return started != 0 && !finalized();
}

bool finalized() {
  int yes = 0;
  PMPI_Finalized(&yes);
  return yes != 0;
}

void fail(int code, const char* call) {
  if (is_failure(class_of(code))) refuse_failure(code);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  if (std::string_view(call).starts_with("PMPI_")) ++call;  // as its users know it
  throw mpi_error(fmt::format("{}: {}", call, std::string_view(text.data(), detail::as_size(length))), class_of(code),
                  code, call);
}

}  // namespace taquin::mpi
