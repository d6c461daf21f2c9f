! Nonblocking and persistent exchanges, and those between the neighbours of a ring, from Fortran, by mpif.h or by module
! mpi or mpi_f08, as the macros say; every value that arrives is checked.
#if defined(use_mpif)
#define REQUEST_TYPE integer
#define COMM_TYPE integer
#define TYPE_TYPE integer
#elif defined(use_mpi)
#define REQUEST_TYPE integer
#define COMM_TYPE integer
#define TYPE_TYPE integer
#else
#define REQUEST_TYPE type(MPI_Request)
#define COMM_TYPE type(MPI_Comm)
#define TYPE_TYPE type(MPI_Datatype)
#endif
program forms
#if defined(use_mpi)
  use mpi
#elif defined(use_mpi_f08)
  use mpi_f08
#ifdef names_of_open_mpi_4
  use mpi_f08_ext
#endif
#endif
  implicit none
#if defined(use_mpif)
  include 'mpif.h'
#endif
  integer, parameter :: most = 8, starts = 8
  integer :: rank, ranks, ierror, i, n, before, behind
  integer, asynchronous :: send(most), recv(most), send2(most), recv2(most), counts(most), places(most), offsets(most)
  integer(MPI_ADDRESS_KIND) :: addresses(most)
  TYPE_TYPE :: types(most)
  COMM_TYPE :: ring
  REQUEST_TYPE :: request(2)
  logical :: done

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  counts = 1
  places = [(i, i=0, most - 1)]
  offsets = 4*places
  addresses = 0
  types = MPI_INTEGER

  ! Nonblocking, the last two at once.
  call fill(1)
  call MPI_Ialltoall(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, MPI_COMM_WORLD, request(1), ierror)
  call MPI_Wait(request(1), MPI_STATUS_IGNORE, ierror)
  call check(recv, 1)
  call fill(2)
  call MPI_Ialltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request(1), ierror)
  call MPI_Ialltoallw(send, counts, offsets, types, recv2, counts, offsets, types, MPI_COMM_WORLD, request(2), ierror)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierror)
  call check(recv, 2)
  call check(recv2, 2)

  ! Persistent.
#ifdef names_of_open_mpi_4
  call MPIX_Alltoall_init(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(1), ierror)
  call persist(request(1))
  call MPIX_Alltoallv_init(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                           MPI_INFO_NULL, request(1), ierror)
  call persist(request(1))
  call MPIX_Alltoallw_init(send, counts, offsets, types, recv, counts, offsets, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           request(1), ierror)
  call persist(request(1))
  call MPIX_Alltoall_init(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(1), ierror)
  call MPIX_Alltoall_init(send2, 1, MPI_INTEGER, recv2, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(2), ierror)
#else
  call MPI_Alltoall_init(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(1), ierror)
  call persist(request(1))
  call MPI_Alltoallv_init(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                          MPI_INFO_NULL, request(1), ierror)
  call persist(request(1))
  call MPI_Alltoallw_init(send, counts, offsets, types, recv, counts, offsets, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
                          request(1), ierror)
  call persist(request(1))
  call MPI_Alltoall_init(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(1), ierror)
  call MPI_Alltoall_init(send2, 1, MPI_INTEGER, recv2, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request(2), ierror)
#endif
  do n = 1, starts
    call fill(n)
    call MPI_Startall(2, request, ierror)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierror)
    call check(recv, n)
    call check(recv2, n)
  end do
  call MPI_Request_free(request(1), ierror)
  call MPI_Request_free(request(2), ierror)

  ! Around a ring.
  before = mod(rank + ranks - 1, ranks)
  behind = mod(rank + 1, ranks)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], [1], 1, [behind], [1], MPI_INFO_NULL, .false., ring, ierror)
  call fill(1)
  call MPI_Neighbor_alltoall(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, ring, ierror)
  call check_ring(1)
  call MPI_Neighbor_alltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, ring, ierror)
  call check_ring(1)
  call MPI_Neighbor_alltoallw(send, counts, addresses, types, recv, counts, addresses, types, ring, ierror)
  call check_ring(1)
  call fill(2)
  call MPI_Ineighbor_alltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, ring, request(1), ierror)
  done = .false.
  do while (.not. done)
    call MPI_Test(request(1), done, MPI_STATUS_IGNORE, ierror)
  end do
  call check_ring(2)
#ifdef names_of_open_mpi_4
  call MPIX_Neighbor_alltoallv_init(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, ring, &
                                    MPI_INFO_NULL, request(1), ierror)
#else
  call MPI_Neighbor_alltoallv_init(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, ring, &
                                   MPI_INFO_NULL, request(1), ierror)
#endif
  call fill(3)
  call MPI_Start(request(1), ierror)
  call MPI_Wait(request(1), MPI_STATUS_IGNORE, ierror)
  call check_ring(3)
  call MPI_Request_free(request(1), ierror)
  call MPI_Comm_free(ring, ierror)
  call MPI_Finalize(ierror)

contains

  subroutine fill(serial)
    integer, intent(in) :: serial
    send = [(value(rank, i, serial), i=0, most - 1)]
    send2 = send
    recv = -1
    recv2 = -1
  end subroutine fill

  pure integer function value(from, to, serial)
    integer, intent(in) :: from, to, serial
    value = 10000*serial + 100*from + to
  end function value

  subroutine persist(one)
    REQUEST_TYPE, intent(inout) :: one
    integer :: k
    do k = 1, starts
      call fill(k)
      call MPI_Start(one, ierror)
      call MPI_Wait(one, MPI_STATUS_IGNORE, ierror)
      call check(recv, k)
    end do
    call MPI_Request_free(one, ierror)
  end subroutine persist

  subroutine check(arrived, serial)
    integer, intent(in) :: arrived(most), serial
    call stop_unless(all(arrived(:ranks) == [(value(i, rank, serial), i=0, ranks - 1)]))
  end subroutine check

  subroutine check_ring(serial)
    integer, intent(in) :: serial
    call stop_unless(recv(1) == value(before, 0, serial))
  end subroutine check_ring

  include "stop_unless.inc"

end program forms
