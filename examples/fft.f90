! A 3-D Fourier transform on any process grid, without a second array: serial FFTW for the lines of one dimension at a
! time, taquin for the redistributions between them. The array holds one wave; its spectrum is a single number, and the
! transform back gives the wave again.
!
!   fft [X Y Z [COLUMNS [MEMORY]]]
!
! COLUMNS of the process grid: 1, the default, makes slabs, others make pencils. MEMORY: scratch bytes of a rank.
program fft
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use taquin
  implicit none
  include 'fftw3.f03'
  integer, parameter :: k = MPI_COUNT_KIND, number = c_double_complex
  integer, parameter :: wave(3) = [3, 1, 2]  ! periods along each dimension
  double precision, parameter :: pi = acos(-1d0)
  type(taquin_layout) :: stages(3)
  type(taquin_options) :: options
  integer(k) :: extents(3), most, elements
  integer :: rank, ranks, rows, columns, stage, i
  complex(number), allocatable :: array(:)
  double precision :: error(2)
  logical :: good

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  extents = [argument(1, 48_k), argument(2, 40_k), argument(3, 36_k)]
  columns = int(argument(4, 1_k))
  rows = ranks / columns
  options%memory = argument(5, 2_k**20)
  call taquin_comm_set_options(MPI_COMM_WORLD, options)

  ! The dimension whose lines are whole is the first one: (x, y, z), then (y, z, x), then (z, x, y).
  call taquin_layout_create(extents, [1, rows, columns], stages(1))
  call taquin_layout_create(cshift(extents, 1), [1, columns, rows], stages(2))
  call taquin_layout_set_ranks(stages(2), [(i, i = 0, rows * columns - 1)], MPI_ORDER_FORTRAN)  ! as rows by columns
  call taquin_layout_create(cshift(extents, 2), [1, rows, columns], stages(3))
  most = 0
  do stage = 1, 3
    call taquin_layout_local_size(stages(stage), rank, elements)
    most = max(most, elements)
  end do
  allocate (array(most))

  call visit(1)
  call transform(FFTW_FORWARD)
  call visit(2)
  call transform(FFTW_BACKWARD)
  call visit(3)
  do stage = 1, 3
    call taquin_layout_free(stages(stage))
  end do

  call MPI_Allreduce(MPI_IN_PLACE, error, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  good = all(error < 1d-12)
  if (rank == 0) print '(i0, a, i0, 2(a, es7.1), 2a)', rows, ' x ', columns, ' ranks: largest error of the spectrum ', &
    error(1), ', of the wave ', error(2), ': ', merge('right', 'WRONG', good)
  call MPI_Finalize()
  if (.not. good) error stop 1

contains

  integer(k) function argument(at, otherwise)
    integer, intent(in) :: at
    integer(k), intent(in) :: otherwise
    character(32) :: text
    argument = otherwise
    if (command_argument_count() < at) return
    call get_command_argument(at, text)
    read (text, *) argument
  end function

  ! Transforms the array in its own memory; the transform back does not scale.
  subroutine transform(direction)
    integer(c_int), intent(in) :: direction
    do stage = 1, 3
      call transform_lines(extents(stage), direction)
      call taquin_redistribute_layout_in_place(array, stages(stage), stages(mod(stage, 3) + 1), MPI_DOUBLE_COMPLEX, &
        MPI_COMM_WORLD, axes=[3, 1, 2])
    end do
  end subroutine

  ! Of the first dimension, which is whole.
  subroutine transform_lines(length, direction)
    integer(k), intent(in) :: length
    integer(c_int), intent(in) :: direction
    integer(c_int) :: n(1), lines
    type(c_ptr) :: plan
    call taquin_layout_local_size(stages(stage), rank, elements)
    n = int(length, c_int)
    lines = int(elements / length, c_int)
    if (lines == 0) return
    plan = fftw_plan_many_dft(1, n, lines, array, n, 1, n(1), array, n, 1, n(1), direction, FFTW_ESTIMATE)
    if (.not. c_associated(plan)) error stop 'FFTW has no plan for these lines'
    call fftw_execute_dft(plan, array, array)
    call fftw_destroy_plan(plan)
  end subroutine

  ! Fills the array with the wave (step 1), or compares it with the spectrum (step 2) or with the wave (step 3).
  subroutine visit(step)
    integer, intent(in) :: step
    integer(k) :: mine(3), begin(3), index(3), x, y, z, at
    integer :: where(3)
    complex(number) :: expected
    double precision :: scale
    scale = product(dble(extents))
    call taquin_layout_local_extents(stages(1), rank, mine)
    call taquin_layout_coordinates(stages(1), rank, where)
    begin = where * (extents / [1, rows, columns]) + min(int(where, k), mod(extents, int([1, rows, columns], k)))
    if (step > 1) error(step - 1) = 0
    at = 0
    do z = 0, mine(3) - 1
      do y = 0, mine(2) - 1
        do x = 0, mine(1) - 1
          at = at + 1
          index = begin + [x, y, z]
          expected = exp(cmplx(0, 2 * pi * sum(dble(wave * index) / extents), number))
          if (step == 2) expected = merge(1, 0, all(index == mod(int(wave, k), extents)))
          if (step == 1) array(at) = expected
          if (step > 1) error(step - 1) = max(error(step - 1), abs(array(at) / scale - expected))
        end do
      end do
    end do
  end subroutine
end program
