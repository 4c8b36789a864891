"""Port from a Raft engine down to storage: the write-ahead log and the snapshots.

Reading and writing are immediate; writes become durable when the driver has synced, and the engine
keeps stepping meanwhile. This module decides nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

REGULAR, NO_OP = b"\0", b"\1"
"""First byte of an entry's command: a regular entry continues with the proposed command.

A no-op continues with the name of the cluster (`log_origin`).
"""


class WalEntry(NamedTuple):
    """An entry of the Raft log."""

    command: bytes
    log_index: int
    term: int


@dataclass(frozen=True, order=True, slots=True)
class SnapshotId:
    """A snapshot, identified by the index and term of the last entry it includes."""

    index: int
    term: int


class DurableLog(Protocol):
    """Term, vote and entries. The entry `base_index` is the last one no longer kept."""

    node_id: int
    incarnation: int
    """Number of this start, greater at every start of the node, even after a lost disk."""
    term: int
    voted_for: int | None
    is_rejoining: bool
    """True: the disk was new at this or an earlier start, and the voter has not caught up since."""
    base_index: int
    base_term: int
    durable_index: int
    """Last index up to which the log, in its current form, is on stable storage."""

    @property
    def is_dirty(self) -> bool:
        """True while some writes are not on stable storage yet."""

    @property
    def is_stamp_durable(self) -> bool:
        """True when incarnation and term, which all messages carry, are on stable storage."""

    @property
    def last_index(self) -> int:
        """Index of the last entry; `base_index` when there is none."""

    @property
    def last_term(self) -> int:
        """Term of the last entry; `base_term` when there is none."""

    def term_at(self, index: int) -> int | None:
        """Term of an entry, `base_index` included; None where it is unknown."""

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> list[WalEntry]:
        """Entries from `index` > `base_index` on: at least one if there is one."""

    def write_incarnation(self, incarnation: int) -> None:
        """Store a greater incarnation than the clock gave."""

    def write_vote(self, *, term: int, voted_for: int | None) -> None:
        """Store `term` and the vote in it, None for no vote yet; a vote is never changed."""

    def write_entry(self, command: bytes, *, index: int, term: int) -> None:
        """Append an entry, which must follow the last one."""

    def write_truncation(self, first_index: int) -> None:
        """Remove this entry and all after it."""

    def write_rejoined(self) -> None:
        """Record that this voter has caught up and participates from now on."""

    def write_base(self, *, index: int, term: int) -> None:
        """Remove all entries; the log begins after `index`, which a snapshot includes."""


class Snapshots(Protocol):
    """The newest snapshot, and the one being received."""

    latest: SnapshotId | None

    @property
    def size_bytes(self) -> int:
        """Size of the newest snapshot; 0 when there is none."""

    def read_chunk(self, offset: int, max_bytes: int) -> bytes:
        """Read bytes of the newest snapshot. Raises `StorageError`."""

    def receive(self, snapshot: SnapshotId, *, total_bytes: int, offset: int, data: bytes) -> int:
        """Store a piece; return the offset where the next must begin.

        Returns `total_bytes` when the snapshot is complete and verified; it becomes the newest once
        the driver has put it on stable storage. Returns 0 when it is invalid: start over.
        """
