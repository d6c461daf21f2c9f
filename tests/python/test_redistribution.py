"""Rows and blocks of arrays, in place."""

import ctypes
import itertools
import mmap
import re

import numpy as np
import pytest
import taquin
from mpi4py import MPI
from test_bad_input import everywhere

RECORD = np.dtype([("id", "i8"), ("position", "f4", 3), ("tag", "S2")])


def rows_of(rank, n):
    rows = np.zeros(n, RECORD)
    rows["id"] = np.arange(n) + 1000 * rank
    rows["tag"] = b"%d" % (rank % 10)
    return rows


@pytest.mark.parametrize("form", ["list", "array", "function"])
def test_rows_go_where_they_belong_in_order(comm, form):
    p, r = comm.size, comm.rank
    n = 40 + 10 * r
    rows = rows_of(r, n)
    storage = np.zeros(200, RECORD)
    storage[:n] = rows
    to = (rows["id"] // 3) % p
    destination = {"list": to.tolist(), "array": to.astype("u1"), "function": lambda part: (part["id"] // 3) % p}[form]
    here = taquin.migrate(storage, destination, comm, count=n, memory="1M")
    assert np.shares_memory(here, storage)
    everything = np.concatenate([rows_of(i, 40 + 10 * i) for i in range(p)])
    assert (here == everything[(everything["id"] // 3) % p == r]).all()


def test_more_rows_than_fit_get_new_memory(comm):
    p, r = comm.size, comm.rank
    rows = np.full((10, 2), r)
    here = taquin.migrate(rows, [0] * 10, comm, memory="1M")
    assert len(here) == (10 * p if r == 0 else 0)
    if r == 0:
        assert (here[:, 0] == np.repeat(np.arange(p), 10)).all()
        assert np.shares_memory(here, rows) == (p == 1)


def test_an_array_that_grows_keeps_to_less_memory_than_it_has(comm):
    p, r = comm.size, comm.rank
    rows = np.full((4096, 128), r, "d")  # 4 MiB, allocated by NumPy: its pages move
    done = taquin.Statistics()
    here = taquin.migrate(rows, np.zeros(len(rows), int), comm, memory="1M", statistics=done)
    assert done.peak_memory <= 1 << 20
    assert (here == np.repeat(np.arange(p), 4096 if r == 0 else 0)[:, None]).all()


@pytest.mark.parametrize("form", ["array", "function"])
def test_several_arrays_migrate_as_one(comm, form):
    p, r = comm.size, comm.rank
    n = 40 + 10 * r
    table = {"x": np.zeros((n, 3)), "id": np.arange(n) + 1000 * r, "record": rows_of(r, n)}
    table["x"][:, 1] = table["id"] + 0.5
    to = table["id"] % p
    done = taquin.Statistics()
    here = taquin.migrate(table, to if form == "array" else lambda part: part["id"] % p, comm, statistics=done)
    assert list(here) == list(table) and done.starts == 1
    ids = np.concatenate([np.arange(40 + 10 * i) + 1000 * i for i in range(p)])
    everything = np.concatenate([rows_of(i, 40 + 10 * i) for i in range(p)])
    assert (here["id"] == ids[ids % p == r]).all()
    assert (here["x"] == np.stack([0 * here["id"], here["id"] + 0.5, 0 * here["id"]], 1)).all()
    assert (here["record"] == everything[ids % p == r]).all()


def test_all_of_several_arrays_grow_or_none(comm, monkeypatch):
    p, r = comm.size, comm.rank
    table = {"a": np.full((9000, 2), r, "d"), "b": np.full(9000, r, "i4")}  # the pages of the first one move
    make = lambda: {name: a.copy() for name, a in table.items()}
    if r == 0:
        without_memory(monkeypatch)  # for the second one
    if p > 1:
        given = make()
        with pytest.raises(taquin.UsageError, match="no room for the array") as error:
            taquin.migrate(given, [0] * 9000, comm)
        assert error.value.rank == 0 and all((given[name] == r).all() for name in given)
    monkeypatch.undo()
    here = taquin.migrate(make(), [0] * 9000, comm)
    came = np.repeat(np.arange(p), 9000 if r == 0 else 0)
    assert (here["a"] == came[:, None]).all() and (here["b"] == came).all()


@pytest.mark.parametrize("wrong, text", [
    ({}, "without arrays"), ({"a": np.zeros(4), "b": np.zeros(5)}, "different lengths"), ({0: np.zeros(4)}, "must be strings"),
    ({"a": np.zeros(4), "b": [0] * 4}, "must be a NumPy array"), ({"b": np.zeros(4), "a": np.zeros(4)}, "a: float64"),
    ({"a": np.zeros(4)}, "a: float64")])
def test_invalid_tables_are_the_error_of_all(comm, wrong, text):
    good = {"a": np.zeros(4), "b": np.zeros(4)}
    guilty = comm.rank == comm.size - 1
    if comm.size == 1 and text == "a: float64":
        pytest.skip("two ranks disagree")
    with pytest.raises(taquin.UsageError, match=text):
        taquin.migrate(wrong if guilty else good, [0] * 4, comm)
    assert len(taquin.migrate(good, [comm.rank] * 4, comm)["b"]) == 4


def without_memory(monkeypatch):
    def empty(*_):
        raise MemoryError("no room for the array")

    monkeypatch.setattr(np, "empty", empty)


def test_rows_stay_where_one_rank_has_no_memory_for_what_arrives(comm, monkeypatch):
    last = comm.size - 1
    rows = np.full((10, 2), comm.rank)
    if comm.rank == last:
        without_memory(monkeypatch)
    if comm.size > 1:
        with pytest.raises(taquin.UsageError, match="no room for the array") as error:
            taquin.migrate(rows, [last] * 10, comm)
        assert error.value.rank == last
        assert isinstance(error.value.__cause__, MemoryError) == (comm.rank == last)
    assert (rows == comm.rank).all()
    monkeypatch.undo()
    assert len(taquin.migrate(rows, [last] * 10, comm)) == (10 * comm.size if comm.rank == last else 0)


def test_arrays_stay_where_one_rank_has_no_memory_for_a_larger_block(comm, monkeypatch):
    p, r = comm.size, comm.rank
    shape = (p, p + 1)  # along the second axis the first rank has a column more
    whole = np.arange(p * (p + 1)).reshape(shape)
    source, target = taquin.Blocks(shape, (p, 1)), taquin.Blocks(shape, (1, p))
    block = whole[source.local_slice(r)].copy()
    if r == 0:
        without_memory(monkeypatch)
    if p > 1:
        with pytest.raises(taquin.UsageError, match="no room for the array") as error:
            taquin.redistribute_nd(block, source, target, comm)
        assert error.value.rank == 0
    assert (block == whole[source.local_slice(r)]).all()
    monkeypatch.undo()
    assert (taquin.redistribute_nd(block, source, target, comm) == whole[target.local_slice(r)]).all()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (5, 0), (7, 2, 3)])
def test_any_rows_migrate(comm, shape):
    r = comm.rank
    rows = np.full(shape, r, "i2")
    here = taquin.migrate(rows, np.full(len(rows), (r + 1) % comm.size), comm)
    assert here.shape == shape and (here == (r - 1) % comm.size).all()


def test_migrations_of_many_rows_keep_to_their_memory(comm):
    p, r = comm.size, comm.rank
    rows = np.full((40000, 8), r, "d")
    done = taquin.Statistics()
    limit = 2_000_000
    here = taquin.migrate(rows, lambda part: np.arange(len(part)) % p, comm, count=30000, memory=limit * 3, statistics=done)
    assert done.peak_memory <= 3 * limit
    assert len(here) == sum(len(range(r, chunk, p)) for chunk in (16384, 30000 - 16384)) * p
    assert (np.diff(here[:, 0]) >= 0).all()


def test_a_redistribution_runs_again_and_again(comm):
    p, r = comm.size, comm.rank
    rows = rows_of(r, 6)
    move = taquin.Redistribution(rows, comm, memory="1M")
    for _ in range(3):
        move([(r + 1) % p] * 6, [5, 4, 3, 2, 1, 0])
    expected = rows_of((r - 3) % p, 6)
    assert (rows == expected[::-1]).all()
    assert move.algorithm and move.peak_memory >= move.memory
    assert move.statistics.starts == 3
    other = rows_of(r, 6)
    move.array = other
    move(np.array([(r + 1) % p] * 5), np.arange(5))
    assert (other[:5] == rows_of((r - 1) % p, 5)).all()


@pytest.mark.parametrize("algorithm", ["slots", "basic_phases", "parking", "cyclic"])
def test_each_redistribution_algorithm_serves(comm, algorithm):
    p, r = comm.size, comm.rank
    rows = np.arange(50) + 50 * r
    taquin.Redistribution(rows, comm, algorithm=algorithm)([(r + 1) % p] * 50, np.arange(50)[::-1])
    assert (rows == (np.arange(50) + 50 * ((r - 1) % p))[::-1]).all()


def test_rows_are_sorted_by_destination(comm):
    p = comm.size
    rows = np.arange(20)
    ranks, places = (np.arange(20) % (p + 1) - 1).astype("i4"), np.arange(20, dtype="i4")
    wanted = ranks.copy()
    taquin.Redistribution(rows, comm).sort(ranks, places)
    assert sorted(rows[ranks >= 0]) == list(np.flatnonzero(wanted >= 0)) and (places == rows)[ranks >= 0].all()
    assert (wanted[rows[ranks >= 0]] == ranks[ranks >= 0]).all()
    assert (np.diff(ranks[ranks >= 0]) >= 0).all() and (ranks[(wanted >= 0).sum() :] == -1).all()


def copied_in_a_shift(comm, least_progress):
    rows = np.arange(60) + 60.0 * comm.rank
    to = np.full(60, (comm.rank + 1) % comm.size)
    to[-1] = -1
    move = taquin.Redistribution(rows, comm, algorithm="parking", least_progress=least_progress)
    move(to, np.arange(60))
    assert (rows[:-1] == np.arange(59) + 60.0 * ((comm.rank - 1) % comm.size)).all()
    return comm.allreduce(move.statistics.bytes_copied)


def test_little_progress_makes_an_algorithm_hand_over(comm):
    without, with_it = copied_in_a_shift(comm, 0), copied_in_a_shift(comm, 0.1)
    assert comm.size < 3 or 4 * with_it < without


@pytest.mark.parametrize("part", [-0.5, 1.5, float("nan"), "half"])
def test_a_part_of_progress_is_a_number_from_0_to_1(comm, part):
    def make(guilty):
        return taquin.Redistribution(np.arange(3), comm, least_progress=part if guilty else 0.5)

    everywhere(comm, make, "least_progress")


def grids(p, axes):
    return [g for g in itertools.product(range(1, p + 1), repeat=axes) if np.prod(g) == p]


@pytest.mark.parametrize("shape", [(6, 8, 10), (5, 7, 3), (30, 40, 50), (0, 4, 4)])
@pytest.mark.parametrize("dtype", ["d", RECORD])
def test_arrays_go_between_all_block_distributions(comm, shape, dtype):
    p, r = comm.size, comm.rank
    dtype = np.dtype(dtype)
    size = int(np.prod(shape))
    whole = np.arange(size * dtype.itemsize, dtype=np.uint64).astype("u1").view(dtype).reshape(shape)
    all_grids = grids(p, 3)
    for a, b in [(g, all_grids[(i + k) % len(all_grids)]) for i, g in enumerate(all_grids) for k in (0, 1)]:
        source, target = taquin.Blocks(shape, a), taquin.Blocks(shape, b)
        storage, block = taquin.allocate(dtype, comm, source, target)
        block[...] = whole[source.local_slice(r)]
        here = taquin.redistribute_nd(block, source, target, comm, storage=storage)
        assert here.tobytes() == whole[target.local_slice(r)].tobytes(), (a, b)
        assert here.size == 0 or np.shares_memory(here, storage)
        back = taquin.redistribute_nd(here.copy(), target, source, comm)
        assert back.tobytes() == whole[source.local_slice(r)].tobytes(), (a, b)


@pytest.mark.parametrize("shape", [(6, 9), (40, 50)])
def test_blocks_may_have_any_lengths(comm, shape):
    p, r = comm.size, comm.rank
    whole = np.arange(np.prod(shape)).reshape(shape)
    last = (0,) * (p - 1)  # the last rank has all rows
    longer = tuple(np.minimum(np.arange(1, p) * 4, shape[1]))
    rows, columns = taquin.Blocks(shape, (p, 1), (last, None)), taquin.Blocks(shape, (1, p), (None, longer))
    even = taquin.Blocks(shape, (p, 1))
    for source, target in ((rows, columns), (columns, rows), (even, rows), (columns, even)):
        here = taquin.redistribute_nd(whole[source.local_slice(r)].copy(), source, target, comm)
        assert np.array_equal(here, whole[target.local_slice(r)])


def test_cuts_that_do_not_fit_are_told(comm):
    for cuts, text in (
        (((2,),), "one entry per axis"),
        (((2, 3), None), "2 blocks along axis 0 need 1 cuts, not 2"),
        (((7,), None), "not in order, or outside 0 to 6"),
        (((-1,), None), "not in order, or outside 0 to 6"),
    ):
        with pytest.raises(ValueError, match=text):
            taquin.Blocks((6, 4), (2, 1), cuts)
    with pytest.raises(ValueError, match="not in order"):
        taquin.Blocks((6, 4), (3, 1), ((4, 2), None))
    if comm.size > 1:  # ranks that cut otherwise
        blocks = taquin.Blocks((6, 4), (comm.size, 1), ((comm.rank > 0,) * (comm.size - 1), None))
        with pytest.raises(taquin.UsageError, match="disagree on the layouts"):
            taquin.redistribute_nd(np.zeros(blocks.local_shape(comm.rank)), blocks, blocks, comm)


def test_arrays_of_other_ranks_of_dimension(comm):
    p, r = comm.size, comm.rank
    for axes in (1, 2, 4, 5):
        shape = tuple(range(3, 3 + axes))
        whole = np.arange(np.prod(shape)).reshape(shape)
        source = taquin.Blocks(shape, (p,) + (1,) * (axes - 1))
        target = taquin.Blocks(shape, (1,) * (axes - 1) + (p,))
        here = taquin.redistribute_nd(whole[source.local_slice(r)].copy(), source, target, comm)
        assert (here == whole[target.local_slice(r)]).all()


@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (1, 30), (30, 1), (200, 301), (3, 20000), (20000, 3)])
@pytest.mark.parametrize("dtype", ["u1", "i4", "d", "D", "S3"])
def test_matrices_are_transposed(comm, shape, dtype):
    p, r = comm.size, comm.rank
    whole = (np.arange(np.prod(shape)) % 97).reshape(shape).astype(dtype)
    source, target = taquin.Blocks(shape, (p, 1)), taquin.Blocks(shape[::-1], (p, 1))
    storage, block = taquin.allocate(dtype, comm, source, target)
    block[...] = whole[source.local_slice(r)]
    here = taquin.transpose(block, comm, storage=storage)
    assert (here == whole.T[target.local_slice(r)]).all()
    assert here.size == 0 or np.shares_memory(here, storage)


def test_blocks_are_redistributed_in_a_few_percent(comm):
    p, r = comm.size, comm.rank
    shape = (128, 128, 96)
    source, target = taquin.Blocks(shape, (p, 1, 1)), taquin.Blocks(shape, (1, p, 1))
    storage, block = taquin.allocate("D", comm, source, target)
    block[...] = r
    done = taquin.Statistics()
    limit = storage.nbytes // 10
    here = taquin.redistribute_nd(block, source, target, comm, storage=storage, memory=limit, statistics=done)
    assert 0 < done.peak_memory <= limit
    rows = here.shape[0] // p if shape[0] % p == 0 else None
    if rows:
        assert (here[::rows, 0, 0] == np.arange(p)).all()
    taquin.transpose(np.zeros((128 * p, 96 * p)), comm, memory="256K", statistics=done)


@pytest.mark.parametrize("more", [0, 1])
def test_pages_of_runs_go_straight_to_their_places(comm, more):
    p, r = comm.size, comm.rank
    shape = (16 * p, 16 * p + more, 64)
    whole = np.arange(np.prod(shape), dtype=float).reshape(shape)
    source, target = taquin.Blocks(shape, (p, 1, 1)), taquin.Blocks(shape, (1, p, 1))
    storage, block = taquin.allocate(float, comm, source, target)
    block[...] = whole[source.local_slice(r)]
    dealt = 2 * (block.nbytes + whole[target.local_slice(r)].nbytes)  # what is copied where pages are dealt and collected
    done = taquin.Statistics()
    here = taquin.redistribute_nd(block, source, target, comm, storage=storage, memory="1M", statistics=done)
    assert (here == whole[target.local_slice(r)]).all()
    assert more or done.bytes_copied < dealt


def grown(comm, make):
    """A block of 6 MB that grows by a sixth on the first rank: which of it there was, and what has come of it."""
    p, r = comm.size, comm.rank
    rows, columns = 6 * p, 504
    whole = np.arange(rows * columns * 256, dtype=float).reshape(rows, columns, 256)
    cuts = tuple((504 * k + 84) // p for k in range(1, p))
    source, target = taquin.Blocks(whole.shape, (p, 1, 1)), taquin.Blocks(whole.shape, (1, p, 1), (None, cuts, None))
    block = make(whole[source.local_slice(r)])
    return block, source, target, whole[target.local_slice(r)]


@pytest.mark.parametrize("first", [0, 1, 700])
def test_pages_of_a_block_move_where_it_grows(comm, first):
    def inside_another(block):
        """Whose items must stay."""
        around = np.full(first + block.size + 999, -1.0)
        part = around[first : first + block.size].reshape(block.shape)
        part[...] = block
        return part

    block, source, target, wanted = grown(comm, inside_another)
    done, limit = taquin.Statistics(), 800_000
    here = taquin.redistribute_nd(block, source, target, comm, memory=limit, statistics=done)
    assert np.array_equal(here, wanted) and done.peak_memory <= limit
    assert (block.base[:first] == -1).all() and (block.base[first + block.size :] == -1).all()
    if comm.size > 1 and comm.rank == 0:
        assert not np.shares_memory(here, block) and not block.ravel()[512:-512].any()
        block[...] = 1  # still its memory
    again = taquin.Blocks(source.shape, (1, comm.size, 1))
    here = taquin.redistribute_nd(here, target, again, comm, memory=limit)  # where pages have moved to they move, too
    there = taquin.redistribute_nd(here, again, target, comm, memory=limit)
    assert np.array_equal(there, wanted)


def test_pages_move_where_memory_is_mapped_in_parts(comm):
    def in_parts(block):
        block, dont_dump = block.copy(), 16
        page = -(-block.__array_interface__["data"][0] // mmap.PAGESIZE) * mmap.PAGESIZE
        advise = ctypes.CDLL(None, use_errno=True).madvise
        for first in (17, 40):
            part = ctypes.c_void_p(page + first * mmap.PAGESIZE), ctypes.c_size_t(3 * mmap.PAGESIZE)
            assert advise(*part, dont_dump) == 0
        return block

    block, source, target, wanted = grown(comm, in_parts)
    here = taquin.redistribute_nd(block, source, target, comm, memory=800_000)
    assert np.array_equal(here, wanted)
    assert comm.size == 1 or comm.rank > 0 or not block.ravel()[512:-512].any()


@pytest.mark.parametrize("shape", [(64, 96), (501, 333)])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_bytes_that_an_array_needs_are_named_exactly(comm, shape, transposed):
    if comm.size == 1:
        pytest.skip("nothing moves")
    whole = np.arange(np.prod(shape), dtype=float).reshape(shape)
    rows, columns = taquin.Blocks(shape, (comm.size, 1)), taquin.Blocks(shape, (1, comm.size))
    block = whole[rows.local_slice(comm.rank)]
    wanted = whole[columns.local_slice(comm.rank)]
    if transposed:
        wanted = whole.T[taquin.Blocks(shape[::-1], (comm.size, 1)).local_slice(comm.rank)]
    storage = np.zeros(comm.allreduce(max(block.size, wanted.size), MPI.MAX))

    def attempt(memory):
        here = storage[: block.size].reshape(block.shape)
        here[...] = block
        if transposed:
            return taquin.transpose(here, comm, storage=storage, memory=memory)
        return taquin.redistribute_nd(here, rows, columns, comm, storage=storage, memory=memory)

    with pytest.raises(taquin.BudgetExceeded) as caught:
        attempt(1)
    least = caught.value.requested
    assert f"needs at least {least} bytes" in str(caught.value)
    usual = int(re.search(r"; (\d+) are as good as no limit", str(caught.value))[1])
    assert usual > least
    with pytest.raises(taquin.BudgetExceeded):
        attempt(least - 1)
    for memory in (least, least + 1, 2 * least, usual):
        assert np.array_equal(attempt(memory), wanted)


@pytest.mark.parametrize("whose", ["file", "MPI", "buffer"])
def test_memory_of_others_is_copied_where_a_block_grows(comm, tmp_path, whose):
    def owned(block):
        if whose == "file":
            memory = np.memmap(tmp_path / f"{comm.rank}", float, "w+", shape=block.shape)
        elif whose == "MPI":
            memory = np.frombuffer(MPI.Alloc_mem(block.nbytes), float).reshape(block.shape)
        else:
            memory = np.frombuffer(bytearray(block.nbytes), float).reshape(block.shape)
        memory[...] = block
        return memory

    block, source, target, wanted = grown(comm, owned)
    kept = block.copy()
    if comm.size > 1:
        with pytest.raises(taquin.BudgetExceeded):  # it is there twice
            taquin.redistribute_nd(block, source, target, comm, memory=800_000)
    assert np.array_equal(block, kept)
    done = taquin.Statistics()
    here = taquin.redistribute_nd(block, source, target, comm, statistics=done)
    assert np.array_equal(here, wanted) and (comm.size == 1 or done.peak_memory > block.nbytes)
    if comm.size > 1 and comm.rank == 0:
        assert np.array_equal(block, kept)


def test_blocks_say_who_has_what():
    blocks = taquin.Blocks((7, 5), (2, 3))
    seen = np.zeros((7, 5), int)
    for rank in range(blocks.ranks):
        seen[blocks.local_slice(rank)] += 1
        assert blocks.local_size(rank) == np.prod(blocks.local_shape(rank))
    assert (seen == 1).all()
    assert [blocks.local_shape(i) for i in (0, 5)] == [(4, 2), (3, 1)]
    for shape, grid in (((3,), (1, 1)), ((3,), (0,)), ((-1,), (1,)), ((), ())):
        with pytest.raises(ValueError):
            taquin.Blocks(shape, grid)
    with pytest.raises(ValueError):
        blocks.local_slice(6)


def test_rows_are_rolled_back_to_where_they_were(comm):
    p, r = comm.size, comm.rank
    rows = rows_of(r, 30)
    to, at = (np.arange(30) + r) % p, (np.arange(30) + 7) % 30
    redistribute = taquin.Redistribution(rows, comm, algorithm="slots")
    redistribute(to, at)
    assert not (rows == rows_of(r, 30)).all()
    with pytest.raises(taquin.UsageError, match="one place per rank"):
        redistribute.roll_back(comm, to, at[:5])
    survivors = comm.Dup()
    before = redistribute.roll_back(survivors, to, at)
    assert before.known and before.unit_bytes == RECORD.itemsize and before.staged == b""
    to, at = np.full(30, -1), np.zeros(30, int)
    for parts, own in (before.outgoing, False), (before.incoming, True):
        for part in parts:
            to[part.at : part.at + part.length] = r if own else part.peer
            at[part.at : part.at + part.length] = range(part.offset, part.offset + part.length)
    redistribute(to, at)
    assert (rows == rows_of(r, 30)).all()
    repaired = redistribute.repair(survivors)
    assert repaired.outgoing == [] and {part.state for part in repaired.incoming} <= {taquin.State.ARRIVED}
    del redistribute
    survivors.Free()
