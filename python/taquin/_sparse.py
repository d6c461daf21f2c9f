"""Sparse exchanges: each rank knows its destinations; its sources are found."""

from __future__ import annotations

import ast
import math
from typing import Any, Callable, Mapping, NamedTuple, Optional, TypeVar

import numpy as np
from mpi4py import MPI
from numpy.lib import format as numpy_format
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import UsageError
from ._guard import collective
from ._messages import address_of, integer_array
from ._options import Memory, Timeout, check_comm, check_statistics, describe, given, keywords
from ._rows import Array, bytes_of_row, elements_of
from ._statistics import Statistics

T = TypeVar("T")

_format: Any = numpy_format  # its functions have no types in older releases


class _Sent(NamedTuple):
    to: NDArray[np.int32]
    counts: NDArray[np.int64]
    rows: Optional[Array]
    """None where this rank knows neither a dtype nor a shape."""


class SparseBlocks(NamedTuple):
    """The result of :func:`sparse_exchange_arrays`.

    >>> import numpy, taquin
    >>> taquin.SparseBlocks(numpy.array([0]), numpy.array([2]), numpy.zeros(2)).counts
    array([2])
    """

    sources: NDArray[np.int32]
    """The rank that each block comes from, ascending."""
    counts: NDArray[np.int64]
    """Rows of each block."""
    data: Array
    """The rows of all blocks, in the order of `sources`."""


def _rows(values: ArrayLike) -> Array:
    rows = np.asarray(values)
    if rows.dtype.hasobject:
        raise TypeError(f"items of dtype {rows.dtype} are references to Python objects, invalid on other ranks")
    if rows.ndim == 0 or not rows[:1].nbytes and rows.size:
        raise ValueError("an array must have rows along a first axis, of at least one byte each")
    return np.ascontiguousarray(rows)


def _text_of(rows: Array) -> str:
    """What other ranks need to receive such rows: a line for errors, and one for a rank that learns it."""
    return f"{elements_of(rows.dtype, rows.shape[1:])}\n{(_format.dtype_to_descr(rows.dtype), rows.shape[1:])!r}"


