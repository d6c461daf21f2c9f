"""Redistributions between layouts that are prepared once and started any number of times."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from mpi4py import MPI

from . import _core
from ._errors import UsageError
from ._guard import collective
from ._layout import Layout, Move, describe_move, readers_of
from ._options import Memory, Timeout, check_comm, given
from ._plan import Plan
from ._rows import Array


class LayoutPlan(Plan):
    """A prepared redistribution of an array; :func:`plan_layout` makes it. It is started, waited for and freed as a
    :class:`Plan` is.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> cyclic = taquin.Layout([taquin.Dimension.cyclic(8, comm.size)])
    >>> even = taquin.Layout([taquin.Dimension.even(8, comm.size)])
    >>> block = numpy.arange(8)[comm.rank :: comm.size].copy()
    >>> with taquin.plan_layout(block, cyclic, even, comm, out=numpy.empty(even.local_shape(comm.rank), int)) as move:
    ...     move.start()
    ...     move.wait()
    ...     bool((numpy.diff(move.result) == 1).all())
    True
    """

    def __init__(self, move: Move, sides: tuple[Any, Any], comm: MPI.Comm) -> None:
        self._plan: Any = None
        self._form = "redistribute_layout"
        self._sides = sides  # the arrays must outlive the plan
        self._result = move.place.result
        try:
            self._plan = _core.LayoutPlan(  # from here on without memory of Python's
                move.source, move.target, move.part, move.item_bytes, comm, move.options, move.place.array, move.out
            )
        except UsageError as error:
            raise error from move.invalid

    @property
    def result(self) -> Array:
        """The part that this rank owns in the target: a view, whose contents are those of the target after each run."""
        return self._result

    @property
    def algorithm(self) -> str:
        """The algorithm's name, which is "layouts"."""
        return "layouts"

    @property
    def memory(self) -> int:
        """Scratch bytes, all of which are taken when the plan is made."""
        return self._plan.peak_memory  # type: ignore[no-any-return]


@collective("redistribution", 3)
def plan_layout(
    array: Array,
    source: Layout,
    target: Layout,
    comm: MPI.Comm,
    *,
    out: Optional[Array] = None,
    axes: Optional[Sequence[int]] = None,
    from_begin: Optional[Sequence[int]] = None,
    to_begin: Optional[Sequence[int]] = None,
    extents: Optional[Sequence[int]] = None,
    scale: complex = 1,
    conjugate: bool = False,
    memory: Memory = None,
    progress: str = "library",
    timeout: Timeout = None,
    on_timeout: str = "wait",
    in_flight: int = 0,
) -> LayoutPlan:
    """Prepares :func:`redistribute_layout` with these arguments, to run as often as wanted. Collective over the
    communicator; no data move.

    Every run brings what is in `array`, as `source` has it, to `target`. Everything that can be refused is refused here,
    as the error of all ranks.

    :param progress: what completes a started plan while the program does other work: "library" and "calls", calls of
        taquin; "thread", also a thread, which needs ``MPI.THREAD_MULTIPLE``.

    The other parameters and the errors are those of :func:`redistribute_layout`.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> whole, cut = taquin.Dimension.whole, taquin.Dimension.even
    >>> rows, columns = (taquin.Layout(d) for d in ([cut(6, comm.size), whole(4)], [whole(6), cut(4, comm.size)]))
    >>> block = numpy.zeros(rows.local_shape(comm.rank))
    >>> out = numpy.zeros(columns.local_shape(comm.rank))
    >>> with taquin.plan_layout(block, rows, columns, comm, out=out) as move:
    ...     for step in range(3):
    ...         block[:] = step
    ...         move.start()
    ...         move.wait()
    >>> bool((move.result == 2).all())
    True
    """
    choices = given(locals()) | {"scale": scale, "conjugate": conjugate}
    check_comm(comm, intra=True)
    check, place = readers_of(array, source, target, out, (axes, from_begin, to_begin, extents), comm)
    return LayoutPlan(describe_move(check, place, out, array, choices, None), (array, out), comm)
