"""Ways into other packages, which then exchange with taquin. Importing this module does not need them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._blocks import Blocks
from ._options import Memory
from ._redistribution import redistribute_nd


def transfer_in_place(
    transfer: Any, array: Any, *, backward: bool = False, memory: Memory = None, storage: Any = None
) -> Any:
    """Does what a ``Transfer`` of mpi4py-fft does, in the memory of one array; returns the other pencil, a view of it.

    Collective over the transfer's communicator. The errors are those of :func:`redistribute_nd`.

    :param transfer: ``pencil.transfer(other, dtype)`` of mpi4py-fft.
    :param array: this rank's block, of the shape ``subshapeA``; with `backward` of ``subshapeB``. What it holds
        is lost.
    :param backward: from the second pencil to the first.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit.
    :param storage: a contiguous array that begins where `array` does and may be used. Where it, or `array`, is smaller
        than the other pencil, the result is a new array.
    """
    first, second = [1] * len(transfer.shape), [1] * len(transfer.shape)
    first[transfer.axisB] = second[transfer.axisA] = transfer.comm.Get_size()
    source, target = Blocks(transfer.shape, tuple(first)), Blocks(transfer.shape, tuple(second))
    if backward:
        source, target = target, source
    return redistribute_nd(array, source, target, transfer.comm, memory=memory, storage=storage)


def redistribute_mpi_array(array: Any, axis: int, *, memory: Memory = None) -> Any:
    """Does what ``MPIArray.redistribute(axis)`` of caput does, in the memory of the array: returns an MPIArray that is
    distributed along `axis`. What `array` held is lost, unless it is distributed so already: then it is returned.

    Collective over the array's communicator. The errors are those of :func:`redistribute_nd`.

    :param array: an MPIArray: a NumPy array with ``axis``, ``global_shape`` and ``comm``, of a class with
        ``wrap(block, axis, comm)``. Where an axis does not divide the first ranks have one more.
    :param axis: the axis wanted.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit.
    """
    if axis == array.axis or array.comm is None:
        return array
    ranks, axes = array.comm.Get_size(), range(len(array.global_shape))
    source, target = (
        Blocks(array.global_shape, tuple(ranks if k == along else 1 for k in axes)) for along in (array.axis, axis)
    )
    block = redistribute_nd(np.asarray(array), source, target, array.comm, memory=memory)
    return type(array).wrap(block, axis, array.comm)
