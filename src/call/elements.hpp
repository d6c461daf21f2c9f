// A description of elements by an interface on top of the library, beside their bytes: the dtype of Python.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace taquin::detail {

/// While it lives, this thread's calls agree on such a description; ranks that give different ones get an error. The
/// text must live as long. Empty: nothing is known.
class known_elements {
 public:
  explicit known_elements(std::string_view text) noexcept;
  known_elements(const known_elements&) = delete;
  known_elements& operator=(const known_elements&) = delete;
  ~known_elements();

  static std::string_view here() noexcept;
  static std::uint64_t fingerprint() noexcept;  ///< 0: nothing is known

 private:
  std::string_view before_;
};

/// The description that ranks give, some of which may know nothing: empty where no rank knows anything. Throws
/// usage_error on every rank where two ranks give different ones, of which it names the first lines. Collective; three
/// reductions and broadcasts, in errors and where a rank has to learn the description.
std::string agree_on_elements(MPI_Comm comm, std::string_view mine);

}  // namespace taquin::detail
