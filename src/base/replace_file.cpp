#include "base/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace taquin::detail {

namespace {

constexpr mode_t usual_mode = 0666;

std::string reason(int error) {
  std::string text(256, '\0');
  return strerror_r(error, text.data(), text.size());  // GNU's, which returns the text
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The file that a link leads to, or the path itself.
std::string target_of(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0 || !S_ISLNK(about.st_mode)) return path;
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string result = real;
  std::free(real);
  return result;
}

mode_t mode_of_new_files() {
  const mode_t masked = umask(0);
  umask(masked);
  return usual_mode & ~masked;
}

bool is_special(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

std::optional<std::string> write_directly(const std::string& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return reason(errno);
  const bool written = write_all(file, text);
  const int error = errno;
  if (close(file) != 0 && written) return reason(errno);
  if (!written) return reason(error);
  return std::nullopt;
}

// A file of its own name in the folder of `path`.
int open_beside(const std::string& path, std::string& name) {
  name = path + ".XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return file;
  struct stat old {};
  const mode_t mode = stat(path.c_str(), &old) == 0 ? old.st_mode & 07777U : mode_of_new_files();
  if (fchmod(file, mode) == 0) return file;
  const int error = errno;
  close(file);
  unlink(name.c_str());
  errno = error;
  return -1;
}

}  // namespace

std::optional<std::string> replace_file(const std::string& path, std::string_view text) {
  if (is_special(path)) return write_directly(path, text);
  const std::string target = target_of(path);
  std::string beside;
  const int file = open_beside(target, beside);
  if (file < 0) return reason(errno);
  bool good = write_all(file, text);
  int error = errno;
  if (close(file) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good && rename(beside.c_str(), target.c_str()) != 0) {
    good = false;
    error = errno;
  }
  if (good) return std::nullopt;
  unlink(beside.c_str());
  return reason(error);
}

std::optional<std::string> cannot_replace(const std::string& path) {
  if (is_special(path)) {
    struct stat about {};
    if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return reason(EISDIR);
    return access(path.c_str(), W_OK) == 0 ? std::nullopt : std::optional(reason(errno));
  }
  std::string beside;
  const int file = open_beside(target_of(path), beside);
  if (file < 0) return reason(errno);
  close(file);
  unlink(beside.c_str());
  return std::nullopt;
}

}  // namespace taquin::detail
