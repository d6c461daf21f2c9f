"""Sparse exchanges: dicts and arrays, in and out."""

import numpy as np
import pytest
import taquin
from test_bad_input import everywhere


def test_who_sends_what_is_found_out(comm):
    p, rank = comm.size, comm.rank
    blocks = {to: np.full((to + 1, 2), 10 * rank + to) for to in range(p) if (rank + to) % 2 == 0}
    done = taquin.Statistics()
    came = taquin.sparse_exchange(blocks, comm, like=np.empty((0, 2), int), statistics=done)
    assert list(came) == [i for i in range(p) if (i + rank) % 2 == 0]
    for source, rows in came.items():
        assert rows.shape == (rank + 1, 2) and (rows == 10 * source + rank).all()
    assert done.starts == 1


def test_structured_rows_travel_in_blocks_that_keep_their_order(comm):
    kind = [("position", float, 3), ("id", int)]
    data = np.zeros(5, kind)
    data["id"] = 100 * comm.rank + np.arange(5)
    last = comm.size - 1
    sources, counts, got = taquin.sparse_exchange_arrays([last, last], [2, 3], data, comm, memory="1M")
    if comm.rank == last:
        assert list(sources) == [i for i in range(comm.size) for _ in range(2)] and list(counts) == [2, 3] * comm.size
        assert list(got["id"]) == [100 * i + k for i in range(comm.size) for k in range(5)]
    else:
        assert len(sources) == 0 and got.shape == (0,) and got.dtype == data.dtype


def test_nobody_may_send_anything(comm):
    assert taquin.sparse_exchange({}, comm, like=np.empty(0)) == {}


@pytest.mark.parametrize(
    "blocks, match",
    [
        ({0: np.array([None])}, "Python objects"),
        ({0: np.zeros(2), 1 << 20: np.zeros(2)}, "ranks must be between"),
        ([np.zeros(2)], "a dict from ranks"),
        ({0: np.zeros(2), -1: np.zeros(2, "f4")}, "has rows of float32"),
    ],
)
def test_bad_blocks_are_refused_on_every_rank(comm, blocks, match):
    everywhere(comm, lambda guilty: taquin.sparse_exchange(blocks if guilty else {0: np.zeros(2)}, comm), match)


def test_bad_arrays_are_refused_on_every_rank(comm):
    def call(destinations, counts):
        good = ([0], [3])
        return lambda guilty: taquin.sparse_exchange_arrays(
            *((destinations, counts) if guilty else good), np.zeros(3), comm
        )

    everywhere(comm, call([0, 0], [3]), "one count per destination")
    everywhere(comm, call([0], [2]), "not those of the data")
    everywhere(comm, call([0.5], [3]), "integers")
    everywhere(comm, call([-1], [3]), "rank -1|-1")
