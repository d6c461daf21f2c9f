// The server of an exchange of the program, in place of the MPI library, from its start until it is complete.
#pragma once

#include "interpose/event.hpp"

namespace taquin::interpose {

class served_exchange {
 public:
  served_exchange() = default;
  served_exchange(const served_exchange&) = delete;
  served_exchange& operator=(const served_exchange&) = delete;
  virtual ~served_exchange() = default;

  /// Of a persistent exchange, before each start is counted: takes the memory that the start needs. After an error the
  /// start is not entered, and the program may repeat it.
  virtual void prepare_start() {}
  /// Of a persistent exchange, asked in each start: whether taquin does it. The same on all ranks that have started as
  /// often.
  [[nodiscard]] virtual bool is_next() = 0;
  /// The MPI library does all starts from now on.
  [[nodiscard]] virtual bool lost() const noexcept { return false; }
  /// The server of the starts will not change.
  [[nodiscard]] virtual bool settled() const noexcept { return true; }
  virtual void start() = 0;
  [[nodiscard]] virtual bool test() = 0;
  virtual void wait() = 0;
  /// A start has been completed, after so many seconds in MPI calls.
  virtual void completed(double /*seconds*/) {}
  [[nodiscard]] virtual outcome by_taquin() const = 0;
  /// Of the start that was left to the MPI library last.
  [[nodiscard]] virtual outcome by_library() const { return {}; }
};

}  // namespace taquin::interpose
