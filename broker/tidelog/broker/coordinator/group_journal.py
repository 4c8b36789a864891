"""The journal of groups: what decisions did, in events, once it is committed.

Observes the shards of the coordinator. Each decision is compared with the state before it, see
`group_facts`; its events wait until the in-sync replicas have its records, and are dropped when the
leadership ends before. Owns the number and time of loads, for metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tidelog.broker.coordinator.classic_facts import (
    assigned_partitions,
    classic_facts_of,
    recorded_state,
)
from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.event_budget import EventBudget
from tidelog.broker.coordinator.group_facts import (
    OFFSETS_ALONE,
    GroupFacts,
    completion,
    events_of,
    facts_of,
    fencing,
    held_partitions,
    touched_by,
)
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.group_states import AT_REST
from tidelog.broker.coordinator.runtime import Hosted
from tidelog.core.env import Clock
from tidelog.core.journal import Event, Kind

PENDING_MAX = 1_000
"""Events of a shard that wait for the commit of their records; further ones are left out."""

HostedGroups: TypeAlias = Hosted[GroupShard]


class _Pending(NamedTuple):
    """An event that may be noted when the records below `offset` are committed."""

    offset: int
    event: Event


@dataclass(slots=True)
class _Watched:
    """Memory of one shard."""

    pending: deque[_Pending] = field(default_factory=deque)
    completed: dict[str, int] = field(default_factory=dict)
    """Newest epoch of each group whose rebalance is known to be complete."""


class GroupJournal:
    """Events of the groups of this broker. A `RuntimeWatch`."""

    def __init__(self, *, note: Callable[[Event], None], clock: Clock) -> None:
        self.load_ms = 0
        """Time of all loads since the start."""
        self.load_ms_max = 0
        """Time of the longest load since the start."""
        self._note = note
        self._clock = clock
        self._budget = EventBudget()
        self._cause = ""
        self._left_out = 0
        self._watched: dict[HostedGroups, _Watched] = {}

    @property
    def left_out(self) -> int:
        """Number of events that were left out since the start, see `EventBudget`."""
        return self._budget.left_out + self._left_out

    @contextmanager
    def because(self, cause: str) -> Iterator[None]:
        """Give what is appended within, without an `await`, its reason."""
        self._cause = cause
        try:
            yield
        finally:
            self._cause = ""

    def note_fenced(self, group_id: str, member_id: str) -> None:
        """Note a member that is refused from now on, which no record says."""
        self._admit(fencing(group_id, member_id))

    def report_left_out(self) -> None:
        """Note what was left out in a minute that is over; call it now and then."""
        for event in self._budget.report(self._clock.monotonic_ms()):
            self._note(event)

    # RuntimeWatch

    def replaying(
        self,
        hosted: HostedGroups,
        records: Sequence[CoordinatorRecord],
        replay: Callable[[], None],
    ) -> None:
        """See `RuntimeWatch`."""
        shard, watched = hosted.shard, self._watched[hosted]
        touched = touched_by(records)
        before = {name: _look(shard, name, ids) for name, ids in touched.items()}
        for name in touched:
            _note_known(watched, shard, name)
        replay()
        for name, ids in touched.items():
            after = _look(shard, name, ids)
            events = list(events_of(name, before[name], after, self._cause))
            events += self._completions(watched, shard, name, after)
            self._append(watched, hosted.end_offset, events)
        self.on_committed(hosted)

    def on_committed(self, hosted: HostedGroups) -> None:
        """See `RuntimeWatch`."""
        watched = self._watched.get(hosted)
        while watched and watched.pending and watched.pending[0].offset <= hosted.high_watermark:
            self._admit(watched.pending.popleft().event)

    def on_loaded(self, hosted: HostedGroups, *, records: int, took_ms: int) -> None:
        """See `RuntimeWatch`."""
        self.load_ms += took_ms
        self.load_ms_max = max(self.load_ms_max, took_ms)
        self._watched[hosted] = _Watched()
        if what := _content(hosted.shard):
            cause = f"read {what}: {records} records, in {took_ms} ms"
            self._note(_of_coordinator(hosted, cause, "", "coordinator"))

    def on_ended(self, hosted: HostedGroups) -> None:
        """See `RuntimeWatch`."""
        watched = self._watched.pop(hosted, None)
        what = _content(hosted.shard)
        if watched is None or not what:
            return  # nobody was coordinated
        cause = f"{hosted.end_cause}: {what} are dropped here, the next leader reads them"
        if watched.pending:
            cause += f"; of {len(watched.pending)} last events the outcome is unknown"
        self._note(_of_coordinator(hosted, cause, "coordinator", "none"))

    # Events

    def _completions(
        self, watched: _Watched, shard: GroupShard, group_id: str, facts: GroupFacts | None
    ) -> Iterator[Event]:
        """Find the end of a group's newest rebalance."""
        live = shard.group(group_id)
        if live is None or facts is None:
            watched.completed.pop(group_id, None)
            return
        if watched.completed.get(group_id, 0) >= facts.epoch:
            return
        state = _state(live)
        if state in AT_REST:
            watched.completed[group_id] = facts.epoch
            partitions, now_ms = _partitions(live), self._clock.wall_ms()
            yield completion(group_id, facts, state, partitions=partitions, now_ms=now_ms)

    def _append(self, watched: _Watched, offset: int, events: Sequence[Event]) -> None:
        room = PENDING_MAX - len(watched.pending)
        self._left_out += max(0, len(events) - room)
        watched.pending.extend(_Pending(offset, event) for event in events[: max(0, room)])

    def _admit(self, event: Event) -> None:
        if self._budget.admits(event.group):
            self._note(event)


def _look(shard: GroupShard, group_id: str, member_ids: Sequence[str]) -> GroupFacts | None:
    live = shard.group(group_id)
    if isinstance(live, LiveClassicGroup):
        if live.state.is_recorded:
            return classic_facts_of(live.state)
    # One without a rebalance has no record yet: its first member is about to join.
    elif live is not None and live.state.state.rebalances:
        return facts_of(live, member_ids)
    return OFFSETS_ALONE if shard.offsets.has_offsets(group_id) else None


def _note_known(watched: _Watched, shard: GroupShard, group_id: str) -> None:
    """Take a rebalance that was complete before this coordinator's first change for known."""
    live = shard.group(group_id)
    if live is not None and group_id not in watched.completed:
        is_complete = _state(live) in AT_REST
        watched.completed[group_id] = live.epoch - (0 if is_complete else 1)


def _state(live: LiveGroup | LiveClassicGroup) -> str:
    """Name the state that the records say."""
    if isinstance(live, LiveClassicGroup):
        return recorded_state(live.state)
    return live.state_name


def _partitions(live: LiveGroup | LiveClassicGroup) -> int:
    if isinstance(live, LiveClassicGroup):
        return assigned_partitions(live.state)
    return held_partitions(live.state)


def _content(shard: GroupShard) -> str:
    """Say what a shard holds; empty: nothing."""
    groups, committers = shard.group_count, shard.offsets.group_count
    return f"{groups} groups, offsets of {committers}" if groups or committers else ""


def _of_coordinator(hosted: HostedGroups, cause: str, before: str, after: str) -> Event:
    leadership = hosted.leadership
    return Event(
        Kind.GROUP,
        cause,
        before=before,
        after=after,
        topic=leadership.topic,
        partition=leadership.partition,
        leader_epoch=leadership.leader_epoch,
    )
