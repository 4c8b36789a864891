"""The rest that must come when all faults are over: stable, balanced, everything handed out.

Each function says what is not so yet. From inside: the group at its coordinator. From outside: each
partition has one live owner, and every record was handed out to an application that was done with
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import AWAY
from tidelog.broker.coordinator.group_states import state_of
from tidelog.client import TopicPartition
from tidelog.simulation.groups.simulation import GroupsSimulation

MOST_APART = 1
"""Partitions by which two members' parts differ at most, under `uniform`."""


def find_restless(simulation: GroupsSimulation) -> Iterator[str]:
    """Yield what keeps the group from rest."""
    live = simulation.live_group()
    if live is None:
        yield "the group has no coordinator"
        return
    group = live.state
    if state_of(group) != "Stable":
        yield f"the group is {state_of(group)}"
    present = {one.membership.member_id for one in simulation.members.values()}
    for member_id, member in group.members.items():
        if member_id not in present or member.epoch == AWAY:
            yield f"member {member.client_id} is gone, and has not expired"
    for process in simulation.members.values():
        if process.is_busy:
            yield f"{process.name} is busy for long"
        if process.lease.age_s > 2 * simulation.config.heartbeat_s:
            yield f"{process.name} is answered late"
        version = live.sessions.version(process.membership.member_id)
        if not version or process.membership.offer.version != version:
            yield f"{process.name} does not have the assignment as this coordinator numbers it"
    yield from _unowned(simulation)
    yield from _unhandled(simulation)
    if simulation.classic is not None:
        yield from simulation.classic.find_restless()


def rounds(simulation: GroupsSimulation) -> dict[str, int]:
    """Group epoch and classic generation: at rest nothing may raise them."""
    live = simulation.live_group()
    found = {"group epoch": -1 if live is None else live.state.state.epoch}
    if simulation.classic is not None:
        found["generation of the classic group"] = simulation.classic.generation
    return found


def find_unbalanced(simulation: GroupsSimulation, group: ConsumerGroup) -> Iterator[str]:
    """Yield what is not balanced in a group at rest whose members subscribe to the same."""
    members = group.members.values()
    if simulation.config.assignor != "uniform" or len({one.topics for one in members}) != 1:
        return
    sizes = [len(one.target) for one in members]
    if max(sizes) - min(sizes) > MOST_APART:
        yield f"members have {sorted(sizes)} partitions"


def subscribed(simulation: GroupsSimulation) -> set[str]:
    """Topics that some member subscribes to."""
    return {topic for member in simulation.members.values() for topic in member.topics}


def _unowned(simulation: GroupsSimulation) -> Iterator[str]:
    names = subscribed(simulation)
    owners: Counter[TopicPartition] = Counter()
    for member in simulation.members.values():
        if not member.membership.is_reconciled or member.why_over() is not None:
            yield f"{member.name} has not carried out its assignment"
        owners.update(member.consumer.assignment())
    wanted = {
        TopicPartition(name, number)
        for name, topic in simulation.traffic.topics.items()
        if name in names
        for number in range(topic.partitions)
    }
    for tp in sorted(wanted):
        if owners[tp] != 1:
            yield f"{tp.topic}-{tp.partition} has {owners[tp]} owners"
    for tp in sorted(set(owners) - wanted):
        yield f"{tp.topic}-{tp.partition} is owned, and nobody subscribes to it"


def _unhandled(simulation: GroupsSimulation) -> Iterator[str]:
    names = subscribed(simulation)
    for place, end in simulation.traffic.ends():
        if place.topic not in names:
            continue
        done = simulation.handouts.progress(place).done_below
        if done != end:
            yield f"{place.topic}-{place.partition}: {done} of {end} records are done with"
