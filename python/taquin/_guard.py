"""Collective functions, whose failure on one rank before ranks agree is the error of all ranks."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from . import _core

F = TypeVar("F", bound=Callable[..., Any])


def collective(kind: str, position: int) -> Callable[[F], F]:
    """For a function whose communicator is the argument at `position`: where it fails before ranks have agreed, for lack
    of memory for example, the others get the error, too. `kind` says what they do first."""

    def guarded(function: F) -> F:
        made: F = _core.guarded(function, kind, position)
        return made

    return guarded
