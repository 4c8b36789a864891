"""Plans: what touches many partitions is followed in slices, each in its own batch.

A slice has room for a bounded number of partitions, so that no batch keeps a node's loop for long,
and other commands are decided between two slices. The progress of a creation or deletion stands in
the image, in the command's record, committed with the slice itself: any controller goes on where
the last slice ended when the same command comes again (decision 0028). The progress of a fencing is
the state of the partitions (decision 0074). Decides what fits; never what is allowed.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from tidelog.core.env import Random
from tidelog.core.errors import InvalidPartitionsError, RequestTimedOutError
from tidelog.metadata import assignments
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import MetadataImage, TopicImage
from tidelog.metadata.placement import Assigned, next_start
from tidelog.v1.admin_pb2 import ReplicaAssignment
from tidelog.v1.metadata_records_pb2 import MetadataRecord

_ReplyT = TypeVar("_ReplyT")


class Planned(NamedTuple):
    """A topic as it will be once all its partitions are there."""

    partitions: int
    factor: int
    named: list[Assigned] | None
    """Named replicas of the last of its partitions; None: the controller chooses."""


@dataclass(slots=True)
class Slice:
    """The part of a plan that goes into one batch: `room` is left in it, `used` was taken."""

    room: int
    used: int = 0
    results: int = 0
    """Results that earlier slices gave: the plan goes on behind the items these are about."""
    growing_topic_id: bytes = b""
    """Topic of the last result that lacks partitions still, before this slice and then after it."""
    rest: object = None
    """`Decision.rest` of the slice before, of a command without an id."""

    @property
    def is_full(self) -> bool:
        """True when no other item of the plan may be begun in this slice."""
        return self.room <= 0

    @property
    def is_first(self) -> bool:
        """True when nothing of the plan was decided before."""
        return not self.results

    def take(self, partitions: int) -> None:
        """Count partitions that this slice creates, removes or changes."""
        self.room -= partitions
        self.used += partitions

    def take_first(self, changes: Iterable[MetadataRecord]) -> tuple[list[MetadataRecord], bool]:
        """Take as many changes of a partition each as there is room for; True: these are all."""
        found = list(islice(changes, max(self.room, 0) + 1))
        taken = found[: max(self.room, 0)]
        self.take(len(taken))
        return taken, len(taken) == len(found)

    def grow(
        self, topic: TopicImage, planned: Planned, image: MetadataImage, random: Random
    ) -> list[MetadataRecord]:
        """Add partitions that `topic` still lacks, as many as there is room for.

        Raises `KafkaError` REQUEST_TIMED_OUT while no broker of one is alive: earlier ones stay.
        """
        present = len(topic.partitions)
        count = min(planned.partitions - present, self.room)
        placed = _place(topic, planned, image, random, count=count)
        if not all(any(map(image.is_alive, one)) for one in placed):
            raise RequestTimedOutError(
                f"topic {topic.name!r} has {present} of {planned.partitions} partitions, and all "
                "brokers of the next ones are fenced: ask again",
            )
        self.take(count)
        self.growing_topic_id = b"" if present + count == planned.partitions else topic.topic_id
        return assignments.partition_records(topic.topic_id, placed, image, first_partition=present)

    def go_on(
        self,
        asked: Iterable[ReplicaAssignment],
        image: MetadataImage,
        random: Random,
        *,
        count: int,
    ) -> list[MetadataRecord]:
        """Add partitions to the topic that the last slice left growing, unless it is deleted.

        `count` is its number of partitions in the end. Errors as of `grow`.
        """
        topic = image.topic_by_id(self.growing_topic_id)
        self.growing_topic_id = b""
        if topic is None or len(topic.partitions) >= count:
            return []
        by_number = sorted(asked, key=lambda one: one.partition)
        named = [tuple(one.broker_ids) for one in by_number] or None
        factor = len(topic.partitions[0].replicas)
        return self.grow(topic, Planned(count, factor, named), image, random)

    def decision(
        self, records: list[MetadataRecord], reply: _ReplyT, *, results: int, asked: int
    ) -> Decision[_ReplyT]:
        """The decision of this slice: `results` new results of the `asked` of the whole plan."""
        is_last = self.results + results == asked and not self.growing_topic_id
        return Decision(
            records,
            reply,
            is_last=is_last,
            growing_topic_id=self.growing_topic_id,
            partitions=self.used,
        )


def partitions_left(image: MetadataImage, *, partitions_max: int) -> int:
    """The number of partitions that the cluster's limit leaves."""
    return partitions_max - sum(len(topic.partitions) for topic in image.topics.values())


def check_total(added: Iterable[int], left: int, *, partitions_max: int) -> None:
    """Refuse a plan as a whole that the cluster has no room for, before any of it is decided.

    `added` are the partitions of each item. An item that is too large by itself is refused by
    itself, and does not count here. Raises `KafkaError` INVALID_PARTITIONS.
    """
    total = sum(one for one in added if 0 < one <= left)
    if total > left:
        raise InvalidPartitionsError(
            f"{total} partitions in one request: the cluster's limit of {partitions_max} leaves "
            f"{left}, and nothing of the request happened",
        )


def _place(
    topic: TopicImage, planned: Planned, image: MetadataImage, random: Random, *, count: int
) -> list[Assigned]:
    """Place the next `count` partitions; on no broker where none is alive."""
    present = len(topic.partitions)
    if planned.named is not None:
        done = present - (planned.partitions - len(planned.named))
        return planned.named[done : done + count]
    if not image.live_brokers():
        return [()] * count
    start = None
    if present:
        # The round goes on where the topic's last one ended, so that leaders stay evenly spread.
        start = next_start(assignments.broker_slots(image), topic.partitions[-1].replicas[0])
    return assignments.choose_replicas(
        image, random, partitions=count, factor=planned.factor, start=start
    )
