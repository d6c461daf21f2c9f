// Hints of an info object: lines of key=value, keys without "taquin_".
#include <mpi.h>

#include <algorithm>
#include <string>

#include "c/options.hpp"
#include "fuzz/fuzz.hpp"
#include "taquin/error.hpp"

namespace {

// MPI runs from the first input to the end of the process. Hints are read at all: one that is no number is refused.
struct mpi_session {
  mpi_session() {
    MPI_Init(nullptr, nullptr);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "taquin_radix", "two");
    bool refused = false;
    try {
      taquin::detail::options_of(MPI_COMM_SELF, info);
    } catch (const taquin::usage_error&) {
      refused = true;
    }
    taquin::fuzz::require(refused);
    MPI_Info_free(&info);
  }
  ~mpi_session() { MPI_Finalize(); }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const mpi_session session;
  std::string_view text = taquin::fuzz::text_of(data, size);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || line.find('\0') != std::string_view::npos) continue;
    const std::string key = "taquin_" + std::string(line.substr(0, equals));
    const std::string value(line.substr(equals + 1));
    if (key.size() >= MPI_MAX_INFO_KEY || value.empty() || value.size() >= MPI_MAX_INFO_VAL) continue;
    MPI_Info_set(info, key.c_str(), value.c_str());
  }
  try {
    const auto o = taquin::detail::options_of(MPI_COMM_SELF, info);
    taquin::fuzz::require(o.layout <= taquin::bruck_layout::packed);
  } catch (const taquin::usage_error& e) {
    taquin::fuzz::require(e.mpi_class() == MPI_ERR_INFO_VALUE || e.mpi_class() == MPI_ERR_ARG);
  }
  MPI_Info_free(&info);
  return 0;
}
