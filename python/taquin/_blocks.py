"""Block distributions of n-dimensional arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class Blocks:
    """An array of the global `shape` in blocks, `grid[k]` of them along axis k.

    Ranks have the blocks in row-major order. Along an axis that does not divide, the first blocks are one longer, as
    ``numpy.array_split`` does it. A grid of one number above 1 is a slab distribution, of two a pencil one.

    >>> import taquin
    >>> slabs = taquin.Blocks((8, 6, 4), (3, 1, 1))
    >>> slabs.local_shape(0), slabs.local_shape(2)
    ((3, 6, 4), (2, 6, 4))
    >>> slabs.local_slice(2)
    (slice(6, 8, None), slice(0, 6, None), slice(0, 4, None))
    """

    shape: tuple[int, ...]
    grid: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("shape", "grid"):
            values = tuple(int(v.__index__()) for v in getattr(self, name))
            object.__setattr__(self, name, values)
        if len(self.shape) != len(self.grid) or not self.shape:
            raise ValueError(f"the shape {self.shape} and the grid {self.grid} must have one number per axis")
        if min(self.grid) < 1:
            raise ValueError(f"the grid {self.grid} has less than one block along an axis")
        if min(self.shape) < 0:
            raise ValueError(f"the shape {self.shape} is negative")

    @property
    def ranks(self) -> int:
        """How many blocks there are."""
        return math.prod(self.grid)

    def local_slice(self, rank: int) -> tuple[slice, ...]:
        """What a rank has of the global array."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank {rank} is none of {self.ranks}")
        slices = []
        for axis in range(len(self.grid) - 1, -1, -1):
            rank, part = divmod(rank, self.grid[axis])
            least, longer = divmod(self.shape[axis], self.grid[axis])
            first = part * least + min(part, longer)
            slices.append(slice(first, first + least + (part < longer)))
        return tuple(reversed(slices))

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of a rank's block."""
        return tuple(s.stop - s.start for s in self.local_slice(rank))

    def local_size(self, rank: int) -> int:
        """The items of a rank's block."""
        return math.prod(self.local_shape(rank))


def allocate(dtype: DTypeLike, comm: MPI.Comm, *distributions: Blocks) -> tuple[NDArray[Any], NDArray[Any]]:
    """Storage that holds this rank's block in each of the distributions, and the block of the first as a view of it.

    Local. The storage's values are not set.

    >>> import taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> rows, columns = taquin.Blocks((6, 5), (comm.size, 1)), taquin.Blocks((6, 5), (1, comm.size))
    >>> storage, block = taquin.allocate(float, comm, rows, columns)
    >>> block[:] = comm.rank
    >>> block = taquin.redistribute_nd(block, rows, columns, comm, storage=storage)
    >>> block.shape == columns.local_shape(comm.rank)
    True
    """
    if not distributions:
        raise ValueError("no distribution")
    rank = comm.Get_rank()
    storage = np.empty(max(d.local_size(rank) for d in distributions), dtype)
    first = distributions[0]
    return storage, storage[: first.local_size(rank)].reshape(first.local_shape(rank))
