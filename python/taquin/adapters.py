"""Ways into other packages, which then exchange with taquin. Importing this module does not need them."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._blocks import Blocks
from ._errors import UsageError
from ._options import Memory, memory_bytes
from ._redistribution import Redistribution, redistribute_nd


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


def alltoall_in_place(arrays: Sequence[Any], comm: Any, concat_axis: int = 0, *, memory: Memory = None) -> Any:
    """Does what ``alltoall_ring(arrays, comm, concat_axis)`` of httomo does, in the memory that the arrays are views of:
    ``arrays[i]`` goes to rank i; what comes is returned, joined along `concat_axis` in the order of ranks.

    Collective over `comm`. What the arrays held is lost. Where more comes than goes, the result is a new array, which
    counts as extra memory.

    :param arrays: one for each rank: the parts of a contiguous array of three axes, as ``numpy.split`` makes them along
        an axis other than `concat_axis`.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit. That of :func:`redistribute_nd` where
        the array is cut as :class:`Blocks` cuts; else about 110 bytes for each run of items that stay together: those
        of the last axis, or one item where that is split or joined.
    :raises UsageError: on every rank with the arrays kept, when the arrays of any rank are not such parts.
    :raises BudgetExceeded: on every rank with the arrays kept, when `memory` is too small.
    """
    rank, ranks, wrong, block, split = comm.Get_rank(), comm.Get_size(), None, np.empty((0, 0, 0)), 0
    try:
        block, split = _joined(arrays, ranks, concat_axis)
    except (TypeError, ValueError) as error:
        wrong = str(error)
    told: list[Any] = [None] * ranks if wrong else [(part.shape, part.dtype.str) for part in arrays]
    coming = comm.alltoall(told)
    kinds = {(*(n for k, n in enumerate(c[0]) if k != concat_axis), c[1]) for c in coming if c}
    if len(kinds) > 1:
        wrong = wrong or f"the parts that come differ in more than axis {concat_axis}: {[c[0] for c in coming if c]}"
    for sender, text in enumerate(comm.allgather(wrong)):
        if text:
            raise UsageError(f"rank {sender}: {text}", sender)
    lengths, widths = [shape[concat_axis] for shape, _ in coming], [part.shape[split] for part in arrays]
    whole = [n if k != concat_axis else sum(lengths) for k, n in enumerate(block.shape)]
    source, target = (Blocks(tuple(whole), tuple(ranks if k == a else 1 for k in range(3))) for a in (concat_axis, split))
    even = [source.local_shape(r)[concat_axis] for r in range(ranks)] == lengths
    if even and [target.local_shape(r)[split] for r in range(ranks)] == widths:
        return redistribute_nd(block, source, target, comm, memory=memory)
    # Runs of items that stay together are the rows of a redistribution.
    axes = 3 if 2 in (split, concat_axis) else 2
    run = int(np.prod(block.shape[axes:]))
    result = list(coming[rank][0])
    result[concat_axis] = sum(lengths)
    items, rows = int(np.prod(result)), block.reshape(-1, run) if block.size else np.empty((0, run), block.dtype)
    if items > block.size:
        rows = np.empty((items // run, run), block.dtype)
        rows[: block.size // run] = block.reshape(-1, run)
        memory = None if memory is None else max(0, (memory_bytes(memory) or 0) - rows.nbytes)
    to, place = np.empty(block.shape[:axes], np.int32), np.empty(block.shape[:axes], np.int64)
    cuts, mine = np.cumsum(widths)[:-1], np.arange(lengths[rank]) + sum(lengths[:rank])
    for owner, (t, p) in enumerate(zip(np.split(to, cuts, split), np.split(place, cuts, split))):
        there = list(t.shape)
        there[concat_axis] = result[concat_axis]
        t[...], p[...] = owner, np.arange(np.prod(there)).reshape(there).take(mine, concat_axis)
    Redistribution(rows, comm, memory=memory, check=False)(to.ravel(), place.ravel())
    return rows.reshape(-1)[:items].reshape(result)


def _joined(arrays: Sequence[Any], ranks: int, concat_axis: int) -> tuple[Any, int]:
    """The array that these are the parts of, and the axis along which they follow each other."""
    if len(arrays) != ranks or not all(isinstance(a, np.ndarray) and a.ndim == 3 for a in arrays):
        raise ValueError(f"{ranks} NumPy arrays of three axes are needed, one for each rank")
    if concat_axis not in (0, 1, 2):
        raise ValueError(f"concat_axis must be 0, 1 or 2, got {concat_axis}")
    for split in {0, 1, 2} - {concat_axis}:
        shape = list(arrays[0].shape)
        shape[split] = sum(a.shape[split] for a in arrays)
        strides = [arrays[0].itemsize * int(np.prod(shape[k + 1 :])) for k in range(3)]
        offset, fits = 0, True
        for a in arrays:
            same = all(a.shape[k] == shape[k] for k in range(3) if k != split) and a.dtype == arrays[0].dtype
            where = a.__array_interface__["data"][0] - arrays[0].__array_interface__["data"][0]
            inside = where == offset and all(a.shape[k] < 2 or a.strides[k] == strides[k] for k in range(3))
            fits = fits and same and (a.size == 0 or inside)
            offset += a.shape[split] * strides[split]
        if fits:
            return np.lib.stride_tricks.as_strided(arrays[0], shape, strides), split
    raise ValueError("the arrays are not the parts of one contiguous array in their order, as numpy.split makes them")
