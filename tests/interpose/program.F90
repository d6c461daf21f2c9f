! The three calls from Fortran, by module mpi or mpi_f08, as module_name says; every value that arrives is checked.
program exchanges
  use module_name
  implicit none
#ifdef module_mpi_f08
  type(MPI_Datatype), allocatable :: types(:)
#else
  integer, allocatable :: types(:)
#endif
  integer :: rank, ranks, ierror, j, k, sent, received
  integer, allocatable :: send(:), recv(:), scounts(:), sdispls(:), rcounts(:), rdispls(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate (scounts(ranks), sdispls(ranks), rcounts(ranks), rdispls(ranks), types(ranks))

  ! Two integers for each rank, from one buffer to another and in place.
  send = [((value(rank, j, k), k=1, 2), j=0, ranks - 1)]
  allocate (recv(2*ranks))
  recv = -1
  call MPI_Alltoall(send, 2, MPI_INTEGER, recv, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call stop_unless(all(recv == [((value(j, rank, k), k=1, 2), j=0, ranks - 1)]))
  recv = send
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, recv, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call stop_unless(all(recv == [((value(j, rank, k), k=1, 2), j=0, ranks - 1)]))
  deallocate (send, recv)

  ! Mod(2 i + j, 3) integers from rank i to rank j.
  scounts = [(mod(2*rank + j, 3), j=0, ranks - 1)]
  rcounts = [(mod(2*j + rank, 3), j=0, ranks - 1)]
  sent = 0
  received = 0
  do j = 1, ranks
    sdispls(j) = sent
    rdispls(j) = received
    sent = sent + scounts(j)
    received = received + rcounts(j)
  end do
  send = [((value(rank, j, k), k=1, scounts(j + 1)), j=0, ranks - 1)]
  allocate (recv(received))
  recv = -1
  call MPI_Alltoallv(send, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call stop_unless(all(recv == [((value(j, rank, k), k=1, rcounts(j + 1)), j=0, ranks - 1)]))

  ! The same with displacements in bytes.
  types = MPI_INTEGER
  sdispls = 4*sdispls
  rdispls = 4*rdispls
  recv = -1
  call MPI_Alltoallw(send, scounts, sdispls, types, recv, rcounts, rdispls, types, MPI_COMM_WORLD, ierror)
  call stop_unless(all(recv == [((value(j, rank, k), k=1, rcounts(j + 1)), j=0, ranks - 1)]))
  call MPI_Finalize(ierror)

contains

  pure integer function value(from, to, k)
    integer, intent(in) :: from, to, k
    value = 10000*from + 100*to + k
  end function value

  include "stop_unless.inc"

end program exchanges
