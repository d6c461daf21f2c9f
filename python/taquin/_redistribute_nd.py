"""Redistribution of n-dimensional arrays in blocks, in place."""

from __future__ import annotations

import math
from typing import Optional

import numpy as np
from mpi4py import MPI

from . import _core
from ._blocks import Blocks
from ._guard import collective
from ._larger import Larger
from ._layout import ALL, Dimension, Layout, Part, Place, move
from ._messages import address_of
from ._options import Memory, Timeout, check_comm, given
from ._rows import Array, check_storage
from ._statistics import Statistics


@collective("redistribution", 3)
def redistribute_nd(
    array: Array,
    source: Blocks,
    target: Blocks,
    comm: MPI.Comm,
    *,
    storage: Optional[Array] = None,
    scale: complex = 1,
    conjugate: bool = False,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    in_flight: int = 0,
    statistics: Optional[Statistics] = None,
) -> Array:
    """Brings an n-dimensional array from one block distribution to another, in place: from slabs along one axis to
    slabs along another, from pencils to pencils.

    The block of this rank in `target` is returned, in the memory of `array` or of `storage`. Where that is too small (a
    larger block, on grids that do not divide the shape) a new array is returned. The pages of the old one move into it
    where NumPy has allocated it; other memory (files, MPI's, buffers of other objects) is copied, and counts as scratch
    memory. :func:`allocate` gives storage that suffices. The contents of `array` are lost.

    :param array: this rank's block in `source`; contiguous in C order, of any dtype without Python objects.
    :param source: the distribution that `array` is in. All ranks give the same.
    :param target: the distribution wanted, of the same global shape. All ranks give the same.
    :param comm: an mpi4py communicator. Collective over it.
    :param storage: a contiguous array that begins where `array` does, whose memory may be used.
    :param scale: each number that moves is multiplied by it, in its own arithmetic, as in :func:`redistribute_layout`.
    :param conjugate: complex numbers are conjugated, before they are scaled.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit. About 4·sqrt(n·p) + 300·p + 16K bytes are
        needed for blocks of n bytes on p ranks; more makes it faster. At most 4·sqrt(n·(p + 1)) + n/64 +
        min(n/4, 512K) + 300·p + 25K are used.
    :param algorithm: "auto", which is "layouts".
    :param check: no effect: every item has one place.
    :param timeout: seconds that the call may wait, and `on_timeout` what follows: as in :func:`alltoall`.
    :param in_flight: the most requests of a rank, and requested blocks, in flight; 0: the default.
    :raises UsageError: on every rank with the array kept, when an argument of any rank is wrong.
    :raises BudgetExceeded: on every rank with the array kept, when `memory` is too small.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> n = 2 * comm.size
    >>> whole = numpy.arange(n * n * 3).reshape(n, n, 3)
    >>> slabs, others = taquin.Blocks(whole.shape, (comm.size, 1, 1)), taquin.Blocks(whole.shape, (1, comm.size, 1))
    >>> block = whole[slabs.local_slice(comm.rank)].copy()
    >>> block = taquin.redistribute_nd(block, slabs, others, comm)
    >>> bool((block == whole[others.local_slice(comm.rank)]).all())
    True
    """
    choices = given(locals()) | {"scale": scale, "conjugate": conjugate}
    check_comm(comm, intra=True)

    def check_arguments() -> tuple[Layout, Layout, Part]:
        for name, blocks in (("source", source), ("target", target)):
            if not isinstance(blocks, Blocks):
                raise TypeError(f"{name} must be a taquin.Blocks, not {type(blocks).__name__}")
            if blocks.ranks != comm.Get_size():
                raise ValueError(f"{name} has {blocks.ranks} blocks for {comm.Get_size()} ranks")
        if source.shape != target.shape:
            raise ValueError(f"the global shapes differ: {source.shape} and {target.shape}")
        wanted = source.local_shape(comm.Get_rank())
        if not isinstance(array, np.ndarray) or array.shape != wanted:
            raise ValueError(f"this rank's block has the shape {wanted}, not {getattr(array, 'shape', array)}")
        return source.layout, target.layout, ALL

    def place() -> Place:
        return _place(array, storage, target.local_shape(comm.Get_rank()))

    return move(check_arguments, place, None, array, comm, choices, statistics)


