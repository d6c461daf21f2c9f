"""Layouts, and redistribution between them: compared with an oracle that looks up every element."""

import random

import numpy as np
import pytest
import taquin
from taquin import Dimension, Layout


def some_dimension(rng, n, p):
    kind = rng.randrange(5)
    if kind == 0:
        return Dimension.even(n, p)
    if kind == 1:
        return Dimension.block_of(n, p)
    if kind == 2:
        cuts = sorted(rng.randrange(n + 1) for _ in range(p - 1))
        return Dimension.given(np.diff([0, *cuts, n]).tolist())
    if kind == 3:
        return Dimension.cyclic(n, p, rng.randrange(p))
    return Dimension.block_cyclic(n, p, rng.randrange(1, 4), rng.randrange(p))


def some_layout(rng, shape, ranks):
    grid, left = [], ranks
    for _ in shape:
        grid.append(rng.choice([k for k in range(1, left + 1)]))
        left //= grid[-1]
    used = int(np.prod(grid))
    choices = {"grid_order": rng.choice("CF")}
    if rng.random() < 0.5:
        choices["ranks"] = rng.sample(range(ranks), used)
    if rng.random() < 0.3:
        choices["halo"] = [(rng.randrange(2), rng.randrange(2)) for _ in shape]
    if rng.random() < 0.5:
        choices["stored"] = rng.sample(range(len(shape)), len(shape))
    else:
        choices["order"] = rng.choice("CF")
    return Layout([some_dimension(rng, n, p) for n, p in zip(shape, grid)], **choices)


def indices(layout, rank, shape):
    """Of the elements that the rank owns, in the order of its part."""
    own = [i for i in np.ndindex(*shape) if layout.find(i)[0] == rank]
    return np.array(own, int).reshape(*layout.local_shape(rank), len(shape)) if own else None


def values(layout, rank, shape, axes=None):
    """What the rank's part must hold: the number of each element in the source, of this shape."""
    own = indices(layout, rank, tuple(shape[a] for a in np.argsort(axes)) if axes else shape)
    if own is None:
        return np.zeros(layout.local_shape(rank), int)
    if axes:
        own = own[..., list(axes)]
    return np.ravel_multi_index(tuple(own[..., d] for d in range(len(shape))), shape)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("dtype", ["i8", "u2", np.dtype([("a", "i4"), ("b", "S3")])])
def test_random_layouts_agree_with_the_oracle(comm, seed, dtype):
    rng, r = random.Random(seed), comm.rank
    shape = tuple(rng.randrange(1, 9) for _ in range(rng.randrange(1, 4)))
    axes = rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.5 else None
    there = [0] * len(shape)
    for d, a in enumerate(axes or range(len(shape))):
        there[a] = shape[d]
    source, target = some_layout(rng, shape, comm.size), some_layout(rng, there, comm.size)
    dtype = np.dtype(dtype)

    def as_items(numbers):
        if dtype.names is None:
            return numbers.astype(dtype)
        items = np.zeros(numbers.shape, dtype)
        items["a"], items["b"] = numbers, (numbers % 7).astype("S1")
        return items

    before, after = as_items(values(source, r, shape)), as_items(values(target, r, shape, axes))
    one = np.zeros(max(source.local_size(r), target.local_size(r)), dtype)
    source.view(one, r)[...] = before
    two = one[: source.local_size(r)].copy()
    here = taquin.redistribute_layout(one, source, target, comm, axes=axes)
    assert here.shape == after.shape and here.tobytes() == after.tobytes()
    assert here.size == 0 or np.shares_memory(here, one)
    out = np.zeros(target.local_size(r), dtype)
    kept = two.copy()
    two.flags.writeable = False
    done = taquin.Statistics()
    there = taquin.redistribute_layout(two, source, target, comm, out=out, axes=axes, memory="64K", statistics=done)
    assert there.tobytes() == after.tobytes() and two.tobytes() == kept.tobytes()
    assert done.starts == 1 and done.peak_memory <= 1 << 16 and done.algorithm == "layouts"


