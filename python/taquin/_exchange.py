"""The exchanges: alltoall, alltoallv, alltoallw and alltoallv_in_place."""

from __future__ import annotations

from typing import Any, Callable, Optional

from mpi4py import MPI

from . import _core
from . import _messages as messages
from ._errors import UsageError
from ._messages import Side
from ._options import Memory, Options, Timeout, check_comm, check_statistics, describe, given, keywords
from ._statistics import Statistics

Sides = tuple[Optional[Side], Optional[Side]]


class Description:
    """An exchange as the extension takes it. Invalid arguments of this rank are kept, so that every rank hears of them."""

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
        """Has an invalid argument told to every rank, unless there is one already."""
        if self.invalid is None:
            self.invalid = invalid
            self.options["invalid"] = describe(invalid)

    def arguments(self) -> tuple[Any, ...]:
        """What the extension's calls take."""
        return self.form, self.send, self.recv, self.comm, self.options

    def raised(self, error: UsageError) -> UsageError:
        """The error that every rank has; on the rank whose argument was invalid with its cause."""
        if self.invalid is not None:
            error.__cause__ = self.invalid
        return error


_nothing = object()  # a send side that is there, but not looked at


def describe_alltoall(sendbuf: Any, recvbuf: Any, comm: MPI.Comm, **options: Any) -> Description:
    """alltoall's arguments."""
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
    """alltoallv's arguments."""
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
    """alltoallw's arguments."""
    in_place = messages.is_in_place(sendbuf)

    def make(ranks: int) -> Sides:
        recv = messages.typed(recvbuf, ranks, writable=True)
        return None if in_place else messages.typed(sendbuf, ranks, writable=False), recv

    return Description("alltoallw", make, in_place, comm, options)


def describe_alltoallv_in_place(buffer: Any, send: Any, recv: Any, comm: MPI.Comm, **options: Any) -> Description:
    """alltoallv_in_place's arguments."""

    def make(ranks: int) -> Sides:
        array, items = messages.buffer_of(buffer, writable=True)
        if len(items) > 2:
            raise ValueError("the buffer is an array, or [array, type]")
        kind = messages.type_of(array.dtype) if len(items) == 1 else messages.explicit_type(items[1])

        def side(blocks: Any) -> Side:
            counts, displs = blocks if isinstance(blocks, tuple) else (blocks, None)
            sizes, places = messages.blocks(counts, displs, ranks)
            return Side(messages.address_of(array), array.nbytes, sizes, places, [kind], None, array)

        return side(send), side(recv)

    return Description("alltoallv_in_place", make, False, comm, options)


def describe_invalid(invalid: Exception, comm: MPI.Comm) -> Description:
    """A call that cannot be described: all ranks hear why."""

    def make(_: int) -> Sides:
        raise invalid

    return Description("alltoall", make, False, comm, {})


def run(description: Description, statistics: Optional[Statistics]) -> None:
    """Runs it once."""
    try:
        check_statistics(statistics)
    except TypeError as invalid:
        description.refuse(invalid)
    try:
        done = _core.run(*description.arguments())
    except UsageError as error:
        raise description.raised(error)
    if statistics is not None:
        statistics._add(done)


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
    """Sends one block of equal size to every rank, as ``comm.Alltoall``.

    :param sendbuf: a buffer that divides into one block per rank, ``[buffer, type]`` or ``[buffer, count, type]`` with
        the count of one block; ``MPI.IN_PLACE``: what is in `recvbuf`.
    :param recvbuf: the same for what arrives.
    :param comm: an mpi4py communicator. Collective over it.
    :param memory: bytes of extra memory per rank (or "64M"); None: no limit.
    :param algorithm: a name that ``python3 -m taquin list`` prints.
    :param check: compare first what ranks send with what their peers expect.
    :param timeout: seconds, or a ``datetime.timedelta``, that the call may wait until it says, once, on standard error,
        which ranks are missing and where those are; None: what ``TAQUIN_TIMEOUT`` says, or for ever. On all ranks or
        on none.
    :param on_timeout: what follows: "wait" goes on waiting, "abort" ends the program, "fail" raises :class:`TimedOut`.
    :param options: choices of single algorithms (:class:`Options`).
    :param statistics: added to.
    :raises UsageError: on every rank, when an argument of any rank is wrong.
    :raises BudgetExceeded: on every rank, when `memory` is too small.

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
    """Sends a block of its own size to every rank, as ``comm.Alltoallv``. Counts and displacements have 64 bits.

    :param sendbuf: ``[buffer, counts, displacements, type]``, where displacements (default: one block behind the
        other) and type (default: the buffer's) may be left out, ``[buffer, (counts, displacements), type]``, or a
        buffer that divides into equal blocks; ``MPI.IN_PLACE``: what is in `recvbuf`.
    :param recvbuf: the same for what arrives.

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
    """Sends a block of its own type to every rank, as ``comm.Alltoallw``.

    :param sendbuf: ``[buffer, counts, displacements, types]`` with displacements in bytes and one type per rank,
        ``[buffer, (counts, displacements), types]``, or ``[buffer, types]``: one element for each rank, placed by its
        type; ``MPI.IN_PLACE``: what is in `recvbuf`.
    :param recvbuf: the same for what arrives.

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
    """Replaces what the send blocks of one buffer hold by what arrives, with any counts on either side.

    Send blocks must not overlap each other, nor receive blocks each other; send and receive blocks may. Items outside
    all receive blocks keep their values.

    :param buffer: an array, or ``[array, type]``.
    :param send: counts of what goes to each rank, or ``(counts, displacements)``; default displacements put one block
        behind the other.
    :param recv: the same for what arrives.
    :param memory: unless it is given, 1% of the most that any rank sends or receives, at least 64 KiB.
    :param scratch_sends: items that are only sent may hold anything afterwards; they serve as extra memory.

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
