"""What is wrong on one rank is an exception on every rank, says what to do, and leaves the buffers alone."""

import datetime
import os
import subprocess
import sys

import numpy as np
import pytest
import taquin
from mpi4py import MPI

BAD = MPI.COMM_WORLD.size - 1  # the rank whose arguments are bad


def everywhere(comm, call, match, error=taquin.UsageError):
    """The call fails on every rank; the text is right."""
    with pytest.raises(error, match=match) as caught:
        call(comm.rank == BAD)
    if error is taquin.UsageError and caught.value.rank >= 0:
        assert caught.value.rank == BAD
    return caught.value


@pytest.mark.parametrize(
    "bad, match",
    [
        (lambda p: np.zeros((2 * p, 2))[:, 0], "not contiguous"),
        (lambda p: np.zeros(2 * p, "f4"), "float32"),
        (lambda p: np.array([None] * 2 * p), "Python objects"),
        (lambda p: "text", "no buffer"),
        (lambda p: 3.5, "no buffer"),
        (lambda p: np.zeros(2 * p + 1) if p > 1 else np.zeros(3).view("u1")[:9], "divide|float"),
        (lambda p: [np.zeros(2 * p), [1] * (p + 1)], "one per rank"),
        (lambda p: [np.zeros(2 * p), [1.5] * p], "integers"),
        (lambda p: [np.zeros(2 * p), [[1]] * p], "one per rank"),
        (lambda p: [np.zeros(2 * p), [3] * p], "of a buffer of"),
        (lambda p: [np.zeros(2 * p), [1] * p, [-1] * p, MPI.DOUBLE], "bytes -8 to 0"),
        (lambda p: [np.zeros(2 * p), [1] * p, [2 * p] * p, MPI.DOUBLE], "of a buffer of"),
        (lambda p: [np.zeros(2 * p), [1 << 62] * p, [1 << 62] * p, MPI.DOUBLE], "of a buffer of|beyond"),
        (lambda p: [np.zeros(2 * p), [-1] * p], "negative"),
        (lambda p: [np.zeros(2 * p), [2] * p, MPI.DATATYPE_NULL], "DATATYPE_NULL"),
        (lambda p: [np.zeros(2 * p), [2] * p, "no type"], "no MPI datatype"),
        (lambda p: [np.zeros(2 * p), [2] * p, 7], "no MPI datatype"),
        (lambda p: [np.zeros(2 * p), 1, 2, 3, 4], "a message is"),
        (lambda p: [np.zeros(2 * p), np.array([1 << 63] * p, np.uint64)], "64 bits"),
        (lambda p: [], "must not be empty"),
        (lambda p: [MPI.BOTTOM, [1] * p, MPI.DOUBLE], "BOTTOM"),
    ],
)
@pytest.mark.parametrize("side", ["send", "recv"])
def test_bad_messages_are_refused_on_every_rank(comm, bad, match, side):
    p = comm.size

    def call(guilty):
        good, other = np.full(2 * p, 5.0), np.full(2 * p, 6.0)
        wrong = bad(p) if guilty else good
        taquin.alltoallv(wrong if side == "send" else other, other if side == "send" else wrong, comm)

    everywhere(comm, call, match)


def test_what_is_received_must_not_lie_in_what_is_sent(comm):
    p = comm.size

    def of(call):
        def attempt(guilty):
            data = np.arange(4.0 * p)
            call(data[: 2 * p], data[2 * p - 1 : -1] if guilty else data[2 * p :])

        return attempt

    types = [MPI.DOUBLE] * p
    message = lambda buffer: [buffer, ([2] * p, [16 * i for i in range(p)]), types]
    for call in (
        lambda send, recv: taquin.alltoall(send, recv, comm),
        lambda send, recv: taquin.alltoallv(send, recv, comm),
        lambda send, recv: taquin.alltoallw(message(send), message(recv), comm),
        lambda send, recv: taquin.plan(taquin.alltoall, send, recv, comm).free(),
        lambda send, recv: taquin.plan(taquin.alltoallv, send, recv, comm, algorithm="spread_out").free(),
    ):
        everywhere(comm, of(call), "what is sent .*and what is received .*overlap by 8 bytes")
    both = np.arange(2.0 * p)  # blocks of both sides in turn
    there = 2 * np.arange(p)
    taquin.alltoallv([both, ([1] * p, there)], [both, ([1] * p, there + 1)], comm)
    assert np.array_equal(both[1::2], np.full(p, 2.0 * comm.rank))


