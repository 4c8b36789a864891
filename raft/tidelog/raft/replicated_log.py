"""Port of the replicated metadata log: the controller's view of Raft.

In the contract: the state machine gets entries in index order and never twice in one life of the
node, or a snapshot instead of all entries up to its index; a proposal ends in exactly one of
committed, `NotLeaderError` (certainly not appended) or `ProposalUnknownError`. Intentionally not:
which voter answers reads, when snapshots are taken, membership changes. This module decides
nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tidelog.core.errors import TidelogError
from tidelog.v1 import common_pb2


@dataclass(frozen=True, slots=True)
class CommittedEntry:
    """A command that a majority of the voters holds on stable storage.

    Indexes increase but have gaps: Raft's own entries (an election's no-op, a read barrier) are not
    handed out.
    """

    index: int
    term: int
    command: bytes


class NotLeaderError(TidelogError):
    """This node does not lead: the command was certainly not appended.

    Ask `leader_id`, or wait when None.
    """

    code = common_pb2.NOT_CONTROLLER
    is_retriable = True

    def __init__(self, message: str, *, leader_id: int | None) -> None:
        super().__init__(message)
        self.leader_id = leader_id


class ProposalUnknownError(TidelogError):
    """The deadline passed or leadership was lost: the command may be committed, now or later.

    Check the committed entries before a retry, or make the command idempotent.
    """

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True
    is_outcome_unknown = True


class StateMachine(Protocol):
    """State machine of the committed entries. No method may raise: an exception stops the node."""

    def apply(self, entry: CommittedEntry) -> None:
        """Apply the next entry."""

    def records(self) -> Iterator[bytes]:
        """Iterate over the whole state as of this call; later entries do not show."""

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        """Replace the state by the output of `records()` after the entry `index` of `term`."""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """Another voter's state as the leader knows it."""

    node_id: int
    match_index: int
    """Last index known to be on its stable storage."""
    last_contact_ms: int | None
    """Time since its last answer to this leader; None: none yet."""


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """State of one voter and, while it leads, of the others as it knows them."""

    node_id: int
    role: str
    """`leader`, `candidate`, `pre-candidate`, `follower`, or `rejoining`: its disk is new."""
    term: int
    leader_id: int | None
    last_index: int
    commit_index: int
    applied_index: int
    snapshot_index: int
    """Last index of the newest snapshot on its disk; 0: none."""
    snapshot_bytes: int
    wal_bytes: int
    """Size of the write-ahead log, without preallocated space."""
    last_contact_ms: int | None
    """Time since a follower last heard the leader, or since a majority last answered the leader."""
    peers: tuple[PeerStatus, ...]


class ReplicatedLog(Protocol):
    """A voter's view of the replicated log. All methods belong to the node's event loop."""

    node_id: int

    async def start(self, machine: StateMachine) -> None:
        """Open the log, restore the newest snapshot and join the quorum.

        Later committed entries are applied as this node learns of their commit. Errors:
        `StorageError` when the durable state cannot be read; the message says what to do.
        """

    async def stop(self) -> None:
        """Leave the quorum; pending proposals end in `ProposalUnknownError`."""

    @property
    def is_leader(self) -> bool:
        """True when this node leads and an entry of its own term is applied.

        It may be outdated: a decision needs `propose` or `read_barrier`.
        """

    @property
    def leader_id(self) -> int | None:
        """Leader known to this node; None while there is none."""

    @property
    def term(self) -> int:
        """Raft's current term; never decreases."""

    @property
    def commit_index(self) -> int:
        """Last index known to be committed; never decreases."""

    @property
    def applied_index(self) -> int:
        """Last index applied or skipped; never above `commit_index`."""

    async def propose(self, command: bytes, *, timeout_ms: int) -> CommittedEntry:
        """Append `command` and wait until it is committed and applied here.

        Errors: `NotLeaderError`, `MessageTooLargeError` and `KafkaError`
        THROTTLING_QUOTA_EXCEEDED (too many proposals wait): certainly not appended.
        `ProposalUnknownError`: unknown.
        """

    async def read_barrier(self, *, timeout_ms: int) -> int:
        """Prove that this node led during the call; return the last index committed before it.

        All entries up to it are applied: a later read by the caller is linearizable with respect to
        the call (Raft, 6.4: a majority answers a message sent after the call; nothing is written).
        Raises `NotLeaderError`, also when the proof took too long.
        """

    def status(self) -> QuorumStatus:
        """Status of the quorum as this voter knows it; not linearizable."""

    def on_leadership(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop whenever `is_leader`, `leader_id` or `term` changed."""
