"""Ranks that give arrays of different dtypes or rows get one error, and a rank that knows no dtype learns it."""

import re

import numpy as np
import pytest
import taquin
from test_bad_input import everywhere

FLOATS = np.zeros(6)
ROWS = np.dtype([("id", "i8"), ("at", "f4", 2)])


def at_odds(comm, call, usual="float64", unusual="int64"):
    """The call fails on all ranks, which name both; with one rank there is nothing to be at odds with."""
    if comm.size == 1:
        call(True)
        return
    error = everywhere(comm, call, re.escape(f"rank 0 gives {usual}, rank {comm.size - 1} gives {unusual}"))
    assert len(set(comm.allgather(str(error)))) == 1


def of(guilty, shape=(6,), dtype="i8"):
    return np.zeros(shape, dtype) if guilty else np.zeros(6)


@pytest.mark.parametrize("memory", [None, "1M"])
def test_migrate_compares_dtypes(comm, memory):
    at_odds(comm, lambda guilty: taquin.migrate(of(guilty), [0] * 6, comm, memory=memory))
    at_odds(
        comm,
        lambda guilty: taquin.migrate(of(guilty, (6, 2), "f4"), [0] * 6, comm, memory=memory),
        unusual="rows of float32 and shape (2,)",
    )
    assert taquin.migrate(np.arange(6), [0] * 6, comm).dtype == int


def test_migrate_reports_an_invalid_array_before_its_dtype(comm):
    call = lambda guilty: taquin.migrate(np.array([None]) if guilty else np.zeros(1), [0], comm)
    everywhere(comm, call, "Python objects")


def test_redistributions_compare_dtypes(comm):
    p = comm.size
    at_odds(comm, lambda guilty: taquin.Redistribution(of(guilty), comm))
    slabs, others = taquin.Blocks((p, p), (p, 1)), taquin.Blocks((p, p), (1, p))
    at_odds(comm, lambda guilty: taquin.redistribute_nd(of(guilty)[:1].repeat(p).reshape(1, p), slabs, others, comm))
    at_odds(comm, lambda guilty: taquin.transpose(of(guilty)[:1].repeat(p).reshape(1, p), comm))


def sparse_algorithms(comm):
    """Those that serve this communicator."""
    with pytest.raises(taquin.UsageError) as unknown:
        taquin.sparse_exchange({}, comm, algorithm="none")
    served = []
    for name in re.search("known are (.*)", str(unknown.value))[1].split(", "):
        try:
            taquin.sparse_exchange({}, comm, algorithm=name)
            served.append(name)
        except taquin.UsageError as error:
            assert "serves" in str(error)
    assert len(served) >= 2 and "auto" in served
    return served


def test_sparse_exchanges_compare_dtypes(comm):
    for algorithm in sparse_algorithms(comm):
        at_odds(comm, lambda guilty: taquin.sparse_exchange({0: of(guilty)}, comm, algorithm=algorithm))
        at_odds(comm, lambda guilty: taquin.sparse_exchange_arrays([0], [6], of(guilty), comm, algorithm=algorithm))
        at_odds(
            comm,
            lambda guilty: taquin.sparse_exchange({}, comm, like=of(guilty, (0, 3), "f8"), algorithm=algorithm),
            unusual="rows of float64 and shape (3,)",
        )


def test_a_rank_that_sends_nothing_learns_the_dtype(comm):
    for algorithm in sparse_algorithms(comm):
        learns_the_dtype(comm, algorithm)


def learns_the_dtype(comm, algorithm):
    p, r = comm.size, comm.rank
    last = p - 1
    # Rank 0 sends to all ranks, and to itself; the others send nothing.
    rows = np.zeros((3, 2), ROWS)
    rows["id"], rows["at"] = 7, 0.5
    came = taquin.sparse_exchange({to: rows for to in range(p)} if r == 0 else {}, comm, algorithm=algorithm)
    assert list(came) == [0] and came[0].dtype == ROWS and (came[0] == rows).all()
    came = taquin.sparse_exchange({last: np.arange(5, dtype="u2")} if r == 0 else {}, comm, algorithm=algorithm)
    assert list(came) == ([0] if r == last else [])
    if r == last:
        assert came[0].dtype == np.uint16 and (came[0] == np.arange(5)).all()


@pytest.mark.parametrize("memory", [None, "1M"])
def test_no_rank_may_send_anything(comm, memory):
    assert taquin.sparse_exchange({}, comm, memory=memory) == {}
    assert taquin.sparse_exchange({}, comm, memory=memory, like=FLOATS) == {}


@pytest.mark.parametrize(
    "count, text", [(-1, "negative|between"), (1 << 63, "beyond 64|between"), (1 << 70, "beyond 64 bits|between")]
)
def test_counts_that_cannot_be_are_errors_of_all_ranks(comm, count, text):
    p = comm.size
    data, room = np.zeros(p), np.zeros(p)
    bad = lambda guilty, other: count if guilty else other
    for call in (
        lambda g: taquin.migrate(np.zeros(4), [0] * 4, comm, count=bad(g, None)),
        lambda g: taquin.alltoall([data, bad(g, 1), "d"], [room, 1, "d"], comm),
        lambda g: taquin.alltoallv([data, bad(g, 1)], [room, 1], comm),
        lambda g: taquin.alltoallv([data, [bad(g, 1)] * p], [room, [1] * p], comm),
        lambda g: taquin.alltoallv_in_place(data, [bad(g, 1)] * p, [1] * p, comm),
        lambda g: taquin.sparse_exchange_arrays([0], [bad(g, 6)], FLOATS, comm),
    ):
        everywhere(comm, call, text)
    for call in (
        lambda g: taquin.migrate(np.zeros(1), [bad(g, 0)], comm),
        lambda g: taquin.sparse_exchange({bad(g, 0): FLOATS}, comm),
        lambda g: taquin.sparse_exchange_arrays([bad(g, 0)], [6], FLOATS, comm),
    ):
        everywhere(comm, call, f"{text}|goes to rank")
