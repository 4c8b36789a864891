"""The port between the Raft engine, which decides, and its driver, which acts.

One call in, effects out: everything a `Ready` holds waits for the write-ahead log to be synced,
then is told. This module decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tidelog.v1 import raft_pb2


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads, as one voter sees it."""

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
class Ready:
    """What one step decided, to be told only when the write-ahead log is synced."""

    messages: list[raft_pb2.RaftMessage]
    committed: list[EngineEntry]
    """All entries that became committed, in index order, each once."""
    appended: list[int]
    """The indexes of this step's proposals; empty: none was appended, this node does not lead."""
    commit_index: int
    leadership: Leadership
    next_step_in_s: float
    """When to step again if nothing happens before."""


class Engine(Protocol):
    """Raft without clock, disk or network of its own; writes its durable state to the `Wal`."""

    def step(
        self,
        *,
        connected: Iterable[int],
        received: Iterable[raft_pb2.RaftMessage],
        proposals: Iterable[bytes | None],
    ) -> Ready:
        """Take what happened and what time it is, and decide.

        Only with a synced write-ahead log: entries in it count as this node's durable copy.
        A proposal of None is a no-op.
        """
