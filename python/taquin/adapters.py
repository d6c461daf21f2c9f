"""Replacements for exchanges of other packages. Importing this module does not need these packages."""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple, Sequence

import numpy as np

from ._blocks import Blocks
from ._errors import UsageError
from ._options import Memory, describe, memory_bytes
from ._redistribute_nd import redistribute_nd


def transfer_in_place(
    transfer: Any, array: Any, *, backward: bool = False, memory: Memory = None, storage: Any = None
) -> Any:
    """Replaces a ``Transfer`` of mpi4py-fft, in the memory of one array; returns the other pencil, a view of it.

    Collective over the transfer's communicator. The errors are those of :func:`redistribute_nd`.

    :param transfer: ``pencil.transfer(other, dtype)`` of mpi4py-fft.
    :param array: this rank's block, of the shape ``subshapeA``; with `backward` of ``subshapeB``. Its
        contents are lost.
    :param backward: from the second pencil to the first.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit.
    :param storage: a contiguous array that begins where `array` does and may be overwritten. Where it, or `array`
        without it, is smaller than the other pencil, the result is a new array, into which its pages move.
    """
    first, second = [1] * len(transfer.shape), [1] * len(transfer.shape)
    first[transfer.axisB] = second[transfer.axisA] = transfer.comm.Get_size()
    source, target = Blocks(transfer.shape, tuple(first)), Blocks(transfer.shape, tuple(second))
    if backward:
        source, target = target, source
    return redistribute_nd(array, source, target, transfer.comm, memory=memory, storage=storage)


def redistribute_mpi_array(array: Any, axis: int, *, memory: Memory = None) -> Any:
    """Replaces ``MPIArray.redistribute(axis)`` of caput, in the memory of the array: returns an MPIArray that is
    distributed along `axis`. The contents of `array` are lost; if it is distributed so already, it is returned
    unchanged.

    Collective over the array's communicator. The errors are those of :func:`redistribute_nd`; UsageError on every rank
    also where ranks pass different axes.

    :param array: an MPIArray: a NumPy array with ``axis``, ``global_shape`` and ``comm``, of a class with
        ``wrap(block, axis, comm)``. Where an axis does not divide evenly the first ranks have one more.
    :param axis: the axis along which the result is distributed.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit.
    """
    if array.comm is None:
        return array
    axes = range(len(array.global_shape))
    asked = array.comm.allgather((str(axis), str(array.axis)))  # compared before any rank returns
    for rank, (to, at) in enumerate(asked):
        if (to, at) != asked[0]:
            first = f"rank 0 for axis {asked[0][0]} of one along axis {asked[0][1]}"
            raise UsageError(f"rank {rank} requests axis {to} of an array along axis {at}, {first}", rank)
    if axis == array.axis:
        return array
    if axis not in axes:
        raise UsageError(f"the axis must be 0 to {len(axes) - 1}, got {axis}")
    ranks = array.comm.Get_size()
    source, target = (
        Blocks(array.global_shape, tuple(ranks if k == along else 1 for k in axes)) for along in (array.axis, axis)
    )
    block = redistribute_nd(np.asarray(array), source, target, array.comm, memory=memory)
    return type(array).wrap(block, axis, array.comm)


def alltoall_in_place(arrays: Sequence[Any], comm: Any, concat_axis: int = 0, *, memory: Memory = None) -> Any:
    """Replaces ``alltoall_ring(arrays, comm, concat_axis)`` of httomo, in the memory of one array: ``arrays[i]`` goes
    to rank i; the received arrays are returned, joined along `concat_axis` in the order of ranks.

    Collective over `comm`. The contents of the arrays are lost. The errors are those of :func:`redistribute_nd`.

    :param arrays: one for each rank, of three axes: the parts of a contiguous array, as ``numpy.split`` makes them
        along an axis other than `concat_axis`. Arrays with memory of their own are copied into one first. That copy is
        scratch memory.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit.
    """
    mine, room = _Parts(), None
    block: Any = None
    try:
        room = memory_bytes(memory)
        mine = _described(arrays, comm.Get_size(), concat_axis)
    except Exception as error:  # whatever it is: the other ranks must not wait for this one
        mine = _Parts(wrong=describe(error))
    told = comm.allgather(mine)
    for rank, other in enumerate(told):
        if other.wrong or other.kind != told[0].kind:
            raise UsageError(f"rank {rank}: {other.wrong or 'its arrays have other shapes or types than rank 0'}", rank)
    split = max(mine.axes, key=lambda axis: sum(axis in other.joined for other in told))
    try:
        block = _one_array(arrays, split) if split in mine.joined else np.concatenate(arrays, split)
    except MemoryError:
        pass  # the other ranks have the error below
    if room is not None and block is not None and split not in mine.joined:
        room = max(0, room - block.nbytes)
    lengths = {concat_axis: [other.length for other in told], split: [a.shape[split] for a in arrays]}
    shape = tuple(sum(lengths.get(k, arrays[0].shape[k : k + 1])) for k in range(3))
    source, target = (
        Blocks(
            shape,
            tuple(len(told) if k == along else 1 for k in range(3)),
            tuple(tuple(np.cumsum(lengths[k])[:-1]) if k == along else None for k in range(3)),
        )
        for along in (concat_axis, split)
    )
    return redistribute_nd(block, source, target, comm, memory=room)


class _Parts(NamedTuple):
    """Properties of a rank's arrays, for the others."""

    wrong: str = ""
    length: int = 0  # along concat_axis
    kind: int = 0  # a fingerprint of properties that must be identical on all ranks
    axes: tuple[int, ...] = ()  # along which they can be joined
    joined: tuple[int, ...] = ()  # along which they are parts of one array in memory


def _described(arrays: Sequence[Any], ranks: int, concat_axis: int) -> _Parts:
    if len(arrays) != ranks or not all(isinstance(a, np.ndarray) and a.ndim == 3 for a in arrays):
        raise ValueError(f"{ranks} NumPy arrays of three axes are needed, one for each rank")
    if concat_axis not in (0, 1, 2):
        raise ValueError(f"concat_axis must be 0, 1 or 2, got {concat_axis}")
    alike = [{a.shape[k] for a in arrays} for k in range(3)]
    axes = tuple(k for k in {0, 1, 2} - {concat_axis} if all(len(alike[j]) == 1 for j in {0, 1, 2} - {k}))
    if not axes or len({a.dtype for a in arrays}) > 1:
        raise ValueError(f"the arrays differ in type, in axis {concat_axis}, or in more than one other axis")
    kind = concat_axis, [(*a.shape[:concat_axis], *a.shape[concat_axis + 1 :], a.dtype.str) for a in arrays]
    joined = tuple(k for k in axes if _one_array(arrays, k) is not None)
    return _Parts("", arrays[0].shape[concat_axis], zlib.crc32(repr(kind).encode()), axes, joined)


def _one_array(arrays: Sequence[Any], split: int) -> Any:
    """The contiguous array whose parts along this axis these are; None where they are not."""
    shape = [sum(a.shape[k] for a in arrays) if k == split else arrays[0].shape[k] for k in range(3)]
    strides = [arrays[0].itemsize * math.prod(shape[k + 1 :]) for k in range(3)]
    offset = arrays[0].__array_interface__["data"][0]
    for a in arrays:
        place = a.__array_interface__["data"][0], *(a.strides[k] for k in range(3) if a.shape[k] > 1)
        if a.size > 0 and place != (offset, *(strides[k] for k in range(3) if a.shape[k] > 1)):
            return None
        offset += a.shape[split] * strides[split]
    return np.lib.stride_tricks.as_strided(arrays[0], shape, strides)
