"""Plans: exchanges that are prepared once and started any number of times."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any, Callable, Optional, Union

from mpi4py import MPI

from . import _core
from . import _exchange as exchange
from ._errors import UsageError
from ._guard import collective
from ._options import Memory, Options, Timeout, given
from ._statistics import Statistics

_describe: dict[str, Callable[..., exchange.Description]] = {
    "alltoall": exchange.describe_alltoall,
    "alltoallv": exchange.describe_alltoallv,
    "alltoallw": exchange.describe_alltoallw,
    "alltoallv_in_place": exchange.describe_alltoallv_in_place,
}

_kept: list[object] = []  # plans that were deleted while started, with buffers in which data may still arrive


class Plan:
    """A prepared exchange; :func:`plan` makes it. It serves one thread at a time.

    Leaving a ``with`` block completes the exchange that is started and frees the plan.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> data = numpy.full(comm.size, comm.rank)
    >>> with taquin.plan(taquin.alltoall, MPI.IN_PLACE, data, comm) as exchange:
    ...     exchange.start()
    ...     while not exchange.test():
    ...         pass
    ...     exchange.statistics.starts
    1
    """

    def __init__(self, description: exchange.Description) -> None:
        self._plan: _core.Plan = None  # type: ignore[assignment]
        self._form = description.form
        self._sides = (description.send, description.recv)  # the buffers must outlive the plan
        try:
            self._plan = _core.Plan(*description.arguments())  # from here on without memory of Python's
        except UsageError as error:
            raise description.raised(error)

    def __repr__(self) -> str:
        try:
            state = f"{self.algorithm}, {self.memory} bytes, {'started' if self.started else 'not started'}"
        except UsageError:
            state = "freed"
        return f"<taquin.Plan of {self._form}: {state}>"

    def start(self) -> None:
        """Begins the exchange. Local; all ranks start their plans in the same order."""
        self._plan.start()

    def test(self) -> bool:
        """Makes progress. True when the exchange is complete, or none is started. Local. Raises its errors."""
        return self._plan.test()

    def wait(self) -> None:
        """Waits until this rank's part of the exchange is complete. Other threads run meanwhile. Raises its errors."""
        self._plan.wait()

    def run(self) -> None:
        """start() and wait()."""
        self.start()
        self.wait()

    def free(self) -> None:
        """Frees the plan and its references to the buffers. Local. Not while it is started."""
        self._plan.free()
        self._sides = (None, None)

    @property
    def started(self) -> bool:
        """True from start() until wait() or test() has completed the exchange."""
        return self._plan.started

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self._plan.algorithm

    @property
    def memory(self) -> int:
        """Extra bytes in use now."""
        return self._plan.memory

    @property
    def peak_memory(self) -> int:
        """The most scratch bytes in use at any time."""
        return self._plan.peak_memory

    @property
    def statistics(self) -> Statistics:
        """The sums over its exchanges on this rank."""
        return Statistics(**self._plan.statistics)

    def __enter__(self) -> Plan:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self.started:
            self.wait()
        self.free()

    def __del__(self) -> None:
        plan = getattr(self, "_plan", None)
        if plan is not None and plan.started:
            _kept.append((plan, self._sides))
            warnings.warn("a plan was deleted while it was started", ResourceWarning, source=self)


@collective("plan", -1)
def plan(
    call: Union[str, Callable[..., None]],
    *arguments: Any,
    memory: Memory = None,
    algorithm: str = "auto",
    check: bool = False,
    scratch_sends: bool = False,
    tune: bool = False,
    progress: str = "library",
    timeout: Timeout = None,
    on_timeout: str = "wait",
    options: Optional[Options] = None,
) -> Plan:
    """Prepares the exchange of `call` with these arguments. Collective over the communicator.

    :param call: ``taquin.alltoall``, ``taquin.alltoallv``, ``taquin.alltoallw`` or ``taquin.alltoallv_in_place``, or
        its name.
    :param arguments: its buffers and the communicator. Counts, displacements and types are read now.
    :param scratch_sends: as in :func:`alltoallv_in_place`.
    :param tune: measure the few algorithms of least predicted time on the first starts and keep the fastest.
    :param progress: what completes a started plan: "library", the MPI library, with algorithms that need no further
        call of this rank; "calls", calls of taquin, with any algorithm; "thread", also a thread, which needs
        ``MPI.THREAD_MULTIPLE``.

    The other parameters and the errors are those of :func:`alltoall`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> send, recv = numpy.zeros(comm.size), numpy.empty(comm.size)
    >>> with taquin.plan(taquin.alltoall, send, recv, comm, memory="1M") as exchange:
    ...     for step in range(3):
    ...         send[:] = step
    ...         exchange.run()
    >>> bool((recv == 2).all())
    True
    """
    choices = given(locals())
    name = call if isinstance(call, str) else getattr(call, "__name__", "")
    wanted = 4 if name == "alltoallv_in_place" else 3
    invalid: Optional[Exception] = None
    if name not in _describe:
        invalid = ValueError(f"no plan of {call!r}: give one of {', '.join(_describe)}")
    elif len(arguments) != wanted:
        invalid = TypeError(f"{name} has {wanted} arguments, not {len(arguments)}")
    if invalid is None:
        return Plan(_describe[name](*arguments, **choices))
    if not arguments or not isinstance(arguments[-1], MPI.Comm):
        raise invalid  # without a communicator no other rank can have the error
    return Plan(exchange.describe_invalid(invalid, arguments[-1]))
