"""The port between the Raft engine, which decides, and its driver, which acts.

One call in, effects out. A step's writes to the write-ahead log and the snapshots reach stable
storage while the engine keeps stepping; `Ready` separates the effects that wait for that. An engine
that cannot step meanwhile sets `steps_while_syncing` to False. This module decides nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.replicated_log import PeerStatus
from tidelog.v1 import raft_pb2


@dataclass(frozen=True, slots=True)
class Leadership:
    """Role, term and leader from the view of one voter."""

    role: str
    term: int
    leader_id: int | None
    own_term_index: int | None
    """Index of the no-op that began this node's leadership in `term`; None: it does not lead."""


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """A committed entry; `command` is None for Raft's own no-ops."""

    index: int
    term: int
    command: bytes | None


@dataclass(frozen=True, slots=True)
class ConfirmedRead:
    """A read that may be answered once `index` is applied: this node led after it was requested."""

    read_id: int
    index: int


@dataclass(slots=True)
class Ready:
    """Effects of one step: some wait until all writes up to that step are synced.

    All of them wait if the engine does not step while syncing.
    """

    leadership: Leadership
    commit_index: int
    next_step_in_s: float
    """Time until the next step, if nothing happens before."""
    messages: list[raft_pb2.RaftMessage] = field(default_factory=list)
    """Promises: messages that leave, in order, once the writes are on stable storage."""
    at_once: list[raft_pb2.RaftMessage] = field(default_factory=list)
    """Messages that no crash can make untrue: they leave now."""
    restored: SnapshotId | None = None
    """Leader's snapshot, on stable storage by now, to restore before applying `committed`."""
    committed: list[EngineEntry] = field(default_factory=list)
    """Newly committed entries, in index order, each once; the local copy may not be durable yet."""
    appended: list[int] = field(default_factory=list)
    """Indexes of this step's proposals; empty: none was appended, this node does not lead."""
    reads: list[ConfirmedRead] = field(default_factory=list)
    """Confirmed reads of this and earlier steps; those left when leadership ends are void."""


class Engine(Protocol):
    """Raft without its own clock, disk or network; writes its durable state to the storage."""

    def step(
        self,
        *,
        now_s: float,
        connected: Sequence[int],
        received: Sequence[raft_pb2.RaftMessage],
        proposals: Sequence[bytes | None],
        reads: Sequence[int],
    ) -> Ready:
        """Process all events up to `now_s` and return the effects.

        A proposal of None is a no-op. `reads` are the ids of reads requested since the last step.
        """

    def peers(self, now_s: float) -> tuple[PeerStatus, ...]:
        """Status of the other voters while this node leads; empty otherwise."""

    def last_contact_ms(self, now_s: float) -> int | None:
        """See `QuorumStatus.last_contact_ms`."""

    @property
    def waits_for(self) -> Sequence[int]:
        """Voters that must answer before this one, its disk being new, participates."""

    steps_while_syncing: bool
    """True: the engine distinguishes durable entries from written ones.

    If not, it is stepped only when everything is synced, and counts its whole log as durable.
    """

    @property
    def is_sending_snapshot(self) -> bool:
        """True while a newer snapshot would make a follower start its download over."""
