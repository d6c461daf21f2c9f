! A 3-D Fourier transform on any process grid, without a second array: serial FFTW along the dimensions that are whole,
! taquin for the redistributions between them, all planned once. The array holds one wave; its spectrum is a single
! number, and the transform back gives the wave again.
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
  ! How the array lies while FFTW transforms it: the layout, the processes along each dimension, whether it is transformed
  ! here, FFTW's plans forward and backward, and the way to the next stage.
  type fft_stage
    type(taquin_layout) :: layout
    integer :: grid(3)
    logical :: transforms(3)
    type(c_ptr) :: lines(2) = c_null_ptr
    type(taquin_layout_plan) :: move
  end type
  type(fft_stage) :: stages(3)
  type(taquin_options) :: options
  integer(k) :: extents(3), most, elements
  integer :: rank, ranks, rows, columns, stage, last
  complex(number), allocatable, asynchronous :: array(:)
  double precision :: error(2)
  logical :: good

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  extents = [argument(1, 48_k), argument(2, 40_k), argument(3, 36_k)]
  columns = int(argument(4, 1_k))
  rows = ranks / columns

  ! Dimension x is whole, then y, then z. Where the grid has one row or one column, two dimensions are whole in one stage.
  last = 0
  call add_stage([1, rows, columns])
  call add_stage([rows, 1, columns])
  call add_stage([rows, columns, 1])
  most = 0
  do stage = 1, last
    call taquin_layout_local_size(stages(stage)%layout, rank, elements)
    most = max(most, elements)
  end do
  allocate (array(most))
  options%memory = argument(5, 2_k**20) / last  ! of each redistribution
  call taquin_comm_set_options(MPI_COMM_WORLD, options)
  do stage = 1, last
    call plan_lines(stages(stage))
    call taquin_redistribute_layout_in_place_init(array, stages(stage)%layout, stages(mod(stage, last) + 1)%layout, &
      MPI_DOUBLE_COMPLEX, MPI_COMM_WORLD, stages(stage)%move)
  end do

  call visit(1)
  call transform(1)
  call visit(2)
  call transform(2)
  call visit(3)
  do stage = 1, last
    if (c_associated(stages(stage)%lines(1))) call fftw_destroy_plan(stages(stage)%lines(1))
    if (c_associated(stages(stage)%lines(2))) call fftw_destroy_plan(stages(stage)%lines(2))
    call taquin_redistribute_layout_free(stages(stage)%move)
    call taquin_layout_free(stages(stage)%layout)
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

  ! The stage of this process grid transforms the dimensions that are whole here and not in an earlier stage.
  subroutine add_stage(grid)
    integer, intent(in) :: grid(3)
    logical :: now(3)
    integer :: earlier
    now = grid == 1
    do earlier = 1, last
      now = now .and. .not. stages(earlier)%transforms
    end do
    if (.not. any(now)) return
    last = last + 1
    stages(last)%grid = grid
    stages(last)%transforms = now
    call taquin_layout_create(extents, grid, stages(last)%layout)
  end subroutine

  ! FFTW's plans for all lines of this rank, in place, along the dimensions that a stage transforms.
  subroutine plan_lines(s)
    type(fft_stage), intent(inout) :: s
    type(fftw_iodim64) :: along(3), repeated(3)
    integer(k) :: mine(3)
    integer(c_ptrdiff_t) :: stride
    integer :: d, lines, others, sign
    integer(c_int), parameter :: directions(2) = [FFTW_FORWARD, FFTW_BACKWARD]
    call taquin_layout_local_extents(s%layout, rank, mine)
    if (any(mine == 0)) return
    lines = 0
    others = 0
    do d = 3, 1, -1  ! FFTW's first dimension changes slowest
      stride = product(mine(:d - 1))
      if (s%transforms(d)) then
        lines = lines + 1
        along(lines) = fftw_iodim64(mine(d), stride, stride)
      else
        others = others + 1
        repeated(others) = fftw_iodim64(mine(d), stride, stride)
      end if
    end do
    do sign = 1, 2
      s%lines(sign) = fftw_plan_guru64_dft(lines, along, others, repeated, array, array, directions(sign), FFTW_MEASURE)
      if (.not. c_associated(s%lines(sign))) error stop 'FFTW has no plan for these lines'
    end do
  end subroutine

  ! Transforms the array in its own memory, forward (1) or backward (2), which does not scale.
  subroutine transform(direction)
    integer, intent(in) :: direction
    do stage = 1, last
      if (c_associated(stages(stage)%lines(direction))) &
        call fftw_execute_dft(stages(stage)%lines(direction), array, array)
      call taquin_redistribute_layout_start(stages(stage)%move)
      call taquin_redistribute_layout_wait(stages(stage)%move)
    end do
  end subroutine

  ! Fills the array with the wave (step 1), or compares it with the spectrum (step 2) or with the wave (step 3).
  subroutine visit(step)
    integer, intent(in) :: step
    integer(k) :: mine(3), begin(3), index(3), x, y, z, at
    integer :: where(3)
    complex(number) :: expected
    double precision :: scale
    scale = product(dble(extents))
    call taquin_layout_local_extents(stages(1)%layout, rank, mine)
    call taquin_layout_coordinates(stages(1)%layout, rank, where)
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
