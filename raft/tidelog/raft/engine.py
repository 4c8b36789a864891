"""The port between the Raft engine, which decides, and its driver, which acts.

One call in, effects out. What a step writes to the write-ahead log and to the snapshots reaches
stable storage while the engine goes on stepping; `Ready` says what waits for that. An engine that
cannot go on meanwhile says so: `steps_while_syncing`. This module decides nothing.
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
    """Who leads, as one voter sees it."""

    role: str
    term: int
    leader_id: int | None
    own_term_index: int | None
    """The index of the no-op with which this node began to lead in `term`; None: it does not."""


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """A committed entry; `command` is None for Raft's own no-ops."""

    index: int
    term: int
    command: bytes | None


@dataclass(frozen=True, slots=True)
class ConfirmedRead:
    """A read that this node may answer once `index` is applied, for it led after it was asked."""

    read_id: int
    index: int


@dataclass(slots=True)
class Ready:
    """What one step decided, and what of it waits for the sync of all that was written up to it.

    Of an engine that does not step while syncing everything waits.
    """

    leadership: Leadership
    commit_index: int
    next_step_in_s: float
    """When to step again if nothing happens before."""
    messages: list[raft_pb2.RaftMessage] = field(default_factory=list)
    """Promises: they leave when they are on stable storage, in order."""
    at_once: list[raft_pb2.RaftMessage] = field(default_factory=list)
    """Messages that no crash makes untrue: they leave now."""
    restored: SnapshotId | None = None
    """A snapshot of the leader, on stable storage by now: the state machine becomes what it says,
    before `committed`."""
    committed: list[EngineEntry] = field(default_factory=list)
    """All entries that became committed, in index order, each once; this node's own copy need not
    be on stable storage."""
    appended: list[int] = field(default_factory=list)
    """The indexes of this step's proposals; empty: none was appended, this node does not lead."""
    reads: list[ConfirmedRead] = field(default_factory=list)
    """Reads of this and earlier steps; those left over when this node no longer leads are void."""


class Engine(Protocol):
    """Raft without clock, disk or network of its own; writes its durable state to the storage."""

    def step(
        self,
        *,
        now_s: float,
        connected: Sequence[int],
        received: Sequence[raft_pb2.RaftMessage],
        proposals: Sequence[bytes | None],
        reads: Sequence[int],
    ) -> Ready:
        """Take what happened up to `now_s`, and decide.

        A proposal of None is a no-op. `reads` are the ids of reads asked for since the last step.
        """

    def peers(self, now_s: float) -> tuple[PeerStatus, ...]:
        """What this node knows of the others while it leads; empty otherwise."""

    def last_contact_ms(self, now_s: float) -> int | None:
        """See `QuorumStatus.last_contact_ms`."""

    @property
    def waits_for(self) -> Sequence[int]:
        """The voters without whose answer this one, its disk being new, takes no part."""

    steps_while_syncing: bool
    """Whether it tells this node's durable copy from what is only written. If not, it is stepped
    only when everything is synced, and counts all of its log as durable."""

    @property
    def is_sending_snapshot(self) -> bool:
        """Whether a newer snapshot now would make a follower begin again."""
