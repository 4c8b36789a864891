"""Changes that are lawful in one process from one of its samples to a later one. Pure.

However far apart they are: all here grows, or is compared only when nothing lay in between that
may change it. Each check yields what does not hold, as (invariant, what).

What a replica promises ends when its log is damaged, failed or restarted empty: a healing log may
be cut below its high watermark. See `is_troubled`.
"""

from __future__ import annotations

from tidelog.chaos.invariants.elections import is_lossy
from tidelog.chaos.invariants.replicas import (
    Broken,
    Offsets,
    disordered_epochs,
    fallen_high_watermark,
    fallen_leader_epoch,
    rise_without_enough,
    shortened_leader,
    watermark_beyond_end,
)
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample, ReplicaSample

LEADER = "leader"

_TROUBLE = frozenset({"log damaged", "partition offline", "log restarted empty"})
"""Events after which a log may be shorter."""


def what_changed(before: NodeSample, now: NodeSample) -> Broken:
    """Run every check of two samples of one process."""
    yield from fallen_epochs(before, now)
    for replica in now.replicas:
        earlier = before.replica(replica.topic, replica.partition)
        if earlier is None or earlier.topic_id != replica.topic_id:
            continue
        name = name_of(now, replica)
        yield from fallen_replica_epochs(name, earlier, replica)
        if is_troubled(now, replica) or not is_sound(earlier):
            continue
        if _leads_on(earlier, replica):
            yield from shortened_leader(name, offsets(earlier), offsets(replica))
        state = now.image.partition(replica.topic, replica.partition)
        if state is not None:
            yield from rise_in_one_state(name, earlier, replica, replicas=len(state.replicas))
        if not may_lose(now, replica):
            yield from fallen_high_watermark(name, offsets(earlier), offsets(replica))


def what_is(now: NodeSample) -> Broken:
    """Run every check of one sample alone."""
    for replica in now.replicas:
        if is_sound(replica):
            yield from watermark_beyond_end(name_of(now, replica), offsets(replica))
            name = name_of(now, replica)
            yield from disordered_epochs(name, replica.epochs, end=replica.log_end_offset)


def fallen_epochs(before: NodeSample, now: NodeSample) -> Broken:
    """I15: what a process takes part in only gets newer."""
    for name, was, is_ in (
        ("broker epoch", before.broker_epoch, now.broker_epoch),
        ("term", before.term, now.term),
    ):
        if 0 <= is_ < was:
            yield "I15", f"node {now.node_id} went from {name} {was} to {is_}"


def fallen_replica_epochs(name: str, before: ReplicaSample, now: ReplicaSample) -> Broken:
    """I15: a replica follows newer leaders, a leader learns of newer states."""
    if now.leader_epoch >= 0:
        yield from fallen_leader_epoch(name, before.leader_epoch, now.leader_epoch)
    if _leads_on(before, now) and now.partition_epoch < before.partition_epoch:
        what = f"partition epoch {before.partition_epoch} to {now.partition_epoch}"
        yield "I15", f"{name} leads, and went from {what}"


def rise_in_one_state(
    name: str, before: ReplicaSample, now: ReplicaSample, *, replicas: int
) -> Broken:
    """I12, where the partition's state was the same all the while: its epoch did not change."""
    same = before.partition_epoch == now.partition_epoch and before.isr == now.isr
    if _leads_on(before, now) and same:
        least = min(before.min_insync_replicas, now.min_insync_replicas, replicas)
        yield from rise_without_enough(
            name, offsets(before), offsets(now), in_sync=len(now.isr), least=least
        )


def is_sound(replica: ReplicaSample) -> bool:
    """True if it can be held to what it holds."""
    return replica.is_sound and not replica.is_failed and not replica.may_have_lost


def is_troubled(now: NodeSample, replica: ReplicaSample) -> bool:
    """True if its log may have been cut since the sample before."""
    return not is_sound(replica) or any(_mentions(line, replica) for line in now.lines)


def may_lose(now: NodeSample, replica: ReplicaSample) -> bool:
    """True if an election may lose what is committed there, as far as this node knows."""
    topic = now.image.topics.get(replica.topic)
    return topic is None or is_lossy(topic, now.image)


def offsets(replica: ReplicaSample) -> Offsets:
    """The ends of its log."""
    return Offsets(replica.log_end_offset, replica.high_watermark)


def name_of(sample: NodeSample, replica: ReplicaSample) -> str:
    """For people."""
    return f"{replica.topic}-{replica.partition} on node {sample.node_id}"


def _leads_on(before: ReplicaSample, now: ReplicaSample) -> bool:
    same_epoch = before.leader_epoch == now.leader_epoch
    return before.role == now.role == LEADER and same_epoch


def _mentions(line: LogLine, replica: ReplicaSample) -> bool:
    if line.event not in _TROUBLE:
        return False
    name, fields = f"{replica.topic}-{replica.partition}", line.fields
    folder = str(fields.get("directory", "")).rpartition("/")[2]
    return name in (fields.get("partition"), folder)
