"""mpi4py's descriptions of buffers, read for the extension.

A buffer is any object with the buffer protocol: a NumPy array, bytes, bytearray, array.array, memoryview, mpi4py's
memory. Its memory must be contiguous, in C or Fortran order. Items of types that MPI does not know, structured ones
among them, travel as their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional, Sequence

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from . import _core

Counts = NDArray[np.int64]
_MOST = (1 << 63) - 1


@dataclass
class Side:
    """One side of an exchange."""

    address: int
    nbytes: int
    counts: Counts
    displs: Counts
    types: list[MPI.Datatype]
    dtype: Optional[np.dtype[Any]] = None
    """Of the buffer, where the type was taken from it."""
    owner: object = field(default=None, repr=False)
    """The object that owns the memory."""


def is_in_place(message: object) -> bool:
    """True for MPI.IN_PLACE, and for None as in mpi4py."""
    return message is None or message is MPI.IN_PLACE


def as_array(buffer: object, writable: bool) -> NDArray[Any]:
    """The buffer as an array over the same memory. Raises where it cannot be sent or received without a copy."""
    if isinstance(buffer, np.ndarray):
        array: NDArray[Any] = buffer
    else:
        if buffer is MPI.BOTTOM or (isinstance(buffer, int) and buffer == MPI.BOTTOM):
            raise ValueError("MPI.BOTTOM is not accepted as a buffer: give the array that the types describe")
        try:
            view = memoryview(buffer)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{type(buffer).__name__} is no buffer: give a NumPy array or another buffer object") from None
        try:
            array = np.asarray(view)
        except (ValueError, TypeError):
            array = np.asarray(view.cast("B"))
    if array.dtype.hasobject:
        raise TypeError(f"items of dtype {array.dtype} are references to Python objects, invalid on other ranks")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError(
            "the array is not contiguous: give numpy.ascontiguousarray(array), or its base with an MPI datatype that "
            "describes the items"
        )
    if writable and not array.flags.writeable:
        raise ValueError("the receive buffer is read-only")
    return array


_byte_types: dict[int, MPI.Datatype] = {}


def bytes_type(size: int) -> MPI.Datatype:
    """`size` bytes as one element."""
    if size == 1:
        return MPI.BYTE
    if size not in _byte_types:
        _byte_types[size] = MPI.BYTE.Create_contiguous(size).Commit()
    return _byte_types[size]


def type_of(dtype: np.dtype[Any]) -> MPI.Datatype:
    """The MPI datatype of items of a NumPy dtype; bytes where MPI has none."""
    if dtype.isnative and dtype.kind in "biufc":
        known = named_type(dtype.char)
        if known is not None and known.Get_size() == dtype.itemsize:
            return known
    return bytes_type(dtype.itemsize)


def named_type(name: str) -> Optional[MPI.Datatype]:
    """The datatype that mpi4py knows by a character code or a name."""
    for table in ("_typedict", "_typedict_c", "_typedict_f"):
        found = getattr(MPI, table, {}).get(name)
        if isinstance(found, MPI.Datatype):
            return found
    return None


def explicit_type(given: object) -> MPI.Datatype:
    """A datatype, or one that mpi4py knows by the name given."""
    if isinstance(given, str):
        found = named_type(given)
        if found is None:
            raise ValueError(f"no MPI datatype is named {given!r}")
        given = found
    if not isinstance(given, MPI.Datatype):
        raise TypeError(f"{type(given).__name__} is no MPI datatype")
    if given == MPI.DATATYPE_NULL:
        raise ValueError("the datatype is DATATYPE_NULL: it was freed, or never made")
    given.Commit()  # does nothing where it is committed; otherwise, only this rank's MPI library would say so
    return given


def integer_array(values: object, what: str) -> NDArray[Any]:
    """Integers of any size and shape up to 64 bits."""
    array = np.asarray(values)
    if array.dtype.hasobject and all(is_integer(value) for value in array.flat):
        raise OverflowError(f"{what} are beyond 64 bits")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} must be integers, not {array.dtype}")
    return array


def integers(values: object, what: str, ranks: int) -> Counts:
    """One 64-bit number per rank."""
    if ranks == 0 and np.size(values) == 0:  # type: ignore[arg-type]
        return np.zeros(0, np.int64)
    array = integer_array(values, what)
    if array.ndim != 1 or array.size != ranks:
        raise ValueError(f"{what} must be one per rank: {ranks}, not an array of shape {array.shape}")
    if array.dtype.kind == "u" and array.itemsize == 8 and any(int(value) > _MOST for value in array):
        raise OverflowError(f"{what} are beyond 64 bits")
    return np.ascontiguousarray(array, np.int64)


def packed(counts: Counts) -> Counts:
    """Displacements of contiguous blocks."""
    return _core.packed(counts)


def split_counts(message: Sequence[Any], what: str) -> tuple[Any, Any, Any]:
    """Counts, displacements and type of [buffer, ...], where they are given."""
    rest = list(message[1:])
    if not 1 <= len(rest) <= 3:
        raise ValueError(f"{what}: a message is a buffer, or [buffer, counts, displacements, type] or a part of it")
    counts = displs = kind = None
    if len(rest) == 3:
        counts, displs, kind = rest
    elif len(rest) == 2:
        counts, kind = rest
    elif isinstance(rest[0], (MPI.Datatype, str)):
        kind = rest[0]
    else:
        counts = rest[0]
    if isinstance(counts, tuple):
        if len(counts) != 2 or displs is not None:
            raise ValueError(f"{what}: a tuple means (counts, displacements); give counts alone as a list or an array")
        counts, displs = counts
    return counts, displs, kind


def is_integer(value: object) -> bool:
    """True for a single count."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def buffer_of(message: Any, writable: bool) -> tuple[NDArray[Any], Sequence[Any]]:
    """The array of a message, and the message as a list."""
    items = message if isinstance(message, (list, tuple)) else [message]
    if not items:
        raise ValueError("a message must not be empty: give a buffer, or [buffer, ...]")
    buffer = np.zeros(0, np.uint8) if items[0] is None else items[0]
    return as_array(buffer, writable), items


