! Transposes a matrix whose columns are dealt out to the ranks, in at most 1 MiB of scratch memory, as a plan that runs
! twice: transposed twice, the matrix is what it was.
program transpose_matrix
  use mpi_f08
  use taquin
  implicit none
  integer, parameter :: width = 2                ! columns of each rank
  double precision, allocatable, asynchronous :: mine(:, :), blocks(:, :, :), arrived(:, :, :)
  type(taquin_options) :: options
  type(taquin_plan) :: plan
  integer :: rank, ranks, i, j, k, turn
  logical :: good

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (mine(width * ranks, width), blocks(width, width, ranks), arrived(width, width, ranks))
  do j = 1, width
    mine(:, j) = [(1000 * i + rank * width + j, i = 1, width * ranks)]
  end do

  options%memory = 2**20
  call taquin_comm_set_options(MPI_COMM_WORLD, options)
  call taquin_alltoall_init(blocks, width**2, MPI_DOUBLE_PRECISION, arrived, width**2, MPI_DOUBLE_PRECISION, &
    MPI_COMM_WORLD, MPI_INFO_NULL, plan)
  do turn = 1, 2
    do k = 1, ranks
      blocks(:, :, k) = transpose(mine((k - 1) * width + 1:k * width, :))
    end do
    call taquin_start(plan)
    call taquin_wait(plan)
    do k = 1, ranks
      mine((k - 1) * width + 1:k * width, :) = arrived(:, :, k)
    end do
    if (turn == 1) good = all([(all(mine(i, :) == [(1000 * (rank * width + j) + i, j = 1, width)]), i = 1, width * ranks)])
  end do
  call taquin_plan_free(plan)
  good = good .and. all([(all(mine(i, :) == [(1000 * i + rank * width + j, j = 1, width)]), i = 1, width * ranks)])
  if (rank == 0) print '(a, l1)', 'transposed twice, the matrix is what it was: ', good
  call MPI_Finalize()
  if (.not. good) error stop 1
end program
