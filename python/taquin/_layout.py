"""Layouts of n-dimensional arrays on the ranks of a communicator, and redistribution from one to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, NamedTuple, Optional, Sequence

import numpy as np
from mpi4py import MPI

from . import _core
from ._errors import UsageError
from ._guard import collective
from ._messages import address_of
from ._options import Memory, Timeout, check_comm, check_statistics, describe, given, keywords
from ._rows import Array, check_items, elements_of
from ._statistics import Statistics

Part = tuple[list[int], list[int], list[int], list[int]]
"""Axes, the first index in source and target, extents; each empty for the default."""
ALL: Part = ([], [], [], [])


@dataclass(frozen=True)
class Dimension:
    """How one dimension of an array is distributed over the processes along one dimension of a process grid.

    Made by its class methods. `block` 0 means one block for each process: of the given `lengths`, or even ones.

    >>> import taquin
    >>> taquin.Dimension.block_cyclic(10, 2, 3)
    Dimension(extent=10, processes=2, block=3, first=0, lengths=None)
    """

    extent: int
    processes: int = 1
    block: int = 0
    first: int = 0
    lengths: Optional[tuple[int, ...]] = None

    @classmethod
    def whole(cls, extent: int) -> Dimension:
        """Not distributed."""
        return cls(extent)

    @classmethod
    def even(cls, extent: int, processes: int) -> Dimension:
        """One block per process, the first ones one longer: as ``numpy.array_split`` cuts, 2DECOMP&FFT, mpi4py-fft."""
        return cls(extent, processes)

    @classmethod
    def block_of(cls, extent: int, processes: int) -> Dimension:
        """One block per process of ⌈extent / processes⌉ indices, the last ones shorter: FFTW, MPI_DISTRIBUTE_BLOCK."""
        return cls(extent, processes, max(1, -(-extent // max(1, processes))))

    @classmethod
    def given(cls, lengths: Sequence[int]) -> Dimension:
        """One block per process of these lengths, in order."""
        return cls(sum(lengths), len(lengths), 0, 0, tuple(lengths))

    @classmethod
    def cyclic(cls, extent: int, processes: int, first: int = 0) -> Dimension:
        """Index i belongs to process (i + first) mod processes."""
        return cls(extent, processes, 1, first)

    @classmethod
    def block_cyclic(cls, extent: int, processes: int, block: int, first: int = 0) -> Dimension:
        """Block i // block belongs to process (i // block + first) mod processes: as ScaLAPACK cuts."""
        if block < 1:
            raise ValueError(f"a block must have 1 index or more, got {block}")
        return cls(extent, processes, block, first)

    @property
    def _given(self) -> tuple[int, int, int, int, list[int]]:
        bounds = [] if self.lengths is None else [0, *(int(n) for n in np.cumsum(self.lengths))]
        return self.extent, self.processes, self.block, self.first, bounds


