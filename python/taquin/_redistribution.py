"""Redistribution of the rows of an array, in place."""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar

import numpy as np
from mpi4py import MPI
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import UsageError
from ._failure import BlockMap, block_map
from ._messages import address_of, integer_array
from ._options import Memory, Timeout, check_comm, describe, given, keywords
from ._rows import Array, bytes_of_row, check_rows, elements_of, fill
from ._statistics import Statistics

T = TypeVar("T")


def _part(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number from 0 to 1, got {value!r}")
    part = float(value)
    if not 0 <= part <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    return part


class Redistribution:
    """An array of equal rows that can be redistributed any number of times: each row to a place in some rank's array.

    Scratch memory on p ranks with m rows of l bytes: tables of at most 21504 + 300·p + 16·m bytes, and buffers; at least
    21504 + 300·p + 16·m·n + 3·l/n, where rows of 8 KiB or more go in n equal parts of at least 4 KiB. By default the
    buffers have at most 1% of the data, or if that is less 1.5 MiB (64 KiB for rows of more than 16 KiB). BudgetExceeded
    names exactly the bytes that are needed, and those that are as good as no limit.

    :param array: rows along its first axis; contiguous, of any dtype without Python objects. The object keeps a
        reference to it.
    :param comm: an mpi4py communicator. Collective over it.
    :param check: verify that no two rows go to one place, which takes one more reduction.
    :param least_progress: the least part, 0 to 1, of the rows left that a round must bring to their ranks; after a round
        below it "slots" takes over. 0, the default: never.

    The other parameters and the errors are those of :func:`migrate`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> rows = numpy.full((4, 3), comm.rank)
    >>> redistribute = taquin.Redistribution(rows, comm)
    >>> redistribute([(comm.rank + 1) % comm.size] * 4, [3, 2, 1, 0])
    >>> bool((rows == (comm.rank - 1) % comm.size).all())
    True
    """

    def __init__(
        self,
        array: Array,
        comm: MPI.Comm,
        *,
        memory: Memory = None,
        algorithm: str = "auto",
        check: bool = True,
        timeout: Timeout = None,
        on_timeout: str = "wait",
        in_flight: int = 0,
        least_progress: float = 0.0,
    ) -> None:
        choices = given(locals())
        check_comm(comm, intra=True)
        invalid: Optional[Exception] = None
        options: dict[str, Any] = {}
        address = rows = row_bytes = 0
        try:
            options = keywords(**choices)
            options["least_progress"] = _part("least_progress", least_progress)
            check_rows(array)
            options["elements"] = elements_of(array.dtype, array.shape[1:])
            address, rows, row_bytes = address_of(array), len(array), bytes_of_row(array)
        except Exception as wrong:
            invalid, options["invalid"] = wrong, describe(wrong)
        try:
            self._redistribution = _core.Redistribution(address, rows, row_bytes, comm, options)
        except UsageError as error:
            raise error from invalid
        self._array = array

    def __repr__(self) -> str:
        rows = f"{len(self._array)} rows of {self._array.dtype}"
        return f"<taquin.Redistribution of {rows}: {self.algorithm}, {self.memory} bytes>"

    def __call__(self, ranks: ArrayLike, places: ArrayLike) -> None:
        """Sends row k to place `places[k]` of rank `ranks[k]`, places counted in rows from 0. Rows with rank -1, and
        rows beyond the given ones, may be overwritten. Collective. An invalid map is a UsageError on every rank, with
        the rows unchanged."""
        self._with_destinations(ranks, places, self._redistribution.redistribute)

    def _with_destinations(
        self,
        ranks: ArrayLike,
        places: ArrayLike,
        call: Callable[[Optional[NDArray[np.int32]], Optional[NDArray[np.int64]]], T],
    ) -> T:
        invalid: Optional[Exception] = None
        to: Optional[NDArray[np.int32]] = None
        at: Optional[NDArray[np.int64]] = None
        try:
            wanted = np.asarray(ranks)
            to = np.empty(wanted.shape if wanted.ndim == 1 else wanted.size, np.int32)
            if wanted.size:
                fill(to, wanted, 0)
            given = integer_array(places, "places") if np.size(places) else np.asarray(places)
            if given.shape != to.shape:
                raise ValueError(f"one place per rank: {to.size}, not an array of shape {given.shape}")
            if given.size and given.max() > np.iinfo(np.int64).max:
                raise OverflowError("places are beyond 64 bits")
            at = np.ascontiguousarray(given, np.int64)
        except Exception as wrong:
            invalid, to, at = wrong, None, None
        try:
            return call(to, at)
        except UsageError as error:
            if invalid is not None:
                raise UsageError(f"{error} ({describe(invalid)})", error.rank, error.peer, error.error_class) from invalid
            raise

    def sort(self, ranks: NDArray[np.int32], places: NDArray[np.int32]) -> None:
        """Sorts the rows of this rank in place by destination rank, dead rows last, and both arrays with them. The
        arrays have one 32-bit integer for every row; a dead row has rank -1. Local."""
        for values in (ranks, places):
            if not isinstance(values, np.ndarray) or values.dtype != np.int32 or values.ndim != 1:
                raise UsageError("ranks and places must be arrays of numpy.int32, which are sorted with the rows")
            if not values.flags.c_contiguous or not values.flags.writeable:
                raise UsageError("ranks and places must be contiguous and writable: they are sorted with the rows")
        self._redistribution.sort(ranks, places)

    def repair(self, survivors: MPI.Comm) -> BlockMap:
        """After a failure: the ranks of `survivors`, a communicator of ranks of the one before, agree on where each row
        is, and go on with the rows that are left. Collective over `survivors`.

        In the map a row is ``ARRIVED`` in its place; with one rank that had it last (``STANDS``, ``DISPLACED``, or
        ``STAGED`` where the array is full); or lost (``MISSING``). Ranks in it are those of the communicator before.

        >>> import numpy, taquin
        >>> from mpi4py import MPI
        >>> redistribute = taquin.Redistribution(numpy.zeros((2, 3)), MPI.COMM_WORLD)
        >>> redistribute.repair(MPI.COMM_WORLD).known
        True
        """
        check_comm(survivors, intra=True)
        return block_map(self._redistribution.repair(survivors))

    def roll_back(self, survivors: MPI.Comm, ranks: ArrayLike, places: ArrayLike) -> BlockMap:
        """The other way round: as :meth:`repair`, and the map says of each row where it was before the call that has
        failed, whose arguments are given once more. Rows of ranks that have failed have peer and offset -1. A call with
        what the map says brings the others back. Collective over `survivors`.

        >>> import numpy, taquin
        >>> from mpi4py import MPI
        >>> comm = MPI.COMM_WORLD
        >>> rows = numpy.arange(3)
        >>> redistribute = taquin.Redistribution(rows, comm)
        >>> redistribute([comm.rank] * 3, [1, 2, 0])
        >>> before = redistribute.roll_back(comm, [comm.rank] * 3, [1, 2, 0])
        >>> [(part.at, part.offset, part.length) for part in before.incoming]
        [(1, 0, 2), (0, 2, 1)]
        """
        check_comm(survivors, intra=True)
        return block_map(
            self._with_destinations(ranks, places, lambda to, at: self._redistribution.roll_back(survivors, to, at))
        )

    @property
    def array(self) -> Array:
        """The rows. Another array of the same shape and dtype may be set. Local."""
        return self._array

    @array.setter
    def array(self, array: Array) -> None:
        try:
            check_rows(array)
        except (TypeError, ValueError) as invalid:
            raise UsageError(str(invalid)) from invalid
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise UsageError(
                f"the array must have shape {self._array.shape} and dtype {self._array.dtype}, got {array.shape} and "
                f"{array.dtype}"
            )
        self._redistribution.set_data(address_of(array))
        self._array = array

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self._redistribution.algorithm

    @property
    def memory(self) -> int:
        """Extra bytes in use now."""
        return self._redistribution.memory

    @property
    def peak_memory(self) -> int:
        """The most scratch bytes in use at any time."""
        return self._redistribution.peak_memory

    @property
    def statistics(self) -> Statistics:
        """The sums over its calls on this rank."""
        return Statistics(**self._redistribution.statistics)
