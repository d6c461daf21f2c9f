"""Adapters against the packages that they are for."""

import numpy as np
import pytest
from mpi4py_fft.pencil import Pencil, Subcomm
from taquin import Blocks, BudgetExceeded, UsageError, adapters

SHAPES = [(8, 12, 4), (7, 9, 5)]


def pencils(comm, shape, dims):
    subcomm = Subcomm(comm, dims)
    first = Pencil(subcomm, shape, 2)
    return subcomm, first, first.pencil(1 if dims[0] == 1 else 0)


def block(pencil, dtype):
    whole = np.arange(np.prod(pencil.shape)).reshape(pencil.shape).astype(dtype)
    part = tuple(slice(start, start + n) for start, n in zip(pencil.substart, pencil.subshape))
    return whole[part].copy()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dims", [[0, 1, 1], [1, 0, 1], [0, 0, 1]])
@pytest.mark.parametrize("dtype", [float, complex])
def test_one_array_goes_where_two_go_with_mpi4py_fft(comm, shape, dims, dtype):
    subcomm, first, second = pencils(comm, shape, dims)
    transfer = first.transfer(second, dtype)
    storage = np.empty(max(np.prod(first.subshape), np.prod(second.subshape)), dtype)
    there = storage[: np.prod(first.subshape)].reshape(first.subshape)
    there[...] = block(first, dtype)
    wanted = np.empty(second.subshape, dtype)
    transfer.forward(there, wanted)

    here = adapters.transfer_in_place(transfer, there, storage=storage)
    assert np.array_equal(here, wanted) and np.shares_memory(here, storage)
    back = adapters.transfer_in_place(transfer, here, storage=storage, backward=True)
    assert np.array_equal(back, block(first, dtype)) and np.shares_memory(back, storage)
    transfer.destroy()
    subcomm.destroy()


def test_an_array_that_does_not_fit_is_an_error_on_every_rank(comm):
    subcomm, first, second = pencils(comm, (8, 12, 4), [0, 1, 1])
    transfer = first.transfer(second, float)
    array = block(first, float)
    with pytest.raises(UsageError, match="this rank's block has the shape"):
        adapters.transfer_in_place(transfer, array[..., :-1].copy() if comm.rank == 0 else array)
    if comm.size > 1:
        with pytest.raises(BudgetExceeded):
            adapters.transfer_in_place(transfer, array, memory=0)
    assert np.array_equal(array, block(first, float))
    transfer.destroy()
    subcomm.destroy()


class MPIArray(np.ndarray):
    """What caput documents of its class of this name."""

    @classmethod
    def wrap(cls, block, axis, comm):
        array = np.asarray(block).view(cls)
        array.axis, array.comm = axis, comm
        shape = list(block.shape)
        shape[axis] = comm.allreduce(shape[axis])
        array.global_shape = tuple(shape)
        return array


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (1, 7), (1, "x")])
def test_an_axis_that_differs_between_ranks_is_an_error_on_every_rank(comm, axes):
    if comm.size == 1:
        return
    array = MPIArray.wrap(np.full((2, comm.size, 3), comm.rank), 0, comm)
    with pytest.raises(UsageError, match="rank 1 requests axis .* of an array along axis 0, rank 0 for") as caught:
        adapters.redistribute_mpi_array(array, axes[comm.rank > 0])
    assert caught.value.rank == 1 and (array == comm.rank).all()


@pytest.mark.parametrize("axis", [3, -4, "x"])
def test_an_axis_that_the_array_has_not_is_an_error_on_every_rank(comm, axis):
    array = MPIArray.wrap(np.full((2, comm.size, 3), comm.rank), 0, comm)
    with pytest.raises(UsageError, match="the axis must be 0 to 2"):
        adapters.redistribute_mpi_array(array, axis)
    assert (array == comm.rank).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0)])
