"""Rows of an array as migrations and redistributions take them, and the checks of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._messages import integer_array

Array = NDArray[Any]

_MOST = (1 << 31) - 2


def check_rows(array: object) -> Array:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"the rows must be a NumPy array, not {type(array).__name__}")
    if array.ndim == 0:
        raise ValueError("the array has no rows: it has no axis")
    return check_storage(array)


def check_items(array: Array) -> None:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"a NumPy array is needed, not {type(array).__name__}")
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("a masked array's mask would not travel with it: give array.data, and array.mask apart")
    if array.dtype.hasobject:
        raise TypeError(f"items of dtype {array.dtype} are references to Python objects, invalid on other ranks")


def check_storage(array: Array) -> Array:
    check_items(array)
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous in C order: give numpy.ascontiguousarray(array)")
    if not array.flags.writeable:
        raise ValueError("the array is read-only")
    return array


def elements_of(dtype: np.dtype[Any], row_shape: tuple[int, ...] = ()) -> str:
    """What must be the same on all ranks, as errors show it."""
    return f"rows of {dtype} and shape {row_shape}" if row_shape else str(dtype)


def bytes_of_row(array: Array) -> int:
    return array.itemsize * math.prod(array.shape[1:])


def fill(to: NDArray[np.int32], values: ArrayLike, first: int) -> None:
    """Writes the destinations `values` of the rows from `first` on. Raises for values that no 32-bit rank can have."""
    given = integer_array(values, "destinations")
    if given.shape != to.shape:
        raise ValueError(f"one destination per row: {to.size}, not an array of shape {given.shape}")
    if not given.dtype.isnative:
        given = given.astype(given.dtype.newbyteorder("="))
    least, greatest = _core.range_of(given) if given.size and given.itemsize >= 4 else (0, 0)
    if least < -_MOST or greatest > _MOST:
        row = int(np.argmax((given < -_MOST) | (given > _MOST)))
        raise ValueError(f"row {first + row} goes to rank {given[row]}, which does not exist")
    to[:] = given
