"""Arrays in the place of others that are too small."""

from __future__ import annotations

import importlib
import mmap
from typing import Any, Optional

import numpy as np

from . import _core
from ._messages import address_of
from ._rows import Array

_LEAST = 1 << 16  # bytes: of smaller arrays pages are copied faster than moved

_core_of_numpy = "numpy.core" if int(np.__version__.partition(".")[0]) < 2 else "numpy._core"
_multiarray = importlib.import_module(_core_of_numpy + ".multiarray")
_handler_of = getattr(_multiarray, "get_handler_name", lambda _: "default_allocator")


class Larger:
    """An array of `items`, to hold what `array` holds, which has memory for fewer.

    Made before ranks agree on a call, so that a lack of memory is an error on all ranks: its pages are taken when
    they are written. Where NumPy has allocated `array`, its pages move, and what it holds is lost; otherwise, it is
    copied.
    """

    def __init__(self, array: Array, items: int) -> None:
        self._from = array
        self._moves = _will_move(array)
        if self._moves:
            self._pages = _core.Pages(items * array.itemsize, address_of(array))
            self.flat: Array = np.asarray(self._pages).view(array.dtype)
        else:
            self.flat = np.empty(items, array.dtype)

    @property
    def source(self) -> tuple[int, int, int, Optional[_core.Pages]]:
        """For the extension: address and bytes of the old memory, address of the new, and the pages that move there."""
        old = address_of(self._from), self._from.nbytes, address_of(self.flat)
        return *old, self._pages if self._moves else None

    @property
    def held(self) -> int:
        """Bytes of `array` that stay beside this one."""
        return held_of(self._from)


def held_of(array: Array) -> int:
    """Bytes of an array that would stay beside a larger one in its place."""
    return min(2 * mmap.PAGESIZE, array.nbytes) if _will_move(array) else array.nbytes


def _will_move(array: Array) -> bool:
    return array.nbytes >= _LEAST and _moves(array)


def _moves(array: Array) -> bool:
    """Whether the pages of an array can move: its memory is private, and not of a file."""
    owner: Any = array
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    if isinstance(owner, np.ndarray):
        if not owner.flags.owndata or _handler_of(owner) != "default_allocator" or not owner.flags.forc:
            return False
        first, size = address_of(owner), owner.nbytes
    elif isinstance(owner, _core.Pages):
        first, size = owner.address, owner.nbytes
    else:
        return False
    inside: bool = first <= address_of(array) and address_of(array) + array.nbytes <= first + size
    return inside and _core.Pages.can_take()
