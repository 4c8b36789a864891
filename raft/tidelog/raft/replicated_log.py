"""The port of the replicated metadata log: what the controller may ask of Raft, and nothing of how.

In the contract: entries are handed to `on_committed` in index order and never twice in one life
of the node; a proposal ends in exactly one of committed, `NotLeaderError` (certainly not
appended) or `ProposalUnknownError`. Intentionally not: which voter answers reads, compaction,
membership changes. This module decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tidelog.log.errors import TidelogError
from tidelog.v1 import common_pb2


@dataclass(frozen=True, slots=True)
class CommittedEntry:
    """A command that a majority of the voters holds on stable storage.

    Indexes grow but have gaps: Raft's own entries (an election's no-op, a read barrier) are not
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

    Look at the committed entries before trying again, or make the command idempotent.
    """

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True
    is_outcome_unknown = True


class ReplicatedLog(Protocol):
    """One voter's view of the replicated log. All methods belong to the node's event loop."""

    node_id: int

    async def start(self, on_committed: Callable[[CommittedEntry], None]) -> None:
        """Open the log and join the quorum; replays what is committed as it becomes known to be.

        `on_committed` must not raise: an exception stops the node. Errors: `StorageError` when
        the durable state cannot be read; the message says what to do.
        """

    async def stop(self) -> None:
        """Leave the quorum; proposals in flight end in `ProposalUnknownError`."""

    @property
    def is_leader(self) -> bool:
        """True once an entry of this node's own term is committed and all up to it handed out."""

    @property
    def leader_id(self) -> int | None:
        """Who leads as far as this node knows; None while nobody does."""

    @property
    def term(self) -> int:
        """Raft's current term; never falls."""

    @property
    def commit_index(self) -> int:
        """The last index known to be committed; never falls."""

    @property
    def applied_index(self) -> int:
        """The last index handed out or passed over; never above `commit_index`."""

    async def propose(self, command: bytes, *, timeout_ms: int) -> CommittedEntry:
        """Append `command` and wait until it is committed and handed to `on_committed` here.

        Errors: `NotLeaderError`, `MessageTooLargeError` and `KafkaError`
        THROTTLING_QUOTA_EXCEEDED (too many proposals wait): certainly not appended.
        `ProposalUnknownError`: unknown.
        """

    async def read_barrier(self, *, timeout_ms: int) -> int:
        """Prove leadership by committing a no-op, and return its index.

        All entries before it are handed out: what the caller reads after it is linearizable with
        respect to the call. Errors as `propose`.
        """

    def on_leadership(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop whenever `is_leader`, `leader_id` or `term` changed."""
