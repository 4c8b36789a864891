"""Facts of groups, and the journal's events of a change between two of them. Pure.

    touched_by   the groups and members that records name
    facts_of     a group as it is, those members alone
    events_of    what a change did: members, rebalances, the group itself
    completion   the end of a rebalance

A decision is looked at twice, before and after its records are replayed: cores need not say what
they did. Facts are the same for both protocols; an epoch is a generation of the classic one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from tidelog.broker.coordinator.consumer_group import ConsumerGroup, Rebalance
from tidelog.broker.coordinator.consumer_member import AWAY
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_states import CONSUMER
from tidelog.core.journal import Event, Kind

MEMBERS_SHOWN_MAX = 20
"""Members of one change that have an event each; further ones share one."""


class MemberFacts(NamedTuple):
    """A member, as far as events show it."""

    instance_id: str | None
    client_id: str
    host: str
    is_away: bool = False
    """True for a static member that left for a while."""
    end_cause: str = ""
    """Reason for which it is about to be removed; empty: it stays, or nobody noted one."""


class GroupFacts(NamedTuple):
    """A group at one moment."""

    type: str
    """`consumer`, `classic`, or empty: it has committed offsets and nothing else."""
    epoch: int = 0
    member_count: int = 0
    members: Mapping[str, MemberFacts] = {}
    """Those members by id that a change may touch."""
    rebalances: Sequence[Rebalance] = ()
    """The newest rebalances, the newest last."""


OFFSETS_ALONE = GroupFacts("")


class LiveFacts(Protocol):
    """A group of the consumer protocol and its sessions."""

    state: ConsumerGroup
    sessions: ConsumerSessions


def touched_by(records: Iterable[CoordinatorRecord]) -> dict[str, list[str]]:
    """Find the groups that records name, and the ids of members that they name of each."""
    touched: dict[str, list[str]] = {}
    for key, _ in records:
        match key.WhichOneof("kind"):
            case "offset_commit":
                touched.setdefault(key.offset_commit.group_id, [])
            case "group":
                touched.setdefault(key.group.group_id, [])
            case "member":
                touched.setdefault(key.member.group_id, []).append(key.member.member_id)
            case "classic_group":
                touched.setdefault(key.classic_group.group_id, [])
    return touched


def facts_of(live: LiveFacts, member_ids: Iterable[str]) -> GroupFacts:
    """Look at a group of the consumer protocol."""
    group = live.state
    return GroupFacts(
        CONSUMER,
        group.state.epoch,
        len(group.members),
        {
            member_id: MemberFacts(
                member.instance_id,
                member.client_id,
                member.host,
                member.epoch == AWAY,
                live.sessions.end_cause(member_id),
            )
            for member_id in member_ids
            if (member := group.members.get(member_id)) is not None
        },
        group.state.rebalances,
    )


def events_of(
    group_id: str, before: GroupFacts | None, after: GroupFacts | None, cause: str = ""
) -> Iterator[Event]:
    """Iterate over what happened to a group in one decision, whose reason may be `cause`.

    None: there is no such group.
    """
    was, now = before or OFFSETS_ALONE, after or OFFSETS_ALONE
    begun = _begun(was.rebalances, now.rebalances)
    reason = cause or (begun[-1].cause if begun else "")
    if before is None and after is not None:
        yield _event(group_id, reason or "its first offset was committed", "", _shown_type(now))
    yield from _bounded(group_id, list(_member_events(group_id, was, now, reason)))
    for one in begun:
        yield _event(group_id, f"rebalance begins: {one.cause}", "", f"epoch {one.epoch}")
    if was.type and now.type and was.type != now.type:
        why = f"a member of the {now.type} protocol joined the empty group"
        yield _event(group_id, why, _shown_type(was), _shown_type(now))
    if before is not None and after is None:
        yield _event(group_id, cause or "its last offset was deleted", _shown_type(was), "deleted")


def completion(
    group_id: str, facts: GroupFacts, state: str, *, partitions: int, now_ms: int
) -> Event:
    """Make the event of the end of the newest rebalance, which led to `state`."""
    began_ms = facts.rebalances[-1].time_ms if facts.rebalances else now_ms
    return _event(
        group_id,
        f"rebalance complete after {max(0, now_ms - began_ms)} ms: members {facts.member_count}, "
        f"their partitions {partitions}",
        f"epoch {facts.epoch}",
        state,
    )


def fencing(group_id: str, member_id: str) -> Event:
    """Make the event of a member that is refused until it joins again."""
    cause = f"member {member_id} did not let go of partitions within its rebalance timeout"
    return _event(group_id, cause, f"member {member_id}", "fenced")


def held_partitions(group: ConsumerGroup) -> int:
    """Count the partitions that members own."""
    return sum(len(member.assigned) for member in group.members.values())


def _begun(was: Sequence[Rebalance], now: Sequence[Rebalance]) -> list[Rebalance]:
    if list(was[-1:]) == list(now[-1:]):
        return []
    return [one for one in now if one not in was]


def _member_events(group_id: str, was: GroupFacts, now: GroupFacts, reason: str) -> Iterator[Event]:
    gone = {name: one for name, one in was.members.items() if name not in now.members}
    instances = {one.instance_id: name for name, one in gone.items() if one.instance_id}
    for name, one in now.members.items():
        known = was.members.get(name)
        if known is None:
            old = instances.get(one.instance_id) if one.instance_id else None
            if old is not None:
                del gone[old]
                cause = f"static member {one.instance_id} came back, in place of {old}"
                yield _event(group_id, cause, f"member {old}", f"member {name}")
            else:
                cause = (
                    f"member {_shown(name, one)} joined{f' from {one.host}' if one.host else ''}"
                )
                yield _counted(group_id, cause, was, now)
        elif known.is_away != one.is_away:
            what = "left for a while" if one.is_away else "came back"
            cause = f"static member {_shown(name, one)} {what}"
            yield _counted(group_id, cause, was, now)
    for name, one in gone.items():
        cause = one.end_cause or f"member {_shown(name, one)} was removed: {reason}"
        yield _counted(group_id, cause, was, now)


def _bounded(group_id: str, events: list[Event]) -> Iterator[Event]:
    """Iterate over the first ones, and one for all others."""
    yield from events[:MEMBERS_SHOWN_MAX]
    further = len(events) - MEMBERS_SHOWN_MAX
    if further > 0:
        last = events[-1]
        cause = f"{further} further members joined or went at once"
        yield _event(group_id, cause, last.before, last.after)


def _counted(group_id: str, cause: str, was: GroupFacts, now: GroupFacts) -> Event:
    return _event(group_id, cause, f"members {was.member_count}", f"members {now.member_count}")


def _shown(member_id: str, member: MemberFacts) -> str:
    name = member.instance_id or member.client_id
    return f"{member_id} ({name})" if name else member_id


def _shown_type(facts: GroupFacts) -> str:
    return f"{facts.type} group" if facts.type else "offsets alone"


def _event(group_id: str, cause: str, before: str, after: str) -> Event:
    return Event(Kind.GROUP, cause, before=before, after=after, group=group_id)
