"""What a Raft engine needs of storage: its port down to the write-ahead log and the snapshots.

Reading and writing are immediate; writes become durable when the driver has synced, and the engine
goes on meanwhile. This module decides nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

REGULAR, NO_OP = b"\0", b"\1"
"""The first byte of an entry's command. What follows a regular one was proposed; a no-op names the
cluster (`log_origin`)."""


class WalEntry(NamedTuple):
    """One log entry."""

    command: bytes
    log_index: int
    term: int


@dataclass(frozen=True, order=True, slots=True)
class SnapshotId:
    """The last entry a snapshot holds."""

    index: int
    term: int


class DurableLog(Protocol):
    """Term, vote and entries. The entry `base_index` is the last one that is no longer kept."""

    node_id: int
    incarnation: int
    """Greater at every start of the node, also after its disk was lost."""
    term: int
    voted_for: int | None
    is_rejoining: bool
    """The disk was new at this or an earlier start, and this voter has not caught up since."""
    base_index: int
    base_term: int
    durable_index: int
    """Up to here the log, as it is now, is on stable storage."""

    @property
    def is_dirty(self) -> bool:
        """Whether something was written that is not on stable storage yet."""

    @property
    def is_stamp_durable(self) -> bool:
        """Whether incarnation and term, which all messages carry, are on stable storage."""

    @property
    def last_index(self) -> int:
        """Of the last entry; `base_index` when there is none."""

    @property
    def last_term(self) -> int:
        """Of the last entry; `base_term` when there is none."""

    def term_at(self, index: int) -> int | None:
        """The term of an entry, `base_index` included; None where nothing is known."""

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> list[WalEntry]:
        """Entries from `index` > `base_index` on: at least one if there is one."""

    def write_incarnation(self, incarnation: int) -> None:
        """Take a greater incarnation than the clock gave."""

    def write_vote(self, *, term: int, voted_for: int | None) -> None:
        """Enter `term`, having voted for that node or nobody yet; a vote is never changed."""

    def write_entry(self, command: bytes, *, index: int, term: int) -> None:
        """Append an entry, which must follow the last one."""

    def write_truncation(self, first_index: int) -> None:
        """Remove this entry and all after it."""

    def write_rejoined(self) -> None:
        """This voter has caught up and takes part from now on."""

    def write_base(self, *, index: int, term: int) -> None:
        """Remove all entries; the log begins after this one, which a snapshot holds."""


class Snapshots(Protocol):
    """The newest snapshot, and the one that is being received."""

    latest: SnapshotId | None

    @property
    def size_bytes(self) -> int:
        """Of the newest snapshot; 0 when there is none."""

    def read_chunk(self, offset: int, max_bytes: int) -> bytes:
        """Bytes of the newest snapshot. Errors: `StorageError`."""

    def receive(self, snapshot: SnapshotId, *, total_bytes: int, offset: int, data: bytes) -> int:
        """Take a piece; return where the next must begin.

        `total_bytes`: the snapshot is whole and verified, and will be the newest once the driver
        has put it on stable storage. 0: it is not what it should be, begin again.
        """
