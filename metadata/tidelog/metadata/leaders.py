"""ElectLeaders (KIP-460), and the check that moves leaderships back by itself.

A preferred leader is the first replica; it leads only as a live member of the ISR. An unclean
election, ordered here for once, finds a leader where no complete replica can lead.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import islice

from tidelog.core.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidRequestError,
    KafkaError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Checked, Decision, Shows, wire_error
from tidelog.metadata.election import State, next_state, present_state, record_change
from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.metadata.topic_rules import topic_rules
from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.admin_pb2 import ElectLeadersRequest, ElectLeadersResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord

_PREFERRED = "the preferred leader is in sync again"
_LOOKED_AT_ONCE_MAX = 1_000
"""Partitions that one batch looks at for an election that was asked for."""
_MOVES_AT_ONCE_MAX = 1_000
"""The automatic check leaves the rest to its next round, as Kafka's does."""


@dataclass(frozen=True, slots=True)
class RebalanceLeaders:
    """Let preferred leaders lead again that are in sync."""


def elect_leaders(
    request: ElectLeadersRequest, image: MetadataImage, context: ControllerContext
) -> Decision[ElectLeadersResponse]:
    """Decide on each named partition, in the order asked; on all: answer those that needed it.

    Many are decided on in slices; a caller that gets no answer asks again, which repeats nothing.
    An unclean election of all leaves internal topics out, each told as an error: what coordinators
    lose tears transactions and turns back groups, so that an operator has to name them.

    Raises `InvalidRequestError` for more partitions than a cluster has.
    """
    _check_count(request, context.config.partitions_max)
    rest = _go_on(context.part.rest, request, image)
    records: list[MetadataRecord] = []
    is_unclean = request.election_type == admin_pb2.UNCLEAN
    looked_max = rest.looked + _LOOKED_AT_ONCE_MAX
    while rest.looked < min(len(rest.asked), looked_max) and not context.part.is_full:
        name, number = rest.asked[rest.looked]
        rest.looked += 1
        result = ElectLeadersResponse.Partition(topic=name, partition=number)
        try:
            if is_unclean and not request.topics:
                _check_may_lose(name, image.partition(name, number))
            leader_id, its_records = _elect(name, number, image, is_unclean=is_unclean)
            result.leader_id = leader_id
            records += its_records
            context.part.take(len(its_records))
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
        if request.topics or result.error.code != common_pb2.ELECTION_NOT_NEEDED:
            rest.reply.partitions.append(result)
    is_last = rest.looked == len(rest.asked)
    return Decision(records, rest.reply, is_last=is_last, partitions=context.part.used, rest=rest)


def _go_on(before: object, request: ElectLeadersRequest, image: MetadataImage) -> _Rest:
    if isinstance(before, _Rest):  # a copy: the batch may have no room for this slice
        return replace(before, reply=deepcopy(before.reply))
    asked = _list_asked(request, image)
    return _Rest([(name, one) for name, numbers in asked.items() for one in numbers])


@dataclass(slots=True)
class _Rest:
    """The partitions asked for, and the answer about the first `looked` of them."""

    asked: list[tuple[str, int]]
    looked: int = 0
    reply: ElectLeadersResponse = field(default_factory=ElectLeadersResponse)


def _check_count(request: ElectLeadersRequest, most: int) -> None:
    count = sum(max(1, len(topic.partitions)) for topic in request.topics)
    if count > most:
        raise InvalidRequestError(f"{count} partitions in one request: send at most {most}")


def has_imbalance(image: MetadataImage) -> bool:
    """True when `rebalance_leaders` has something to do."""
    return next(_find_moves(image), None) is not None


def rebalance_leaders(
    _command: RebalanceLeaders, image: MetadataImage, context: ControllerContext
) -> Decision[Checked]:
    """Give leaderships to preferred leaders that are in sync; a bounded number at one time.

    Nothing moves while the cluster is held.
    """
    moves = iter(()) if context.is_held else _find_moves(image)
    records, _ = context.part.take_first(islice(moves, _MOVES_AT_ONCE_MAX))
    return Decision(records, Checked(), partitions=context.part.used)


