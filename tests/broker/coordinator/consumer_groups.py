"""A group of the consumer protocol under a hand-made coordinator: append at once, then replay."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_heartbeats import (
    ConsumerHeartbeats,
    Heartbeat,
    HeartbeatLimits,
    Reply,
)
from tidelog.broker.coordinator.consumer_member import NOTHING, Partitions
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode, encode
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.subscribed_topics import digest_of
from tidelog.core.errors import KafkaError, code_name
from tidelog.v1.coordinator_records_pb2 import GroupMemberValue, GroupValue

SESSION_MS, GRACE_MS, REBALANCE_MS = 45_000, 1_000, 60_000
SIZE_MAX = 5
WALL_AHEAD_MS = 3_600_000
ORDERS, TIDES = b"o" * 16, b"t" * 16
NEWEST_EPOCH = 9
"""Leader epoch of each partition."""


class ImageOfTest:
    """Topics of an image that tests change."""

    def __init__(self) -> None:
        self.ids = {"orders": ORDERS, "tides": TIDES}
        self.counts = {ORDERS: 4, TIDES: 2}

    def topic_id(self, topic: str) -> bytes | None:
        return self.ids.get(topic)

    def name(self, topic_id: bytes) -> str | None:
        return next((name for name, one in self.ids.items() if one == topic_id), None)

    def partition_count(self, topic_id: bytes) -> int:
        return self.counts.get(topic_id, 0)

    def leader_epoch(self, topic_id: bytes, partition: int) -> int:
        del topic_id, partition
        return NEWEST_EPOCH

    def matching(self, pattern: str) -> frozenset[str]:
        return frozenset(name for name in self.ids if re.fullmatch(pattern, name))

    def digest(self, topic: str) -> int:
        topic_id = self.ids.get(topic)
        return 0 if topic_id is None else digest_of(topic, topic_id, self.counts[topic_id])

    @property
    def revision(self) -> object:
        return object()  # tests change it at any time


def orders(*numbers: int) -> Partitions:
    return frozenset((ORDERS, number) for number in numbers)


def apply(group: ConsumerGroup, records: Iterable[CoordinatorRecord]) -> None:
    """Replay records from their bytes, as a load does."""
    for record in records:
        again = decode(*encode(record))
        assert again is not None
        if again.key.WhichOneof("kind") == "group":
            assert again.value is None or isinstance(again.value, GroupValue)
            group.replay_group(again.value)
        else:
            assert again.value is None or isinstance(again.value, GroupMemberValue)
            group.replay_member(again.key.member.member_id, again.value)


class Coordinator:
    """Coordinates the group `g`; `log` has every record that it appended."""

    def __init__(self, size_max: int = SIZE_MAX) -> None:
        self.size_max = size_max
        self.now_ms = 0
        self.log: list[CoordinatorRecord] = []
        self.topics = ImageOfTest()
        self.loads = 0
        self.load()

    @property
    def now(self) -> Moment:
        """Now; the wall clock is an hour ahead."""
        return Moment(self.now_ms, self.now_ms + WALL_AHEAD_MS)

    def load(self) -> None:
        """Begin as the coordinator of a later leader epoch, from the log alone."""
        self.loads += 1
        self.group = ConsumerGroup("g")
        self.sessions = ConsumerSessions(
            session_timeout_ms=SESSION_MS,
            disconnect_grace_ms=GRACE_MS,
            first_version=self.loads << 32,
        )
        limits = HeartbeatLimits(self.size_max, ("uniform", "range"))
        self.heartbeats = ConsumerHeartbeats(self.group, self.sessions, self.topics, limits)
        apply(self.group, self.log)

    def append(self, records: list[CoordinatorRecord]) -> None:
        """Append and replay."""
        before = set(self.group.members)
        self.log += records
        apply(self.group, records)
        for member_id in before - set(self.group.members):
            self.sessions.end(member_id)

    def ask(self, request: Heartbeat) -> Reply:
        """Answer a request; raises `KafkaError`, having appended nothing."""
        decision = self.heartbeats.decide(request, self.now)
        self.append(decision.records)
        return decision.reply

    def assign(self, **targets: Partitions) -> None:
        """Set the target assignment of the newest group epoch."""
        self.append(self.group.assign(self.group.state.epoch, "uniform", targets))

    def push(self, member_id: str) -> Reply | None:
        """Take a member's next step without a request."""
        decision = self.heartbeats.advance(member_id, self.now)
        if decision is None:
            return None
        self.append(decision.records)
        return decision.reply

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, and remove whose time is over."""
        self.now_ms += duration_ms
        self.append(self.heartbeats.expire(self.now))


def joining(member_id: str = "a", instance_id: str | None = None, sequence: int = 0) -> Heartbeat:
    return Heartbeat(
        member_id,
        0,
        instance_id=instance_id,
        rebalance_timeout_ms=REBALANCE_MS,
        topics=frozenset({"orders"}),
        owned=NOTHING,
        sequence=sequence,
    )


def staying(reply: Reply, *owned: int) -> Heartbeat:
    """The request of a member that carried out a reply."""
    return Heartbeat(reply.member_id, reply.epoch, owned=orders(*owned), version=reply.version)


def refusal(coordinator: Coordinator, request: Heartbeat) -> str:
    """Code of the refusal, which leaves everything as it is."""
    before = (list(coordinator.log), dict(coordinator.group.members), coordinator.group.state)
    with pytest.raises(KafkaError) as refused:
        coordinator.ask(request)
    after = (coordinator.log, coordinator.group.members, coordinator.group.state)
    assert before == after
    assert len(str(refused.value)) > 20
    return code_name(refused.value.code)


def pushed(coordinator: Coordinator, member_id: str) -> Reply:
    reply = coordinator.push(member_id)
    assert reply is not None
    return reply
