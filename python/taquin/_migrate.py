"""Migration of the rows of an array, or of several, in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar, Union

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

Table = TypeVar("Table", bound=Union[Array, Mapping[str, Array]])

_CHUNK = 1 << 14  # rows of one call of the destination function


@collective("migration", 2)
def migrate(
    array: Table,
    destination: Union[ArrayLike, Callable[[Table], ArrayLike]],
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
) -> Table:
    """Sends every row of an array to a rank, in place, and returns the rows of this rank: ordered by source rank, and
    by position on it.

    The received rows replace the rows of `array`, and a view of it is returned. Where more rows arrive than `array`
    has, a new array of exactly these is returned, into which the pages of `array` move: its contents are then lost.
    Where it has less than 64 KiB, or memory that NumPy has not allocated, it is copied, and counts as scratch memory.
    There is no other copy of the rows. Scratch memory for m rows of l bytes on p ranks is at least
    4608 + 300·p + min(l, 4096) + max(4·m, min(m·l, 16384)) bytes, of which BudgetExceeded names exactly those that are
    needed.

    Several arrays of which rows with one index belong together migrate as one: a dict of arrays of the same length, for
    which a dict with the same keys is returned. All of them move, or none, by one agreement; l is then the bytes of the
    widest row. Arrays that follow each other move together where the memory suffices, in groups of up to 16. After a
    failure in the middle :func:`failure_blocks` has the map of the arrays that were moving: those before them have moved,
    and those after them are sorted by destination. Its unit is a row of all these arrays, one after the other.

    :param array: rows along its first axis; contiguous, of any dtype without Python objects. Fewer than 2^31 rows. Or a
        dict of such arrays, whose keys are strings, in the same order on all ranks.
    :param destination: one rank for each row, or a function that returns them for an array of rows, or for a dict of
        arrays of rows; it is called for parts of the rows. It may call taquin on other communicators; a call on `comm`, where the migration is pending,
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
    :raises BudgetExceeded: on every rank with its rows unchanged, when `memory` is too small on any rank. It names
        exactly the bytes that are needed, and those that are as good as no limit where no rank gets more rows than the
        most that one has.

    TimedOut and PeerAborted are raised as by :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> particles = numpy.zeros(100, [("position", float, 3), ("owner", int)])
    >>> particles["owner"] = numpy.arange(100) % comm.size
    >>> particles = taquin.migrate(particles, lambda rows: rows["owner"], comm, memory="1M")
    >>> bool((particles["owner"] == comm.rank).all())
    True
    >>> columns = {"position": numpy.zeros((100, 3)), "owner": numpy.arange(100) % comm.size}
    >>> columns = taquin.migrate(columns, columns["owner"], comm)
    >>> bool((columns["owner"] == comm.rank).all())
    True
    """
    choices = given(locals())
    check_comm(comm, intra=True)
    invalid: Optional[BaseException] = None
    options: dict[str, Any] = {}
    arrays: list[Array] = []
    rows = 0
    try:
        check_statistics(statistics)
        options = keywords(**choices)
        arrays = _columns_of(array)
        options["elements"] = _elements_of(array, arrays)
        rows = len(arrays[0]) if count is None else count.__index__()
        if not 0 <= rows <= len(arrays[0]):
            raise ValueError(f"count must be between 0 and {len(arrays[0])}, the rows of the array, got {count}")
    except Exception as wrong:
        invalid, rows, arrays = wrong, 0, []
    move = _core.Migration(rows, [bytes_of_row(a) for a in arrays], comm, options)
    if invalid is None:
        invalid = _fill_destinations(move, array, arrays, destination)
    room = len(arrays[0]) if invalid is None else 0
    places: list[tuple[int, int, int, Optional[_core.Pages]]] = []
    held = 0
    if invalid is None:
        try:
            places = [(address_of(a), 0, address_of(a), None) for a in arrays]
            held = sum(held_of(a) for a in arrays)
        except BaseException as lacking:  # before the ranks agree
            invalid = lacking
    try:
        arriving = move.plan(describe(invalid) if invalid else None, room, held)
        results = arrays
        try:
            if arriving > room:
                larger = [Larger(a, arriving * math.prod(a.shape[1:])) for a in arrays]
                places = [one.source for one in larger]
                results = [one.flat.reshape(arriving, *a.shape[1:]) for one, a in zip(larger, arrays)]
            results = [a[:arriving] for a in results]
            result: Table = _table_of(array, results)
        except BaseException as lacking:  # the other ranks must not wait for this one
            invalid = lacking
        move.run(describe(invalid) if invalid else None, places)
    except UsageError as error:
        raise error from invalid
    if invalid is not None:  # no rank's array grows, so that ranks have not agreed again: the data have moved
        raise invalid
    if statistics is not None:
        statistics._add(move.statistics)
    return result


def _columns_of(table: Any) -> list[Array]:
    """Its arrays, as views of their own: a function for destinations may change the shape and type of the others."""
    if not isinstance(table, Mapping):
        return [check_rows(table)[:]]
    if not table:
        raise ValueError("a dict without arrays")
    for name in table:
        if not isinstance(name, str):
            raise TypeError(f"the keys of a dict of arrays must be strings, got {name!r}")
    arrays = [check_rows(a)[:] for a in table.values()]
    for name, a in zip(table, arrays):
        if len(a) != len(arrays[0]):
            raise ValueError(f"the arrays have different lengths: {len(arrays[0])} and {len(a)} ({name!r})")
    return arrays


def _elements_of(table: Any, arrays: list[Array]) -> str:
    of_each = [elements_of(a.dtype, a.shape[1:]) for a in arrays]
    if not isinstance(table, Mapping):
        return of_each[0]
    return "; ".join(f"{name}: {elements}" for name, elements in zip(table, of_each))


def _table_of(table: Any, arrays: list[Array]) -> Any:
    """The arrays in the form of the caller's."""
    return dict(zip(table, arrays)) if isinstance(table, Mapping) else arrays[0]


def _fill_destinations(
    move: _core.Migration, table: Any, arrays: list[Array], destination: Any
) -> Optional[BaseException]:
    """Writes the destinations; returns the error, if they are invalid or the function raises."""
    try:
        to = move.destinations()
        if not callable(destination):
            fill(to, destination, 0)
            return None
        for first in range(0, len(to), _CHUNK):
            part = slice(first, min(first + _CHUNK, len(to)))
            fill(to[part], destination(_table_of(table, [a[part] for a in arrays])), first)
    except BaseException as wrong:  # the other ranks must not wait for this one
        return wrong
    return None
