"""Migration of the rows of an array, in place."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional, Union

from mpi4py import MPI
from numpy.typing import ArrayLike

from . import _core
from ._errors import UsageError
from ._guard import collective
from ._larger import Larger, held_of
from ._messages import address_of
from ._options import Memory, Timeout, check_comm, check_statistics, describe, given, keywords
from ._rows import Array, bytes_of_row, check_rows, elements_of, fill
from ._statistics import Statistics

_CHUNK = 1 << 14  # rows of one call of the destination function


@collective("migration", 2)
def migrate(
    array: Array,
    destination: Union[ArrayLike, Callable[[Array], ArrayLike]],
    comm: MPI.Comm,
    *,
    count: Optional[int] = None,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    in_flight: int = 0,
    statistics: Optional[Statistics] = None,
) -> Array:
    """Sends every row of an array to a rank, in place, and returns the rows of this rank: ordered by source rank, and
    by position on it.

    The received rows replace the rows of `array`, and a view of it is returned. Where more rows arrive than `array`
    has, a new array of exactly these is returned, into which the pages of `array` move: its contents are then lost.
    Where it has less than 64 KiB, or memory that NumPy has not allocated, it is copied, and counts as scratch memory.
    There is no other copy of the rows. Scratch memory for m rows of l bytes on p ranks is at least
    4608 + 300·p + min(l, 4096) + max(4·m, min(m·l, 16384)) bytes, of which BudgetExceeded names exactly those that are
    needed.

    :param array: rows along its first axis; contiguous, of any dtype without Python objects. Fewer than 2^31 rows.
    :param destination: one rank for each row, or a function that returns them for an array of rows; it is called for
        parts of the rows. It may call taquin on other communicators; a call on `comm`, where the migration is pending,
        raises UsageError on all ranks that make it.
    :param comm: an mpi4py communicator. Collective over it.
    :param count: rows that are in use, from the first on; the others are room for received rows. Default: all.
    :param memory: bytes of scratch memory per rank (or "64M"); None: 4 bytes per row and 32 per rank, or where that is
        more, 1% of the rows' bytes, at least 64 KiB.
    :param algorithm: "auto", which is "in_place".
    :param check: no effect: a migration has one place for each row.
    :param timeout: seconds that the call may wait; it and `on_timeout` are as in :func:`alltoall`.
    :param in_flight: the most requests of a rank that are in flight; 0, the default: 32.
    :param statistics: the call's figures are added to it.
    :raises UsageError: on every rank with its rows unchanged, when an argument of any rank is invalid or its function
        raises.
    :raises BudgetExceeded: on every rank with its rows unchanged, when `memory` is too small on any rank.

    TimedOut and PeerAborted are raised as by :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> particles = numpy.zeros(100, [("position", float, 3), ("owner", int)])
    >>> particles["owner"] = numpy.arange(100) % comm.size
    >>> particles = taquin.migrate(particles, lambda rows: rows["owner"], comm, memory="1M")
    >>> bool((particles["owner"] == comm.rank).all())
    True
    """
    choices = given(locals())
    check_comm(comm, intra=True)
    invalid: Optional[BaseException] = None
    options: dict[str, Any] = {}
    rows = 0
    try:
        check_statistics(statistics)
        options = keywords(**choices)
        array = check_rows(array)[:]  # of its own: a function for destinations may change the other's shape and type
        options["elements"] = elements_of(array.dtype, array.shape[1:])
        rows = len(array) if count is None else count.__index__()
        if not 0 <= rows <= len(array):
            raise ValueError(f"count must be between 0 and {len(array)}, the rows of the array, got {count}")
    except Exception as wrong:
        invalid, rows = wrong, 0
    move = _core.Migration(rows, bytes_of_row(array) if invalid is None else 0, comm, options)
    if invalid is None:
        invalid = _fill_destinations(move, array, destination)
    room = len(array) if invalid is None else 0
    place: tuple[int, int, int, Optional[_core.Pages]] = (0, 0, 0, None)
    if invalid is None:
        try:
            place = address_of(array), 0, address_of(array), None
        except BaseException as lacking:  # before the ranks agree
            invalid = lacking
    try:
        arriving = move.plan(describe(invalid) if invalid else None, room, held_of(array) if invalid is None else 0)
        result = array
        try:
            if arriving > room:
                larger = Larger(array, arriving * math.prod(array.shape[1:]))
                place, result = larger.source, larger.flat.reshape(arriving, *array.shape[1:])
            result = result[:arriving]
        except BaseException as lacking:  # the other ranks must not wait for this one
            invalid = lacking
        move.run(describe(invalid) if invalid else None, *place)
    except UsageError as error:
        raise error from invalid
    if invalid is not None:  # no rank's array grows, so that ranks have not agreed again: the data have moved
        raise invalid
    if statistics is not None:
        statistics._add(move.statistics)
    return result


def _fill_destinations(move: _core.Migration, array: Array, destination: Any) -> Optional[BaseException]:
    """Writes the destinations; returns the error, if they are invalid or the function raises."""
    try:
        to = move.destinations()
        if not callable(destination):
            fill(to, destination, 0)
            return None
        for first in range(0, len(to), _CHUNK):
            part = slice(first, min(first + _CHUNK, len(to)))
            fill(to[part], destination(array[part]), first)
    except BaseException as wrong:  # the other ranks must not wait for this one
        return wrong
    return None