def test_read_only_memory_is_not_received_in(comm):
    data = np.zeros(comm.size)
    frozen = data.copy()
    frozen.flags.writeable = False
    everywhere(comm, lambda guilty: taquin.alltoall(data, frozen if guilty else data.copy(), comm), "read-only")
    everywhere(comm, lambda guilty: taquin.alltoall(bytes(comm.size), bytes(comm.size), comm), "read-only")


@pytest.mark.parametrize(
    "keywords, match",
    [
        ({"memory": "much"}, "no size"),
        ({"memory": -1}, "at least 0 bytes"),
        ({"memory": 1.5}, "no size"),
        ({"memory": True}, "no size"),
        ({"algorithm": 3}, "must be a name"),
        ({"timeout": "soon"}, "must be a number of seconds"),
        ({"timeout": -1}, "above 0"),
        ({"timeout": datetime.timedelta(0)}, "above 0"),
        ({"on_timeout": "stop"}, "one of 'wait', 'abort', 'fail'"),
        ({"algorithm": "quickest"}, "unknown algorithm 'quickest'"),
    ],
)
def test_bad_keywords_are_refused_on_every_rank(comm, keywords, match):
    data = np.full(comm.size, comm.rank)
    everywhere(comm, lambda guilty: taquin.alltoall(None, data, comm, **(keywords if guilty else {})), match)
    assert (data == comm.rank).all()
    rows = np.zeros(4)
    everywhere(comm, lambda guilty: taquin.Redistribution(rows, comm, **(keywords if guilty else {})), match)
    everywhere(
        comm,
        lambda guilty: taquin.migrate(rows, [0] * 4, comm, **(keywords if guilty else {})) if "algorithm" not in keywords else
        taquin.Redistribution(rows, comm, **(keywords if guilty else {})),
        match,
    )


def test_the_budget_is_refused_on_every_rank(comm):
    p = comm.size
    data = np.full(1000 * p, comm.rank, "d")
    error = everywhere(
        comm,
        lambda guilty: taquin.alltoall(data.copy(), data, comm, memory=0 if guilty else None, algorithm="pairwise"),
        "memory",
        taquin.BudgetExceeded,
    ) if p > 1 else None
    if error:
        assert error.requested > error.limit == 0 and isinstance(error, MemoryError)
    assert (data == comm.rank).all()
    rows = np.full((100, 100), comm.rank)
    for call in (
        lambda m: taquin.migrate(rows, [0] * 100, comm, memory=m),
        lambda m: taquin.Redistribution(rows, comm, memory=m),
        lambda m: taquin.transpose(rows, comm, memory=m),
    ):
        error = everywhere(comm, lambda guilty: call(10 if guilty else None), "memory", taquin.BudgetExceeded)
        assert error.requested > 10
        assert comm.rank != BAD or error.limit == 10
    assert (rows == comm.rank).all()


@pytest.mark.parametrize("form", ["alltoall", "alltoallv", "alltoallw", "alltoallv_in_place"])
def test_a_plan_of_nothing_known_is_refused_on_every_rank(comm, form):
    p = comm.size
    data, ones = np.full(p, comm.rank, "i4"), [1] * p
    typed = [data, ones, [0] * p, [MPI.INT] * p]
    arguments = {"alltoallw": (None, typed), "alltoallv_in_place": (data, ones, ones)}.get(form, (None, data))
    for call in ("alltoallx", None, taquin.migrate):
        everywhere(comm, lambda guilty: taquin.plan(call if guilty else form, *arguments, comm), "no plan of")
    everywhere(comm, lambda guilty: taquin.plan(form, *arguments[guilty:], comm), "arguments, not")
    assert (data == comm.rank).all()


def test_sizes_that_do_not_match_are_named_when_checked(comm):
    p, r = comm.size, comm.rank
    if p == 1:
        return
    counts = [1] * p
    counts[0] = 2 if r == BAD else 1
    data = np.zeros(p + 1)
    with pytest.raises(taquin.UsageError):
        taquin.alltoallv([data, counts], [np.zeros(p + 1), [1] * p], comm, check=True)


