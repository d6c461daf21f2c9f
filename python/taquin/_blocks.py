"""Block distributions of n-dimensional arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from mpi4py import MPI
from numpy.typing import DTypeLike, NDArray

from ._layout import Dimension, Layout


@dataclass(frozen=True)
class Blocks:
    """An array of the global `shape` in blocks, `grid[k]` of them along axis k.

    Ranks have the blocks in row-major order. Along an axis that does not divide, the first blocks are one longer, as
    ``numpy.array_split`` does it. A grid of one number above 1 is a slab distribution, of two a pencil one.

    Where blocks have other lengths, `cuts[k]` says at which indices axis k is cut, as ``numpy.split`` takes them: one
    less than `grid[k]`, in order. None: evenly.

    >>> import taquin
    >>> slabs = taquin.Blocks((8, 6, 4), (3, 1, 1))
    >>> slabs.local_shape(0), slabs.local_shape(2)
    ((3, 6, 4), (2, 6, 4))
    >>> slabs.local_slice(2)
    (slice(6, 8, None), slice(0, 6, None), slice(0, 4, None))
    >>> taquin.Blocks((8, 6), (3, 1), ((1, 5), None)).local_shape(1)
    (4, 6)
    """

    shape: tuple[int, ...]
    grid: tuple[int, ...]
    cuts: Optional[tuple[Optional[tuple[int, ...]], ...]] = None

    def __post_init__(self) -> None:
        for name in ("shape", "grid"):
            values = tuple(int(v.__index__()) for v in getattr(self, name))
            object.__setattr__(self, name, values)
        if len(self.shape) != len(self.grid) or not self.shape:
            raise ValueError(f"the shape {self.shape} and the grid {self.grid} must have one number per axis")
        if min(self.grid) < 1:
            raise ValueError(f"the grid {self.grid} must have at least one block along each axis")
        if min(self.shape) < 0:
            raise ValueError(f"the shape {self.shape} must not be negative")
        if max(*self.shape, *self.grid) > np.iinfo(np.int64).max:
            raise ValueError(f"the shape {self.shape} and the grid {self.grid} must have numbers of at most 64 bits")
        if self.cuts is not None:
            cuts = (None if at is None else tuple(int(i.__index__()) for i in at) for at in self.cuts)
            object.__setattr__(self, "cuts", tuple(cuts))
            self._check_cuts(self.cuts)

    def _check_cuts(self, cuts: tuple[Optional[tuple[int, ...]], ...]) -> None:
        if len(cuts) != len(self.shape):
            raise ValueError(f"the cuts {cuts} must have one entry per axis")
        for k, at in enumerate(cuts):
            if at is None:
                continue
            if len(at) != self.grid[k] - 1:
                raise ValueError(f"{self.grid[k]} blocks along axis {k} need {self.grid[k] - 1} cuts, not {len(at)}")
            if list(at) != sorted(at) or (at and not 0 <= at[0] <= at[-1] <= self.shape[k]):
                raise ValueError(f"the cuts {at} of axis {k} are not in order, or outside 0 to {self.shape[k]}")

    @property
    def layout(self) -> Layout:
        """The same as a :class:`Layout`."""
        cuts = self.cuts or (None,) * len(self.shape)
        return Layout(
            [
                Dimension.even(n, p) if at is None else Dimension.given([int(l) for l in np.diff([0, *at, n])])
                for n, p, at in zip(self.shape, self.grid, cuts)
            ]
        )

    def __repr__(self) -> str:
        cuts = "" if self.cuts is None else f", cuts={self.cuts}"
        return f"Blocks(shape={self.shape}, grid={self.grid}{cuts})"

    @property
    def ranks(self) -> int:
        """The number of blocks, one per rank."""
        return math.prod(self.grid)

    def local_slice(self, rank: int) -> tuple[slice, ...]:
        """The part of the global array that a rank has, as one slice per axis."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank must be at least 0 and below {self.ranks}, got {rank}")
        slices = []
        for axis in range(len(self.grid) - 1, -1, -1):
            rank, part = divmod(rank, self.grid[axis])
            at = None if self.cuts is None else self.cuts[axis]
            if at is not None:
                ends = (0, *at, self.shape[axis])
                slices.append(slice(ends[part], ends[part + 1]))
                continue
            least, longer = divmod(self.shape[axis], self.grid[axis])
            first = part * least + min(part, longer)
            slices.append(slice(first, first + least + (part < longer)))
        return tuple(reversed(slices))

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of a rank's block."""
        return tuple(s.stop - s.start for s in self.local_slice(rank))

    def local_size(self, rank: int) -> int:
        """The number of items of a rank's block."""
        return math.prod(self.local_shape(rank))


def allocate(dtype: DTypeLike, comm: MPI.Comm, *distributions: Blocks) -> tuple[NDArray[Any], NDArray[Any]]:
    """Storage that holds this rank's block in each of the distributions, and the block of the first as a view of it.

    Local. The storage has one axis, as long as the largest of the blocks; its values are not set.

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
        raise ValueError("give at least one distribution")
    rank = comm.Get_rank()
    storage = np.empty(max(d.local_size(rank) for d in distributions), dtype)
    first = distributions[0]
    return storage, storage[: first.local_size(rank)].reshape(first.local_shape(rank))