@dataclass(frozen=True)
class Layout:
    """An n-dimensional array on a grid of processes. A value: all its functions are local. All ranks give the same
    layouts, except for `allocated`, which is each rank's own.

    :param dimensions: one :class:`Dimension` for each axis of the array.
    :param order: "C" or "F": the order of the local arrays in memory.
    :param grid_order: "C" or "F": how the positions of the process grid are counted. Position k is rank k.
    :param ranks: the ranks of the positions instead, each once. Other ranks hold nothing.
    :param stored: the axes from the one that changes slowest in memory to the one that changes fastest, instead of
        `order`.
    :param allocated: elements of this rank's local array along each axis, of which it uses the first ones (leading
        dimensions); 0: as many as it owns, and its halo.
    :param halo: for each axis the elements before and after what a rank owns, which are neither read nor written.
    :raises ValueError: for a layout that does not cover its array, names a rank twice, or has sizes beyond 2^56.

    >>> import taquin
    >>> rows = taquin.Layout([taquin.Dimension.even(7, 2), taquin.Dimension.whole(5)])
    >>> rows.local_shape(0), rows.local_size(1), rows.find((4, 2))
    ((4, 5), 15, (1, 2))
    """

    dimensions: Sequence[Dimension]
    order: str = "C"
    grid_order: str = "C"
    ranks: Optional[Sequence[int]] = None
    stored: Optional[Sequence[int]] = None
    allocated: Optional[Sequence[int]] = None
    halo: Optional[Sequence[tuple[int, int]]] = None

    def __post_init__(self) -> None:
        for name in ("dimensions", "ranks", "stored", "allocated", "halo"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("order", "grid_order"):
            if getattr(self, name) not in ("C", "F"):
                raise ValueError(f"{name} must be 'C' or 'F', not {getattr(self, name)!r}")
        wrong = _core.invalid_layout(self._given)
        if wrong:
            raise ValueError(wrong)

    @property
    def _given(self) -> _core._Layout:
        halo = self.halo or ()
        return (
            [d._given for d in self.dimensions],
            self.order == "C",
            self.grid_order == "C",
            list(self.ranks or ()),
            list(self.stored or ()),
            list(self.allocated or ()),
            [before for before, _ in halo],
            [after for _, after in halo],
        )

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The elements that `rank` owns along each axis; zeros where it is not in the grid."""
        return tuple(_core.local_part(self._given, rank)[0])

    def local_size(self, rank: int) -> int:
        """The elements that the local array of `rank` must have room for, halos and leading dimensions included."""
        return _core.local_part(self._given, rank)[1]

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """The coordinates of `rank` in the process grid, one for each dimension; -1 each where it is not in the grid."""
        return tuple(_core.coordinates(self._given, rank))

    def relabelled(
        self,
        source: Layout,
        ranks: int,
        *,
        axes: Optional[Sequence[int]] = None,
        from_begin: Optional[Sequence[int]] = None,
        to_begin: Optional[Sequence[int]] = None,
        extents: Optional[Sequence[int]] = None,
    ) -> Layout:
        """This layout with its grid's positions on other of the `ranks` ranks of a communicator, so that fewer elements
        change ranks when an array goes from `source` to it. Where none is better, the layout as it is. All ranks get
        the same. :meth:`coordinates` says which part a rank has then. Local.

        Where positions times ranks are at most 512², no assignment moves fewer elements. Beyond, at least half as many
        stay on their ranks as in the best one. (Kabić and others, COSTA, §3.)

        :param source: where the array comes from. The other arguments are those of :func:`redistribute_layout`.
        :raises UsageError: for layouts that :func:`redistribute_layout` refuses on so many ranks.
        """
        part = _part((axes, from_begin, to_begin, extents))
        return replace(self, ranks=_core.relabelled(source._given, self._given, part, ranks) or None)

    def find(self, index: Sequence[int]) -> tuple[int, int]:
        """The rank that owns the element with this index, and where in its local array the element is, in elements."""
        if len(index) != len(self.dimensions) or not all(0 <= i < d.extent for i, d in zip(index, self.dimensions)):
            raise IndexError(f"{tuple(index)} is no index of this array")
        return _core.find(self._given, list(index))

    def view(self, storage: Array, rank: int) -> Array:
        """The part that `rank` owns, as a view of its contiguous local array `storage`, without halos.

        The view's axes are the array's, whatever their order in memory."""
        flat = _flat(storage)
        shape, size = _core.local_part(self._given, rank)
        if flat.size < size:
            raise ValueError(f"an array of {flat.size} elements, {size} are needed")
        axes = range(len(shape))
        halo = self.halo or [(0, 0)] * len(shape)
        held = [n + sum(halo[k]) for k, n in enumerate(shape)]
        if self.allocated:
            held = [given or n for given, n in zip(self.allocated, held)]
        strides, offset, stride = [0] * len(shape), 0, flat.itemsize
        for axis in reversed(self.stored or (axes if self.order == "C" else axes[::-1])):
            strides[axis] = stride
            offset += halo[axis][0] * stride
            stride *= held[axis]
        if size == 0:
            return flat[:0].reshape(shape) if 0 in shape else flat[:0]
        return np.ndarray(shape, flat.dtype, flat, offset, strides)


def elements_moved(
    source: Layout,
    target: Layout,
    *,
    axes: Optional[Sequence[int]] = None,
    from_begin: Optional[Sequence[int]] = None,
    to_begin: Optional[Sequence[int]] = None,
    extents: Optional[Sequence[int]] = None,
) -> int:
    """The elements that change ranks when an array goes from one layout to another. Local. The arguments, and what is
    refused, are those of :func:`redistribute_layout`.

    >>> import taquin
    >>> source = taquin.Layout([taquin.Dimension.even(12, 2), taquin.Dimension.even(8, 2)])
    >>> target = taquin.Layout(source.dimensions, grid_order="F")
    >>> better = target.relabelled(source, 4)
    >>> better.ranks, taquin.elements_moved(source, target), taquin.elements_moved(source, better)
    ((0, 2, 1, 3), 48, 0)
    """
    return _core.elements_moved(source._given, target._given, _part((axes, from_begin, to_begin, extents)))


def _part(lists: tuple[Optional[Sequence[int]], ...]) -> Part:
    return tuple([] if v is None else [i.__index__() for i in v] for v in lists)  # type: ignore


class Place(NamedTuple):
    """The memory of one array during a redistribution."""

    result: Array
    """What is returned, a view of it."""
    array: _core._Array
    """For the extension."""
    held: int = 0
    """Bytes that stay beside it."""


@collective("redistribution", 3)
def redistribute_layout(
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
    timeout: Timeout = None,
    on_timeout: str = "wait",
    in_flight: int = 0,
    statistics: Optional[Statistics] = None,
) -> Array:
    """Brings an array from one layout to another: in its own memory, or from `array` to `out`. Returns the part that
    this rank owns in `target`, a view.

    :param array: this rank's local array, as `source` has it; contiguous in C or Fortran order, of any dtype without
        Python objects and any shape. Without `out` it has room for the larger of ``local_size(rank)`` of the two
        layouts, and holds afterwards what `target` says; its halos and whatever else is outside have no meaning then.
    :param source: the layout that the array is in. All ranks give the same.
    :param target: the layout wanted.
    :param comm: an mpi4py communicator. Collective over it.
    :param out: another array, with the room that `target` needs. Its elements outside what moves keep their values.
    :param axes: axis d of the source becomes axis ``axes[d]`` of the target: ``(1, 0)`` transposes a matrix.
    :param from_begin: with `out`, the first index of the part that moves, in the source's axes. Default: zeros.
    :param to_begin: the same in the target, in the target's axes.
    :param extents: the extent of that part, in the source's axes. Default: all of the source.
    :param scale: each number that moves is multiplied by it, in its own arithmetic: integers by an integer of at most
        2^53 (they wrap around), reals by a real number. The dtype must be one of numbers in this machine's byte order.
    :param conjugate: complex numbers are conjugated, before they are scaled: with ``axes=(1, 0)`` a conjugate transpose.
    :param memory: bytes of scratch memory per rank (or "64M"); None: no limit. With `out` at most 1 MiB is used;
        without it what :func:`redistribute_nd` needs.
    :param timeout: seconds that the call may wait, and `on_timeout` what follows: as in :func:`alltoall`.
    :param in_flight: the most chunks in flight; 0: the default.
    :param statistics: the call's figures are added to it.
    :raises UsageError: on every rank with the arrays kept, when an argument of any rank is invalid.
    :raises BudgetExceeded: on every rank with the arrays kept, when `memory` is too small.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> whole, cut = taquin.Dimension.whole, taquin.Dimension.even
    >>> rows, columns = (taquin.Layout(d) for d in ([cut(6, comm.size), whole(4)], [whole(6), cut(4, comm.size)]))
    >>> storage = numpy.zeros(max(rows.local_size(comm.rank), columns.local_size(comm.rank)))
    >>> rows.view(storage, comm.rank)[...] = numpy.arange(4)
    >>> block = taquin.redistribute_layout(storage, rows, columns, comm)
    >>> bool((block == numpy.array_split(numpy.arange(4), comm.size)[comm.rank]).all())
    True
    """
    choices = given(locals()) | {"scale": scale, "conjugate": conjugate}
    check_comm(comm, intra=True)
    check, place = readers_of(array, source, target, out, (axes, from_begin, to_begin, extents), comm)
    return move(check, place, out, array, comm, choices, statistics)


def readers_of(
    array: Array,
    source: Layout,
    target: Layout,
    out: Optional[Array],
    lists: tuple[Optional[Sequence[int]], ...],
    comm: MPI.Comm,
) -> tuple[Callable[[], tuple[Layout, Layout, Part]], Callable[[], Place]]:
    """For :func:`describe_move`: what checks the arguments of :func:`redistribute_layout`, and finds the arrays."""

    def check_arguments() -> tuple[Layout, Layout, Part]:
        for name, layout in (("source", source), ("target", target)):
            if not isinstance(layout, Layout):
                raise TypeError(f"{name} must be a taquin.Layout, not {type(layout).__name__}")
        if out is not None and array.dtype != out.dtype:
            raise TypeError(f"the array has items of {array.dtype}, out of {out.dtype}")
        return source, target, _part(lists)

    def place() -> Place:
        flat = _flat(array, out is None)
        where = address_of(flat), 0, address_of(flat), None, flat.size
        return Place(target.view(flat if out is None else out, comm.Get_rank()), where)

    return check_arguments, place


class Move(NamedTuple):
    """A redistribution as the extension takes it."""

    source: _core._Layout
    target: _core._Layout
    part: Part
    item_bytes: int
    options: dict[str, Any]
    place: Place
    out: Optional[_core._Array]
    invalid: Optional[Exception]


def describe_move(
    check: Callable[[], tuple[Layout, Layout, Part]],
    place: Callable[[], Place],
    out: Optional[Array],
    array: Array,
    choices: dict[str, Any],
    statistics: Optional[Statistics],
) -> Move:
    """Checks the arguments; what is wrong with them goes into the call, as the error of all ranks."""
    options: dict[str, Any] = {}
    try:
        check_statistics(statistics)
        if choices.pop("algorithm", "auto") not in ("auto", "layouts"):
            raise ValueError('algorithm must be "auto", which is "layouts"')
        change = _change(array, choices.pop("scale", 1), choices.pop("conjugate", False))
        options = keywords(**choices) | change
        source, target, part = check()
        check_items(array)
        options["elements"] = elements_of(array.dtype)
        there = None
        here = place()
        if out is not None:
            flat = _flat(out, True)
            there = 0, 0, address_of(flat), None, flat.size
        return Move(source._given, target._given, part, array.itemsize, options, here, there, None)
    except Exception as wrong:
        options["invalid"] = describe(wrong)
        return Move(_NONE, _NONE, ALL, 1, options, Place(array, (0, 0, 0, None, 0)), None, wrong)


def _change(array: Array, scale: complex, conjugate: bool) -> dict[str, Any]:
    """What happens to the numbers on the way, for the extension."""
    if not isinstance(conjugate, (bool, np.bool_)):
        raise TypeError(f"conjugate must be a bool, not {conjugate!r}")
    factor = complex(scale)
    if factor == 1 and not conjugate:
        return {}
    known = isinstance(array, np.ndarray) and array.dtype.kind in "iufc" and array.dtype.isnative
    numbers = f"{array.dtype.kind}{array.itemsize}" if known else ""
    return {"scale": factor, "conjugate": bool(conjugate), "numbers": numbers}


def move(
    check: Callable[[], tuple[Layout, Layout, Part]],
    place: Callable[[], Place],
    out: Optional[Array],
    array: Array,
    comm: MPI.Comm,
    choices: dict[str, Any],
    statistics: Optional[Statistics],
) -> Array:
    """Checks the arguments, and redistributes; what is wrong with them is the error of all ranks."""
    m = describe_move(check, place, out, array, choices, statistics)
    try:
        counted = statistics is not None
        done = _core.redistribute_layout(
            m.source, m.target, m.part, m.item_bytes, m.place.held, comm, m.options, m.place.array, m.out, counted
        )
    except UsageError as error:
        raise error from m.invalid
    if statistics is not None and done is not None:
        statistics._add(done)
    return m.place.result


_NONE: _core._Layout = ([], True, True, [], [], [], [], [])


def _flat(array: Array, written: bool = False) -> Array:
    """The items of a contiguous array along one axis, in the order of memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"a NumPy array is needed, not {type(array).__name__}")
    if not array.flags.forc:
        raise ValueError("the array is not contiguous: give numpy.ascontiguousarray(array)")
    if written and not array.flags.writeable:
        raise ValueError("the array is read-only")
    return np.asarray(array).reshape(-1, order="C" if array.flags.c_contiguous else "F")
