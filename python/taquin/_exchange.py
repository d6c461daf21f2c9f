"""The exchanges: alltoall, alltoallv, alltoallw and alltoallv_in_place."""

from __future__ import annotations

from typing import Any, Callable, Optional

from mpi4py import MPI

from . import _core
from . import _messages as messages
from ._errors import UsageError
from ._guard import collective
from ._messages import Side
from ._options import Memory, Options, Timeout, check_comm, check_statistics, describe, given, keywords
from ._statistics import Statistics

Sides = tuple[Optional[Side], Optional[Side]]


class Description:
    """An exchange as the extension takes it. Invalid arguments of this rank are kept, so that every rank has them."""

    def __init__(self, form: str, make: Callable[[int], Sides], in_place: bool, comm: MPI.Comm, options: dict[str, Any]):
        self.form = form
        self.comm = check_comm(comm)
        self.options: dict[str, Any] = {}
        self.invalid: Optional[Exception] = None
        self.send: Optional[Side] = None
        self.recv: Optional[Side] = None
        try:
            self.options = keywords(**options)
            ranks = comm.Get_remote_size() if isinstance(comm, MPI.Intercomm) else comm.Get_size()
            self.send, self.recv = make(ranks)
        except Exception as invalid:  # whatever it is: the other ranks must not wait for this one
            self.invalid = invalid
            self.options["invalid"] = describe(invalid)
            self.send = None if in_place else _nothing  # type: ignore[assignment]

    def refuse(self, invalid: Exception) -> None:
        """Reports an invalid argument to every rank, unless there is one already."""
        if self.invalid is None:
            self.invalid = invalid
            self.options["invalid"] = describe(invalid)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the extension's calls."""
        return self.form, self.send, self.recv, self.comm, self.options

    def raised(self, error: UsageError) -> UsageError:
        """The error that every rank has, with its cause on the rank whose argument is invalid."""
        if self.invalid is not None:
            error.__cause__ = self.invalid
        return error


_nothing = object()  # a send side that is given, but invalid


def describe_alltoall(sendbuf: Any, recvbuf: Any, comm: MPI.Comm, **options: Any) -> Description:
    """Describes the arguments of alltoall."""
    in_place = messages.is_in_place(sendbuf)

    def make(ranks: int) -> Sides:
        recv = messages.uniform(recvbuf, ranks, writable=True)
        if in_place:
            return None, recv
        send = messages.uniform(sendbuf, ranks, writable=False)
        messages.check_alike(send, recv)
        return send, recv

    return Description("alltoall", make, in_place, comm, options)


def describe_alltoallv(sendbuf: Any, recvbuf: Any, comm: MPI.Comm, **options: Any) -> Description:
    """Describes the arguments of alltoallv."""
    in_place = messages.is_in_place(sendbuf)

    def make(ranks: int) -> Sides:
        recv = messages.vector(recvbuf, ranks, writable=True)
        if in_place:
            return None, recv
        send = messages.vector(sendbuf, ranks, writable=False)
        messages.check_alike(send, recv)
        return send, recv

    return Description("alltoallv", make, in_place, comm, options)


def describe_alltoallw(sendbuf: Any, recvbuf: Any, comm: MPI.Comm, **options: Any) -> Description:
    """Describes the arguments of alltoallw."""
    in_place = messages.is_in_place(sendbuf)

    def make(ranks: int) -> Sides:
        recv = messages.typed(recvbuf, ranks, writable=True)
        return None if in_place else messages.typed(sendbuf, ranks, writable=False), recv

    return Description("alltoallw", make, in_place, comm, options)