def test_communicators_that_serve_nobody(comm):
    data = np.zeros(comm.size)
    gone = comm.Dup()
    gone.Free()
    for bad, match in ((gone, "freed"), (MPI.COMM_NULL, "COMM_NULL"), (None, "NoneType"), (3, "int")):
        for call in (
            lambda: taquin.alltoall(None, data, bad),
            lambda: taquin.plan(taquin.alltoall, None, data, bad),
            lambda: taquin.migrate(data, [0] * len(data), bad),
            lambda: taquin.Redistribution(data, bad),
            lambda: taquin.transpose(np.zeros((1, 1)), bad),
            lambda: taquin.redistribute_nd(data, taquin.Blocks((1,), (1,)), taquin.Blocks((1,), (1,)), bad),
        ):
            with pytest.raises(taquin.UsageError, match=match):
                call()


@pytest.mark.parametrize(
    "destination, match",
    [
        (lambda n: [0] * (n - 1), "one destination per row"),
        (lambda n: [-1] * n, "rank -1"),
        (lambda n: [10**6] * n, "rank 1000000"),
        (lambda n: np.full(n, 1 << 32), "4294967296"),
        (lambda n: np.full(n, np.iinfo("u8").max, "u8"), "18446744073709551615"),
        (lambda n: [0.5] * n, "integers"),
        (lambda n: (lambda rows: 1 / 0), "ZeroDivisionError"),
        (lambda n: (lambda rows: rows[:1]), "one destination|integers"),
    ],
)
def test_bad_destinations_are_refused_on_every_rank(comm, destination, match):
    rows = np.full((8, 2), comm.rank)
    everywhere(comm, lambda guilty: taquin.migrate(rows, destination(8) if guilty else [0] * 8, comm), match)
    assert (rows == comm.rank).all()


@pytest.mark.parametrize(
    "array, match",
    [
        (np.zeros((4, 4))[:, :2], "not contiguous"),
        (np.zeros((4, 4), order="F"), "not contiguous"),
        (np.array([None] * 4), "Python objects"),
        ([1, 2, 3, 4], "NumPy"),
        (np.array(3), "no axis"),
        (np.frombuffer(bytes(32)), "read-only"),
    ],
)
def test_bad_rows_are_refused_on_every_rank(comm, array, match):
    good = np.zeros((4, 4))
    for call in (lambda a: taquin.migrate(a, [0] * 4, comm), lambda a: taquin.Redistribution(a, comm)):
        everywhere(comm, lambda guilty: call(array if guilty else good), match)


@pytest.mark.parametrize(
    "ranks, places, match",
    [
        ([0, 0], [0], "one place"),
        ([10**7, 0], [0, 1], "rank"),
        ([0, 0], [0, 10**12], "place|index|range|of"),
        ([0, 0], [0, -1], "place|index|range|of"),
        ([0.5, 0], [0, 1], "integers"),
        ([0, 0], [0.5, 1], "integers"),
        ([0] * 9, list(range(9)), "blocks|destinations"),
        ("x", [0], "integers"),
    ],
)
def test_bad_maps_are_refused_on_every_rank(comm, ranks, places, match):
    rows = np.full(8, comm.rank)
    move = taquin.Redistribution(rows, comm)
    with pytest.raises(taquin.UsageError) as caught:
        move(*((ranks, places) if comm.rank == BAD else ([], [])))
    assert comm.rank != BAD or any(word in str(caught.value) for word in match.split("|"))
    assert (rows == comm.rank).all()


def test_two_rows_for_one_place_are_refused(comm):
    rows = np.full(3, comm.rank)
    with pytest.raises(taquin.UsageError):
        taquin.Redistribution(rows, comm)([0, 0], [1, 1])
    move = taquin.Redistribution(rows, comm)
    for ranks, places in (([0], [0]), (np.zeros(2, "i8"), np.zeros(2, "i8")), (np.zeros(9, "i4"), np.zeros(9, "i4")),
                          (np.full(2, 99, "i4"), np.zeros(2, "i4")), (np.zeros(2, "i4"), np.zeros(1, "i4"))):
        with pytest.raises(taquin.UsageError):
            move.sort(ranks, places)
    for other in (np.zeros(4, int), np.zeros(3), [1, 2, 3]):
        with pytest.raises(taquin.UsageError):
            move.array = other


