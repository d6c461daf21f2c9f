#include "base/replace_file.hpp"

#include <fcntl.h>
#include <poll.h>
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

constexpr int timeout_milliseconds = 5000;  // milliseconds that a reader has

// False, with errno, where it fails or the reader of a pipe takes nothing for too long.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd space{.fd = file, .events = POLLOUT, .revents = 0};
      if (poll(&space, 1, timeout_milliseconds) == 0) return errno = ETIMEDOUT, false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Opens a file that is written in place. A pipe without a reader is tried again for a while.
int open_directly(const std::string& path) {
  constexpr int between = 10;
  for (int waited = 0;; waited += between) {
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 || errno != ENXIO || waited >= timeout_milliseconds) return file;
    poll(nullptr, 0, between);
  }
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

// No regular file, or a name of one that is open already.
bool is_special(const std::string& path) {
  struct stat about {};
  return path.starts_with("/dev/") || path.starts_with("/proc/") ||
         (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode));
}

// Writes and closes; `why` is the reason where it fails.
bool filled(int file, std::string_view text, std::optional<std::string>& why) {
  bool good = write_all(file, text);
  int error = errno;
  if (close(file) != 0 && good) {
    good = false;
    error = errno;
  }
  if (!good) why = reason(error);
  return good;
}

std::optional<std::string> write_directly(const std::string& path, std::string_view text) {
  const int file = open_directly(path);
  if (file < 0) return errno == ENXIO ? "the pipe has no reader" : reason(errno);
  std::optional<std::string> why;
  filled(file, text, why);
  return why;
}

// A file of its own name in the folder of `path`.
int open_beside(const std::string& path, std::string& name) {
  name = path + ".XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return file;
  struct stat old {};
  const mode_t mode =
      lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode) ? old.st_mode & 07777U : mode_of_new_files();
  if (fchmod(file, mode) == 0) return file;
  const int error = errno;
  close(file);
  unlink(name.c_str());
  errno = error;
  return -1;
}

}  // namespace

std::optional<std::string> replace_file(const std::string& path, std::string_view text, links at) {
  if (is_special(path)) return write_directly(path, text);
  const std::string target = at == links::followed ? target_of(path) : path;
  std::string beside;
  const int file = open_beside(target, beside);
  if (file < 0) return reason(errno);
  std::optional<std::string> why;
  if (filled(file, text, why)) {
    if (rename(beside.c_str(), target.c_str()) == 0) return std::nullopt;
    why = reason(errno);
  }
  unlink(beside.c_str());
  return why;
}

std::optional<std::string> create_file(const std::string& stem, const std::string& extension, std::string_view text,
                                       std::string& path) {
  constexpr int most = 1000;
  int file = -1;
  for (int n = 0; file < 0 && n < most; ++n) {
    path = stem;
    if (n > 0) path.append("-").append(std::to_string(n));
    path += extension;
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, usual_mode);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) return reason(errno);
  std::optional<std::string> why;
  if (!filled(file, text, why)) unlink(path.c_str());
  return why;
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
