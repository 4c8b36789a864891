"""Settling: the next partitions are brought in line with the brokers that are alive.

A fencing, a registration, a return and a change of configs may concern more partitions than a batch
has room for. The rest is found by the image alone, also by the next controller:

    state of the partition                      next state
    a fenced broker leads or is in the ISR      without it, with another leader
    nobody leads, a live broker could           it leads
    the ELR is not needed by the configs        without ELR

Until then the partition is as it was before the fencing: its leader, if its process lives, goes on
in its leader epoch, and commits nothing without the fenced members of its ISR. So a broker that is
let in again meanwhile keeps what it has left. A fenced broker comes into no ISR and becomes
no leader (`delta`).

Those who wait most go first: partitions without a leader that is alive.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Checked, Decision
from tidelog.metadata.election import State, next_state, present_state, record_change
from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.metadata.topic_rules import TopicRules, topic_rules
from tidelog.v1.metadata_records_pb2 import MetadataRecord


@dataclass(frozen=True, slots=True)
class SettlePartitions:
    """Settle as many partitions as a batch has room for."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The image in which nothing was left to settle, and how many brokers had been heard of."""

    image: MetadataImage | None = None
    heard: int = 0

    def is_same(self, image: MetadataImage, heard: int) -> bool:
        """True when nothing changed since that `find_unsettled` goes by."""
        seen = self.image
        return (
            seen is not None
            and seen.topics is image.topics
            and seen.brokers is image.brokers
            and seen.cluster_configs is image.cluster_configs
            and self.heard == heard
        )


def settle_partitions(
    _command: SettlePartitions, image: MetadataImage, context: ControllerContext
) -> Decision[Checked]:
    """Settle the next partitions; none while the cluster is held."""
    if context.is_held:
        return Decision([], Checked())
    unsettled = find_unsettled(image, context.sessions.has_heard)
    records, _ = context.part.take_first(unsettled)
    return Decision(records, Checked(), partitions=context.part.used)


def find_unsettled(
    image: MetadataImage, has_heard: Callable[[int], bool]
) -> Iterator[MetadataRecord]:
    """Yield the changes that are left; `has_heard`: of the broker since this controller is active.

    A fenced broker stays in an ISR whose other members are only presumed alive: they may have
    restarted, and lost what it still has. They are heard of within a session, or fenced themselves.
    """
    fenced = {one for one, broker in image.brokers.items() if broker.is_fenced}
    able = {one for one in image.brokers if one not in fenced and has_heard(one)}
    for is_led in (False, True):
        for topic in image.topics.values():
            rules: TopicRules | None = None
            for partition in topic.partitions:
                leader_id = partition.leader_id
                if (leader_id is not None and leader_id not in fenced) != is_led:
                    continue
                if is_led and not partition.elr and fenced.isdisjoint(partition.isr):
                    continue
                rules = rules or topic_rules(topic, image)
                if not is_led and not _could_change(partition, rules, fenced, able):
                    continue
                state = _settled(partition, rules, fenced, able)
                cause = _cause(partition, fenced)
                yield from record_change(topic, partition, state, cause=cause)


def _could_change(
    partition: PartitionImage, rules: TopicRules, fenced: Set[int], able: Set[int]
) -> bool:
    """False for a partition without a leader that surely waits on; of many, each is looked at."""
    return not (
        fenced.isdisjoint(partition.isr)
        and able.isdisjoint(partition.isr)
        and able.isdisjoint(partition.elr)
        and partition.last_known_leader_id not in able
        and not (rules.is_unclean_allowed and able)
    )


def _settled(
    partition: PartitionImage, rules: TopicRules, fenced: Set[int], able: Set[int]
) -> State:
    """Return the state that the brokers which are alive give the partition.

    A live leader stays, heard of or not.
    """
    isr = tuple(one for one in partition.isr if one not in fenced)
    leader_id = partition.leader_id
    if isr and able.isdisjoint(isr):
        if leader_id is not None:
            return present_state(partition)
        isr = partition.isr
    may_lead = able if leader_id is None or leader_id in fenced else {leader_id}
    return next_state(partition, rules, isr=isr, may_lead=may_lead.__contains__)


def _cause(partition: PartitionImage, fenced: Set[int]) -> str:
    leaving = ", ".join(f"broker {one}" for one in partition.isr if one in fenced)
    return f"{leaving} fenced" if leaving else "what is alive and the configs are enough"