def uniform(message: Any, ranks: int, writable: bool) -> Side:
    """A side of alltoall: a buffer of one block per rank, [buffer, type], [buffer, count, type]; the count is that of
    one block."""
    array, items = buffer_of(message, writable)
    count, displ, kind = split_counts(items, "alltoall") if len(items) > 1 else (None, None, None)
    datatype = type_of(array.dtype) if kind is None else explicit_type(kind)
    if count is None:
        elements, rest = divmod(array.nbytes, max(datatype.extent, 1))
        if rest or elements % ranks:
            raise ValueError(
                f"a buffer of {array.nbytes} bytes does not divide into {ranks} blocks of elements of "
                f"{datatype.extent} bytes"
            )
        count = elements // ranks
    return Side(
        address_of(array),
        array.nbytes,
        integers([count], "the count", 1),
        integers([displ or 0], "the displacement", 1),
        [datatype],
        array.dtype if kind is None else None,
        array,
    )


def vector(message: Any, ranks: int, writable: bool) -> Side:
    """A side of alltoallv: [buffer, counts, displacements, type] or a part of it. Without displacements blocks are
    contiguous; without counts the buffer is one equal block per rank."""
    array, items = buffer_of(message, writable)
    counts, displs, kind = split_counts(items, "alltoallv") if len(items) > 1 else (None, None, None)
    datatype = type_of(array.dtype) if kind is None else explicit_type(kind)
    if counts is None:
        elements, rest = divmod(array.nbytes, max(datatype.extent, 1))
        if rest or elements % ranks:
            raise ValueError(f"a buffer of {array.nbytes} bytes does not divide into {ranks} equal blocks: give counts")
        counts = elements // ranks
    sizes, places = blocks(counts, displs, ranks)
    return Side(
        address_of(array), array.nbytes, sizes, places, [datatype], array.dtype if kind is None else None, array
    )


def blocks(counts: Any, displs: Any, ranks: int) -> tuple[Counts, Counts]:
    """Counts and displacements, one per rank. A single number stands for equal blocks, or equal distances."""
    sizes = integers([counts] * ranks if is_integer(counts) else counts, "counts", ranks)
    if displs is None:
        return sizes, packed(sizes)
    if is_integer(displs):
        if max(ranks - 1, 1) * abs(int(displs)) > np.iinfo(np.int64).max:
            raise OverflowError("displacements are beyond 64 bits")
        return sizes, np.arange(ranks, dtype=np.int64) * int(displs)
    return sizes, integers(displs, "displacements", ranks)


def typed(message: Any, ranks: int, writable: bool) -> Side:
    """A side of alltoallw: [buffer, counts, displacements in bytes, types], [buffer, (counts, displacements), types],
    or [buffer, types]: one element for each rank, at the buffer's start."""
    array, items = buffer_of(message, writable)
    if len(items) not in (2, 3, 4):
        raise ValueError("alltoallw: a message is [buffer, counts, displacements in bytes, types]")
    counts: Any = np.ones(ranks, np.int64)
    displs: Any = np.zeros(ranks, np.int64)
    if len(items) == 4:
        counts, displs = items[1:3]
    elif len(items) == 3:
        counts, displs = items[1]
    given = items[-1]
    types = [explicit_type(given)] * ranks if isinstance(given, (MPI.Datatype, str)) else list(map(explicit_type, given))
    if len(types) != ranks:
        raise ValueError(f"types must be one per rank: {ranks}, not {len(types)}")
    return Side(
        address_of(array),
        array.nbytes,
        integers(counts, "counts", ranks),
        integers(displs, "displacements", ranks),
        types,
        None,
        array,
    )


def address_of(array: NDArray[Any]) -> int:
    """Where the items begin."""
    return _core.address_of(array)


def check_alike(send: Side, recv: Side) -> None:
    """A rank receives the block that it sends to itself, so types taken from both buffers must be the same."""
    if send.dtype is not None and recv.dtype is not None and send.dtype != recv.dtype:
        raise TypeError(
            f"the send buffer has items of {send.dtype}, the receive buffer of {recv.dtype}: convert one of them, or "
            "name the MPI datatype of both"
        )