def test_a_part_moves_from_array_to_array(comm):
    p, r = comm.size, comm.rank
    source = Layout([Dimension.even(9, p), Dimension.whole(7)])
    target = Layout([Dimension.whole(8), Dimension.cyclic(10, p)], order="F")
    one = np.zeros(source.local_size(r), int)
    source.view(one, r)[...] = values(source, r, (9, 7))
    out = np.full(target.local_size(r), -1)
    here = taquin.redistribute_layout(
        one, source, target, comm, out=out, from_begin=(2, 1), to_begin=(1, 3), extents=(5, 4)
    )
    whole = np.full((8, 10), -1)
    whole[1:6, 3:7] = np.arange(63).reshape(9, 7)[2:7, 1:5]
    assert (here == whole[:, r::p]).all()


@pytest.mark.parametrize("seed", range(10))
def test_relabelled_layouts_move_no_more(comm, seed):
    rng = random.Random(seed)
    shape = tuple(rng.randrange(1, 9) for _ in range(rng.randrange(1, 4)))
    source, target = some_layout(rng, shape, comm.size), some_layout(rng, shape, comm.size)
    moved = sum(source.find(i)[0] != target.find(i)[0] for i in np.ndindex(*shape))
    assert taquin.elements_moved(source, target) == moved
    better = target.relabelled(source, comm.size)
    left = sum(source.find(i)[0] != better.find(i)[0] for i in np.ndindex(*shape))
    assert left == taquin.elements_moved(source, better) <= moved
    sizes = sorted(better.local_size(r) for r in range(comm.size))
    assert sizes == sorted(target.local_size(r) for r in range(comm.size))
    for r in range(comm.size):
        at = better.coordinates(r)
        assert better.local_shape(r) == tuple(0 if c < 0 else len(range(*b)) for c, b in zip(at, bounds(better, at)))
    with pytest.raises(taquin.UsageError, match="no permutation"):
        target.relabelled(source, comm.size, axes=[0] * (len(shape) + 1))


def bounds(layout, at):
    """For each axis as many indices as the process at this coordinate owns."""
    alone = [Layout([d]) for d in layout.dimensions]
    return [(0, one.local_shape(max(c, 0))[0]) for one, c in zip(alone, at)]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "g", "c8", "c16", "G"])
def test_numbers_are_conjugated_and_scaled_on_the_way(comm, dtype):
    p, r, dtype = comm.size, comm.rank, np.dtype(dtype)
    source = Layout([Dimension.even(9, p), Dimension.whole(7)])
    target = Layout([Dimension.cyclic(7, p), Dimension.whole(9)], order="F", halo=[(1, 0), (0, 1)])
    scale = {"c": 0.5 + 2j, "f": -0.5, "i": -3, "u": 3}[dtype.kind]

    def numbers(layout, axes=None):
        of = values(layout, r, (9, 7), axes).astype(dtype)
        return of * (1 - 2j) if dtype.kind == "c" else of

    storage = np.zeros(max(source.local_size(r), target.local_size(r)), dtype)
    source.view(storage, r)[...] = numbers(source)
    expected = np.conj(numbers(target, (1, 0))).astype(dtype) * dtype.type(scale)
    out = np.zeros(target.local_size(r), dtype)
    change = {"axes": (1, 0), "scale": scale, "conjugate": True}
    assert (taquin.redistribute_layout(storage, source, target, comm, out=out, **change) == expected).all()
    with taquin.plan_layout(storage, source, target, comm, **change) as move:
        move.start()
        move.wait()
        assert (move.result == expected).all()


