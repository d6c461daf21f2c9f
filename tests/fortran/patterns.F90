! Permutations, collectives and datatypes in Fortran, against the MPI library's results; sorting, and the option
! least_progress of redistributions.
#ifdef OLD_MODULE
#define MPI_MODULE mpi
#define MODULE_UNDER_TEST taquin_mpi
#define DATATYPE integer
#else
#define MPI_MODULE mpi_f08
#define MODULE_UNDER_TEST taquin
#define DATATYPE type(MPI_Datatype)
#endif
program patterns
  use, intrinsic :: iso_c_binding
  use MPI_MODULE
  use MODULE_UNDER_TEST
  implicit none
  integer, parameter :: wide = MPI_COUNT_KIND, guard = -1
  integer :: rank, ranks, ierror, failures = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call permutations_reach_the_right_ranks()
  call collectives_give_what_the_mpi_library_gives()
  call errors_reach_every_rank()
  call datatypes_hold_what_the_paper_says()
  call blocks_are_sorted_by_destination()
  call little_progress_makes_an_algorithm_hand_over()
  call finish('patterns')

contains

#include "check.inc"
#include "finish.inc"

  integer function class_of(code)
    integer, intent(in) :: code
    integer :: error
    call MPI_Error_class(code, class_of, error)
  end function

  subroutine permutations_reach_the_right_ranks()
    integer :: by, from, mine(3), got(3)
    mine = [100 * rank, 100 * rank + 1, 100 * rank + 2]
    do by = -2, 2
      got = guard
      call taquin_permute(TAQUIN_RING, by, mine, got, 3, MPI_INTEGER, MPI_COMM_WORLD, ierror)
      from = modulo(rank - by, ranks)
      call check(ierror == MPI_SUCCESS .and. all(got == [100 * from, 100 * from + 1, 100 * from + 2]), __LINE__)
      got = guard
      call taquin_permute(TAQUIN_SHIFT, by, mine, got, 3_wide, MPI_INTEGER, MPI_COMM_WORLD, ierror)
      from = rank - by
      call check(ierror == MPI_SUCCESS .and. got(1) == merge(100 * from, guard, from >= 0 .and. from < ranks), __LINE__)
      if (by < 0) cycle
      got = guard
      call taquin_permute(TAQUIN_HYPERCUBE, by, mine, got, 3, MPI_INTEGER, MPI_COMM_WORLD, ierror)
      from = ieor(rank, by)
      call check(ierror == MPI_SUCCESS .and. got(3) == merge(100 * from + 2, guard, from < ranks), __LINE__)
    end do
  end subroutine

  subroutine collectives_give_what_the_mpi_library_gives()
    integer :: root, i, mine(2), got(2), right(2)
    integer, allocatable :: from_root(:), every(:), every_right(:), numbers(:), sums(:)
    mine = [rank + 1, 3 * rank]
    allocate (every(2 * ranks), every_right(2 * ranks))
    from_root = [(1000 * rank + i, i = 1, 2 * ranks)]
    call taquin_barrier(MPI_COMM_WORLD, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    do root = 0, ranks - 1
      got = mine
      right = mine
      call taquin_bcast(got, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call MPI_Bcast(right, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call check(all(got == right), __LINE__)
      call taquin_reduce(mine, got, 2_wide, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierror)
      call MPI_Reduce(mine, right, 2, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierror)
      call check(rank /= root .or. all(got == right), __LINE__)
      call taquin_gather(mine, every, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call MPI_Gather(mine, 2, MPI_INTEGER, every_right, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call check(rank /= root .or. all(every == every_right), __LINE__)
      call taquin_scatter(from_root, got, 2_wide, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call MPI_Scatter(from_root, 2, MPI_INTEGER, right, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
      call check(all(got == right), __LINE__)
    end do
    call taquin_allreduce(mine, got, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(mine(1), right(1), 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check(all(got == right), __LINE__)
    call taquin_allgather(mine, every, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Allgather(mine, 2, MPI_INTEGER, every_right, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(all(every == every_right), __LINE__)
    call taquin_scan(mine, got, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Scan(mine, right, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(got == right), __LINE__)
    ! Elements 1, 2, 3, … of all ranks, rank r with r + 1 consecutive ones: the k-th sum is k(k + 1)/2.
    numbers = [(rank * (rank + 1) / 2 + i, i = 1, rank + 1)]
    allocate (sums(rank + 1))
    call taquin_scan_elements(numbers, sums, rank + 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(ierror == MPI_SUCCESS .and. all(sums == numbers * (numbers + 1) / 2), __LINE__)
  end subroutine

  subroutine errors_reach_every_rank()
    integer :: mine(4), got(4)
    mine = rank
    got = guard
    call taquin_permute(merge(7, TAQUIN_RING, rank == 0), 1, mine, got, 4, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(class_of(ierror) == MPI_ERR_ARG, __LINE__)
    call taquin_bcast(got, merge(-1, 4, rank == ranks - 1), MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call check(class_of(ierror) == MPI_ERR_COUNT, __LINE__)
    call taquin_allgather(mine(1:4:2), got, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(class_of(ierror) == MPI_ERR_ARG .and. index(taquin_last_error(), 'not contiguous') > 0, __LINE__)
    call taquin_allreduce(MPI_IN_PLACE, got, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(class_of(ierror) == MPI_ERR_BUFFER, __LINE__)
    call check(all(got == guard), __LINE__)
    call taquin_allreduce(mine, got, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(ierror == MPI_SUCCESS .and. all(got == ranks * (ranks - 1) / 2), __LINE__)
  end subroutine

  ! The layouts of Träff et al., Figure 2 and §3.5.
  subroutine datatypes_hold_what_the_paper_says()
    integer :: from(0:11), to(5), i, bytes
    DATATYPE :: newtype, packed
    from = [(i, i = 0, 11)]
    call taquin_type_bounded_vector(9, 2, 4, MPI_INTEGER, newtype, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    call taquin_typed_copy(from, 1, newtype, to, 5, MPI_INTEGER, ierror)
    call check(ierror == MPI_SUCCESS .and. all(to == [0, 1, 4, 5, 8]), __LINE__)
    call taquin_type_signature(newtype, packed, ierror)
    call MPI_Type_size(packed, bytes, ierror)
    call check(bytes == 20, __LINE__)
    call MPI_Type_free(packed, ierror)
    call MPI_Type_free(newtype, ierror)
    call taquin_type_circular_vector(10_wide, 6_wide, 7_wide, 2_wide, 4_wide, MPI_INTEGER, newtype, ierror)
    call taquin_typed_copy(from, 1_wide, newtype, to, 4_wide, MPI_INTEGER, ierror)
    call check(ierror == MPI_SUCCESS .and. all(to(:4) == [7, 8, 1, 2]), __LINE__)
    call MPI_Type_free(newtype, ierror)
    call taquin_type_bucket(3, 3, [2, 0, 1], MPI_INTEGER, newtype, ierror)
    call taquin_typed_copy(from, 1, newtype, to, 3, MPI_INTEGER, ierror)
    call check(ierror == MPI_SUCCESS .and. all(to(:3) == [0, 1, 6]), __LINE__)
    call MPI_Type_free(newtype, ierror)
    call taquin_type_bucket(3, 4, [2, 0, 1], MPI_INTEGER, newtype, ierror)
    call check(class_of(ierror) == MPI_ERR_ARG .and. newtype == MPI_DATATYPE_NULL, __LINE__)
    call taquin_type_bounded_vector(9, 5, 4, MPI_INTEGER, newtype, ierror)
    call check(ierror /= MPI_SUCCESS .and. newtype == MPI_DATATYPE_NULL, __LINE__)
  end subroutine

  subroutine blocks_are_sorted_by_destination()
    integer, parameter :: n = 50
    type(taquin_redistribution) :: r
    integer, asynchronous :: blocks(2, n)
    integer :: to(n), at(n), k, live
    to = [(modulo(7 * k + rank, ranks + 1) - 1, k = 1, n)]
    at = [(10 * k, k = 1, n)]
    blocks(1, :) = [(k, k = 1, n)]
    blocks(2, :) = -blocks(1, :)
    live = count(to >= 0)
    call taquin_redistribution_create(blocks, int(n, wide), 2_wide, MPI_INTEGER, MPI_COMM_WORLD, '', TAQUIN_UNLIMITED, r, &
      ierror)
    call taquin_redistribution_sort(r, to, at(2:), ierror)
    call check(class_of(ierror) == MPI_ERR_ARG .and. all(blocks(1, :) == [(k, k = 1, n)]), __LINE__)
    call taquin_redistribution_sort(r, to, at, ierror)
    call check(ierror == MPI_SUCCESS .and. all(to(:live) >= 0) .and. all(to(live + 1:) == -1), __LINE__)
    call check(all(to(2:live) >= to(:live - 1)), __LINE__)
    call check(all(blocks(1, :live) * 10 == at(:live)) .and. all(blocks(2, :live) == -blocks(1, :live)), __LINE__)
    call check(all(to(:live) == modulo(7 * blocks(1, :live) + rank, ranks + 1) - 1), __LINE__)
    call taquin_redistribution_free(r, ierror)
  end subroutine

  subroutine little_progress_makes_an_algorithm_hand_over()
    integer(c_int64_t) :: without, with
    type(taquin_options) :: o
    without = copied_in_a_shift(0d0)
    with = copied_in_a_shift(0.1d0)
    call check(ranks < 3 .or. with * 4 < without, __LINE__)
    o%least_progress = 0.75d0
    call taquin_comm_set_options(MPI_COMM_WORLD, o, ierror)
    o%least_progress = 0
    call taquin_comm_get_options(MPI_COMM_WORLD, o, ierror)
    call check(o%least_progress == 0.75d0, __LINE__)
    call taquin_comm_set_options(MPI_COMM_WORLD)
  end subroutine

  ! All blocks but one dead one go to the rank above, by parking.
  function copied_in_a_shift(least_progress) result(copied)
    double precision, intent(in) :: least_progress
    integer :: own, copied
    integer, parameter :: n = 60
    type(taquin_options) :: o
    type(taquin_statistics) :: s
    type(taquin_redistribution) :: r
    double precision, asynchronous :: blocks(n)
    integer :: to(n), k
    blocks = [(n * rank + k, k = 1, n)]
    to = modulo(rank + 1, ranks)
    to(n) = -1
    o%least_progress = least_progress
    call taquin_comm_set_options(MPI_COMM_WORLD, o, ierror)
    call taquin_redistribution_create(blocks, int(n, wide), 1_wide, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, 'parking', &
      TAQUIN_UNLIMITED, r, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    call taquin_redistribution_redistribute(r, n, to, [(k - 1, k = 1, n)], ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    call check(all(blocks(:n - 1) == [(n * modulo(rank - 1, ranks) + k, k = 1, n - 1)]), __LINE__)
    call taquin_redistribution_get_statistics(r, s, ierror)
    call taquin_redistribution_free(r, ierror)
    call taquin_comm_set_options(MPI_COMM_WORLD)
    own = int(s%bytes_copied)  ! a few hundred kilobytes
    call MPI_Allreduce(own, copied, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  end function
end program
