"""Keywords that all calls have, and how faults of one rank reach the others."""

from __future__ import annotations

import math
import re
from typing import Any, Optional, Union

from mpi4py import MPI

from ._errors import UsageError
from ._statistics import Statistics

Memory = Union[int, str, None]
"""Bytes of extra memory per rank: a number, a text such as "64K", "1.5M", "2G" (powers of 1024), or None for no limit."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST = (1 << 63) - 1


def memory_bytes(memory: Memory) -> Optional[int]:
    """The limit as a number of bytes."""
    if memory is None:
        return None
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        if match is None:
            raise ValueError(f'memory={memory!r} is no size: give bytes, or a text like "64M"')
        return min(int(float(match[1]) * _UNITS[match[2].upper()]), _MOST)
    if isinstance(memory, bool) or not hasattr(memory, "__index__"):
        raise TypeError(f'memory={memory!r} is no size: give bytes, or a text like "64M"')
    size = memory.__index__()
    if size < 0:
        raise ValueError(f"memory={size} is negative")
    return min(size, _MOST)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> int:
    if value not in known:
        raise ValueError(f"{name}={value!r} is none of {', '.join(map(repr, known))}")
    return known.index(str(value))


def keywords(
    memory: Memory,
    algorithm: str,
    check: bool,
    timeout: Optional[float] = None,
    on_timeout: str = "wait",
    progress: str = "library",
    **others: Any,
) -> dict[str, Any]:
    """The keywords as the extension takes them. What is wrong with them is ``fault``: every rank hears of it."""
    seconds = 0.0
    if timeout is not None:
        if isinstance(timeout, (bool, str)) or not hasattr(timeout, "__float__"):
            raise TypeError(f"timeout={timeout!r} is no number of seconds")
        seconds = float(timeout)
        if not 0 < seconds < math.inf:
            raise ValueError(f"timeout={timeout!r}: give a number of seconds above 0, or None to wait for ever")
    others["timeout"] = seconds
    others["on_timeout"] = _one_of("on_timeout", on_timeout, ("wait", "abort", "fail"))
    others["progress"] = _one_of("progress", progress, ("library", "calls", "thread"))
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm={algorithm!r} is no name; `python3 -m taquin list` prints them")
    return {"memory": memory_bytes(memory), "algorithm": algorithm, "check": bool(check), **others}


def check_comm(comm: object, intra: bool = False) -> MPI.Comm:
    """The communicator; what is wrong with it no other rank can hear of."""
    if not isinstance(comm, MPI.Comm):
        raise UsageError(f"comm must be an mpi4py.MPI.Comm, not {type(comm).__name__}", error_class=MPI.ERR_COMM)
    if MPI.Is_finalized() or not MPI.Is_initialized():
        raise UsageError("MPI is not running: it was not initialized, or was finalized already", error_class=MPI.ERR_COMM)
    if comm == MPI.COMM_NULL:
        raise UsageError(
            "the communicator is COMM_NULL: this process is not in it, or it was freed", error_class=MPI.ERR_COMM
        )
    if intra and comm.Is_inter():
        raise UsageError("this call needs an intracommunicator", error_class=MPI.ERR_COMM)
    return comm


def describe(error: BaseException) -> str:
    """A fault as one line that the other ranks are told."""
    text = " ".join(str(error).split())
    return text if isinstance(error, (ValueError, TypeError)) and text else f"{type(error).__name__}: {text}"


def check_statistics(statistics: Optional[Statistics]) -> None:
    """Refuses what is not a Statistics."""
    if statistics is not None and not isinstance(statistics, Statistics):
        raise TypeError(f"statistics= must be a taquin.Statistics, not {type(statistics).__name__}")
