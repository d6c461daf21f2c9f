"""Which data are intact after a call has failed."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from . import _core


class State(IntEnum):
    """The state of a run of data after a failed call.

    >>> import taquin
    >>> taquin.State.ARRIVED.name
    'ARRIVED'
    """

    STANDS = 0
    """For a peer: intact at its place ``at``. The peer may have it as well."""
    ARRIVED = 1
    """From a peer: intact, in its final place ``at``."""
    STAGED = 2
    """Intact, but not in the array: in :attr:`BlockMap.staged`, from unit ``at`` on."""
    MISSING = 3
    """From a peer, which had it last: it has not arrived."""
    UNKNOWN = 4
    """Being swapped or moved when the call failed: it may be damaged."""
    DISPLACED = 5
    """A row of this rank: intact at ``at``, which is not its final place."""


class Part(NamedTuple):
    """A run of data: rows of a redistribution or migration; of an exchange in place, items, or bytes
    (:attr:`BlockMap.unit_bytes`); bytes of a redistribution between layouts.

    >>> import taquin
    >>> taquin.Part(taquin.State.MISSING, 1, 0, 3, -1).length
    3
    """

    state: State
    """Its state."""
    peer: int
    """The rank that it goes to or comes from."""
    offset: int
    """In place: units of the peer's block before it. Of rows, and between layouts: the place on the rank that they go
    to, in units."""
    length: int
    """Its length in units."""
    at: int
    """Its place on this rank, in units; -1: none."""


class BlockMap(NamedTuple):
    """The intact data of this rank. Outgoing data that are not listed have left it.

    >>> import taquin
    >>> taquin.failure_blocks().known  # nothing has failed
    False
    """

    known: bool
    """False where nothing has moved, or there was no memory for the map."""
    unit_bytes: int
    """Data bytes of a unit."""
    outgoing: list[Part]
    """Data that have not left this rank."""
    incoming: list[Part]
    """All data that come to this rank or stay on it, in order of place."""
    staged: bytes
    """The data bytes of staged units."""


def failure_blocks() -> BlockMap:
    """The map of the last exchange in place, redistribution (also between layouts) or migration of rows that has failed
    in this thread, until another one begins. Local.

    >>> import taquin
    >>> taquin.failure_blocks().outgoing
    []
    """
    return block_map(_core.failure_blocks())


def block_map(given: _core._Map) -> BlockMap:
    """As the library gives it."""
    known, unit_bytes, outgoing, incoming, staged = given
    parts = [[Part(State(int(row[0])), *map(int, row[1:])) for row in rows] for rows in (outgoing, incoming)]
    return BlockMap(known, unit_bytes, parts[0], parts[1], staged)
