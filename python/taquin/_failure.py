"""What is whole after a call has failed."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from . import _core


class State(IntEnum):
    """What has become of a run of data.

    >>> import taquin
    >>> taquin.State.ARRIVED.name
    'ARRIVED'
    """

    STANDS = 0
    """For a peer: whole, at its place ``at``. The peer may have it as well."""
    ARRIVED = 1
    """From a peer: whole and in its place, ``at``."""
    STAGED = 2
    """Whole, but not in the array: among :attr:`BlockMap.staged`, from unit ``at`` on."""
    MISSING = 3
    """From a peer, which had it last: not here."""
    UNKNOWN = 4
    """Being swapped or moved when the call failed: it may be damaged."""
    DISPLACED = 5
    """A row of this rank: whole, at ``at``, which is not its place."""


class Part(NamedTuple):
    """A run of data: rows of a redistribution or migration; of an exchange in place, items, or bytes
    (:attr:`BlockMap.unit_bytes`).

    >>> import taquin
    >>> taquin.Part(taquin.State.MISSING, 1, 0, 3, -1).length
    3
    """

    state: State
    """What has become of it."""
    peer: int
    """The rank that it goes to or comes from."""
    offset: int
    """In place: units of the peer's block before it. Of rows: the place on the rank that they go to."""
    length: int
    """Units of it."""
    at: int
    """Its place; -1: none."""


class BlockMap(NamedTuple):
    """What is whole on this rank. What is not listed of its outgoing data has left it.

    >>> import taquin
    >>> taquin.failure_blocks().known  # nothing has failed
    False
    """

    known: bool
    """False where nothing has moved, or there was no memory for the map."""
    unit_bytes: int
    """Data bytes of a unit."""
    outgoing: list[Part]
    """What is still to leave its place."""
    incoming: list[Part]
    """All that comes to this rank or stays on it, in order of place."""
    staged: bytes
    """The data of staged units."""


def failure_blocks() -> BlockMap:
    """The map of the last exchange in place, redistribution or migration of rows that has failed in this thread, until
    another begins. Local.

    >>> import taquin
    >>> taquin.failure_blocks().outgoing
    []
    """
    known, unit_bytes, outgoing, incoming, staged = _core.failure_blocks()
    parts = [[Part(State(int(row[0])), *map(int, row[1:])) for row in rows] for rows in (outgoing, incoming)]
    return BlockMap(known, unit_bytes, parts[0], parts[1], staged)
