"""Elections: the leader, the ISR and the eligible leader replicas of a partition (KIP-966).

Each partition has its ISR and beside it its eligible leader replicas, the ELR: replicas that left
the ISR while nothing more could be committed without them, so that they hold every committed
record. That is so while the ISR is below min.insync.replicas, since leaders commit nothing then,
and while there is no leader, since a new leader begins with an ISR that is decided here. The rules,
each a small function below:

    _find_eligible          replicas that leave the ISR are eligible, but for lossy starts
    _choose_complete_leader the ISR first, then the ELR: neither lacks anything committed
    _choose_unclean_leader  both empty: the last known leader, or any live replica where allowed
    next_state              the ELR ends as soon as a leader may commit without it
    exclude_offline         a replica whose disk failed leads nothing

A damaged replica is in neither set. The leader of an unclean election begins alone: what it lacks
is lost, and the others cut their logs to its. The controller that elects it says so in its log.
Each change has a cause, see `_describe_cause`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.records import partition_change
from tidelog.metadata.topic_rules import TopicRules, topic_rules
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED, StartLoss
from tidelog.v1.metadata_records_pb2 import MetadataRecord

MayLead = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class State:
    """The result of an election: a `PartitionImage` without identity and epochs."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    leader_id: int | None
    damaged: tuple[int, ...]
    offline: tuple[int, ...]


def next_state(
    partition: PartitionImage,
    rules: TopicRules,
    *,
    isr: tuple[int, ...],
    may_lead: MayLead,
    lost_data: Sequence[int] = (),
    damaged: tuple[int, ...] | None = None,
    offline: tuple[int, ...] | None = None,
    is_unclean_asked: bool = False,
) -> State:
    """Return the state of the partition with this ISR; `may_lead` says which brokers can lead now.

    `lost_data` replicas may have lost records, `damaged` ones did, `offline` ones cannot write.
    None: the replicas that are known so.
    """
    offline = partition.offline if offline is None else offline
    may_lead = exclude_offline(may_lead, offline)
    if damaged is None:
        # A damaged leader was elected to cut its log; if it did not, it reports again.
        damaged = partition.unhealed
    elr = _find_eligible(partition, isr=isr, without=(*lost_data, *damaged))
    leader_id = _choose_complete_leader(partition, isr=isr, elr=elr, may_lead=may_lead)
    if leader_id is not None:
        isr = tuple(one for one in partition.replicas if one in isr or one == leader_id)
        elr = tuple(one for one in elr if one != leader_id)
    elif not isr:
        is_unclean = rules.is_unclean_allowed or is_unclean_asked
        leader_id = _choose_unclean_leader(
            partition, elr=elr, damaged=damaged, may_lead=may_lead, is_unclean=is_unclean
        )
        if leader_id is not None:
            return State((leader_id,), (), leader_id, damaged, offline)
    if leader_id is not None and rules.is_enough(isr, partition):
        elr = ()
    return State(isr, elr, leader_id, damaged, offline)


def record_change(
    topic: TopicImage,
    partition: PartitionImage,
    state: State,
    *,
    cause: str,
    begins_epoch: bool = False,
) -> Iterator[MetadataRecord]:
    """Yield the record that brings the partition into this state, unless it is in it.

    With `begins_epoch` there is one in any case, of a new leader epoch.
    """
    if begins_epoch or state != present_state(partition):
        yield partition_change(
            topic.topic_id,
            partition,
            isr=state.isr,
            leader_id=state.leader_id,
            elr=state.elr,
            damaged=state.damaged,
            offline=state.offline,
            begins_epoch=begins_epoch,
            cause=_describe_cause(cause, partition, state),
        )


def present_state(partition: PartitionImage) -> State:
    """Return the state the partition is in."""
    return State(
        isr=partition.isr,
        elr=partition.elr,
        leader_id=partition.leader_id,
        damaged=partition.damaged,
        offline=partition.offline,
    )


def _describe_cause(cause: str, partition: PartitionImage, state: State) -> str:
    """Add to the cause that the elected leader may lack committed records."""
    leader_id = state.leader_id
    if leader_id is None or leader_id in (*partition.isr, *partition.elr):
        return cause
    if leader_id == partition.last_known_leader_id:
        return f"{cause}; no eligible replica: the last known leader leads"
    return f"{cause}; unclean: no eligible replica"


def changes_without(
    image: MetadataImage,
    leaving: Sequence[int],
    *,
    cause: str,
    may_lead: MayLead | None = None,
    start_loss: StartLoss | None = None,
) -> Iterator[MetadataRecord]:
    """Yield the changes that take the brokers in `leaving` out of every ISR and leadership.

    They stay eligible where nothing is committed without them, unless they restart and lost records
    (`start_loss`; None: they do not restart). A broker that restarts is no longer offline.
    `may_lead` narrows down the live brokers that can lead instead.
    """

    def can_lead(broker_id: int) -> bool:
        is_there = broker_id not in leaving and image.is_alive(broker_id)
        return is_there and (may_lead is None or may_lead(broker_id))

    starting = () if start_loss is None else leaving
    for topic in image.topics.values():
        rules = topic_rules(topic, image)
        lost_data = leaving if _is_lossy(start_loss or NOTHING, rules) else ()
        for partition in topic.partitions:
            concerned = (
                any(one in partition.isr for one in leaving)
                or any(one in partition.elr for one in lost_data)
                or any(one in partition.offline for one in starting)
            )
            if concerned:
                state = next_state(
                    partition,
                    rules,
                    isr=_exclude(partition.isr, leaving),
                    may_lead=can_lead,
                    lost_data=lost_data,
                    offline=_exclude(partition.offline, starting),
                )
                yield from record_change(topic, partition, state, cause=cause)


