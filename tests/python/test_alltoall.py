"""What mpi4py's own calls promise, through taquin's."""

import array

import numpy as np
import pytest
import taquin
from conftest import fill
from mpi4py import MPI

DTYPES = ["b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d", "g", "F", "D", "G", "?", "S1"]
RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S3")])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_alltoall_moves_equal_blocks(comm, dtype, n):
    p, r = comm.size, comm.rank
    send = np.concatenate([fill(r, i, n, dtype) for i in range(p)])
    recv = np.empty_like(send)
    taquin.alltoall(send, recv, comm)
    assert (recv == np.concatenate([fill(i, r, n, dtype) for i in range(p)])).all()
    taquin.alltoall(MPI.IN_PLACE, send, comm)
    assert (recv == send).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_alltoallv_moves_blocks_of_any_size(comm, dtype):
    p, r = comm.size, comm.rank
    counts, coming = [r + i for i in range(p)], [i + r for i in range(p)]
    send = np.concatenate([fill(r, i, counts[i], dtype) for i in range(p)])
    recv = np.empty(sum(coming), dtype)
    taquin.alltoallv([send, counts], [recv, coming], comm)
    expected = np.concatenate([fill(i, r, coming[i], dtype) for i in range(p)])
    assert (recv == expected).all()
    taquin.alltoallv(None, [send, counts], comm)  # symmetric counts: in place
    assert (send == expected).all()


@pytest.mark.parametrize("algorithm", ["native", "pairwise", "bruck_v", "spread_out"])
def test_forms_of_a_message_mean_the_same(comm, algorithm):
    p, r = comm.size, comm.rank
    send = np.concatenate([fill(r, i, 2, "i") for i in range(p)])
    expected = np.concatenate([fill(i, r, 2, "i") for i in range(p)])
    counts, displs = [2] * p, [2 * i for i in range(p)]
    for form in (
        lambda a: a,
        lambda a: [a, MPI.INT],
        lambda a: [a, "i"],
        lambda a: [a, counts],
        lambda a: [a, 2, MPI.INT],
        lambda a: [a, counts, MPI.INT],
        lambda a: [a, (counts, displs)],
        lambda a: [a, (counts, displs), MPI.INT],
        lambda a: [a, counts, displs, MPI.INT],
        lambda a: [a, np.array(counts), np.array(displs, "u4"), "i"],
        lambda a: (a, 2, 2, MPI.INT),
        lambda a: [a.view("u1"), MPI.INT],
    ):
        recv = np.zeros_like(send)
        taquin.alltoallv(form(send), form(recv), comm, algorithm=algorithm, memory="1M", check=True)
        assert (recv == expected).all()
    for form in (lambda a: [a, MPI.INT], lambda a: [a, 2, MPI.INT], lambda a: [a, 2], lambda a: [a, (2, 0), "i"]):
        recv = np.zeros_like(send)
        taquin.alltoall(form(send), form(recv), comm)
        assert (recv == expected).all()


def test_a_message_means_what_it_means_to_mpi4py(comm):
    p = comm.size
    send = np.arange(4 * p, dtype="i")
    for form in (lambda a: a, lambda a: [a, 2, MPI.INT], lambda a: [a, [2] * p, 3, MPI.INT], lambda a: [a, (2, 4)]):
        ours, theirs = np.full(4 * p, -1, "i"), np.full(4 * p, -1, "i")
        taquin.alltoallv(form(send), form(ours), comm)
        comm.Alltoallv(form(send), form(theirs))
        assert (ours == theirs).all()
    for form in (lambda a: a, lambda a: [a, 2, MPI.INT], lambda a: [a, MPI.INT]):
        ours, theirs = np.full(4 * p, -1, "i"), np.full(4 * p, -1, "i")
        taquin.alltoall(form(send), form(ours), comm)
        comm.Alltoall(form(send), form(theirs))
        assert (ours == theirs).all()