def describe_alltoallv_in_place(buffer: Any, send: Any, recv: Any, comm: MPI.Comm, **options: Any) -> Description:
    """Describes the arguments of alltoallv_in_place."""

    def make(ranks: int) -> Sides:
        array, items = messages.buffer_of(buffer, writable=True)
        if len(items) > 2:
            raise ValueError(f"the buffer must be an array or [array, type], got a list of {len(items)}")
        kind = messages.type_of(array.dtype) if len(items) == 1 else messages.explicit_type(items[1])

        def side(blocks: Any) -> Side:
            counts, displs = blocks if isinstance(blocks, tuple) else (blocks, None)
            sizes, places = messages.blocks(counts, displs, ranks)
            return Side(messages.address_of(array), array.nbytes, sizes, places, [kind], None, array)

        return side(send), side(recv)

    return Description("alltoallv_in_place", make, False, comm, options)


def describe_invalid(invalid: Exception, comm: MPI.Comm) -> Description:
    """A call with an invalid argument: all ranks have this error."""

    def make(_: int) -> Sides:
        raise invalid

    return Description("alltoall", make, False, comm, {})


def run(description: Description, statistics: Optional[Statistics]) -> None:
    """Runs the exchange once. Collective."""
    try:
        check_statistics(statistics)
    except TypeError as invalid:
        description.refuse(invalid)
    try:
        # By position: pybind11 ends the process where it lacks memory for keywords.
        done = _core.run(*description.arguments(), statistics is not None)  # type: ignore[call-arg]
    except UsageError as error:
        raise description.raised(error)
    if statistics is not None and done is not None:
        statistics._add(done)


@collective("alltoall", 2)
def alltoall(
    sendbuf: Any,
    recvbuf: Any,
    comm: MPI.Comm,
    *,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    options: Optional[Options] = None,
    statistics: Optional[Statistics] = None,
) -> None:
    """Sends one block to every rank and receives one from every rank, all of equal size, as ``comm.Alltoall``.

    As in MPI, ranks may name other datatypes than their peers: bytes are not converted, and the sizes of blocks
    are compared, not their dtypes. The two buffers of a rank have one dtype, unless the call names their datatypes.

    :param sendbuf: a buffer that divides into one block per rank, in rank order; ``[buffer, type]`` or ``[buffer,
        count, type]`` with the count of one block, in elements of the type; ``MPI.IN_PLACE``: the blocks in `recvbuf`.
    :param recvbuf: the same for the received blocks.
    :param comm: an mpi4py communicator. Collective over it.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit.
    :param algorithm: a name that ``python3 -m taquin list`` prints.
    :param check: compare the sizes that ranks send with those that their peers expect, before data move, also where a
        call on one node otherwise finds a difference only on the receiving rank.
    :param timeout: seconds, or a ``datetime.timedelta``, that the call may wait before it reports, once, on standard
        error, which ranks are missing and where they are; None: what ``TAQUIN_TIMEOUT`` says, otherwise no limit. On
        all ranks or on none.
    :param on_timeout: afterwards "wait" continues to wait, "abort" ends the program, "fail" raises :class:`TimedOut`.
    :param options: options of single algorithms (:class:`Options`).
    :param statistics: the call's figures are added to it.
    :raises UsageError: on every rank, when an argument of any rank is invalid. ``docs/guide/8-hangs.md`` says which
        ranks have other errors.
    :raises BudgetExceeded: on every rank, when `memory` is too small on any rank.
    :raises TimedOut: see `on_timeout`.
    :raises PeerAborted: when another rank has aborted the call because of an error.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> send = numpy.full(comm.size, comm.rank)
    >>> recv = numpy.empty_like(send)
    >>> taquin.alltoall(send, recv, comm, memory="1M")
    >>> bool((recv == numpy.arange(comm.size)).all())
    True
    """
    run(describe_alltoall(sendbuf, recvbuf, comm, **given(locals())), statistics)


