! The Fortran modules: results, plans, options, redistribution, errors. Compiled with module taquin and, with OLD_MODULE,
! with taquin_mpi.
#ifdef OLD_MODULE
#define MPI_MODULE mpi
#define MODULE_UNDER_TEST taquin_mpi
#define COMM integer
#define DATATYPE integer
#define INFO integer
#else
#define MPI_MODULE mpi_f08
#define MODULE_UNDER_TEST taquin
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define INFO type(MPI_Info)
#endif
#define CHECK(condition) call check(condition, __LINE__)

module problem
  use, intrinsic :: iso_c_binding
  use MPI_MODULE
  use MODULE_UNDER_TEST
  implicit none
  integer, parameter :: guard = -7
  integer :: rank, ranks, failures = 0
  COMM :: world
  integer, allocatable :: sc(:), sd(:), rc(:), rd(:), send(:), recv(:), byte_sd(:), byte_rd(:)
  integer(MPI_COUNT_KIND), allocatable :: wide_sc(:), wide_rc(:)
  integer(MPI_ADDRESS_KIND), allocatable :: wide_sd(:), wide_rd(:)
  DATATYPE, allocatable :: types(:)

contains

#include "check.inc"

  integer function class_of(code)
    integer, intent(in) :: code
    integer :: ierror
    call MPI_Error_class(code, class_of, ierror)
  end function

  ! What rank `from` sends to rank `to`: from + 2 to + 1 integers, with one guard between receive blocks.
  subroutine make()
    integer :: i, j
    allocate (sc(0:ranks - 1), sd(0:ranks - 1), rc(0:ranks - 1), rd(0:ranks - 1), types(0:ranks - 1))
    sd(0) = 0
    rd(0) = 1
    do i = 0, ranks - 1
      sc(i) = rank + 2 * i + 1
      rc(i) = i + 2 * rank + 1
      if (i > 0) sd(i) = sd(i - 1) + sc(i - 1)
      if (i > 0) rd(i) = rd(i - 1) + rc(i - 1) + 1
      types(i) = MPI_INTEGER
    end do
    allocate (send(sum(sc)), recv(sum(rc) + ranks + 1))
    do i = 0, ranks - 1
      send(sd(i) + 1:sd(i) + sc(i)) = [(value_of(rank, i, j), j = 1, sc(i))]
    end do
    wide_sc = sc
    wide_rc = rc
    wide_sd = sd
    wide_rd = rd
    byte_sd = 4 * sd
    byte_rd = 4 * rd
    recv = guard
  end subroutine

  pure integer function value_of(from, to, j)
    integer, intent(in) :: from, to, j
    value_of = from * 10000 + to * 100 + j
  end function

  ! What arrived is right and the guards are there; the receive buffer is cleared.
  logical function right()
    integer :: i, j, first
    first = lbound(rd, 1)
    right = recv(1) == guard
    do i = 0, ranks - 1
      associate (at => rd(first + i), n => rc(first + i))
        right = right .and. all(recv(at + 1:at + n) == [(value_of(i, rank, j), j = 1, n)]) .and. recv(at + n + 1) == guard
      end associate
    end do
    recv = guard
  end function

  subroutine blocking_calls_give_the_right_result()
    integer :: ierror, one(0:ranks - 1), got(0:ranks - 1), i
    integer, allocatable :: both(:)
    integer(MPI_COUNT_KIND) :: wide = 1
    call taquin_alltoallv(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())
    call taquin_alltoallv(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, world)
    CHECK(right())
    call taquin_alltoallv(send, wide_sc, wide_sd, MPI_INTEGER, recv, wide_rc, wide_rd, MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())
    call taquin_alltoallv_c(send, wide_sc, wide_sd, MPI_INTEGER, recv, wide_rc, wide_rd, MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())
    call taquin_alltoallw(send, sc, byte_sd, types, recv, rc, byte_rd, types, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())
    call taquin_alltoallw(send, wide_sc, 4 * wide_sd, types, recv, wide_rc, 4 * wide_rd, types, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())

    one = [(value_of(rank, i, 0), i = 0, ranks - 1)]
    call taquin_alltoall(one, 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(got == [(value_of(i, rank, 0), i = 0, ranks - 1)]))
    got = guard
    call taquin_alltoall(one, wide, MPI_INTEGER, got, wide, MPI_INTEGER, world)
    CHECK(all(got == [(value_of(i, rank, 0), i = 0, ranks - 1)]))
    call taquin_alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, one, 1, MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(one == got))

    ! Send and receive blocks in one buffer, from its beginning on.
    allocate (both(max(sum(sc), sum(rc))))
    both(:size(send)) = send
    call taquin_alltoallv_in_place(both, sc, sd, rc, rd - [(i, i = 1, ranks)], MPI_INTEGER, world, ierror)
    CHECK(ierror == MPI_SUCCESS)
    do i = 0, ranks - 1
      recv(rd(i) + 1:rd(i) + rc(i)) = both(rd(i) - i:rd(i) - i - 1 + rc(i))
    end do
    CHECK(right())
    both(:size(send)) = send
    call taquin_alltoallv_in_place(both, wide_sc, wide_sd, wide_rc, wide_rd - [(i, i = 1, ranks)], MPI_INTEGER, world)
    do i = 0, ranks - 1
      recv(rd(i) + 1:rd(i) + rc(i)) = both(rd(i) - i:rd(i) - i - 1 + rc(i))
    end do
    CHECK(right())
  end subroutine

  ! Any type and rank of array goes in: here a matrix of doubles, and one column of it.
  subroutine buffers_of_any_kind_are_taken()
    double precision :: a(3, 0:ranks - 1), b(3, 0:ranks - 1), whole(3, ranks, 2)
    integer :: i
    do i = 0, ranks - 1
      a(:, i) = rank + 0.001d0 * i
    end do
    call taquin_alltoall(a, 3, MPI_DOUBLE_PRECISION, b, 3, MPI_DOUBLE_PRECISION, world)
    do i = 0, ranks - 1
      CHECK(all(b(:, i) == i + 0.001d0 * rank))
    end do
    whole = guard
    call taquin_alltoall(a, 3, MPI_DOUBLE_PRECISION, whole(:, :, 2), 3, MPI_DOUBLE_PRECISION, world)
    CHECK(all(whole(:, :, 2) == b) .and. all(whole(:, :, 1) == guard))
  end subroutine

  subroutine run_twice(plan)
    type(taquin_plan), intent(in) :: plan
    integer :: ierror, turn
    logical :: done
    do turn = 1, 2
      call taquin_start(plan, ierror)
      CHECK(ierror == MPI_SUCCESS)
      call taquin_start(plan, ierror)
      CHECK(class_of(ierror) == MPI_ERR_REQUEST)
      if (turn == 1) then
        call taquin_wait(plan)
      else
        done = .false.
        do while (.not. done)
          call taquin_test(plan, done)
        end do
      end if
      CHECK(right())
    end do
  end subroutine

  subroutine plans_run_again()
    type(taquin_plan) :: plan
    INFO :: hints
    integer :: ierror, one(ranks), got(ranks), i
    integer(c_size_t) :: bytes
    call taquin_alltoallv_init(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, world, MPI_INFO_NULL, plan, ierror)
    CHECK(ierror == MPI_SUCCESS .and. .not. plan == TAQUIN_PLAN_NULL)
    call run_twice(plan)
    bytes = -1
    call taquin_plan_memory(plan, bytes, ierror)
    CHECK(ierror == MPI_SUCCESS .and. bytes >= 0)
    call taquin_plan_free(plan, ierror)
    CHECK(ierror == MPI_SUCCESS .and. plan == TAQUIN_PLAN_NULL)
    call taquin_alltoallv_init(send, wide_sc, wide_sd, MPI_INTEGER, recv, wide_rc, wide_rd, MPI_INTEGER, world, &
      MPI_INFO_NULL, plan)
    call run_twice(plan)
    call taquin_plan_free(plan)
    call taquin_alltoallw_init(send, sc, byte_sd, types, recv, rc, byte_rd, types, world, MPI_INFO_NULL, plan)
    call run_twice(plan)
    call taquin_plan_free(plan)
    call MPI_Info_create(hints, ierror)
    call MPI_Info_set(hints, 'taquin_algorithm', 'pairwise', ierror)
    call taquin_alltoallw_init(send, wide_sc, 4 * wide_sd, types, recv, wide_rc, 4 * wide_rd, types, world, hints, plan)
    call run_twice(plan)
    call taquin_plan_free(plan)
    call MPI_Info_set(hints, 'taquin_algorithm', 'nonesuch', ierror)
    call taquin_alltoall_init(one, 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, hints, plan, ierror)
    CHECK(class_of(ierror) == MPI_ERR_ARG .and. plan == TAQUIN_PLAN_NULL)
    CHECK(index(taquin_last_error(), 'nonesuch') > 0)
    call MPI_Info_free(hints, ierror)
    one = [(value_of(rank, i, 0), i = 0, ranks - 1)]
    call taquin_alltoall_init(one, 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, MPI_INFO_NULL, plan)
    call taquin_start(plan)
    call taquin_wait(plan)
    CHECK(all(got == [(value_of(i, rank, 0), i = 0, ranks - 1)]))
    call taquin_plan_free(plan)
    call taquin_start(TAQUIN_PLAN_NULL, ierror)
    CHECK(class_of(ierror) == MPI_ERR_REQUEST)
  end subroutine

  subroutine options_belong_to_the_communicator()
    type(taquin_options) :: given, back
    COMM :: own
    integer :: ierror
    call MPI_Comm_dup(world, own, ierror)
    given%algorithm = 'spread_out'
    given%memory = 2_c_size_t**20
    given%radix = 3
    given%in_flight = 2
    given%ports = 1
    given%nodes = [ranks]
    given%check = .true.
    given%layout = TAQUIN_LAYOUT_PACKED
    given%inner = 'pairwise'
    given%scratch_sends = .true.
    given%levels = 'one_factor,bruck_v'
    given%progress = TAQUIN_PROGRESS_CALLS
    given%on_timeout = TAQUIN_TIMEOUT_FAIL
    given%timeout = 300
    given%aux_parts = 2
    given%aux_heap = .true.
    given%sparse_requests = .true.
    given%leaders = 2
    call taquin_comm_set_options(own, given, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call taquin_comm_get_options(own, back, ierror)
    CHECK(back%algorithm == 'spread_out' .and. back%memory == 2_c_size_t**20 .and. back%radix == 3)
    CHECK(back%in_flight == 2 .and. back%ports == 1 .and. size(back%nodes) == 1 .and. back%nodes(1) == ranks)
    CHECK(back%check .and. back%layout == TAQUIN_LAYOUT_PACKED .and. back%inner == 'pairwise' .and. .not. back%tune)
    CHECK(back%scratch_sends .and. back%levels == 'one_factor,bruck_v')
    CHECK(back%progress == TAQUIN_PROGRESS_CALLS .and. back%on_timeout == TAQUIN_TIMEOUT_FAIL .and. back%timeout == 300)
    CHECK(back%aux_parts == 2)
    CHECK(back%aux_heap .and. back%sparse_requests .and. back%leaders == 2)
    given%progress = 7
    call taquin_comm_set_options(own, given, ierror)
    CHECK(class_of(ierror) == MPI_ERR_ARG)
    call taquin_alltoallv(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, own, ierror)
    CHECK(ierror == MPI_SUCCESS .and. right())
    call taquin_comm_set_options(own, ierror=ierror)
    call taquin_comm_get_options(own, back)
    CHECK(back%algorithm == 'auto' .and. back%memory == TAQUIN_UNLIMITED .and. .not. allocated(back%nodes))
    CHECK(back%progress == TAQUIN_PROGRESS_LIBRARY .and. back%on_timeout == TAQUIN_TIMEOUT_WAIT .and. back%timeout == 0)
    call MPI_Comm_free(own, ierror)
  end subroutine

  ! Wrong on the last rank only; all ranks get the error and no buffer is touched.
  subroutine errors_reach_every_rank()
    type(taquin_options) :: small
    type(taquin_redistribution) :: r
    integer :: ierror, bad, saved, grid(2, ranks), got(ranks), own(ranks)
    bad = ranks - 1
    saved = sc(0)
    if (rank == bad) sc(0) = -1
    call taquin_alltoallv(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, world, ierror)
    CHECK(class_of(ierror) == MPI_ERR_COUNT .and. all(recv == guard))
    CHECK(index(taquin_last_error(), 'negative send count') > 0)
    sc(0) = saved
    grid = 1
    own = 1
    got = guard
    if (rank == bad .and. ranks > 1) then
      call taquin_alltoall(grid(1, :), 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, ierror)
    else
      call taquin_alltoall(own, 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, ierror)
    end if
    if (ranks > 1) then
      CHECK(class_of(ierror) == MPI_ERR_ARG .and. all(got == guard))
      CHECK(index(taquin_last_error(), 'not contiguous') > 0)
      if (rank == bad) then
        call taquin_redistribution_create(grid(1, :), int(ranks, MPI_COUNT_KIND), 1_MPI_COUNT_KIND, MPI_INTEGER, world, &
          '', TAQUIN_UNLIMITED, r, ierror)
      else
        call taquin_redistribution_create(own, int(ranks, MPI_COUNT_KIND), 1_MPI_COUNT_KIND, MPI_INTEGER, world, &
          '', TAQUIN_UNLIMITED, r, ierror)
      end if
      CHECK(class_of(ierror) == MPI_ERR_ARG .and. r == TAQUIN_REDISTRIBUTION_NULL)
      ! The next call is not touched by it.
      call taquin_alltoall(own, 1, MPI_INTEGER, got, 1, MPI_INTEGER, world, ierror)
      CHECK(ierror == MPI_SUCCESS .and. all(got == 1))
    end if
    small%memory = 1
    small%algorithm = 'two_phase'
    call taquin_comm_set_options(world, small)
    call taquin_alltoallv(send, sc, sd, MPI_INTEGER, recv, rc, rd, MPI_INTEGER, world, ierror)
    CHECK(class_of(ierror) == MPI_ERR_NO_MEM .and. all(recv == guard))
    call taquin_comm_set_options(world)
    call taquin_alltoall(own, 1, MPI_INTEGER, got, 1, MPI_INTEGER, MPI_COMM_NULL, ierror)
    CHECK(class_of(ierror) == MPI_ERR_COMM)
  end subroutine

  ! Every rank holds three blocks of two; block k of rank i goes to place k of rank i + k.
  subroutine blocks_are_redistributed()
    type(taquin_redistribution) :: r
    integer, asynchronous :: data(2, 0:2)
    integer :: k, turn, ierror
    logical :: done
    integer(c_size_t) :: bytes
    integer(MPI_COUNT_KIND) :: unit_bytes
    type(taquin_part), pointer :: outgoing(:), incoming(:)
    type(c_ptr) :: staged
    do turn = 1, 2
      data(1, :) = [(10 * rank + k, k = 0, 2)]
      data(2, :) = -data(1, :)
      if (turn == 1) call taquin_redistribution_create(data, 3_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, MPI_INTEGER, world, &
        'slots', TAQUIN_UNLIMITED, r, ierror)
      CHECK(ierror == MPI_SUCCESS)
      call taquin_redistribution_set_data(r, data, ierror)
      CHECK(ierror == MPI_SUCCESS)
      if (turn == 1) then
        call taquin_redistribution_redistribute(r, 3, [(mod(rank + k, ranks), k = 0, 2)], [0, 1, 2], ierror)
      else
        call taquin_redistribution_start(r, 3, [(mod(rank + k, ranks), k = 0, 2)], [0, 1, 2], ierror)
        CHECK(ierror == MPI_SUCCESS)
        call taquin_redistribution_test(r, done, ierror)
        CHECK(ierror == MPI_SUCCESS)
        call taquin_redistribution_wait(r, ierror)
      end if
      CHECK(ierror == MPI_SUCCESS)
      do k = 0, 2
        CHECK(data(1, k) == 10 * mod(rank - k + 3 * ranks, ranks) + k .and. data(2, k) == -data(1, k))
      end do
    end do
    call taquin_redistribution_memory(r, bytes, ierror)
    CHECK(ierror == MPI_SUCCESS .and. bytes >= 0)
    call taquin_redistribution_redistribute(r, 1, [ranks], [0], ierror)
    CHECK(class_of(ierror) /= MPI_SUCCESS)
    call taquin_failure_blocks(done, unit_bytes, outgoing, incoming, staged, ierror)
    CHECK(ierror == MPI_SUCCESS .and. .not. done .and. size(outgoing) == 0 .and. size(incoming) == 0)
    call taquin_redistribution_free(r, ierror)
    CHECK(ierror == MPI_SUCCESS .and. r == TAQUIN_REDISTRIBUTION_NULL)
  end subroutine
  ! Blocks are brought back to where they were, as the map of a roll back says; then a repair finds all in their places.
  subroutine blocks_are_rolled_back()
    type(taquin_redistribution) :: r
    integer, asynchronous :: data(2, 0:2)
    integer :: k, ierror, to(0:2), at(0:2)
    integer(MPI_COUNT_KIND) :: unit_bytes
    type(taquin_part), pointer :: outgoing(:), incoming(:)
    type(c_ptr) :: staged
    data(1, :) = [(10 * rank + k, k = 0, 2)]
    data(2, :) = -data(1, :)
    to = [(mod(rank + k, ranks), k = 0, 2)]
    at = [1, 2, 0]
    call taquin_redistribution_create(data, 3_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, MPI_INTEGER, world, 'slots', &
      TAQUIN_UNLIMITED, r, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call taquin_redistribution_redistribute(r, 3, to, at, ierror)
    CHECK(ierror == MPI_SUCCESS .and. any(data(1, :) /= [(10 * rank + k, k = 0, 2)]))
    call taquin_redistribution_roll_back(r, world, 4, to, at, unit_bytes, outgoing, incoming, staged, ierror)
    CHECK(class_of(ierror) == MPI_ERR_ARG .and. size(outgoing) == 0 .and. size(incoming) == 0)
    call taquin_redistribution_roll_back(r, world, 3, to, at, unit_bytes, outgoing, incoming, staged, ierror)
    CHECK(ierror == MPI_SUCCESS .and. unit_bytes == 8 .and. sum(outgoing%length) + sum(incoming%length) == 3)
    to = -1
    call give_back(outgoing, .false.)
    call give_back(incoming, .true.)
    call taquin_redistribution_redistribute(r, 3, to, at, ierror)
    CHECK(ierror == MPI_SUCCESS)
    CHECK(all(data(1, :) == [(10 * rank + k, k = 0, 2)]) .and. all(data(2, :) == -data(1, :)))
    call taquin_redistribution_repair(r, world, unit_bytes, outgoing, incoming, staged, ierror)
    CHECK(ierror == MPI_SUCCESS .and. unit_bytes == 8 .and. size(outgoing) == 0)
    CHECK(all(incoming%state == TAQUIN_ARRIVED))
    call taquin_redistribution_free(r, ierror)
  contains
    subroutine give_back(parts, own)
      type(taquin_part), intent(in) :: parts(:)
      logical, intent(in) :: own
      integer :: i, j
      do i = 1, size(parts)
        do j = 0, int(parts(i)%length) - 1
          to(parts(i)%at + j) = merge(rank, int(parts(i)%peer), own)
          at(parts(i)%at + j) = int(parts(i)%offset) + j
        end do
      end do
    end subroutine
  end subroutine

  ! Each rank asks the one above and itself, and gets what they answer.
  subroutine what_is_asked_is_answered()
    type(taquin_sparse) :: s
    integer, asynchronous :: asked(3), destinations(2)
    integer(MPI_COUNT_KIND), asynchronous :: counts(2)
    integer, allocatable :: sources(:), came(:)
    integer(MPI_COUNT_KIND), allocatable :: lengths(:)
    double precision :: answers(3)
    integer(MPI_COUNT_KIND) :: elements
    integer :: incoming, ierror
    asked = [3 * rank, 3 * rank + 1, 3 * rank + 2]
    destinations = [mod(rank + 1, ranks), rank]
    counts = [1, 2]
    call taquin_sparse_begin(asked, 2, destinations, counts, MPI_INTEGER, world, s, incoming, elements, ierror)
    CHECK(ierror == MPI_SUCCESS .and. incoming == 2 .and. elements == 3)
    allocate(sources(incoming), lengths(incoming), came(elements))
    call taquin_sparse_sources(s, sources, lengths, ierror)
    CHECK(ierror == MPI_SUCCESS .and. sum(lengths) == 3 .and. any(sources == rank))
    call taquin_sparse_data(s, came, ierror)
    CHECK(ierror == MPI_SUCCESS .and. any(came == 3 * rank + 1))
    call taquin_sparse_reply(s, came + 0.5d0, MPI_DOUBLE_PRECISION, answers, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(answers == asked + 0.5d0))
    call taquin_sparse_end(s, ierror)
    CHECK(ierror == MPI_SUCCESS)
  end subroutine
  type(c_ptr) function room(bytes, context) bind(C)
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: context
    integer(c_int64_t), pointer :: array(:)
    integer, pointer :: calls
    call c_f_pointer(context, calls)
    calls = calls + 1
    allocate(array((bytes + 7) / 8))
    room = c_loc(array)
  end function
  ! Each rank sends to the one above and to itself.
  subroutine sparse_in_one_call()
    integer :: sent(3), incoming, ierror
    integer, target :: calls
    integer, pointer :: sources(:), came(:)
    integer(MPI_COUNT_KIND), pointer :: lengths(:)
    type(c_ptr) :: at(3)
    calls = 0
    sent = [3 * rank, 3 * rank + 1, 3 * rank + 2]
    call taquin_sparse_exchange(sent, 2, [mod(rank + 1, ranks), rank], [1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND], &
      MPI_INTEGER, world, room, c_loc(calls), incoming, at(1), at(2), at(3), ierror)
    CHECK(ierror == MPI_SUCCESS .and. incoming == 2 .and. calls == 3)
    call c_f_pointer(at(1), sources, [incoming])
    call c_f_pointer(at(2), lengths, [incoming])
    call c_f_pointer(at(3), came, [3])
    CHECK(sum(lengths) == 3 .and. any(sources == rank) .and. any(sources == mod(rank + ranks - 1, ranks)))
    CHECK(any(came == 3 * rank + 1) .and. any(came == 3 * rank + 2) .and. any(came == 3 * mod(rank + ranks - 1, ranks)))
    call taquin_sparse_exchange(sent, 2, [ranks, rank], [1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND], MPI_INTEGER, world, room, &
      c_loc(calls), incoming, at(1), at(2), at(3), ierror)
    CHECK(class_of(ierror) == MPI_ERR_RANK)
  end subroutine
end module

program calls
  use problem
  implicit none
  integer :: ierror, total
  call MPI_Init(ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, world, ierror)
  call MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_rank(world, rank, ierror)
  call MPI_Comm_size(world, ranks, ierror)
  call make()
  call blocking_calls_give_the_right_result()
  call buffers_of_any_kind_are_taken()
  call plans_run_again()
  call options_belong_to_the_communicator()
  call errors_reach_every_rank()
  call blocks_are_redistributed()
  call blocks_are_rolled_back()
  call what_is_asked_is_answered()
  call sparse_in_one_call()
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, world, ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'fortran: fine'
  call MPI_Comm_free(world, ierror)
  call MPI_Finalize(ierror)
  if (total > 0) error stop 1
end program
