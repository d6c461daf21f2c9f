! Layouts in Fortran: a matrix whose columns are distributed becomes block-cyclic by rows, transposed and not.
#ifdef OLD_MODULE
#define MPI_MODULE mpi
#define MODULE_UNDER_TEST taquin_mpi
#else
#define MPI_MODULE mpi_f08
#define MODULE_UNDER_TEST taquin
#endif
program layouts
  use MPI_MODULE
  use MODULE_UNDER_TEST
  use, intrinsic :: iso_c_binding, only: c_double_complex
  implicit none
  integer, parameter :: count_kind = MPI_COUNT_KIND
  integer(count_kind), parameter :: rows = 13, columns = 19
  integer :: rank, ranks, ierror, at(2), owner, failures = 0
  integer(count_kind) :: mine(2), there(2), elements, first, begin, i, j, local
  type(taquin_layout) :: by_columns, by_rows, reversed, other, cyclic
  type(taquin_layout_plan) :: plan, plan_in_place
  logical :: complete
  complex(c_double_complex), allocatable :: u(:, :), v(:, :)
  double precision, allocatable, asynchronous :: a(:, :), b(:, :), c(:, :), d(:), e(:, :), f(:, :)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call taquin_layout_create([rows, columns], [1, ranks], by_columns)
  call taquin_layout_create([columns, rows], [1, ranks], by_rows, distributions=[TAQUIN_EVEN, TAQUIN_BLOCK_CYCLIC], &
    blocks=[1_count_kind, 2_count_kind], ierror=ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_local_extents(by_columns, rank, mine)
  call taquin_layout_local_extents(by_rows, rank, there)
  call taquin_layout_local_size(by_rows, rank, elements)
  call check(elements == there(1) * there(2) .and. mine(1) == rows .and. there(1) == columns, __LINE__)
  allocate (a(mine(1), mine(2)), b(there(1), there(2)), c(mine(1), mine(2)))
  first = rank * (columns / ranks) + min(int(rank, count_kind), mod(columns, int(ranks, count_kind)))
  begin = first
  do j = 1, mine(2)
    do i = 1, rows
      a(i, j) = dble(i + 1000 * (first + j))
    end do
  end do
  b = -1
  call taquin_redistribute_layout(a, by_columns, b, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  local = 0
  do i = 1, rows
    if (mod((i - 1) / 2, int(ranks, count_kind)) /= rank) cycle
    local = local + 1
    do j = 1, columns
      call check(b(j, local) == dble(i + 1000 * j), __LINE__)
    end do
  end do
  c = -1
  call taquin_redistribute_layout(b, by_rows, c, by_columns, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(all(a == c), __LINE__)
  ! There and back in one array.
  elements = max(elements, size(a, kind=count_kind))
  allocate (d(elements))
  d(:size(a)) = reshape(a, [size(a)])
  call taquin_redistribute_layout_in_place(d, by_columns, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS .and. all(d(:size(b)) == reshape(b, [size(b)])), __LINE__)
  call taquin_redistribute_layout_in_place(d, by_rows, by_columns, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS .and. all(d(:size(a)) == reshape(a, [size(a)])), __LINE__)
  ! Prepared, as often as wanted; from one array to another, and in one.
  call taquin_redistribute_layout_init(a, by_columns, b, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, plan, [2, 1], &
    ierror)
  call check(ierror == MPI_SUCCESS .and. .not. plan == TAQUIN_LAYOUT_PLAN_NULL, __LINE__)
  call taquin_redistribute_layout_in_place_init(d, by_columns, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, &
    plan_in_place, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  do i = 1, 3
    a = a + 1
    d(:size(a)) = reshape(a, [size(a)])
    call taquin_redistribute_layout_start(plan, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    call taquin_redistribute_layout_start(plan_in_place, ierror)
    call taquin_redistribute_layout_test(plan, complete, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    do while (i == 2 .and. .not. complete)
      call taquin_redistribute_layout_test(plan, complete)
    end do
    call taquin_redistribute_layout_wait(plan_in_place, ierror)
    call check(ierror == MPI_SUCCESS, __LINE__)
    call taquin_redistribute_layout_wait(plan, ierror)
    call check(ierror == MPI_SUCCESS .and. all(d(:size(b)) == reshape(b, [size(b)])), __LINE__)
    call taquin_redistribute_layout(b, by_rows, c, by_columns, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
    call check(all(a == c), __LINE__)
  end do
  call taquin_redistribute_layout_free(plan)
  call taquin_redistribute_layout_free(plan_in_place, ierror)
  call check(ierror == MPI_SUCCESS .and. plan_in_place == TAQUIN_LAYOUT_PLAN_NULL, __LINE__)
  call taquin_redistribute_layout_start(plan, ierror)
  call check(ierror /= MPI_SUCCESS, __LINE__)
  call taquin_redistribute_layout_init(b, by_rows, c, by_columns, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, plan, &
    ierror=ierror)
  call check(ierror /= MPI_SUCCESS .and. plan == TAQUIN_LAYOUT_PLAN_NULL, __LINE__)
  ! Without the axes the extents differ: an error on all ranks.
  call taquin_redistribute_layout(b, by_rows, c, by_columns, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror=ierror)
  call check(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), 'dimension 0 of the source') > 0, __LINE__)
  ! Conjugate transpose and scaling on the way.
  allocate (u(mine(1), mine(2)), v(there(1), there(2)))
  u = cmplx(a, -a, c_double_complex)
  call taquin_redistribute_layout(a, by_columns, b, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1])
  call taquin_layout_set_scale(by_rows, (0.5d0, 2d0), .true., ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_redistribute_layout(u, by_columns, v, by_rows, MPI_DOUBLE_COMPLEX, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS .and. all(v == (0.5d0, 2d0) * cmplx(b, b, c_double_complex)), __LINE__)
  call taquin_redistribute_layout(a, by_columns, b, by_rows, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror /= MPI_SUCCESS, __LINE__)
  call taquin_layout_set_scale(by_rows, (1d0, 0d0))
  ! Rows contiguous, and the array the same: each element is where it is found.
  call taquin_layout_create([rows, columns], [1, ranks], other)
  call taquin_layout_set_stored(other, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_local_size(other, rank, elements)
  allocate (e(elements, 1))
  call taquin_redistribute_layout(a, by_columns, e, other, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror=ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  local = 0
  do j = 1, columns
    do i = 1, rows
      call taquin_layout_find(other, [i, j], owner, first, ierror)
      call check(ierror == MPI_SUCCESS, __LINE__)
      if (owner /= rank) cycle
      local = local + 1
      call check(first == j - begin + (i - 1) * mine(2) .and. e(first, 1) == dble(i + 1000 * j) + 3, __LINE__)
    end do
  end do
  call check(local == elements, __LINE__)
  call taquin_layout_find(other, [rows + 1, columns], owner, first, ierror)
  call check(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), 'dimension 0: no index 13 of 13') > 0, __LINE__)
  call taquin_layout_find(other, [rows], owner, first, ierror)
  call check(ierror /= MPI_SUCCESS, __LINE__)
  call taquin_layout_set_stored(other, [1], ierror)
  call check(ierror /= MPI_SUCCESS, __LINE__)
  call taquin_layout_free(other)
  deallocate (e)
  ! As MPI_Type_create_darray: the same columns.
  call taquin_layout_darray([int(rows), int(columns)], [MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC], &
    [MPI_DISTRIBUTE_DFLT_DARG, 2], [1, ranks], MPI_ORDER_FORTRAN, other, ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_create([rows, columns], [1, ranks], cyclic, [TAQUIN_EVEN, TAQUIN_BLOCK_CYCLIC], &
    [1_count_kind, 2_count_kind])
  call taquin_layout_elements_moved(cyclic, other, elements)
  call check(elements == 0, __LINE__)
  call taquin_layout_free(cyclic)
  call taquin_layout_free(other)
  ! Columns of given lengths, all but one on the last rank, with a halo; a part that is transposed into it.
  call taquin_layout_create([columns, rows], [1, ranks], other)
  call taquin_layout_set_lengths(other, 2, [(merge(1_count_kind, rows - ranks + 1, i < ranks - 1), i=0, ranks - 1)], &
    ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_set_halo(other, [1_count_kind, 2_count_kind], [3_count_kind, 1_count_kind], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_local_extents(other, rank, there)
  call check(there(1) == columns .and. there(2) == merge(1_count_kind, rows - ranks + 1, rank < ranks - 1), __LINE__)
  call taquin_layout_local_size(other, rank, elements)
  call check(elements == (columns + 4) * (there(2) + 3), __LINE__)
  allocate (e(columns + 4, there(2) + 3))
  e = -1
  call taquin_redistribute_layout_part(a, by_columns, [2_count_kind, 4_count_kind], e, other, &
    [3_count_kind, 1_count_kind], [rows - 2, columns - 5], MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  do local = 1, there(2) + 3
    i = rank + local - 2  ! the column in the whole array
    do j = 1, columns + 4
      if (local > 2 .and. local <= there(2) + 2 .and. i <= rows - 2 .and. j - 1 >= 3 .and. j - 1 < columns - 2) then
        call check(e(j, local) == dble(i + 1 + 1000 * (j - 1 - 2 + 3)) + 3, __LINE__)
      else
        call check(e(j, local) == -1, __LINE__)
      end if
    end do
  end do
  ! The same part, that the layouts have.
  f = e
  e = -1
  call taquin_layout_set_part(by_columns, [2_count_kind, 4_count_kind], [rows - 2, columns - 5], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_set_part(other, [3_count_kind, 1_count_kind], [columns - 5, rows - 2])
  call taquin_redistribute_layout(a, by_columns, e, other, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS .and. all(e == f), __LINE__)
  call taquin_layout_set_part(by_columns, [1_count_kind, 1_count_kind], [rows, columns])
  call taquin_layout_free(other)
  ! The same columns on the ranks in reverse: relabelled, none moves.
  call taquin_layout_create([rows, columns], [1, ranks], reversed)
  call taquin_layout_set_ranks(reversed, [(ranks - 1 - int(i), i=0, ranks - 1)], MPI_ORDER_C, ierror)
  call taquin_layout_elements_moved(by_columns, reversed, elements, ierror=ierror)
  call check(ierror == MPI_SUCCESS .and. (elements > 0 .eqv. ranks > 1), __LINE__)
  call taquin_layout_relabel(reversed, by_columns, ranks, ierror=ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_elements_moved(by_columns, reversed, elements, [1, 2])
  call check(elements == 0, __LINE__)
  call taquin_layout_coordinates(reversed, rank, at, ierror)
  call check(ierror == MPI_SUCCESS .and. at(1) == 0 .and. at(2) == rank, __LINE__)
  call taquin_layout_relabel(reversed, by_rows, ranks, [2, 1], ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call taquin_layout_relabel(reversed, by_rows, ranks, [1], ierror)
  call check(ierror /= MPI_SUCCESS, __LINE__)
  call taquin_layout_free(reversed)
  call taquin_layout_free(by_columns)
  call taquin_layout_free(by_rows)
  call finish('layouts')

contains

#include "check.inc"
#include "finish.inc"

end program