def batches_in_round(config: ControllerConfig) -> int:
    """Batches that move as many leaderships as one round of the check may."""
    return max(1, _MOVES_AT_ONCE_MAX // config.partitions_per_batch_max)


def show_elected(
    _request: ElectLeadersRequest, reply: ElectLeadersResponse, before: MetadataImage
) -> Shows:
    """The condition under which an image shows the elected leaders, or newer ones."""
    return lambda image: all(
        _shows_leader(one, image, before)
        for one in reply.partitions
        if one.error.code == common_pb2.NONE
    )


def _shows_leader(
    elected: ElectLeadersResponse.Partition, image: MetadataImage, before: MetadataImage
) -> bool:
    now = image.partition(elected.topic, elected.partition)
    was = before.partition(elected.topic, elected.partition)
    if was is None or now is None or now.leader_epoch > was.leader_epoch:
        return True
    return now.leader_id == elected.leader_id


def _list_asked(request: ElectLeadersRequest, image: MetadataImage) -> Mapping[str, list[int]]:
    named = {topic.name: list(dict.fromkeys(topic.partitions)) for topic in request.topics}
    for name in named if request.topics else image.topics:
        topic = image.topics.get(name)
        if not named.get(name):
            named[name] = [0] if topic is None else [one.partition for one in topic.partitions]
    return named


def _elect(
    name: str, number: int, image: MetadataImage, *, is_unclean: bool
) -> tuple[int, list[MetadataRecord]]:
    topic, partition = image.topics.get(name), image.partition(name, number)
    if topic is None or partition is None:
        raise UnknownTopicOrPartitionError(
            f"there is no partition {number} of a topic {name[:260]!r}",
        )
    leader_id, preferred_id = partition.leader_id, partition.replicas[0]
    if leader_id is not None and (is_unclean or leader_id == preferred_id):
        raise ElectionNotNeededError(f"broker {leader_id} leads the partition already")
    if not is_unclean:
        state = _elect_preferred(partition, image)
        if state is None:
            raise PreferredLeaderNotAvailableError(
                f"broker {preferred_id} is not in the ISR {list(partition.isr)}: "
                "start it, or wait until it has caught up",
            )
        cause = "the preferred leader was asked for"
        return preferred_id, list(record_change(topic, partition, state, cause=cause))
    state = next_state(
        partition,
        topic_rules(topic, image),
        isr=partition.isr,
        may_lead=image.is_alive,
        is_unclean_asked=True,
    )
    if state.leader_id is None:
        raise EligibleLeadersNotAvailableError(
            f"no broker of the replicas {list(partition.replicas)} is alive: start one",
        )
    cause = "an unclean election was asked for"
    return state.leader_id, list(record_change(topic, partition, state, cause=cause))


def _check_may_lose(topic: str, partition: PartitionImage | None) -> None:
    """Raise INVALID_REQUEST for a leaderless partition of an internal topic that nobody named."""
    if topic in INTERNAL_TOPICS and partition is not None and partition.leader_id is None:
        raise InvalidRequestError(
            f"{topic} is an internal topic, of which an unclean election may lose commits of "
            "transactions and offsets: name it to have that nevertheless"
        )


def _elect_preferred(partition: PartitionImage, image: MetadataImage) -> State | None:
    preferred_id = partition.replicas[0]
    if preferred_id not in partition.isr or not image.is_alive(preferred_id):
        return None
    if preferred_id in partition.damaged:
        return None
    damaged = tuple(one for one in partition.damaged if one not in partition.isr)
    return replace(present_state(partition), leader_id=preferred_id, damaged=damaged)


def _find_moves(image: MetadataImage) -> Iterator[MetadataRecord]:
    for topic, partition in image.partitions():
        if partition.leader_id not in (None, partition.replicas[0]):
            state = _elect_preferred(partition, image)
            if state is not None:
                yield from record_change(topic, partition, state, cause=_PREFERRED)