@collective("transposition", 1)
def transpose(
    array: Array,
    comm: MPI.Comm,
    *,
    storage: Optional[Array] = None,
    scale: complex = 1,
    conjugate: bool = False,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    in_flight: int = 0,
    statistics: Optional[Statistics] = None,
) -> Array:
    """Transposes a matrix whose rows are distributed in blocks, in place: returns this rank's block of rows of the
    transpose.

    The rows must be distributed as ``Blocks((rows, columns), (ranks, 1))`` says, and so are those of the transpose.

    :param array: this rank's rows; contiguous in C order, of any dtype without Python objects.

    The other parameters, the memory and the errors are those of :func:`redistribute_nd`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> whole = numpy.arange(7 * 5).reshape(7, 5)
    >>> rows = taquin.Blocks((7, 5), (comm.size, 1)).local_slice(comm.rank)
    >>> block = taquin.transpose(whole[rows].copy(), comm)
    >>> bool((block == whole.T[taquin.Blocks((5, 7), (comm.size, 1)).local_slice(comm.rank)]).all())
    True
    """
    choices = given(locals()) | {"scale": scale, "conjugate": conjugate}
    check_comm(comm, intra=True)
    ranks, rank = comm.Get_size(), comm.Get_rank()
    rows = _core.total_rows(len(array) if isinstance(array, np.ndarray) and array.ndim == 2 else 0, comm)

    def check_arguments() -> tuple[Layout, Layout, Part]:
        if not isinstance(array, np.ndarray) or array.ndim != 2:
            raise ValueError(f"a matrix is wanted, not {getattr(array, 'shape', type(array).__name__)}")
        source = _in_rows(rows, array.shape[1], ranks)
        if source.local_shape(rank) != array.shape:
            raise ValueError(
                f"the rows are not in blocks: of {rows} this rank should have {source.local_shape(rank)[0]}, not "
                f"{len(array)}"
            )
        return source, _in_rows(array.shape[1], rows, ranks), ([1, 0], [], [], [])

    def place() -> Place:
        return _place(array, storage, _in_rows(array.shape[1], rows, ranks).local_shape(rank))

    return move(check_arguments, place, None, array, comm, choices, statistics)


def _in_rows(rows: int, columns: int, ranks: int) -> Layout:
    return Layout([Dimension.even(rows, ranks), Dimension.whole(columns)])


def _place(array: Array, storage: Optional[Array], shape: tuple[int, ...]) -> Place:
    """Where a block of this shape is made of `array`."""
    check_storage(array)
    flat = np.asarray(_room(array, storage)).reshape(-1)
    where: tuple[int, int, int, Optional[_core.Pages]] = (address_of(flat), 0, address_of(flat), None)
    items, held = math.prod(shape), 0
    if flat.size < items:
        larger = Larger(flat, items)
        flat, where, held = larger.flat, larger.source, larger.held
    return Place(flat[:items].reshape(shape), (*where, flat.size), held)


def _room(array: Array, storage: Optional[Array]) -> Array:
    """The memory from the array's beginning that may be used."""
    if storage is None:
        return array
    if not isinstance(storage, np.ndarray):
        raise TypeError(f"the storage must be a NumPy array, not {type(storage).__name__}")
    check_storage(storage)
    if storage.dtype != array.dtype:
        raise TypeError(f"the storage has items of {storage.dtype}, the array of {array.dtype}")
    if storage.nbytes < array.nbytes or (array.size and address_of(storage) != address_of(array)):
        raise ValueError("the storage does not begin where the array does, or is smaller")
    return storage
