! A call that fails under MPI's default error handler, or with an argument under MPI_ERRORS_RETURN.
program error_line
#ifdef OLD_MODULE
  use mpi
  use taquin_mpi
#else
  use mpi_f08
  use taquin
#endif
  implicit none
  integer :: send(1), recv(1), ierror
  call MPI_Init(ierror)
  if (command_argument_count() > 0) call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call taquin_alltoall(send, -1, MPI_INTEGER, recv, -1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  if (ierror /= MPI_SUCCESS) print '(2a)', 'survived with: ', taquin_last_error()
  call MPI_Finalize(ierror)
end program
