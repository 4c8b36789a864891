"""Input, result and protocol of assignors on the coordinator (KIP-848)."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

TopicPartitionId = tuple[bytes, int]
"""Topic id (16 bytes) and partition number."""

Assignment = dict[str, frozenset[TopicPartitionId]]
"""Partitions by member id; each member of the group is a key, perhaps with no partition."""


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """A member, its topics, and `owned`: its target assignment of before.

    `owned` may name partitions that are gone or no longer subscribed to; `rack` may be empty.
    """

    member_id: str
    instance_id: str | None
    rack: str
    topic_ids: frozenset[bytes]
    owned: frozenset[TopicPartitionId]


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """Members, each with another id, and the topics that exist: partition counts and names.

    `topic_names` has every topic of `partition_counts`. A subscribed topic that is in neither is
    treated as if nobody subscribed to it.
    """

    members: tuple[MemberSubscription, ...]
    partition_counts: Mapping[bytes, int]
    topic_names: Mapping[bytes, str]


class Assignor(Protocol):
    """A way to assign partitions, named as groups choose it (`group.remote.assignor`)."""

    @property
    def name(self) -> str:
        """The name under which members ask for it."""

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        """Yield None after each slice of work, then the assignment, once and last.

        A slice has about `slices.SLICE_STEPS` steps: an event loop turns to others in between.
        """
