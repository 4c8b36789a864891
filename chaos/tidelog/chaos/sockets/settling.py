"""Conditions that a cluster has not met yet after its faults are over (I29). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.chaos.sockets.sample_checks import LEADER, is_sound
from tidelog.chaos.story.samples import NodeSample
from tidelog.metadata.image import EMPTY_IMAGE, PartitionImage, TopicImage

Samples = Mapping[int, NodeSample | None]


def find_unsettled(
    samples: Samples, *, broker_ids: Iterable[int], controller_ids: Iterable[int], is_idle: bool
) -> list[str]:
    """List the unmet conditions, for people; empty: at rest.

    At rest: every node answers and is ready, one controller is active and everyone has heard of
    the same leader; every partition has a leader that knows it, all its replicas in the ISR, and
    every replica follows in that epoch. With `is_idle`, when nobody writes: also no replica's log
    ends elsewhere, and everywhere all is committed.
    """
    brokers, nodes = tuple(broker_ids), {*broker_ids, *controller_ids}
    found = [what for node in sorted(nodes) for what in _node(node, samples.get(node))]
    if found:
        return found
    there = [sample for sample in samples.values() if sample is not None]
    image = max((one.image for one in there), key=lambda one: one.offset, default=EMPTY_IMAGE)
    found += _controllers([samples[one] for one in sorted(set(controller_ids))])
    found += [f"broker {one} is fenced" for one in brokers if not image.is_alive(one)]
    for topic, state in image.partitions():
        found += _partition(topic, state, samples, is_idle=is_idle)
    return found


def _node(node_id: int, sample: NodeSample | None) -> Iterator[str]:
    if sample is None:
        yield f"node {node_id} does not answer"
    elif not sample.is_ready:
        yield f"node {node_id} is not ready"


def _controllers(samples: Iterable[NodeSample | None]) -> Iterator[str]:
    voters = [one for one in samples if one is not None]
    active = [one.node_id for one in voters if one.is_active_controller]
    if len(active) != 1:
        yield f"active controllers: {active}"
    heard = {(one.term, one.raft_leader_id) for one in voters}
    if len(heard) != 1:
        yield f"controllers differ in term and leader: {sorted(heard, key=str)}"


def _partition(
    topic: TopicImage,
    state: PartitionImage,
    samples: Samples,
    *,
    is_idle: bool,
) -> Iterator[str]:
    name = f"{topic.name}-{state.partition}"
    if state.leader_id is None:
        yield f"{name} has no leader"
        return
    if set(state.isr) != set(state.replicas):
        yield f"{name}: ISR {state.isr} of {state.replicas}"
    if state.damaged or state.offline:
        yield f"{name}: damaged {state.damaged}, offline {state.offline}"
    ends = set()
    for node_id in state.replicas:
        sample = samples.get(node_id)
        replica = None if sample is None else sample.replica(topic.name, state.partition)
        if replica is None or replica.topic_id != topic.topic_id.hex():
            yield f"{name}: no replica on node {node_id}"
            continue
        if not is_sound(replica):
            yield f"{name} on node {node_id} is damaged or failed"
        role = LEADER if node_id == state.leader_id else "follower"
        if (replica.role, replica.leader_epoch) != (role, state.leader_epoch):
            is_ = f"{replica.role} of epoch {replica.leader_epoch}"
            yield f"{name} on node {node_id} is {is_}, not {role} of {state.leader_epoch}"
        ends |= {replica.high_watermark, replica.log_end_offset}
    if is_idle and len(ends) > 1:
        yield f"{name}: high watermarks and ends differ: {sorted(ends)}"
