// The end of a lost rank, and when it was.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "faults/layer.hpp"
#include "faults/mortal_trial.hpp"

namespace taquin::soak {

inline int milliseconds_asleep = 0;

// Where a rank that is lost writes when that was; all are on this machine, so they have one clock.
inline std::string obituary;

inline double seconds_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline void write_obituary() {  // also in a signal handler
  const double when = seconds_now();
  const int file = open(obituary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  static_cast<void>(!write(file, &when, sizeof(when)));
  close(file);
}

// When the rank was lost; 0 if that is not known.
inline double time_of_death() {
  double when = 0;
  const int file = open(obituary.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, &when, sizeof(when)) != sizeof(when)) when = 0;
  close(file);
  return when;
}

inline void be_killed() {
  write_obituary();
  kill(getpid(), SIGKILL);
}
// Of a child, in what may be called after _Fork().
inline bool parent_is_stopped() {
  char text[256] = "";
  char name[32] = "/proc/";
  char* to = name + 6;
  for (pid_t power = 1000000000, left = getppid(); power > 0; left %= power, power /= 10)
    if (left >= power || to > name + 6) *to++ = static_cast<char>('0' + left / power);
  std::strcpy(to, "/stat");
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  const char* const end = bytes > 0 ? std::strrchr(text, ')') : nullptr;  // of the program's name
  return end != nullptr && end[1] == ' ' && end[2] == 'T';
}

inline void be_stopped() {
  const pid_t self = getpid();
  const pid_t waker = _Fork();  // fork() may wait for a lock that this rank holds
  if (waker == 0) {
    while (!parent_is_stopped() && getppid() == self) usleep(1000);  // it must not be woken before
    usleep(static_cast<useconds_t>(milliseconds_asleep) * 1000U);
    kill(self, SIGCONT);
    _exit(0);
  }
  kill(self, SIGSTOP);
}
inline void be_at_the_end() {
  write_obituary();
  std::exit(3);
}
inline void be_aborted() {
  write_obituary();
  signal(SIGABRT, SIG_DFL);  // MPI libraries print where it was, for which they take memory: it may be locked here
  std::abort();
}

inline auto what_happens(harm how) -> void (*)() {
  if (how == harm::stop) return be_stopped;
  if (how == harm::exit) return be_at_the_end;
  return how == harm::abort ? be_aborted : be_killed;
}

inline void arm_for(const trial& t) {
  milliseconds_asleep = t.asleep;
  if (t.how == harm::exception) return;
  if (!t.by_clock) return test::at_step(t.n, what_happens(t.how));
  static void (*then)() = nullptr;
  then = what_happens(t.how);
  signal(SIGALRM, [](int /*signal*/) { then(); });
  const itimerval once{{0, 0}, {0, t.microseconds}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

}  // namespace taquin::soak
