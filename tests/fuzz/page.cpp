// Files that `taquin report` shows: told apart, checked, and turned into what the page reads.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/page_inputs.hpp"
#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("taquin_fuzz_" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << taquin::fuzz::text_of(data, size) << std::flush;
  try {
    const std::string text = taquin::cli::html_safe(taquin::cli::read_page_input(path, 4));
    taquin::fuzz::require(text.find('<') == std::string::npos);
  } catch (const taquin::cli::invalid_file&) {
  }
  std::filesystem::remove(path);
  return 0;
}