def test_an_array_of_caput_changes_its_axis_in_place(comm, shape, axes):
    whole = np.arange(np.prod(shape)).reshape(shape)
    first, second = (
        Blocks(shape, tuple(comm.size if k == axis else 1 for k in range(3))).local_slice(comm.rank) for axis in axes
    )
    array = MPIArray.wrap(whole[first].copy(), axes[0], comm)
    assert adapters.redistribute_mpi_array(array, axes[0]) is array
    moved = adapters.redistribute_mpi_array(array, axes[1])
    assert isinstance(moved, MPIArray) and moved.axis == axes[1] and moved.global_shape == shape
    assert np.array_equal(np.asarray(moved), whole[second])
    assert np.shares_memory(moved, array) or moved.nbytes > array.nbytes
    if comm.size > 1:
        with pytest.raises(BudgetExceeded):
            adapters.redistribute_mpi_array(moved, axes[0], memory=0)
        assert np.array_equal(np.asarray(moved), whole[second])


def parts(comm, shape, first, second, dtype):
    """This rank's slab along `first`, cut along `second` where httomo cuts: at round(r * length / ranks)."""
    whole = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    cuts = {axis: [round(shape[axis] / comm.size * r) for r in range(1, comm.size)] for axis in (first, second)}
    block = np.split(whole, cuts[first], axis=first)[comm.rank].copy()
    return np.split(whole, cuts[second], axis=second)[comm.rank], block, np.split(block, cuts[second], axis=second)


@pytest.mark.parametrize("shape", [(8, 12, 4), (7, 9, 5), (2, 9, 3), (9, 1, 2)])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (1, 2), (2, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
def test_parts_are_joined_in_place_as_by_httomo(comm, shape, axes, dtype):
    wanted, block, arrays = parts(comm, shape, *axes, dtype)
    got = adapters.alltoall_in_place(arrays, comm, axes[0])
    assert got.dtype == dtype and np.array_equal(got, wanted)
    assert np.shares_memory(got, block) or got.nbytes > block.nbytes or got.size == 0


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (1, 2), (2, 0)])
@pytest.mark.parametrize("who", ["all", "last"])
def test_arrays_with_memory_of_their_own_are_joined_too(comm, axes, who):
    wanted, _, arrays = parts(comm, (8, 8, 8), *axes, np.float32)
    if who == "all" or comm.rank == comm.size - 1:
        arrays = [a.copy() for a in arrays]
    assert np.array_equal(adapters.alltoall_in_place(arrays, comm, axes[0]), wanted)


def test_slabs_of_any_lengths_are_joined(comm):
    arrays = [np.full((5 + comm.rank, 4, 3), comm.rank, np.float32) for _ in range(comm.size)]
    wanted = np.concatenate([np.full((5 + r, 4, 3), r, np.float32) for r in range(comm.size)])
    assert np.array_equal(adapters.alltoall_in_place(arrays, comm), wanted)


def test_parts_that_do_not_fit_are_an_error_on_every_rank(comm):
    _, block, arrays = parts(comm, (8, 12, 4), 0, 1, np.float32)
    ragged = [np.zeros((2, 3 + r, 4 + r), np.float32) for r in range(comm.size)]
    with pytest.raises(UsageError, match=f"rank {comm.size - 1}: {comm.size} NumPy arrays"):
        adapters.alltoall_in_place([] if comm.rank == comm.size - 1 else arrays, comm)
    with pytest.raises(UsageError, match="concat_axis must be 0, 1 or 2, got 3"):
        adapters.alltoall_in_place(arrays, comm, 3)
    with pytest.raises(UsageError, match="rank 0: memory='much' is no size"):
        adapters.alltoall_in_place(arrays, comm, memory="much" if comm.rank == 0 else None)
    if comm.size > 1:
        with pytest.raises(UsageError, match="rank 0: the arrays differ in type, in axis 0, or in more than one other"):
            adapters.alltoall_in_place(ragged if comm.rank == 0 else arrays, comm)
        other = parts(comm, (8, 12, 4 if comm.rank == 0 else 5), 0, 1, np.float32)[2]
        with pytest.raises(UsageError, match="rank 1: its arrays have other shapes or types than rank 0"):
            adapters.alltoall_in_place(other, comm)
        with pytest.raises(BudgetExceeded):
            adapters.alltoall_in_place(arrays, comm, memory=0)
    assert np.array_equal(block, parts(comm, (8, 12, 4), 0, 1, np.float32)[1])
