"""Exceptions. An invalid argument of one rank is raised on every rank of the communicator, with the buffers untouched.
``docs/guide/8-hangs.md`` has a table of all errors and the ranks that have them."""

from __future__ import annotations


class Error(Exception):
    """Base of taquin's exceptions, and itself a failed call into the MPI library.

    ``error_class`` is the MPI error class (``MPI.ERR_...``).

    >>> import taquin
    >>> issubclass(taquin.BudgetExceeded, taquin.Error)
    True
    """

    def __init__(self, message: str, error_class: int = 0) -> None:
        super().__init__(message)
        self.error_class = error_class

    def __repr__(self) -> str:
        known = "".join(f", {name}={value}" for name, value in vars(self).items() if value not in (-1, 0))
        return f"{type(self).__name__}({str(self)!r}{known})"


class UsageError(Error, ValueError):
    """An argument is invalid. ``rank`` is the rank that gave it and ``peer`` the rank of the block, or -1.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> try:
    ...     taquin.alltoallv(numpy.zeros(1), [numpy.zeros(1), [-1] * MPI.COMM_WORLD.size], MPI.COMM_WORLD)
    ... except taquin.UsageError as error:
    ...     print(type(error).__name__)
    UsageError
    """

    def __init__(self, message: str, rank: int = -1, peer: int = -1, error_class: int = 0) -> None:
        super().__init__(message, error_class)
        self.rank = rank
        self.peer = peer


class TimedOut(Error, TimeoutError):
    """A call has waited longer than its ``timeout=``, with ``on_timeout="fail"``. It may be raised on this rank alone;
    taquin cannot use the communicator any more.

    >>> import taquin
    >>> issubclass(taquin.TimedOut, TimeoutError)
    True
    """


class PeerAborted(Error):
    """Rank ``rank`` has aborted a call on the communicator, because of an error of its own, which the message
    contains. taquin cannot use the communicator any more.

    >>> import taquin
    >>> taquin.PeerAborted("rank 3 has aborted a call", rank=3).rank
    3
    """

    def __init__(self, message: str, error_class: int = 0, rank: int = -1) -> None:
        super().__init__(message, error_class)
        self.rank = rank


class PeerFailed(Error):
    """Processes of the communicator have ended, or it was revoked. ``ranks``: those that are known to have failed, in
    order; empty where the communicator was revoked. taquin cannot use the communicator any more.

    >>> import taquin
    >>> taquin.PeerFailed("rank 3 has failed", ranks=(3,)).ranks
    (3,)
    """

    def __init__(self, message: str, error_class: int = 0, ranks: tuple[int, ...] = ()) -> None:
        super().__init__(message, error_class)
        self.ranks = ranks


class BudgetExceeded(Error, MemoryError):
    """The memory limit is too small: ``requested`` bytes, in addition to ``used``, exceed ``limit`` bytes.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> data = numpy.zeros((1000, 8))
    >>> try:
    ...     taquin.migrate(data, numpy.zeros(1000, int), MPI.COMM_WORLD, memory=100)
    ... except taquin.BudgetExceeded as error:
    ...     print(error.requested > error.limit, error.limit)
    True 100
    """

    def __init__(self, message: str, requested: int, used: int, limit: int) -> None:
        super().__init__(message)
        self.requested = requested
        self.used = used
        self.limit = limit
