"""Statistics of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Statistics:
    """The work of calls on this rank, summed. Pass it as ``statistics=``. Bytes are data, without MPI's envelopes.

    >>> import numpy, taquin
    >>> from mpi4py import MPI
    >>> comm, done = MPI.COMM_WORLD, taquin.Statistics()
    >>> taquin.alltoall(numpy.zeros(comm.size), numpy.empty(comm.size), comm, statistics=done)
    >>> done.starts, done.bytes_sent == 8 * (comm.size - 1)
    (1, True)
    """

    starts: int = 0
    """Exchanges started."""
    rounds: int = 0
    """Communication rounds."""
    messages: int = 0
    """Messages sent to other ranks; through shared memory: blocks."""
    bytes_sent: int = 0
    """Bytes sent to other ranks."""
    bytes_copied: int = 0
    """Bytes copied inside this rank's memory, packing included."""
    peak_memory: int = 0
    """Most bytes of scratch memory in use at any time."""
    algorithm: str = ""
    """The algorithm that ran last."""

    def _add(self, other: dict[str, Any]) -> None:
        for name in ("starts", "rounds", "messages", "bytes_sent", "bytes_copied"):
            setattr(self, name, getattr(self, name) + other[name])
        self.peak_memory = max(self.peak_memory, other["peak_memory"])
        self.algorithm = other["algorithm"] or self.algorithm
