"""What a node's journal tells of: why something is as it is. Facts alone; nothing here decides."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

CAUSE_CHARACTERS_MAX = 400


class Kind(StrEnum):
    """What an event is about; those up to `TOPIC` are in the metadata, the same on every node."""

    LEADER = "leader"
    ISR = "isr"
    ELR = "elr"
    DAMAGED = "damaged"
    """The controllers know other replicas as damaged than before."""
    OFFLINE = "offline"
    """Likewise of replicas whose disk failed."""
    FENCING = "fencing"
    REGISTRATION = "registration"
    CONTROLLER = "controller"
    TOPIC = "topic"
    EPOCH = "epoch"
    """This node leads: where in its log the leader epoch begins."""
    TRUNCATION = "truncation"
    DAMAGE = "damage"
    """This node found its log damaged."""
    DISK = "disk"
    """This node's disk refused."""
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Event:
    """`before` and `after` are for people; numbers are there where they apply."""

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

    def within_bounds(self) -> Event:
        """The same with a cause no longer than a journal takes."""
        if len(self.cause) <= CAUSE_CHARACTERS_MAX:
            return self
        return replace(self, cause=self.cause[: CAUSE_CHARACTERS_MAX - 1] + "…")
