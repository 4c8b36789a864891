"""Events of a node's journal: changes of state and their causes. Facts only; no decisions."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

CAUSE_CHARACTERS_MAX = 400


class Kind(StrEnum):
    """Kind of an event: one of `METADATA_KINDS` or of `NODE_KINDS`."""

    LEADER = "leader"
    ISR = "isr"
    ELR = "elr"
    DAMAGED = "damaged"
    """The set of replicas known to the controllers as damaged changed."""
    OFFLINE = "offline"
    """The set of replicas with a failed disk changed."""
    FENCING = "fencing"
    REGISTRATION = "registration"
    CONTROLLER = "controller"
    TOPIC = "topic"
    EPOCH = "epoch"
    """This node became leader: start offset of the leader epoch in its log."""
    TRUNCATION = "truncation"
    DAMAGE = "damage"
    """This node found its log damaged."""
    DISK = "disk"
    """This node's disk failed."""
    REFUSAL = "refusal"
    GROUP = "group"
    """A consumer group, or this node as a coordinator of groups, changed."""
    TRANSACTION = "transaction"
    """A transaction was aborted by another than its producer, or a producer was fenced."""


METADATA_KINDS = frozenset(
    {
        Kind.LEADER,
        Kind.ISR,
        Kind.ELR,
        Kind.DAMAGED,
        Kind.OFFLINE,
        Kind.FENCING,
        Kind.REGISTRATION,
        Kind.CONTROLLER,
        Kind.TOPIC,
    }
)
"""Kinds derived from metadata, the same on every node."""
NODE_KINDS = frozenset(Kind) - METADATA_KINDS
"""Kinds that one node reports of itself."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `before` and `after` are for people; numbers are set where they apply."""

    kind: Kind
    cause: str
    before: str = ""
    after: str = ""
    topic: str = ""
    partition: int | None = None
    broker_id: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    broker_epoch: int | None = None
    controller_epoch: int | None = None
    metadata_offset: int | None = None
    group: str = ""

    def within_bounds(self) -> Event:
        """Copy of the event with its cause cut to the maximum length."""
        if len(self.cause) <= CAUSE_CHARACTERS_MAX:
            return self
        return replace(self, cause=self.cause[: CAUSE_CHARACTERS_MAX - 1] + "…")