@pytest.mark.parametrize("dtype", ["i4", "f8", "c16"])
def test_blocks_and_transposes_are_conjugated_and_scaled(comm, dtype):
    p, r = comm.size, comm.rank
    whole = np.arange(2 * p * 3 * p).reshape(2 * p, 3 * p).astype(dtype)
    if dtype == "c16":
        whole *= 2 - 1j
    scale = {"i4": -3, "f8": 0.5, "c16": 1 + 2j}[dtype]
    expected = np.conj(whole) * scale
    rows, columns = taquin.Blocks(whole.shape, (p, 1)), taquin.Blocks(whole.shape, (1, p))
    mine, change = whole[rows.local_slice(r)], {"scale": scale, "conjugate": True}
    there = taquin.redistribute_nd(mine.copy(), rows, columns, comm, **change)
    assert there.dtype == mine.dtype and (there == expected[columns.local_slice(r)]).all()
    turned = taquin.transpose(mine.copy(), comm, **change)
    assert (turned == expected.T[taquin.Blocks(whole.T.shape, (p, 1)).local_slice(r)]).all()
    with pytest.raises(taquin.UsageError, match="not numbers of one type"):
        taquin.redistribute_nd(mine.astype("S4"), rows, columns, comm, scale=2)


def test_what_cannot_be_scaled_is_the_error_of_all(comm):
    rows = Layout([Dimension.even(8, comm.size)])
    bad = comm.rank == comm.size - 1
    for dtype, change, text in (
        ("S4", {"scale": 2}, "not numbers of one type"),
        (">f8" if np.little_endian else "<f8", {"conjugate": True}, "not numbers of one type"),
        ("f8", {"scale": 1j}, "real numbers cannot be scaled"),
        ("i8", {"scale": 0.5}, "integers cannot be scaled by 0.5"),
        ("f8", {"conjugate": 3 if bad else True}, "conjugate must be a bool"),
        ("f8", {"scale": "x" if bad else 2}, "complex"),
    ):
        array = np.ones(8).astype(dtype)
        kept = array.copy()
        with pytest.raises(taquin.UsageError, match=text):
            taquin.redistribute_layout(array, rows, rows, comm, **change)
        assert array.tobytes() == kept.tobytes()


@pytest.mark.parametrize("one_array", [True, False])
def test_a_plan_runs_as_often_as_wanted(comm, one_array):
    p, r = comm.size, comm.rank
    source = Layout([Dimension.even(11, p), Dimension.whole(7)])
    target = Layout([Dimension.cyclic(7, p), Dimension.whole(11)], order="F")
    storage = np.zeros(max(source.local_size(r), target.local_size(r)), int)
    out = None if one_array else np.zeros(target.local_size(r), int)
    other, moved = np.full(p, r), np.empty(p, int)
    with taquin.plan_layout(storage, source, target, comm, out=out, axes=(1, 0), memory="1M") as move:
        exchange = taquin.plan(taquin.alltoall, other, moved, comm)
        for turn in range(3):
            source.view(storage, r)[...] = values(source, r, (11, 7)) + turn
            move.start()
            exchange.start()
            with pytest.raises(taquin.UsageError):
                move.start()
            while turn == 1 and not move.test():
                pass
            exchange.wait()
            move.wait()
            assert not move.started
            assert (move.result == values(target, r, (11, 7), (1, 0)) + turn).all()
            assert move.result.size == 0 or np.shares_memory(move.result, storage if one_array else out)
        assert 0 < move.peak_memory <= 1 << 20 and move.memory == move.peak_memory
        assert move.algorithm == "layouts" and "redistribute_layout" in repr(move)
        assert move.statistics.starts == 3
        exchange.free()
    with pytest.raises(taquin.UsageError, match="freed"):
        move.start()


def test_a_plan_is_refused_on_all_ranks_when_it_is_made(comm):
    p, bad = comm.size, comm.rank == comm.size - 1
    rows, columns = (Layout([Dimension.even(4, p), Dimension.whole(3)]), Layout([Dimension.whole(4), Dimension.even(3, p)]))
    for call, text in (
        (lambda: taquin.plan_layout(np.ones(12), 3 if bad else rows, columns, comm), "taquin.Layout"),
        (lambda: taquin.plan_layout(np.ones(0 if bad else 12), rows, columns, comm), "are needed"),
        (lambda: taquin.plan_layout(np.ones(12), rows, columns, comm, axes=(0, 0)), "permutation"),
    ):
        with pytest.raises(taquin.UsageError, match=text):
            call()
    with pytest.raises(taquin.BudgetExceeded, match="needs at least"):
        taquin.plan_layout(np.ones(12), rows, columns, comm, memory=1)


