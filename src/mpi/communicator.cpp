#include "mpi/communicator.hpp"

#include <memory>

#include "mpi/check.hpp"

namespace taquin::mpi {

int communicator::on_delete(MPI_Comm, int, void* value, void*) { return static_cast<communicator*>(value)->drop(); }

int communicator::drop() noexcept {
  if (--users_ > 0) return MPI_SUCCESS;
  const int code = finalized() ? MPI_SUCCESS : MPI_Comm_free(&comm_);
  delete this;
  return code;
}

int communicator::keyval() {
  // A duplicate of the user's communicator starts without the attribute and gets a state of its own.
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    TAQUIN_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &communicator::on_delete, &made, nullptr));
    return made;
  }();
  return key;
}

communicator::communicator(MPI_Comm own) : comm_(own) {
  // Failures inside the library come back as codes and leave it as exceptions; the user's handler is the C API's
  // matter.
  TAQUIN_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  TAQUIN_MPI(MPI_Comm_rank(comm_, &rank_));
  TAQUIN_MPI(MPI_Comm_size(comm_, &size_));
}

communicator* communicator::known(MPI_Comm user) {
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(MPI_Comm_get_attr(user, keyval(), static_cast<void*>(&value), &found));
  return found != 0 ? static_cast<communicator*>(value) : nullptr;
}

communicator& communicator::of(MPI_Comm user) {
  if (communicator* state = known(user)) return *state;
  MPI_Comm own = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_dup(user, &own));
  lease state = adopt(own);
  TAQUIN_MPI(MPI_Comm_set_attr(user, keyval(), state.get()));
  return *state.release();
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  TAQUIN_MPI(MPI_Comm_test_inter(comm, &inter));
  return inter != 0;
}

}  // namespace taquin::mpi
