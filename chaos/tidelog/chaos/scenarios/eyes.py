"""What a story sees of its cluster, whatever the stage: metadata, replicas, answers, logs.

Owns the names of what is looked at, all of one partition: partition 0 of the ground's topic.
Changes nothing and waits for nothing; a look is as old as the ground's last one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from tidelog.chaos.scenarios.ground import Ground, Load, LogLine, Side
from tidelog.log.env import Random
from tidelog.metadata.image import MetadataImage, PartitionImage


class Eyes:
    """Of one ground."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    # The stage

    @property
    def now_s(self) -> float:
        """Its clock."""
        return self.ground.now_s

    @property
    def random(self) -> Random:
        """The story's own."""
        return self.ground.random

    @property
    def topic(self) -> str:
        """The story's."""
        return self.ground.topic

    @property
    def load(self) -> Load:
        """The clients."""
        return self.ground.load

    @property
    def clients(self) -> Sequence[Side]:
        """All groups of clients."""
        return self.ground.client_groups

    @property
    def session_s(self) -> float:
        """How long a broker may be silent."""
        return self.ground.session_s

    @property
    def lag_s(self) -> float:
        """How long a follower may lag."""
        return self.ground.lag_s

    @property
    def failover_s(self) -> float:
        """Within this time another leader was elected, though a controller had to be, first."""
        return 2 * self.session_s + 2.0

    def rounds(self, *, reduced: int, full: int) -> range:
        """How often a story repeats itself."""
        return range(full if self.ground.is_full else reduced)

    def others(self, *node_ids: int) -> list[int]:
        """All nodes but these."""
        return [one for one in self.ground.node_ids if one not in node_ids]

    def is_up(self, node_id: int) -> bool:
        """Whether its process runs, or is paused."""
        return self.ground.is_up(node_id)

    # Files of a replica

    def files(self, node_id: int, kind: str) -> list[str]:
        """The paths of its replica's files of this kind that are not empty."""
        return self.ground.files(node_id, kind)

    def content(self, node_id: int, path: str) -> bytes:
        """All of a file; empty: there is none."""
        return self.ground.content(node_id, path)

    def length(self, node_id: int, path: str) -> int:
        """Of a file; 0: there is none."""
        return self.ground.length(node_id, path)

    # The partition

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata; the empty image while no controller runs."""
        return self.ground.image

    @property
    def now(self) -> PartitionImage:
        """The partition's state; `LookupError` while no controller knows of it."""
        found = self._found
        if found is None:
            raise LookupError(f"no {self.topic}-0")
        return found

    @property
    def _found(self) -> PartitionImage | None:
        return self.image.partition(self.topic, 0)

    @property
    def leader(self) -> int:
        """Who leads; `LookupError`: nobody."""
        if self.now.leader_id is None:
            raise LookupError(f"nobody leads {self.topic}-0")
        return self.now.leader_id

    def cast(self) -> tuple[int, list[int]]:
        """The leader and the followers."""
        leader = self.leader
        return leader, [one for one in self.now.replicas if one != leader]

    def is_led_by(self, *node_ids: int) -> bool:
        """Whether one of them leads, as far as anyone knows."""
        found = self._found
        return found is not None and found.leader_id in node_ids

    def isr_is(self, *node_ids: int) -> bool:
        """Whether these are in sync, and nobody else."""
        found = self._found
        return found is not None and set(found.isr) == set(node_ids)

    def is_in_sync(self, node_id: int) -> bool:
        """Whether it is in the ISR."""
        found = self._found
        return found is not None and node_id in found.isr

    def is_out(self, node_id: int) -> bool:
        """Whether it is known not to be in the ISR."""
        found = self._found
        return found is not None and node_id not in found.isr

    def is_fenced(self, node_id: int) -> bool:
        """Whether controllers have given it up."""
        return node_id in self.image.brokers and not self.image.is_alive(node_id)

    def _is_whole(self) -> bool:
        found = self._found
        return found is not None and len(found.isr) == len(found.replicas)

    # Replicas

    def is_open(self, node_id: int) -> bool:
        """Whether its log is."""
        return self.ground.replica(node_id) is not None

    def is_leading(self, node_id: int) -> bool:
        """Whether it takes writes."""
        replica = self.ground.replica(node_id)
        return replica is not None and replica.is_leader

    def end(self, node_id: int) -> int:
        """Where its log ends; -1 while it has none."""
        replica = self.ground.replica(node_id)
        return -1 if replica is None else replica.log_end_offset

    def ends_after(self, node_id: int, offset: int) -> bool:
        """Whether its log does."""
        return self.end(node_id) > offset

    def high_watermark(self, node_id: int) -> int:
        """What it knows to be committed; -1 while it has no log."""
        replica = self.ground.replica(node_id)
        return -1 if replica is None else replica.high_watermark

    def epoch(self, node_id: int) -> int:
        """In which leader epoch it has its role; -1 while it has none."""
        replica = self.ground.replica(node_id)
        return -1 if replica is None else replica.leader_epoch

    def proposed_isr(self, leader: int) -> tuple[int, ...]:
        """What it asks the controllers for."""
        replica = self.ground.replica(leader)
        return () if replica is None else replica.proposed_isr

    # What clients were answered, and what nodes say

    def answered(
        self, *codes: int, by: int | None = None, since_s: float = 0.0, acks: int | None = None
    ) -> int:
        """How often producers were answered so."""
        answers = self.ground.answers
        first = bisect_left(answers, since_s, key=lambda one: one.at_s)
        return sum(
            one.code in codes and by in (None, one.node_id) and acks in (None, one.acks)
            for one in answers[first:]
        )

    def told(self, event: str, node_id: int | None = None, **fields: object) -> list[LogLine]:
        """What nodes logged."""
        return [
            line
            for line in self.ground.lines
            if line.event == event
            and node_id in (None, line.node_id)
            and all(line.fields.get(name) == value for name, value in fields.items())
        ]

    def told_here(self, event: str, node_id: int | None = None) -> list[LogLine]:
        """The same, of the story's partition."""
        return self.told(event, node_id, partition=f"{self.topic}-0")

    def truncated(self, node_id: int) -> int:
        """How many records were cut off its log, at an epoch's end."""
        return sum(int(line.fields["records"]) for line in self.told_here("truncated", node_id))
