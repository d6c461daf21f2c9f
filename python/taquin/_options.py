"""Keywords of all calls, and invalid arguments of one rank as errors of all."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any, Callable, Optional, Sequence, TypedDict, Union

from mpi4py import MPI

from . import _core
from ._errors import UsageError
from ._statistics import Statistics

Timeout = Union[float, datetime.timedelta, None]
"""Seconds, or a timedelta; None: what ``TAQUIN_TIMEOUT`` says, otherwise no limit."""

Memory = Union[int, str, None]
"""Bytes of scratch memory per rank: a number, a text such as "64K", "1.5M", "2G" (powers of 1024), or None for no limit."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST = (1 << 63) - 1
_LEAST_SECONDS, _MOST_SECONDS = 1e-9, 1e9  # the library counts in floats of 32 bits, where 0 means no limit


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
        raise ValueError(f"memory must be at least 0 bytes, got {size}")
    return min(size, _MOST)


class Options(TypedDict, total=False):
    """Options of single algorithms, for ``options=`` of an exchange and of a plan. The same on all ranks.

    ``radix``: radix of the Bruck algorithms; default: the least power of two with which two rounds are enough, at most
    16. ``layout``: how they describe the scattered blocks of a message, "indexed", "regular", "elements", "blocks",
    "packed", or "automatic", the default: "regular" for "lean_bruck", "blocks" for "zero_copy_bruck" with blocks of 1
    KiB and more, otherwise "packed". ``in_flight``: the most messages that a rank has sent and its peers have not
    received, and the most unexpected ones at a rank; 0, the default: 32. ``inner``: the algorithm of the two exchanges
    of "two_phase"; default: "spread_out". ``levels``: the algorithms of "multilevel", from nodes inwards, separated by
    commas; default: "bruck_v,spread_out". ``ports``: concurrent exchanges of a node of the hierarchical algorithms, at
    most 30; 0, the default: 8. ``leaders``: ranks of a node that exchange messages with other nodes in "node_aggregated"; 0, the
    default: all. ``nodes``: ranks per node, in rank order; default: ``TAQUIN_NODES``, or detected.
    ``aux_parts``, ``aux_heap``, ``sparse_requests``: of "in_place_phases": static parts of its scratch memory (0, the
    default: a 16th of the most peers of any rank, at least 1), that memory as one heap instead (default: no), and
    requests only between ranks that have data for each other (default: yes; if not, between all).

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> send, recv = numpy.full(comm.size, comm.rank), numpy.empty(comm.size, int)
    >>> choices: taquin.Options = {"radix": 2, "layout": "packed"}
    >>> taquin.alltoall(send, recv, comm, algorithm="modified_bruck", options=choices)
    >>> bool((recv == numpy.arange(comm.size)).all())
    True
    """

    radix: int
    in_flight: int
    ports: int
    nodes: Sequence[int]
    layout: str
    inner: str
    levels: str
    aux_parts: int
    aux_heap: bool
    sparse_requests: bool
    leaders: int


def _number(name: str, value: Any, _: tuple[str, ...]) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value.__index__())
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"{name} must fit 32 bits, got {number}")
    return number


def _numbers(name: str, values: Any, words: tuple[str, ...]) -> list[int]:
    return [_number(name, value, words) for value in values]


def _text(name: str, value: Any, _: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a name that `python3 -m taquin list` prints, got {value!r}")
    if not _is_unicode(value):
        raise ValueError(f"{name} must be a name that `python3 -m taquin list` prints, got {value!r}")
    return value


def _is_unicode(text: str) -> bool:
    return text.encode("utf-8", "replace") == text.encode("utf-8", "surrogatepass")


def _seconds(name: str, value: Any, _: tuple[str, ...]) -> float:
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number of seconds, got {value!r}")
    seconds = float(value)
    if not 0 < seconds < math.inf:
        raise ValueError(f"{name} must be above 0 seconds, or None for no limit, got {value!r}")
    return min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS)


def _word(name: str, value: Any, words: tuple[str, ...]) -> int:
    if value not in words:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, words))}")
    return words.index(str(value))


_readers: dict[str, Callable[[str, Any, tuple[str, ...]], object]] = {
    "text": _text,
    "bytes": lambda name, value, words: memory_bytes(value),
    "number": _number,
    "base": _number,
    "list": _numbers,
    "flag": lambda name, value, words: bool(value),
    "choice": _word,
    "seconds": _seconds,
}


def given(names: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call, out of its locals(): the one place that knows which of them are options."""
    return {name: value for name, value in names.items() if name in _core.options or name == "options"}


def keywords(options: Optional[Options] = None, **given: Any) -> dict[str, Any]:
    """The keywords as the extension takes them; None: the default. Raises for invalid ones."""
    taken: dict[str, Any] = {}
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dict, got {options!r}")
    for name, value in {**given, **(options or {})}.items():
        if name not in _core.options:
            raise TypeError(f"there is no option {name!r}")
        if name in given and name in (options or {}):
            raise TypeError(f"{name} is a keyword of its own, not one of options=")
        kind, words = _core.options[name]
        if value is not None:
            taken[name] = _readers[kind](name, value, words)
    return taken


def check_comm(comm: object, intra: bool = False) -> MPI.Comm:
    """The communicator. If it is invalid this rank alone has the error, because it cannot reach the others."""
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
    """The text of an invalid argument in one line, for the other ranks."""
    try:
        text = " ".join(str(error).replace("\0", " ").split())
    except Exception:  # of the error's own class
        text = ""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if isinstance(error, (ValueError, TypeError)) and text else f"{type(error).__name__}: {text}"


def check_statistics(statistics: Optional[Statistics]) -> None:
    """Raises TypeError unless it is a Statistics or None."""
    if statistics is not None and not isinstance(statistics, Statistics):
        raise TypeError(f"statistics= must be a taquin.Statistics, not {type(statistics).__name__}")