def _elements_of(text: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not text:
        return np.dtype(np.float64), ()  # no rank sends anything
    described, shape = ast.literal_eval(text.partition("\n")[2])
    return np.dtype(_format.descr_to_dtype(described)), shape


def _integers(name: str, values: ArrayLike, most: int) -> NDArray[np.int64]:
    numbers = integer_array(values, name) if np.size(values) else np.asarray(values)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one axis, not the shape {numbers.shape}")
    if not numbers.dtype.isnative:
        numbers = numbers.astype(numbers.dtype.newbyteorder("="))
    least, greatest = _core.range_of(numbers) if numbers.size else (0, 0)
    if least < 0 or greatest > most:
        raise ValueError(f"{name} must be between 0 and {most}, got {least} to {greatest}")
    return numbers.astype(np.int64)


def _run(
    make: Callable[[], _Sent],
    arrange: Callable[[SparseBlocks], T],
    comm: MPI.Comm,
    choices: dict[str, Any],
    statistics: Optional[Statistics],
) -> T:
    check_comm(comm, intra=True)
    invalid: Optional[Exception] = None
    options: dict[str, Any] = {}
    sent = _Sent(np.zeros(0, np.int32), np.zeros(0, np.int64), None)
    row_bytes = 0
    try:
        check_statistics(statistics)
        options = keywords(**choices)
        sent = make()
        if sent.rows is not None:
            row_bytes = bytes_of_row(sent.rows)
            options["elements"] = _text_of(sent.rows)
    except Exception as wrong:  # the other ranks must not wait for this one
        invalid, options["invalid"] = wrong, describe(wrong)
        sent = _Sent(np.zeros(0, np.int32), np.zeros(0, np.int64), None)
    result: list[T] = []

    def room(nbytes: int, sources: NDArray[np.int32], arriving: NDArray[np.int64], elements: str) -> int:
        dtype, shape = _elements_of(elements) if sent.rows is None else (sent.rows.dtype, sent.rows.shape[1:])
        row = max(dtype.itemsize * math.prod(shape), 1)
        data = np.empty((nbytes // row,) + shape, dtype)
        result.append(arrange(SparseBlocks(sources, arriving // row, data)))
        return address_of(data)

    try:
        address = 0 if sent.rows is None else address_of(sent.rows)
        counts = sent.counts * row_bytes
        done = _core.sparse_exchange(address, sent.to, counts, comm, options, room, statistics is not None)
    except UsageError as error:
        raise error from invalid
    if statistics is not None and done is not None:
        statistics._add(done)
    return result[0]


@collective("sparse", 1)
def sparse_exchange(
    blocks: Mapping[int, ArrayLike],
    comm: MPI.Comm,
    *,
    like: Optional[ArrayLike] = None,
    memory: Memory = None,
    algorithm: str = "auto",
    timeout: Timeout = None,
    on_timeout: str = "wait",
    statistics: Optional[Statistics] = None,
) -> dict[int, Array]:
    """Sends arrays to some ranks, and returns the received arrays by their sources, which need not be known before.

    The returned arrays are parts of one array, in the order of their sources. The result, and one copy of the sent
    arrays where there are several, do not count in `memory`.

    :param blocks: the array for each destination, by rank. Rows along the first axis; the dtype and the other axes are
        the same for all of them and on all ranks.
    :param comm: an mpi4py communicator. Collective over it.
    :param like: an array with the dtype and the row shape of arrays that may be received. A rank whose `blocks` is
        empty learns them from the other ranks; with `like` it need not.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit.
    :param algorithm: a sparse algorithm that ``python3 -m taquin list`` prints.
    :param timeout: seconds that the call may wait; it and `on_timeout` are as in :func:`alltoall`.
    :param statistics: the call's figures are added to it.
    :raises UsageError: on every rank, when an argument of any rank is invalid.
    :raises BudgetExceeded: on every rank, when `memory` is too small on any rank.

    TimedOut and PeerAborted are raised as by :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> came = taquin.sparse_exchange({(comm.rank + 1) % comm.size: numpy.full(3, comm.rank)}, comm)
    >>> [int(source) == (comm.rank - 1) % comm.size and bool((rows == source).all()) for source, rows in came.items()]
    [True]
    """
    choices = given(locals())

    def make() -> _Sent:
        if not isinstance(blocks, Mapping):
            raise TypeError(f"blocks must be a dict from ranks to arrays, not {type(blocks).__name__}")
        parts = [_rows(part) for part in blocks.values()]
        if like is None and not parts:
            return _Sent(np.zeros(0, np.int32), np.zeros(0, np.int64), None)
        kind = parts[0] if like is None else _rows(like)
        for rank, part in zip(blocks, parts):
            if part.dtype != kind.dtype or part.shape[1:] != kind.shape[1:]:
                raise ValueError(
                    f"the array for rank {rank} has rows of {part.dtype} and shape {part.shape[1:]}, another one of "
                    f"{kind.dtype} and {kind.shape[1:]}"
                )
        to = _integers("ranks", list(blocks), comm.Get_size() - 1).astype(np.int32)
        counts = np.array([len(part) for part in parts], np.int64)
        return _Sent(to, counts, parts[0] if len(parts) == 1 else np.concatenate([kind[:0], *parts]))

    def arrange(came: SparseBlocks) -> dict[int, Array]:
        begins = _core.packed(came.counts)
        return {int(s): came.data[b : b + n] for s, n, b in zip(came.sources, came.counts, begins)}

    return _run(make, arrange, comm, choices, statistics)


@collective("sparse", 3)
def sparse_exchange_arrays(
    destinations: ArrayLike,
    counts: ArrayLike,
    data: ArrayLike,
    comm: MPI.Comm,
    *,
    memory: Memory = None,
    algorithm: str = "auto",
    timeout: Timeout = None,
    on_timeout: str = "wait",
    statistics: Optional[Statistics] = None,
) -> SparseBlocks:
    """Sends the first `counts[0]` rows of `data` to rank `destinations[0]`, the next `counts[1]` to `destinations[1]`,
    and so on, and returns the received rows with their sources. `data` is not copied. Collective over `comm`.

    A rank may be a destination several times; its blocks keep their order. Where nothing is sent, `data` is an array
    without rows, of the dtype and the row shape of rows that may be received.

    The other parameters and the errors are those of :func:`sparse_exchange`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> sources, counts, data = taquin.sparse_exchange_arrays([0], [2], numpy.full((2, 3), comm.rank), comm)
    >>> (len(sources), data.shape) == ((comm.size, (2 * comm.size, 3)) if comm.rank == 0 else (0, (0, 3)))
    True
    """
    choices = given(locals())

    def make() -> _Sent:
        rows = _rows(data)
        to = _integers("destinations", destinations, comm.Get_size() - 1).astype(np.int32)
        sizes = _integers("counts", counts, (1 << 62))
        if to.shape != sizes.shape:
            raise ValueError(f"one count per destination: {to.size}, not {sizes.size}")
        if sum(map(int, sizes)) != len(rows):
            raise ValueError(f"the counts are not those of the data, which has {len(rows)} rows")
        return _Sent(to, sizes, rows)

    return _run(make, lambda came: came, comm, choices, statistics)
