// The calls of a hostile recipe, each with its data: what it writes is compared, and what it must not write as well.
#pragma once

#include <mpi.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "faults/hostile_recipe.hpp"

namespace taquin::soak {

/// An MPI error code that the C API has returned.
struct c_error : std::runtime_error {
  explicit c_error(int error_code);
  int code;
};

/// The exception of the program's own code.
struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One rank's part in a call.
class hostile_call {
 public:
  hostile_call() = default;
  hostile_call(const hostile_call&) = delete;
  hostile_call& operator=(const hostile_call&) = delete;
  virtual ~hostile_call() = default;

  [[nodiscard]] virtual int steps() const = 0;
  /// Allocates nothing itself. Throws the call's exception.
  virtual void step(int number) = 0;
  /// Destroys what a step has made.
  virtual void drop() = 0;
  /// After all steps: what is wrong with the result; empty when nothing is.
  [[nodiscard]] virtual std::string wrong() const = 0;
  /// The bytes written where nothing may be, whatever has happened.
  [[nodiscard]] virtual std::string outside() const = 0;
  /// Nothing was written.
  [[nodiscard]] virtual bool untouched() const = 0;
};

/// Local. The recipe must outlive the call. `o`: of this rank.
std::unique_ptr<hostile_call> make_hostile_exchange(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o);
std::unique_ptr<hostile_call> make_hostile_blocks(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o);
std::unique_ptr<hostile_call> make_hostile_sparse(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o);

/// Of its own arguments this rank gives an invalid one.
inline bool errs(const hostile_recipe& r, int rank, offence harm) noexcept {
  return r.harm == harm && r.offender == rank;
}

/// Sets the options of C calls.
void set_c_options(MPI_Comm comm, const options& o);
/// Throws c_error.
void check_c(int code);

}  // namespace taquin::soak
