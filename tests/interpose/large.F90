! Counts and displacements of 64 bits, which mpi_f08 passes to MPI's _c forms; every value that arrives is checked.
program large
  use mpi_f08
  implicit none
  integer, parameter :: most = 8
  integer :: rank, ranks, ierror, i
  integer, asynchronous :: send(most), recv(most)
  integer(MPI_COUNT_KIND) :: one = 1
  integer(MPI_COUNT_KIND), asynchronous :: counts(most)
  integer(MPI_ADDRESS_KIND), asynchronous :: places(most), offsets(most)
  type(MPI_Datatype) :: types(most)
  type(MPI_Comm) :: ring
  type(MPI_Request) :: request

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  counts = 1
  places = [(i, i=0, most - 1)]
  offsets = 4*places
  types = MPI_INTEGER

  call fill
  call MPI_Alltoall(send, one, MPI_INTEGER, recv, one, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check
  call MPI_Alltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check
  call MPI_Alltoallw(send, counts, offsets, types, recv, counts, offsets, types, MPI_COMM_WORLD, ierror)
  call check
  call MPI_Ialltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call check
  call MPI_Alltoallv_init(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                          MPI_INFO_NULL, request, ierror)
  call MPI_Start(request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call check
  call MPI_Request_free(request, ierror)

  i = mod(rank + ranks - 1, ranks)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [i], [1], 1, [mod(rank + 1, ranks)], [1], MPI_INFO_NULL, .false., &
                                      ring, ierror)
  call MPI_Neighbor_alltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, ring, ierror)
  call stop_unless(recv(1) == 100*i)
  call MPI_Comm_free(ring, ierror)
  call MPI_Finalize(ierror)

contains

  subroutine fill
    send = [(100*rank + i, i=0, most - 1)]
    recv = -1
  end subroutine fill

  subroutine check
    call stop_unless(all(recv(:ranks) == [(100*i + rank, i=0, ranks - 1)]))
    call fill
  end subroutine check

  include "stop_unless.inc"

end program large
