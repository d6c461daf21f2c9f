// From a return address to function, file and line.
#pragma once

#include <cstdint>
#include <string>

namespace taquin::interpose {

struct call_site {
  std::string function;  ///< empty: not known
  std::string file;
  int line = 0;
  std::string address;  ///< FUNCTION+0xOFFSET; of a file without symbols MODULE+0xOFFSET, as addr2line takes it

  /// " at FILE:LINE", " in FUNCTION+0xOFFSET", " at MODULE+0xOFFSET", or nothing.
  [[nodiscard]] std::string words() const;
};

/// `object` is a file that this process has loaded, `offset` an address inside it. Files and lines need libdw at run
/// time and debug information; functions need exported names at least.
call_site resolve(const std::string& object, std::uint64_t offset);

/// Where an address lies: the same on all ranks of a program.
struct place {
  std::string object;        ///< the program's or library's file
  std::uint64_t offset = 0;  ///< in it
  const void* address = nullptr;
};
/// The place of a return address. One inside MPI's Fortran procedures becomes that of their caller. Results are kept.
const place& place_of(const void* address);

}  // namespace taquin::interpose