@collective("alltoallv", 2)
def alltoallv(
    sendbuf: Any,
    recvbuf: Any,
    comm: MPI.Comm,
    *,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    options: Optional[Options] = None,
    statistics: Optional[Statistics] = None,
) -> None:
    """Sends a block of any size to every rank, as ``comm.Alltoallv``. Counts and displacements have 64 bits.

    :param sendbuf: ``[buffer, counts, displacements, type]`` with one count and displacement per rank, in elements of
        the type; displacements (default: contiguous blocks in rank order) and type (default: the buffer's) may be left
        out; ``[buffer, (counts, displacements), type]``; or a buffer that divides into equal blocks; ``MPI.IN_PLACE``:
        the blocks in `recvbuf`.
    :param recvbuf: the same for the received blocks. Collective over `comm`.

    The other parameters and the errors are those of :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> send = numpy.full(comm.size * (comm.rank + 1), comm.rank)  # rank + 1 items to each
    >>> counts = numpy.arange(comm.size) + 1                       # i + 1 items from rank i
    >>> recv = numpy.empty(counts.sum(), send.dtype)
    >>> taquin.alltoallv([send, [comm.rank + 1] * comm.size], [recv, counts], comm)
    >>> bool((recv == numpy.repeat(numpy.arange(comm.size), counts)).all())
    True
    """
    run(describe_alltoallv(sendbuf, recvbuf, comm, **given(locals())), statistics)


@collective("alltoallw", 2)
def alltoallw(
    sendbuf: Any,
    recvbuf: Any,
    comm: MPI.Comm,
    *,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    options: Optional[Options] = None,
    statistics: Optional[Statistics] = None,
) -> None:
    """Sends a block of any type to every rank, as ``comm.Alltoallw``.

    :param sendbuf: ``[buffer, counts, displacements, types]`` with displacements in bytes and one type per rank,
        ``[buffer, (counts, displacements), types]``, or ``[buffer, types]``: one element for each rank, at the buffer's
        start, whose type describes its place; ``MPI.IN_PLACE``: the blocks in `recvbuf`.
    :param recvbuf: the same for the received blocks. Collective over `comm`.

    The other parameters and the errors are those of :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> matrix = numpy.full((3, comm.size), float(comm.rank))  # a column for each rank
    >>> columns = [MPI.DOUBLE.Create_subarray([3, comm.size], [3, 1], [0, i]).Commit() for i in range(comm.size)]
    >>> rows = numpy.empty((comm.size, 3))
    >>> taquin.alltoallw([matrix, columns], [rows, [3] * comm.size, range(0, 24 * comm.size, 24),
    ...                  [MPI.DOUBLE] * comm.size], comm)
    >>> bool((rows == numpy.arange(comm.size)[:, None]).all())
    True
    >>> for column in columns: column.Free()
    """
    run(describe_alltoallw(sendbuf, recvbuf, comm, **given(locals())), statistics)


@collective("alltoallv_in_place", 3)
def alltoallv_in_place(
    buffer: Any,
    send: Any,
    recv: Any,
    comm: MPI.Comm,
    *,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    scratch_sends: bool = False,
    timeout: Timeout = None,
    on_timeout: str = "wait",
    options: Optional[Options] = None,
    statistics: Optional[Statistics] = None,
) -> None:
    """Sends blocks of one buffer and receives into the same buffer, with any counts on either side.

    Send blocks must not overlap each other, and receive blocks must not overlap each other; a send block may overlap a
    receive block. Items outside all receive blocks keep their values.

    :param buffer: an array, or ``[array, type]``.
    :param send: one count per rank, in elements of the type, or ``(counts, displacements)``; by default blocks are
        contiguous in rank order.
    :param recv: the same for the received blocks. Collective over `comm`.
    :param memory: bytes of scratch memory per rank (or "64M"); None: 1% of the most that any rank sends or receives, at
        least 64 KiB.
    :param scratch_sends: items that are only sent are undefined afterwards; they serve as scratch memory.

    The other parameters and the errors are those of :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> data = numpy.full(comm.size, comm.rank)
    >>> taquin.alltoallv_in_place(data, [1] * comm.size, [1] * comm.size, comm)
    >>> bool((data == numpy.arange(comm.size)).all())
    True
    """
    run(describe_alltoallv_in_place(buffer, send, recv, comm, **given(locals())), statistics)
