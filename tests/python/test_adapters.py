"""Adapters against the packages that they are for."""

import numpy as np
import pytest
from mpi4py_fft.pencil import Pencil, Subcomm
from taquin import BudgetExceeded, UsageError, adapters

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
