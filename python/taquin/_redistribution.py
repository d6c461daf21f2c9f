"""Redistribution in place: rows of an array, and arrays in blocks."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np
from mpi4py import MPI
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._blocks import Blocks
from ._errors import UsageError
from ._messages import address_of
from ._options import Memory, Timeout, check_comm, check_statistics, describe, given, keywords
from ._statistics import Statistics

Array = NDArray[Any]

_CHUNK = 1 << 14  # rows whose destinations are asked for at once
_MOST = (1 << 31) - 2


def _check_rows(array: object) -> Array:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"the rows must be a NumPy array, not {type(array).__name__}")
    if array.ndim == 0:
        raise ValueError("the array has no rows: it has no axis")
    return _check_storage(array)


def _check_storage(array: Array) -> Array:
    if array.dtype.hasobject:
        raise TypeError(f"items of dtype {array.dtype} are references to Python objects, which mean nothing elsewhere")
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous in C order: give numpy.ascontiguousarray(array)")
    if not array.flags.writeable:
        raise ValueError("the array is read-only")
    return array


def _row_bytes(array: Array) -> int:
    return int(array.itemsize * np.prod(array.shape[1:], dtype=np.int64))


def _fill(to: NDArray[np.int32], values: ArrayLike, first: int) -> None:
    """Destinations `values` of the rows from `first` on. Raises for what is no rank's number."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise TypeError(f"destinations must be integers, not {given.dtype}")
    if given.shape != to.shape:
        raise ValueError(f"one destination per row: {to.size}, not an array of shape {given.shape}")
    if given.size and given.itemsize >= 4 and (given.min() < -_MOST or given.max() > _MOST):
        row = int(np.argmax((given < -_MOST) | (given > _MOST)))
        raise ValueError(f"row {first + row} goes to rank {given[row]}")
    to[:] = given


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
    """Sends every row of an array to a rank, in place, and returns what is here now: ordered by source, and by position
    there.

    What arrives is put where the rows were, and a view of `array` is returned. Where more arrive than `array` has rows,
    a new array of exactly what arrives is returned; the old one then counts as extra memory. Extra memory is 12 bytes
    per rank, 8 per row, and what the redistribution takes (docs/internals/redistribution.md). There is no other copy of the rows.

    :param array: rows along its first axis; contiguous, of any dtype without Python objects. Fewer than 2^31 rows.
    :param destination: a rank for each row, or a function that gives them for an array of rows; it is called for a part
        of the rows at a time.
    :param comm: an mpi4py communicator. Collective over it.
    :param count: rows that are in use, from the first on; the others are room for what arrives. Default: all.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit.
    :param algorithm: a name that ``python3 -m taquin list --redistribution`` prints.
    :param check: no effect: a migration has one place for each row.
    :param timeout: seconds that the call may wait, and `on_timeout` what follows: as in :func:`alltoall`.
    :param in_flight: the most requests and blocks under way that a rank has asked for; 0, the default: 32.
    :raises UsageError: on every rank with its rows kept, when an argument of any rank is wrong.
    :raises BudgetExceeded: on every rank with its rows kept, when `memory` is too small.

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
    check_statistics(statistics)
    check_comm(comm, intra=True)
    fault: Optional[BaseException] = None
    options: dict[str, Any] = {}
    rows = 0
    try:
        options = keywords(**choices)
        _check_rows(array)
        rows = len(array) if count is None else count.__index__()
        if not 0 <= rows <= len(array):
            raise ValueError(f"count={count}: the array has {len(array)} rows")
    except Exception as wrong:
        fault, rows = wrong, 0
    move = _core.Migration(rows, comm, options)
    if fault is None:
        fault = _fill_destinations(move, array, destination)
    room = len(array) if fault is None else 0
    try:
        arriving = move.plan(describe(fault) if fault else None, room, _nbytes(array))
        storage = array
        try:
            if arriving > room:
                storage = np.empty((arriving,) + array.shape[1:], array.dtype)
                storage[:rows] = array[:rows]
        except BaseException as lacking:  # the other ranks must not wait for this one
            fault = lacking
        move.ready(describe(fault) if fault else None)
        move.run(address_of(storage), _row_bytes(array))
    except UsageError as error:
        raise error from fault
    if fault is not None and not isinstance(fault, Exception):
        raise fault
    if statistics is not None:
        statistics._add(move.statistics)
    return storage[:arriving]


def _nbytes(array: object) -> int:
    return array.nbytes if isinstance(array, np.ndarray) else 0


def _fill_destinations(move: _core.Migration, array: Array, destination: Any) -> Optional[BaseException]:
    """What is wrong with the destinations."""
    try:
        to = move.destinations()
        if not callable(destination):
            _fill(to, destination, 0)
            return None
        for first in range(0, len(to), _CHUNK):
            part = slice(first, min(first + _CHUNK, len(to)))
            _fill(to[part], destination(array[part]), first)
    except BaseException as wrong:  # the other ranks must not wait for this one
        return wrong
    return None


class Redistribution:
    """An array of equal rows, each of which can be sent to a place of its own in some rank's array, again and again.

    Extra memory on p ranks with m rows of l bytes: at most 16384 + 300·p + 82·m + 81·l bytes.

    :param array: rows along its first axis; contiguous, of any dtype without Python objects. It is held on to.
    :param comm: an mpi4py communicator. Collective over it.
    :param check: that no two rows go to one place: one more reduction.

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
    ) -> None:
        choices = given(locals())
        check_comm(comm, intra=True)
        fault: Optional[Exception] = None
        options: dict[str, Any] = {}
        address = rows = row_bytes = 0
        try:
            options = keywords(**choices)
            _check_rows(array)
            address, rows, row_bytes = address_of(array), len(array), _row_bytes(array)
        except Exception as wrong:
            fault, options["fault"] = wrong, describe(wrong)
        try:
            self._redistribution = _core.Redistribution(address, rows, row_bytes, comm, options)
        except UsageError as error:
            raise error from fault
        self._array = array

    def __repr__(self) -> str:
        rows = f"{len(self._array)} rows of {self._array.dtype}"
        return f"<taquin.Redistribution of {rows}: {self.algorithm}, {self.memory} bytes>"

    def __call__(self, ranks: ArrayLike, places: ArrayLike) -> None:
        """Sends row k to place `places[k]` of rank `ranks[k]`; rows with rank -1, and those behind the given ones, may
        be overwritten. Collective. A bad map is a UsageError on every rank, with the rows kept."""
        fault: Optional[Exception] = None
        to: Optional[NDArray[np.int32]] = None
        at: Optional[NDArray[np.int64]] = None
        try:
            wanted = np.asarray(ranks)
            to = np.empty(wanted.shape if wanted.ndim == 1 else wanted.size, np.int32)
            if wanted.size:
                _fill(to, wanted, 0)
            given = np.asarray(places)
            if given.size and given.dtype.kind not in "iu":
                raise TypeError(f"places must be integers, not {given.dtype}")
            if given.shape != to.shape:
                raise ValueError(f"one place per rank: {to.size}, not an array of shape {given.shape}")
            at = np.ascontiguousarray(given, np.int64)
        except Exception as wrong:
            fault, to, at = wrong, None, None
        try:
            self._redistribution.redistribute(to, at)
        except UsageError as error:
            if fault is not None:
                raise UsageError(f"{error} ({describe(fault)})", error.rank, error.peer, error.error_class) from fault
            raise

    def sort(self, ranks: NDArray[np.int32], places: NDArray[np.int32]) -> None:
        """Sorts the rows of this rank in place by their destination, dead ones last, and both arrays (of 32-bit
        integers) with them. One rank and one place for every row; -1 is the rank of a dead one. Local."""
        for values in (ranks, places):
            if not isinstance(values, np.ndarray) or values.dtype != np.int32 or values.ndim != 1:
                raise UsageError("ranks and places must be arrays of numpy.int32, which are sorted with the rows")
            if not values.flags.c_contiguous or not values.flags.writeable:
                raise UsageError("ranks and places must be contiguous and writable: they are sorted with the rows")
        self._redistribution.sort(ranks, places)

    @property
    def array(self) -> Array:
        """The rows. Another array of the same shape and dtype may be set. Local."""
        return self._array

    @array.setter
    def array(self, array: Array) -> None:
        try:
            _check_rows(array)
        except (TypeError, ValueError) as fault:
            raise UsageError(str(fault)) from fault
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise UsageError(
                f"an array of shape {self._array.shape} and {self._array.dtype} is wanted, not {array.shape} and "
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
        """The most extra bytes that were in use at once."""
        return self._redistribution.peak_memory

    @property
    def statistics(self) -> Statistics:
        """What its calls did."""
        return Statistics(**self._redistribution.statistics)


def redistribute_nd(
    array: Array,
    source: Blocks,
    target: Blocks,
    comm: MPI.Comm,
    *,
    storage: Optional[Array] = None,
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

    What this rank has in `target` is returned, in the memory of `array` or of `storage`. Where that is too small (a
    larger block, on grids that do not divide the shape) a new array is returned, and the old one counts as extra
    memory; :func:`allocate` gives storage that suffices.

    :param array: this rank's block in `source`; contiguous in C order, of any dtype without Python objects.
    :param source: the distribution that `array` is in. All ranks give the same.
    :param target: the distribution wanted, of the same global shape. All ranks give the same.
    :param comm: an mpi4py communicator. Collective over it.
    :param storage: a contiguous array that begins where `array` does, whose memory may be used.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit. About 2·sqrt(94·n·(81 + 2·p)) + 300·p + 24K
        bytes are needed for blocks of n bytes on p ranks.
    :param algorithm: a name that ``python3 -m taquin list --redistribution`` prints.
    :param check: no effect: every item has one place.
    :param timeout: seconds that the call may wait, and `on_timeout` what follows: as in :func:`alltoall`.
    :param in_flight: the most requests and blocks under way that a rank has asked for; 0, the default: 32.
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
    choices = given(locals())

    def check_arguments() -> tuple[Blocks, Blocks]:
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
        return source, target

    check_comm(comm, intra=True)
    return _exchange_blocks(
        array, check_arguments, comm, storage, lambda shape: shape, False, choices, statistics
    )


def transpose(
    array: Array,
    comm: MPI.Comm,
    *,
    storage: Optional[Array] = None,
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
    choices = given(locals())
    check_comm(comm, intra=True)
    ranks, rank = comm.Get_size(), comm.Get_rank()
    mine = np.zeros(1, np.int64)
    if isinstance(array, np.ndarray) and array.ndim == 2:
        mine[0] = len(array)
    total = np.zeros(1, np.int64)
    comm.Allreduce(mine, total)
    rows = int(total[0])

    def check_arguments() -> tuple[Blocks, Blocks]:
        if not isinstance(array, np.ndarray) or array.ndim != 2:
            raise ValueError(f"a matrix is wanted, not {getattr(array, 'shape', type(array).__name__)}")
        shape = (rows, array.shape[1])
        source = Blocks(shape, (ranks, 1))
        if source.local_shape(rank) != array.shape:
            raise ValueError(
                f"the rows are not in blocks: of {rows} this rank should have {source.local_shape(rank)[0]}, not "
                f"{len(array)}"
            )
        return source, Blocks(shape, (1, ranks))

    return _exchange_blocks(
        array, check_arguments, comm, storage, lambda shape: shape[::-1], True, choices, statistics
    )


def _exchange_blocks(
    array: Array,
    check_arguments: Callable[[], tuple[Blocks, Blocks]],
    comm: MPI.Comm,
    storage: Optional[Array],
    result_shape: Callable[[tuple[int, ...]], tuple[int, ...]],
    transposing: bool,
    choices: dict[str, Any],
    statistics: Optional[Statistics],
) -> Array:
    check_statistics(statistics)
    fault: Optional[Exception] = None
    options: dict[str, Any] = {}
    source = target = Blocks((0,), (1,))
    room = item = items = 0
    grows = False
    larger: NDArray[Any] = array
    shape: tuple[int, ...] = ()
    try:
        options = keywords(**choices)
        source, target = check_arguments()
        _check_storage(array)
        shape, item = target.local_shape(comm.Get_rank()), array.itemsize
        room = _room(array, storage)
        items = int(np.prod(shape, dtype=np.int64))
        grows = room < item * items
        if grows:  # before all agree on the call: they know if there is none. Its pages are taken when they are written
            larger = np.empty(items, array.dtype)
    except Exception as wrong:
        fault, options["fault"] = wrong, describe(wrong)
    held = room if grows else 0
    try:
        move = _core.BlockExchange(source.shape, source._cut, target._cut, item, held, transposing, comm, options)
    except UsageError as error:
        raise error from fault
    place = address_of(array)
    flat: NDArray[Any]
    if grows:
        larger[: array.size] = array.ravel()
        place = address_of(larger)
        flat = larger
    else:
        flat = _flat(array if storage is None else storage, array.dtype)
    move.run(place)
    if statistics is not None:
        statistics._add(move.statistics)
    return flat[:items].reshape(result_shape(shape))


def _room(array: Array, storage: Optional[Array]) -> int:
    """Bytes from the array's beginning that may be used."""
    if storage is None:
        return array.nbytes
    if not isinstance(storage, np.ndarray):
        raise TypeError(f"the storage must be a NumPy array, not {type(storage).__name__}")
    _check_storage(storage)
    if storage.dtype != array.dtype:
        raise TypeError(f"the storage has items of {storage.dtype}, the array of {array.dtype}")
    if storage.nbytes < array.nbytes or (array.size and address_of(storage) != address_of(array)):
        raise ValueError("the storage does not begin where the array does, or is smaller")
    return storage.nbytes


def _flat(array: Array, dtype: np.dtype[Any]) -> Array:
    return array.reshape(-1).view(dtype)