def test_bad_distributions_are_refused_on_every_rank(comm):
    p, r = comm.size, comm.rank
    shape = (2 * p, 2 * p)
    rows, columns = taquin.Blocks(shape, (p, 1)), taquin.Blocks(shape, (1, p))
    block = np.full((2, 2 * p), r)
    calls = [
        (lambda bad: taquin.redistribute_nd(np.zeros((3, 3)) if bad else block, rows, columns, comm), "shape"),
        (lambda bad: taquin.redistribute_nd(block, taquin.Blocks(shape, (p + 1, 1)) if bad else rows, columns, comm), "blocks for"),
        (lambda bad: taquin.redistribute_nd(block, rows, taquin.Blocks((1, 1), (1, p)) if bad else columns, comm), "shapes differ"),
        (lambda bad: taquin.redistribute_nd(block, rows, (1, p) if bad else columns, comm), "taquin.Blocks"),
        (lambda bad: taquin.redistribute_nd(np.asfortranarray(block) if bad and p > 0 else block, rows, columns, comm), "contiguous"),
        (lambda bad: taquin.redistribute_nd(block, rows, columns, comm, storage=np.zeros(4 * p, int) if bad else block), "storage"),
        (lambda bad: taquin.redistribute_nd(block, rows, columns, comm, storage=block[1:] if bad else block), "storage"),
        (lambda bad: taquin.redistribute_nd(block, rows, columns, comm, storage=3 if bad else block), "storage"),
        (lambda bad: taquin.redistribute_nd(block, rows, columns, comm, algorithm="none" if bad else "auto"), "algorithm|distributions|disagree"),
        (lambda bad: taquin.transpose(np.zeros(3) if bad else block, comm), "matrix|blocks"),
    ]
    for call, match in calls:
        everywhere(comm, call, match)
    if p > 1:  # each rank's arguments are right for themselves
        everywhere(comm, lambda bad: taquin.redistribute_nd(block, rows, rows if bad else columns, comm), "disagree on the layouts")
        everywhere(comm, lambda bad: taquin.transpose(np.zeros((5 if bad else 1, 3)), comm), "not in blocks")
        everywhere(comm, lambda bad: taquin.redistribute_nd(block.astype("i2") if bad else block, rows, columns, comm), "gives int16")
    assert (block == r).all()


def alone(program, **environment):
    """Runs a program in a process of its own, without mpirun's variables."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PMI_", "PRTE_"))}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
        env={**inherited, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **environment},
    )


@pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="starts processes")
def test_mpi4py_of_another_mpi_library_is_told_apart():
    other = "import mpi4py.MPI as M; M.get_vendor = lambda: ('Another MPI', (1, 0, 0)); import taquin"
    ended = alone(other)
    assert ended.returncode == 1
    assert "ImportError: taquin was built with" in ended.stderr and "Another MPI" in ended.stderr


@pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="starts processes")
@pytest.mark.parametrize("before", ["mpi4py.rc.initialize = False", "pass"])
def test_calls_while_mpi_is_not_running_are_refused(before):
    finalize = "MPI.Finalize()" if before == "pass" else "pass"
    ended = alone(
        f"""
import mpi4py
{before}
from mpi4py import MPI
import numpy, taquin
{finalize}
for call in (lambda: taquin.alltoall(None, numpy.zeros(1), MPI.COMM_WORLD),
             lambda: taquin._core.run("alltoall", None, None, MPI.COMM_WORLD, {{}}, False)):
    try:
        call()
    except taquin.UsageError as error:
        print(error)
"""
    )
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == 2 and "initialized" in ended.stdout or "finalized" in ended.stdout


@pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="starts processes")
def test_objects_may_outlive_mpi():
    ended = alone(
        """
import numpy, taquin
from mpi4py import MPI
data = numpy.zeros(1)
plan = taquin.plan(taquin.alltoall, None, data, MPI.COMM_WORLD)
plan.run()
move = taquin.Redistribution(data, MPI.COMM_WORLD)
MPI.Finalize()
for call in (plan.start, plan.run, plan.test, plan.wait, lambda: move([0], [0])):
    try:
        call()
    except taquin.UsageError as error:
        print(error)
del plan, move
other = taquin
"""
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("MPI is finalized already") == 5