def test_leading_dimensions_stay(comm):
    r = comm.rank
    rows = Layout([Dimension.even(6, comm.size), Dimension.whole(4)], allocated=(0, 5 + r))
    storage = np.full(rows.local_size(r), -1)
    rows.view(storage, r)[...] = values(rows, r, (6, 4))
    out = np.full(rows.local_size(r), -2)
    taquin.redistribute_layout(storage, rows, rows, comm, out=out)
    assert (out == np.where(storage == -1, -2, storage)).all()


def test_blocks_are_layouts(comm):
    blocks = taquin.Blocks((6, 7), (1, comm.size), (None, (5,) * (comm.size - 1)))
    for rank in range(comm.size):
        assert blocks.layout.local_shape(rank) == blocks.local_shape(rank)


@pytest.mark.parametrize(
    "dimensions, choices, text",
    [
        ([Dimension(5, 2, 0, 0, (3, 1))], {}, "cover 0 to 4 of 5"),
        ([Dimension.even(5, 2)], {"ranks": (1, 1)}, "rank 1 is in the grid twice"),
        ([Dimension.even(5, 2)], {"ranks": (1,)}, "1 ranks for a grid of 2"),
        ([Dimension.even(5, 2)], {"stored": (1,)}, "no permutation"),
        ([Dimension.even(-1, 2)], {}, "the extent must be ≥ 0, got -1"),
        ([Dimension.even(1 << 60, 2)], {}, "2\\^56"),
        ([Dimension.cyclic(5, 2, 2)], {}, "the first process is 2, of 2"),
        ([Dimension.even(5, 2)], {"order": "A"}, "'C' or 'F'"),
        ([Dimension.even(5, 2)], {"halo": ((-1, 0),)}, "not negative"),
    ],
)
def test_layouts_that_cannot_be_are_refused(dimensions, choices, text):
    with pytest.raises(ValueError, match=text):
        Layout(dimensions, **choices)
    with pytest.raises(ValueError):
        Dimension.block_cyclic(4, 2, 0)
    with pytest.raises(IndexError):
        Layout([Dimension.even(5, 2)]).find((5,))


def test_what_is_wrong_on_one_rank_is_the_error_of_all(comm):
    p, bad = comm.size, comm.rank == comm.size - 1
    rows, columns = (Layout([Dimension.even(4, p), Dimension.whole(3)]), Layout([Dimension.whole(4), Dimension.even(3, p)]))
    array = np.ones(12)
    for call, text in (
        (lambda: taquin.redistribute_layout(array, 3 if bad else rows, columns, comm), "taquin.Layout"),
        (lambda: taquin.redistribute_layout(array[: 0 if bad else 12], rows, rows, comm), "are needed"),
        (lambda: taquin.redistribute_layout(array[::2] if bad else array, rows, columns, comm), "contiguous"),
        (lambda: taquin.redistribute_layout([1] if bad else array, rows, columns, comm), "NumPy"),
        (lambda: taquin.redistribute_layout(array, rows, columns, comm, axes=(0, 0)), "permutation"),
        (lambda: taquin.redistribute_layout(array, rows, columns, comm, out=array), "overlap"),
        (lambda: taquin.redistribute_layout(array, rows, rows, comm, out=np.ones(12, "f4") if bad else np.ones(12)), "items"),
        (lambda: taquin.redistribute_layout(array, rows, Layout([Dimension.even(4, p + 1), Dimension.whole(3)]), comm), "processes on"),
        (lambda: taquin.redistribute_layout(array, rows, columns, comm, extents=(1, 1)), "a part of an array"),
    ):
        with pytest.raises(taquin.UsageError, match=text):
            call()
        assert (array == 1).all()
    with pytest.raises(taquin.BudgetExceeded, match="needs at least"):
        taquin.redistribute_layout(array, rows, columns, comm, memory=1)
