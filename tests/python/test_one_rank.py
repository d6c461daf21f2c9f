"""What only one rank can see of its arguments is told to all: none of them waits for a rank that has an error."""

import numpy as np
import pytest
import taquin
from mpi4py import MPI
from taquin import adapters

BAD = MPI.COMM_WORLD.size - 1  # the rank whose arguments are bad


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raises(error):
    def destinations(_):
        raise error

    return destinations


def exchange(comm, **keywords):
    taquin.alltoall(None, np.zeros(comm.size), comm, **keywords)


def plan(comm, **keywords):
    taquin.plan(taquin.alltoall, None, np.zeros(comm.size), comm, **keywords)


def migrate(comm, destinations=None, **keywords):
    taquin.migrate(np.zeros(4), [0] * 4 if destinations is None else destinations, comm, **keywords)


def sparse(comm, rows=1, **keywords):
    taquin.sparse_exchange_arrays([], [], np.zeros((0, rows), "u1"), comm, **keywords)


def scalar(comm, block=None):
    taquin.sparse_exchange({} if block is None else {0: block}, comm, like=np.zeros(1, int))


def blocks(comm, kind=np.asarray, **keywords):
    shape = (comm.size, comm.size)
    rows, columns = taquin.Blocks(shape, (comm.size, 1)), taquin.Blocks(shape, (1, comm.size))
    taquin.redistribute_nd(kind(np.zeros((1, comm.size))), rows, columns, comm, **keywords)


def parts(comm, **keywords):
    adapters.alltoall_in_place(np.split(np.zeros((2, comm.size, 2)), comm.size, 1), comm, **keywords)


def steps(comm, distance=0, counts=None):
    """Blocks at equal distances."""
    counts = [0] * comm.size if counts is None else counts
    taquin.alltoallv([np.zeros(8), [0] * comm.size], [np.zeros(8), counts, distance, MPI.DOUBLE], comm)


@pytest.mark.parametrize(
    "call, bad, match",
    [
        (exchange, {"statistics": {}}, "statistics= must be"),
        (migrate, {"statistics": {}}, "statistics= must be"),
        (sparse, {"statistics": {}}, "statistics= must be"),
        (blocks, {"statistics": {}}, "statistics= must be"),
        (exchange, {"algorithm": "\ud800"}, "must be a name"),
        (plan, {"algorithm": "\ud800"}, "must be a name"),
        (migrate, {"algorithm": "\ud800"}, "must be a name"),
        (migrate, {"destinations": raises(ValueError("lone \ud800"))}, r"lone \\ud800"),
        (migrate, {"destinations": raises(ValueError("a\0b"))}, "a b"),
        (migrate, {"destinations": raises(NoText())}, "NoText"),
        (scalar, {"block": 5}, "rows along a first axis"),
        (parts, {"memory": "9" * 400}, "OverflowError"),
        (migrate, {"memory": "9" * 400}, "OverflowError"),
        (blocks, {"kind": np.ma.array}, "mask would not travel"),
        (steps, {"distance": 1 << 63}, "displacements are beyond 64 bits|too large|out of bounds"),
    ],
)
def test_it_is_an_error_on_every_rank(comm, call, bad, match):
    with pytest.raises(taquin.UsageError, match=match) as error:
        call(comm, **(bad if comm.rank == BAD else {}))
    assert error.value.rank in (BAD, -1)
    call(comm)


def test_a_function_for_destinations_may_change_the_array(comm):
    p, r = comm.size, comm.rank
    rows = np.arange(4) + 10 * r

    def destinations(part):
        rows.dtype = "u1"
        return np.full(len(part), (r + 1) % p)

    here = taquin.migrate(rows, destinations if r == BAD else [(r + 1) % p] * 4, comm)
    assert here.dtype == int and (here == np.arange(4) + 10 * ((r - 1) % p)).all()


def test_places_do_not_wrap(comm):
    move = taquin.Redistribution(np.zeros(4), comm)
    with pytest.raises(taquin.UsageError, match="OverflowError: places are beyond 64 bits" if comm.rank == BAD else None):
        move(*(([0], np.array([(1 << 64) - 1], "u8")) if comm.rank == BAD else ([], [])))


def test_displacements_do_not_wrap(comm):
    if comm.size < 4:
        return
    third = ((1 << 64) + 2) // 3  # three times this is 2 in 64 bits
    with pytest.raises(taquin.UsageError, match="beyond 64 bits"):
        steps(comm, **({"distance": third, "counts": [0, 0, 0, 1] + [0] * (comm.size - 4)} if comm.rank == BAD else {}))


def test_types_need_not_be_committed(comm):
    p = comm.size
    kind = MPI.DOUBLE.Create_vector(2, 1, 1)
    send, recv = np.full(2 * p, comm.rank, float), np.zeros(2 * p)
    for _ in range(3):
        taquin.alltoallv([send, [1] * p, kind] if comm.rank == BAD else [send, [2] * p], [recv, [2] * p], comm)
    assert (recv == np.repeat(np.arange(p), 2)).all()
    kind.Free()


@pytest.mark.parametrize("seconds", [1e-60, 1e300])
def test_time_limits_are_limits_in_the_32_bits_of_the_library(comm, seconds):
    taken = taquin._options.keywords(timeout=seconds)["timeout"]
    assert 0 < np.float32(taken) < np.inf  # 0 is none
    exchange(comm, timeout=seconds)


def test_numbers_of_blocks_have_64_bits():
    for shape, grid in (((1 << 70, 0), (1, 1)), ((3,), (1 << 64,))):
        with pytest.raises(ValueError, match="at most 64 bits"):
            taquin.Blocks(shape, grid)


def test_matrices_of_numpy_are_arrays(comm):
    p, r = comm.size, comm.rank
    whole = np.arange(4 * p * (p + 1)).reshape(4 * p, p + 1)
    source, target = taquin.Blocks(whole.shape, (p, 1)), taquin.Blocks(whole.shape, (1, p))
    storage, block = taquin.allocate(int, comm, source, target)
    block[...] = whole[source.local_slice(r)]
    here = taquin.redistribute_nd(block.view(np.matrix), source, target, comm, storage=storage.view(np.matrix))
    assert np.array_equal(here, whole[target.local_slice(r)])