def test_any_buffer_object_serves(comm):
    p, r = comm.size, comm.rank
    expected = bytes(range(p))
    for recv in (bytearray(p), array.array("B", bytes(p)), memoryview(bytearray(p)), np.zeros(p, "u1")):
        for send in (bytes([r] * p), bytearray([r] * p), array.array("B", [r] * p), memoryview(bytes([r] * p))):
            taquin.alltoall(send, recv, comm)
            assert bytes(recv) == expected
    memory = MPI.Alloc_mem(p)
    taquin.alltoall(bytes([r] * p), memory, comm)
    assert bytes(memory) == expected
    MPI.Free_mem(memory)


@pytest.mark.parametrize("dtype", [RECORD, "f2", "M8[ns]", "m8[s]", "U4", "V7", ">f8"])
def test_items_that_mpi_does_not_know_travel_as_bytes(comm, dtype):
    p, r = comm.size, comm.rank
    dtype = np.dtype(dtype)
    make = lambda i, j: np.frombuffer(fill(i, j, 3 * dtype.itemsize, "u1").tobytes(), "u1").view(f"V{dtype.itemsize}")
    send = np.concatenate([make(r, i) for i in range(p)]).view(dtype)
    recv = np.empty_like(send)
    taquin.alltoallv([send, [3] * p], [recv, [3] * p], comm)
    assert recv.tobytes() == b"".join(make(i, r).tobytes() for i in range(p))


@pytest.mark.parametrize("algorithm", ["auto", "pairwise"])
def test_dtypes_of_ranks_may_differ_where_their_bytes_match(comm, algorithm):
    p, last = comm.size, comm.rank == comm.size - 1
    send = np.full(2 * p if last else p, comm.rank, "i4" if last else "i8")
    recv = np.empty_like(send)
    taquin.alltoall(send, recv, comm, algorithm=algorithm)
    sent = [np.full(2 if r == p - 1 else 1, r, "i4" if r == p - 1 else "i8").tobytes() for r in range(p)]
    assert recv.tobytes() == b"".join(sent), "nothing is converted"
    if p > 1:
        with pytest.raises(taquin.Error, match="byte"):
            taquin.alltoall(np.zeros(p, "i4" if last else "i8"), np.zeros(p, "i4" if last else "i8"), comm, check=True)


def test_fortran_order_is_contiguous_too(comm):
    p, r = comm.size, comm.rank
    send, recv = np.full((3, p), r, "d", order="F"), np.empty((3, p), "d", order="F")
    taquin.alltoall(send, recv, comm)
    assert (recv == np.arange(p)).all()


def test_vector_types_leave_holes_alone(comm):
    p, r = comm.size, comm.rank
    column = MPI.INT.Create_vector(3, 1, p).Create_resized(0, 4).Commit()
    matrix = np.arange(3 * p, dtype="i").reshape(3, p) + 100 * r
    out = np.full((3, 2 * p), -1, "i")
    wide = MPI.INT.Create_vector(3, 1, 2 * p).Create_resized(0, 8).Commit()
    taquin.alltoall([matrix, 1, column], [out, 1, wide], comm)
    assert (out[:, ::2] == (np.arange(p) * 100 + r) + (np.arange(3) * p)[:, None]).all()
    assert (out[:, 1::2] == -1).all()
    column.Free()
    wide.Free()


def test_alltoallw_takes_a_type_for_each_rank(comm):
    p, r = comm.size, comm.rank
    sent = np.concatenate([fill(r, i, 2, "f8" if i % 2 else "i4").view("u1") for i in range(p)])
    types = [MPI.DOUBLE if i % 2 else MPI.INT for i in range(p)]
    sizes = np.array([2 * t.Get_size() for t in types])
    displs = np.cumsum(sizes) - sizes
    mine = "f8" if r % 2 else "i4"
    recv = np.empty(2 * p, mine)
    every = np.dtype(mine).itemsize * 2 * np.arange(p)
    taquin.alltoallw([sent, [2] * p, displs, types], [recv, [2] * p, every, [types[r]] * p], comm, check=True)
    assert (recv == np.concatenate([fill(i, r, 2, mine) for i in range(p)])).all()
    again = np.empty_like(recv)
    taquin.alltoallw([sent, ([2] * p, displs), types], [again, ([2] * p, every), [types[r]] * p], comm)
    assert (again == recv).all()


