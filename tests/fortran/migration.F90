! Migration in Fortran: of one array, and of several whose items belong together.
#ifdef OLD_MODULE
#define MPI_MODULE mpi
#define MODULE_UNDER_TEST taquin_mpi
#else
#define MPI_MODULE mpi_f08
#define MODULE_UNDER_TEST taquin
#endif
program migration
  use, intrinsic :: iso_c_binding
  use MPI_MODULE
  use MODULE_UNDER_TEST
  implicit none
  integer, parameter :: count_kind = MPI_COUNT_KIND
  integer, parameter :: n = 40
  integer :: rank, ranks, ierror, failures = 0, k, r, at
  integer(count_kind) :: items, room, arrived
  integer, allocatable, target :: number(:)
  integer, allocatable :: to(:)
  double precision, allocatable, target :: x(:, :)
  type(taquin_array) :: both(2)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  items = n + rank
  room = (n + ranks) * ranks
  allocate (x(3, room), number(room), to(items))
  to = [(owner(rank, k), k=1, int(items))]
  call fill()
  call taquin_migrate(number, items, room, 1_count_kind, MPI_INTEGER, to, MPI_COMM_WORLD, arrived, ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call check_moved(.false.)

  call fill()
  both(1) = taquin_array(c_loc(x), 3, MPI_DOUBLE_PRECISION, room)
  both(2) = taquin_array(c_loc(number), 1, MPI_INTEGER, room)
  ! An argument that is wrong on one rank is the error of all, and both arrays are kept.
  if (rank == 0) then
    call taquin_migrate_arrays(both, items, to(:n - 1), MPI_COMM_WORLD, arrived, ierror)
  else
    call taquin_migrate_arrays(both, items, to, MPI_COMM_WORLD, arrived, ierror)
  end if
  call check(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), 'fewer elements than there are items') > 0, __LINE__)
  call taquin_migrate(x(1, :), items, room, 1_count_kind, MPI_DOUBLE_PRECISION, to, MPI_COMM_WORLD, arrived, ierror)
  call check(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), 'not contiguous') > 0, __LINE__)
  call taquin_migrate_arrays(both(:0), items, to, MPI_COMM_WORLD, arrived, ierror)
  call check(ierror /= MPI_SUCCESS .and. index(taquin_last_error(), 'no arrays') > 0, __LINE__)
  if (ranks > 1) then
    both%capacity = items
    call taquin_migrate_arrays(both, items, 0 * to, MPI_COMM_WORLD, arrived, ierror)
    call check(ierror /= MPI_SUCCESS .and. (rank > 0 .or. arrived == n * ranks + ranks * (ranks - 1) / 2), __LINE__)
    both%capacity = room
  end if
  call check(all(number(:items) == [(rank * 1000 + k, k=1, int(items))]), __LINE__)
  call taquin_migrate_arrays(both, items, to, MPI_COMM_WORLD, arrived, ierror)
  call check(ierror == MPI_SUCCESS, __LINE__)
  call check_moved(.true.)
  call finish('migration')

contains

  integer function owner(from, k)
    integer, intent(in) :: from, k
    owner = mod(from * 7 + k * k, ranks)
  end function

  subroutine fill()
    integer :: k
    do k = 1, int(items)
      number(k) = rank * 1000 + k
      x(:, k) = number(k) + [0.25d0, 0.5d0, 0.75d0]
    end do
  end subroutine

  ! All items of all ranks that this rank owns, by source and position.
  subroutine check_moved(positions)
    logical, intent(in) :: positions
    at = 0
    do r = 0, ranks - 1
      do k = 1, n + r
        if (owner(r, k) /= rank) cycle
        at = at + 1
        if (at > arrived) cycle
        call check(number(at) == r * 1000 + k, __LINE__)
        if (positions) call check(all(x(:, at) == number(at) + [0.25d0, 0.5d0, 0.75d0]), __LINE__)
      end do
    end do
    call check(at == arrived, __LINE__)
  end subroutine

#include "check.inc"
#include "finish.inc"

end program