def changes_with(image: MetadataImage, returning: int, *, cause: str) -> Iterator[MetadataRecord]:
    """Yield the changes that make the live broker the leader where there is none and it may."""
    return elections(image, may_lead=only_broker(returning), cause=cause)


def only_broker(broker_id: int | None) -> MayLead:
    """Let no other broker lead."""
    return lambda one: one == broker_id


def exclude_offline(may_lead: MayLead, offline: Sequence[int]) -> MayLead:
    """Let no broker lead whose disk failed."""
    return lambda one: one not in offline and may_lead(one)


def elections(
    image: MetadataImage, *, cause: str, may_lead: MayLead | None = None
) -> Iterator[MetadataRecord]:
    """Yield the leaders of partitions without one, out of all live brokers by default.

    Also ends every ELR that the topic's configs, which may be new, no longer need.
    """
    may_lead = may_lead or image.is_alive
    for topic in image.topics.values():
        vacant = [one for one in topic.partitions if one.leader_id is None or one.elr]
        if not vacant:
            continue
        rules = topic_rules(topic, image)
        for partition in vacant:
            able = may_lead if partition.leader_id is None else only_broker(partition.leader_id)
            state = next_state(partition, rules, isr=partition.isr, may_lead=able)
            yield from record_change(topic, partition, state, cause=cause)


def candidates(image: MetadataImage) -> frozenset[int]:
    """Brokers that could lead a partition without a leader, were they heard of."""
    found: set[int] = set()
    for topic, partition in image.partitions():
        if partition.leader_id is not None:
            continue
        its = {*partition.isr, *partition.elr}
        last_id = partition.last_known_leader_id
        if last_id is not None and last_id not in partition.damaged and not partition.elr:
            its.add(last_id)
        if topic_rules(topic, image).is_unclean_allowed:
            its.update(partition.replicas)
        found |= its.difference(partition.offline)
    return frozenset(found)


def _exclude(members: tuple[int, ...], leaving: Sequence[int]) -> tuple[int, ...]:
    return tuple(one for one in members if one not in leaving)


def _find_eligible(
    partition: PartitionImage, *, isr: tuple[int, ...], without: Sequence[int]
) -> tuple[int, ...]:
    return tuple(
        one
        for one in partition.replicas
        if (one in partition.isr or one in partition.elr) and one not in isr and one not in without
    )


def _choose_complete_leader(
    partition: PartitionImage, *, isr: tuple[int, ...], elr: tuple[int, ...], may_lead: MayLead
) -> int | None:
    """Choose the present leader while it may lead, else the first of ISR, then ELR, that may."""
    leader_id = partition.leader_id
    if leader_id is not None and leader_id in isr and may_lead(leader_id):
        return leader_id
    in_order = [one for one in partition.replicas if one in isr]
    return next(filter(may_lead, [*in_order, *elr]), None)


def _choose_unclean_leader(
    partition: PartitionImage,
    *,
    elr: tuple[int, ...],
    damaged: tuple[int, ...],
    may_lead: MayLead,
    is_unclean: bool,
) -> int | None:
    """Choose a leader that may lack committed records; a damaged one only if no other can lead."""
    last_id = partition.last_known_leader_id
    last_id = partition.leader_id if last_id is None else last_id
    if not elr and last_id is not None and last_id not in damaged and may_lead(last_id):
        return last_id
    if not is_unclean:
        return None
    sound_first = sorted(partition.replicas, key=lambda one: one in damaged)
    return next(filter(may_lead, sound_first), None)


def _is_lossy(loss: StartLoss, rules: TopicRules) -> bool:
    """True when a start that lost this much may have lost acknowledged records of the topic."""
    return loss == EVERYTHING or (loss == UNFLUSHED and not rules.is_every_record_flushed)


@dataclass(frozen=True, slots=True)
class UncleanElection:
    """A leader that may lack committed records."""

    topic: str
    partition: int
    leader_id: int
    leader_epoch: int
    is_last_known_leader: bool


def find_unclean_elections(
    before: MetadataImage, records: Sequence[MetadataRecord]
) -> Iterator[UncleanElection]:
    """Find the unclean elections among records decided on `before`, for the log and metrics."""
    for record in records:
        change = record.partition_change
        if record.WhichOneof("record") != "partition_change" or not change.HasField("leader_id"):
            continue
        topic = before.topic_by_id(change.topic_id)
        partition = None if topic is None else before.partition(topic.name, change.partition)
        if topic is None or partition is None:
            continue
        leader_id = change.leader_id
        if leader_id not in partition.isr and leader_id not in partition.elr:
            yield UncleanElection(
                topic=topic.name,
                partition=change.partition,
                leader_id=leader_id,
                leader_epoch=change.leader_epoch,
                is_last_known_leader=leader_id == partition.last_known_leader_id,
            )