def test_alltoallw_in_place(comm):
    p, r = comm.size, comm.rank
    data = np.array([10 * r + i for i in range(p)], "i")
    taquin.alltoallw(MPI.IN_PLACE, [data, [1] * p, [4 * i for i in range(p)], [MPI.INT] * p], comm)
    assert (data == [10 * i + r for i in range(p)]).all()


def test_zero_counts_need_no_buffer(comm):
    p = comm.size
    nothing = np.zeros(0)
    taquin.alltoall(nothing, nothing.copy(), comm)
    taquin.alltoallv([nothing, [0] * p], [nothing.copy(), [0] * p], comm)
    taquin.alltoallv([None, [0] * p, MPI.INT], [None, [0] * p, MPI.INT], comm)


@pytest.mark.parametrize("algorithm", ["auto", "in_place", "in_place_phases"])
def test_alltoallv_in_place_takes_any_counts(comm, algorithm):
    p, r = comm.size, comm.rank
    counts, coming = [100 * ((r + 2 * i) % 3) for i in range(p)], [100 * ((i + 2 * r) % 3) for i in range(p)]
    data = np.full(max(sum(counts), sum(coming)) + 5, -1.0)
    data[: sum(counts)] = np.concatenate([fill(r, i, counts[i], "d") for i in range(p)])
    tail = data[max(sum(counts), sum(coming)) :].copy()
    taquin.alltoallv_in_place(data, counts, coming, comm, algorithm=algorithm, memory="64K")
    assert (data[: sum(coming)] == np.concatenate([fill(i, r, coming[i], "d") for i in range(p)])).all()
    assert (data[max(sum(counts), sum(coming)) :] == tail).all()


def test_alltoallv_in_place_takes_types_and_displacements(comm):
    p, r = comm.size, comm.rank
    pairs = MPI.INT.Create_contiguous(2).Commit()
    data = np.repeat(np.array([10 * r + i for i in range(p)], "i"), 2)
    backwards = list(range(p))[::-1]
    taquin.alltoallv_in_place([data, pairs], [1] * p, ([1] * p, backwards), comm, scratch_sends=True)
    assert (data == np.repeat([10 * i + r for i in range(p)], 2)[::-1]).all()
    pairs.Free()


def test_subcommunicators_and_intercommunicators(comm):
    half = comm.Split(comm.rank % 2, comm.rank)
    data = np.full(half.size, half.rank)
    taquin.alltoall(MPI.IN_PLACE, data, half)
    assert (data == np.arange(half.size)).all()
    if comm.size > 1:
        inter = half.Create_intercomm(0, comm, 1 - comm.rank % 2)
        send, recv = np.full(inter.remote_size, comm.rank), np.zeros(inter.remote_size, int)
        taquin.alltoall(send, recv, inter)
        assert (recv == [i for i in range(comm.size) if i % 2 != comm.rank % 2]).all()
        inter.Free()
    half.Free()


def test_counts_have_64_bits(comm):
    p, r = comm.size, comm.rank
    empty = MPI.BYTE.Create_contiguous(0).Commit()  # many elements without data
    many = 1 << 33
    taquin.alltoallv([bytearray(1), [many] * p, [0] * p, empty], [bytearray(1), [many] * p, [0] * p, empty], comm)
    empty.Free()
    send, recv = np.full(p, r, "u1"), np.zeros(p, "u1")
    big = np.array([1] * p, np.int64)
    taquin.alltoallv([send, (big, np.arange(p, dtype=np.int64))], [recv, big.astype(np.uint64)], comm)
    assert (recv == np.arange(p)).all()


def test_statistics_add_up(comm):
    p = comm.size
    done = taquin.Statistics()
    for _ in range(2):
        taquin.alltoall(np.zeros(p), np.zeros(p), comm, statistics=done, algorithm="pairwise", memory=1 << 20)
    assert done.starts == 2 and done.algorithm == "pairwise"
    assert done.messages == 2 * (p - 1) and done.bytes_sent == 16 * (p - 1)
    assert 0 <= done.peak_memory <= 1 << 20
