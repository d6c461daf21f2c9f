! Arrays that are too short for the communicator, and statistics. Compiled with module taquin and, with OLD_MODULE, with
! taquin_mpi.
#ifdef OLD_MODULE
#define MPI_MODULE mpi
#define MODULE_UNDER_TEST taquin_mpi
#define DATATYPE integer
#else
#define MPI_MODULE mpi_f08
#define MODULE_UNDER_TEST taquin
#define DATATYPE type(MPI_Datatype)
#endif
#define CHECK(condition) call check(condition, __LINE__)
! On all ranks, although the array of the last one alone is too short.
#define SHORT(name) CHECK(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), name) > 0)

program arguments
  use, intrinsic :: iso_c_binding
  use MPI_MODULE
  use MODULE_UNDER_TEST
  implicit none
  integer :: rank, ranks, ierror, failures = 0
  call MPI_Init(ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call short_arrays_are_errors_of_all_ranks()
  call short_large_counts_are_as_well()
  call lists_of_blocks_are_as_well()
  call maps_of_blocks_are_as_well()
  call short_arrays_of_layouts_are_errors()
  call statistics_are_read()
  call finish('arguments')

contains

#include "check.inc"
#include "finish.inc"

  ! One element for each rank; one less on the last rank.
  integer function n()
    n = merge(ranks - 1, ranks, rank == ranks - 1)
  end function

  subroutine short_arrays_are_errors_of_all_ranks()
    integer :: ones(ranks), at(ranks), k
    integer, asynchronous :: send(ranks), recv(ranks)
    DATATYPE :: types(ranks)
    type(taquin_plan) :: plan
    ones = 1
    at = [(k, k = 0, ranks - 1)]
    types = MPI_INTEGER
    send = rank
    recv = -1
    call taquin_alltoallv(send, ones(:n()), at, MPI_INTEGER, recv, ones, at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('sendcounts has fewer elements')
    call taquin_alltoallv(send, ones, at(:n()), MPI_INTEGER, recv, ones, at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('sdispls has fewer elements')
    call taquin_alltoallv(send, ones, at, MPI_INTEGER, recv, ones(:n()), at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('recvcounts has fewer elements')
    call taquin_alltoallv(send, ones, at, MPI_INTEGER, recv, ones, at(:n()), MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('rdispls has fewer elements')
    call taquin_alltoallw(send, ones, 4 * at, types(:n()), recv, ones, 4 * at, types, MPI_COMM_WORLD, ierror)
    SHORT('sendtypes has fewer elements')
    call taquin_alltoallw(send, ones, 4 * at, types, recv, ones, 4 * at, types(:n()), MPI_COMM_WORLD, ierror)
    SHORT('recvtypes has fewer elements')
    call taquin_alltoallv_in_place(recv, ones(:n()), at, ones, at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('sendcounts has fewer elements')
    call taquin_alltoallv_init(send, ones, at, MPI_INTEGER, recv, ones(:n()), at, MPI_INTEGER, MPI_COMM_WORLD, &
      MPI_INFO_NULL, plan, ierror)
    SHORT('recvcounts has fewer elements')
    call taquin_alltoallw_init(send, ones, 4 * at, types, recv, ones, 4 * at, types(:n()), MPI_COMM_WORLD, &
      MPI_INFO_NULL, plan, ierror)
    SHORT('recvtypes has fewer elements')
    CHECK(all(recv == -1))
    ! What is not read may be of any length, and arrays may be longer.
    recv = rank
    call taquin_alltoallv(MPI_IN_PLACE, [0], [0], MPI_INTEGER, recv, ones, at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(recv == at))
    call taquin_alltoallv(send, [ones, 7], at, MPI_INTEGER, recv, ones, at, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(recv == at))
  end subroutine

  subroutine short_large_counts_are_as_well()
    integer(MPI_COUNT_KIND) :: ones(ranks)
    integer(MPI_ADDRESS_KIND) :: at(ranks)
    integer :: send(ranks), recv(ranks), k
    ones = 1
    at = [(int(k, MPI_ADDRESS_KIND), k = 0, ranks - 1)]
    send = rank
    call taquin_alltoallv(send, ones, at, MPI_INTEGER, recv, ones, at(:n()), MPI_INTEGER, MPI_COMM_WORLD, ierror)
    SHORT('rdispls has fewer elements')
  end subroutine

  subroutine lists_of_blocks_are_as_well()
    integer :: destinations(2), data(2), incoming
    integer(MPI_COUNT_KIND) :: counts(2), elements
    type(taquin_sparse) :: s
    destinations = 0
    counts = 1
    data = rank
    call taquin_sparse_begin(data, 2, destinations, counts(:merge(1, 2, rank == ranks - 1)), MPI_INTEGER, &
      MPI_COMM_WORLD, s, incoming, elements, ierror)
    SHORT('destinations or counts has fewer elements')
    call taquin_sparse_begin(data, 2, destinations, counts, MPI_INTEGER, MPI_COMM_WORLD, s, incoming, elements, ierror)
    CHECK(ierror == MPI_SUCCESS .and. incoming == merge(2 * ranks, 0, rank == 0))
    call taquin_sparse_sources(s, destinations(:0), counts, ierror)
    if (rank == 0) then
      SHORT('sources or counts has fewer elements')
    end if
    CHECK(rank == 0 .or. ierror == MPI_SUCCESS)
    call taquin_sparse_end(s)
  end subroutine

  subroutine maps_of_blocks_are_as_well()
    type(taquin_redistribution) :: r
    integer, asynchronous :: blocks(ranks)
    integer :: short(merge(ranks - 1, ranks, rank == ranks - 1)), whole(ranks)
    blocks = rank
    short = rank
    whole = rank
    call taquin_redistribution_create(blocks, int(ranks, MPI_COUNT_KIND), 1_MPI_COUNT_KIND, MPI_INTEGER, &
      MPI_COMM_WORLD, '', TAQUIN_UNLIMITED, r)
    call taquin_redistribution_redistribute(r, ranks, short, ordinals(), ierror)
    SHORT('dest_ranks or dest_indices has fewer elements')
    call taquin_redistribution_redistribute(r, ranks, whole, short, ierror)
    SHORT('dest_ranks or dest_indices has fewer elements')
    call taquin_redistribution_start(r, ranks, short, ordinals(), ierror)
    if (ierror == MPI_SUCCESS) call taquin_redistribution_wait(r, ierror)
    SHORT('dest_ranks or dest_indices has fewer elements')
    call taquin_redistribution_redistribute(r, ranks, whole, [ordinals(), -7], ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(blocks == rank))
    call taquin_redistribution_free(r)
  end subroutine

  ! Of this rank alone where the procedure is local.
  subroutine short_arrays_of_layouts_are_errors()
    type(taquin_layout) :: even, unlike
    integer(MPI_COUNT_KIND) :: extents(2), one(1), part(2) = 1
    integer :: here(2), there(2), axes(merge(1, 2, rank == ranks - 1))
    extents = [2, ranks]
    call taquin_layout_create(extents, [1], even, ierror=ierror)
    SHORT('must have as many elements as extents')
    call taquin_layout_create(extents, [1, ranks], even, distributions=[TAQUIN_EVEN], ierror=ierror)
    SHORT('must have as many elements as extents')
    call taquin_layout_create(extents, [1, ranks], even, blocks=[1_MPI_COUNT_KIND], ierror=ierror)
    SHORT('must have as many elements as extents')
    call taquin_layout_create(extents, [1, ranks], even, firsts=[0], ierror=ierror)
    SHORT('must have as many elements as extents')
    call taquin_layout_create(extents, [1, ranks], even, ierror=ierror)
    CHECK(ierror == MPI_SUCCESS)
    call taquin_layout_local_extents(even, rank, one, ierror)
    SHORT('a part has fewer elements')
    call taquin_layout_set_allocated(even, [2_MPI_COUNT_KIND], ierror)
    SHORT('a part has fewer elements')
    call taquin_layout_set_part(even, [1_MPI_COUNT_KIND], extents, ierror)
    SHORT('a part has fewer elements')
    call taquin_layout_local_extents(even, rank, extents, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(extents == [2, 1]))
    if (ranks > 1) then
      call taquin_layout_set_lengths(even, 2, one, ierror)
      SHORT('lengths has fewer elements')
    end if
    call taquin_layout_set_lengths(even, 3, one, ierror)
    SHORT('dimension 2, counted from 0, of a layout with 2')
    call taquin_layout_set_halo(even, [1_MPI_COUNT_KIND], extents, ierror)
    SHORT('a part has fewer elements')
    call taquin_layout_set_halo(even, extents, [1_MPI_COUNT_KIND], ierror)
    SHORT('a part has fewer elements')
    call taquin_layout_darray([2, ranks], [MPI_DISTRIBUTE_NONE], [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], &
      [1, ranks], MPI_ORDER_FORTRAN, unlike, ierror)
    SHORT('as many elements as gsizes')
    here = rank
    axes = 1
    if (size(axes) == 2) axes(2) = 2
    call taquin_redistribute_layout(here, even, there, even, MPI_INTEGER, MPI_COMM_WORLD, axes, ierror)
    SHORT('axes must have as many elements')
    call taquin_redistribute_layout_part(here, even, part(:size(axes)), there, even, [1_MPI_COUNT_KIND, &
      1_MPI_COUNT_KIND], extents, MPI_INTEGER, MPI_COMM_WORLD, ierror=ierror)
    SHORT('a part has fewer elements')
    call taquin_redistribute_layout_in_place(here, even, even, MPI_INTEGER, MPI_COMM_WORLD, axes, ierror)
    SHORT('axes must have as many elements')
    call taquin_redistribute_layout(here, even, there, even, MPI_INTEGER, MPI_COMM_WORLD, [1, 2], ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(there == rank))
    call taquin_layout_free(even)
  end subroutine

  subroutine statistics_are_read()
    type(taquin_statistics) :: counted
    type(taquin_options) :: given
    type(taquin_plan) :: plan
    type(taquin_redistribution) :: r
    integer, asynchronous :: send(1000 * ranks), recv(1000 * ranks)
    send = rank
    call taquin_comm_get_statistics(MPI_COMM_WORLD, counted, ierror)
    CHECK(ierror == MPI_SUCCESS .and. counted%starts == 0 .and. counted%algorithm == '')
    given%algorithm = 'basic_bruck'
    call taquin_comm_set_options(MPI_COMM_WORLD, given)
    call taquin_comm_set_statistics(MPI_COMM_WORLD, .true., ierror)
    CHECK(ierror == MPI_SUCCESS)
    call taquin_alltoall(send, 1000, MPI_INTEGER, recv, 1000, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call taquin_comm_get_statistics(MPI_COMM_WORLD, counted, ierror)
    CHECK(ierror == MPI_SUCCESS .and. counted%starts == 1 .and. counted%algorithm == 'basic_bruck')
    CHECK(counted%peak_memory > 0 .and. (counted%bytes_sent > 0 .eqv. ranks > 1))
    call taquin_comm_set_statistics(MPI_COMM_WORLD, .false.)
    call taquin_alltoall_init(send, 1000, MPI_INTEGER, recv, 1000, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, plan)
    call taquin_start(plan)
    call taquin_wait(plan)
    call taquin_start(plan)
    call taquin_wait(plan)
    call taquin_plan_get_statistics(plan, counted, ierror)
    CHECK(ierror == MPI_SUCCESS .and. counted%starts == 2 .and. counted%algorithm == 'basic_bruck')
    CHECK(counted%peak_memory > 0)
    call taquin_plan_free(plan)
    call taquin_comm_set_options(MPI_COMM_WORLD)
    call taquin_redistribution_create(send, int(ranks, MPI_COUNT_KIND), 1000_MPI_COUNT_KIND, MPI_INTEGER, &
      MPI_COMM_WORLD, 'slots', TAQUIN_UNLIMITED, r)
    call taquin_redistribution_redistribute(r, ranks, spread(rank, 1, ranks), ordinals())
    call taquin_redistribution_get_statistics(r, counted, ierror)
    CHECK(ierror == MPI_SUCCESS .and. counted%starts == 1 .and. counted%algorithm == 'slots')
    CHECK(counted%peak_memory > 0)
    call taquin_redistribution_free(r)
    call taquin_plan_get_statistics(TAQUIN_PLAN_NULL, counted, ierror)
    CHECK(ierror /= MPI_SUCCESS .and. counted%algorithm == '')
  end subroutine

  function ordinals()
    integer :: ordinals(ranks), k
    ordinals = [(k, k = 0, ranks - 1)]
  end function
end program
