"""Members of a classic group through one coordinator after another: what each was answered holds.

Members are killed, paused and cancelled; answers are lost; old requests come late. Coordinators are
replaced with or without what was not committed, and some go on as if nothing had happened. At rest
every member has its part, and nobody waits.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from tests.broker.coordinator.classic_brokers import GROUP, IMAGE, TOPIC, TOPIC_ID, Broker

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.classic_group import State
from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    MemberProtocol,
    SyncRequest,
)
from tidelog.broker.coordinator.classic_record import Recorded, from_value
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, encode
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.image_topics import ImageTopics
from tidelog.broker.coordinator.offsets import CommittedOffset, TopicPartition
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    NotEnoughReplicasError,
    RebalanceInProgressError,
    TidelogError,
    UnknownMemberIdError,
)
from tidelog.records.batch import parse_header
from tidelog.v1.coordinator_records_pb2 import ClassicGroupValue, OffsetCommitValue

pytestmark = pytest.mark.asyncio

SEEDS, STORM_S, CALM_S = range(8), 90, 60
PARTITIONS = 12
CONFIG = GroupConfig(offsets_topic_num_partitions=1, group_min_session_timeout_ms=1_000)
SESSION_MS, REBALANCE_MS = 3_000, 6_000


@dataclass
class Client:
    """A member as Kafka's clients are; `instance_id` for a static one."""

    instance_id: str | None = None
    member_id: str = ""
    joined: JoinAnswer | None = None
    owned: tuple[int, ...] | None = None
    late: list[HeartbeatRequest | SyncRequest | JoinRequest | LeaveRequest | Committer] = field(
        default_factory=list
    )
    """Requests that may come once more, long after."""


class Storm:
    """A leader, those it replaced, clients, and what all were answered."""

    def __init__(self, seed: int) -> None:
        self.random = SeededRandom(seed)
        self.epoch = 0
        self.brokers: list[Broker] = []
        self.leader = self.next_broker([])
        self.zombies: list[Broker] = []
        self.clients = [Client(f"desk-{one}" if one < 2 else None) for one in range(5)]
        self.owners: dict[tuple[int, int], str] = {}
        """Who was told that it owns a partition, by generation and partition."""
        self.told_generation = 0
        self.told: dict[str, int] = {}
        """Newest generation of each member."""
        self.is_calm = False
        self.acknowledged = 0
        self.refused_late = 0

    def next_broker(self, batches: list[bytes]) -> Broker:
        self.epoch += 1
        random = self.random.fork(f"broker-{self.epoch}")
        self.brokers.append(Broker(self.epoch, batches, config=CONFIG, random=random))
        return self.brokers[-1]

    # Brokers

    async def move(self) -> None:
        """Have another broker lead, which has what is committed and perhaps more."""
        old = self.leader
        old.commits_at_once = False
        kept: list[bytes] = []
        offset = 0
        for batch in old.batches:
            if offset >= old.high_watermark and self.random.random() < 0.5:
                break
            kept.append(batch)
            offset += parse_header(batch).records_count
        old.has_session = False
        self.leader = self.next_broker(kept)
        if self.random.random() < 0.5:
            old.depose()
        else:
            self.zombies.append(old)  # it does not know, and nobody follows it
        await self.leader.elected()

    async def meddle(self) -> None:
        """Do something to the brokers now and then."""
        while not self.is_calm:
            await asyncio.sleep(self.random.uniform(0.5, 6))
            dice = self.random.random()
            if dice < 0.35:
                self.leader.commits_at_once = False
                await asyncio.sleep(self.random.uniform(0, 1))
                await self.move()
            elif dice < 0.5:
                self.leader.commits_at_once = False  # a slow follower
                await asyncio.sleep(self.random.uniform(0, 2))
                self.leader.commits_at_once = True
                self.leader.note_commit(self.leader.end_offset)
            elif dice < 0.6:
                self.leader.refusals = [NotEnoughReplicasError("few")]
            elif dice < 0.8 and self.zombies:
                self.zombies.pop(0).depose()
            self.check()

    def broker(self) -> Broker:
        """The coordinator that a client knows."""
        if self.zombies and self.random.random() < 0.2:
            return one_of(self.random, self.zombies)
        return self.leader

    # Clients

    async def run(self, number: int) -> None:
        """Be one client after another, each until it is killed."""
        while True:
            client = self.clients[number]
            await self.act(client)
            await asyncio.sleep(self.random.uniform(0.05, 0.5))
            if self.is_calm:
                continue
            dice = self.random.random()
            if dice < 0.01:
                self.clients[number] = Client(client.instance_id)  # killed
            elif dice < 0.02:
                await self.leave(client)
                self.clients[number] = Client(client.instance_id)
            elif dice < 0.04:
                await asyncio.sleep(self.random.uniform(0, 2 * SESSION_MS / 1000))
            elif dice < 0.1:
                await self.repeat(client)

    async def act(self, client: Client) -> None:
        """Do what a client does next; its patience may end, or its connection break."""
        patience_s = self.random.uniform(0.01, 12) if not self.is_calm else 60.0
        try:
            async with asyncio.timeout(patience_s):
                if client.joined is None:
                    await self.join(client)
                elif client.owned is None:
                    await self.sync(client, client.joined)
                else:
                    await self.beat(client, client.joined)
        except TimeoutError:
            client.joined = client.owned = None
        except (UnknownMemberIdError, FencedInstanceIdError):
            client.member_id, client.joined, client.owned = "", None, None
        except (RebalanceInProgressError, IllegalGenerationError):
            client.joined = client.owned = None
        except TidelogError as error:
            if not error.is_retriable and not error.is_outcome_unknown:
                raise

    async def join(self, client: Client) -> None:
        request = JoinRequest(
            "consumer",
            (MemberProtocol("range", b""), MemberProtocol("sticky", b"")),
            SESSION_MS,
            REBALANCE_MS,
            client.member_id,
            client.instance_id,
            client_id="c",
        )
        client.late.append(request)
        try:
            answer = await self.broker().calls.join(GROUP, request)
        except MemberIdGivenError as given:
            client.member_id = given.member_id
            return
        self.note_joined(answer)
        client.member_id, client.joined, client.owned = answer.member_id, answer, None

    def note_joined(self, answer: JoinAnswer) -> None:
        """A generation is told only when it is committed, and never one of before."""
        newest = max((one.generation for one in self.generations()), default=0)
        assert answer.generation <= newest, "a generation was told that is not committed"
        before = self.told.get(answer.member_id, 0)
        assert answer.generation >= before, "a member was told an older generation"
        self.told[answer.member_id] = answer.generation
        self.told_generation = max(self.told_generation, answer.generation)

    async def sync(self, client: Client, answer: JoinAnswer) -> None:
        parts: dict[str, bytes] = {}
        if answer.leader == client.member_id and not answer.skip_assignment:
            parts = self.parts(answer)
        request = SyncRequest(
            client.member_id, answer.generation, client.instance_id, assignments=parts
        )
        client.late.append(request)
        found = await self.broker().calls.sync(GROUP, request)
        client.owned = tuple(found.assignment)
        assert any(
            one.generation == answer.generation
            and one.is_complete
            and client.member_id in one.members
            and one.members[client.member_id].assignment == found.assignment
            for one in self.generations()
        ), "an assignment was told that is not committed"
        for partition in found.assignment:
            name = client.instance_id or client.member_id
            key = (answer.generation, partition)
            assert self.owners.setdefault(key, name) == name, "a partition has two owners"

    def parts(self, answer: JoinAnswer) -> dict[str, bytes]:
        """Deal the partitions out, another way each time."""
        members = [one.member_id for one in answer.members]
        first = self.random.randrange(0, PARTITIONS)
        return {
            one: bytes(
                number for number in range(PARTITIONS) if (number + first) % len(members) == place
            )
            for place, one in enumerate(members)
        }

    async def beat(self, client: Client, answer: JoinAnswer) -> None:
        request = HeartbeatRequest(client.member_id, answer.generation, client.instance_id)
        client.late.append(request)
        await self.broker().calls.heartbeat(GROUP, request)
        if self.random.random() < 0.3:
            await self.commit(client, answer.generation)

    async def commit(self, client: Client, generation: int) -> None:
        """Commit with the generation as metadata, by which the log is checked."""
        if not client.owned:
            return
        by = Committer(client.member_id, generation, client.instance_id)
        client.late.append(by)
        await self.commit_by(self.broker(), by, client.owned[0])
        self.acknowledged += 1

    async def commit_by(self, broker: Broker, by: Committer, partition: int) -> None:
        committed = CommittedOffset(by.epoch, metadata=str(by.epoch))
        asked = TopicPartition(TOPIC, TOPIC_ID, partition)
        await broker.coordinator.commit(GROUP, by, [(asked, committed)])

    async def leave(self, client: Client) -> None:
        leaving = LeaveRequest((LeavingMember(client.member_id, client.instance_id),))
        client.late.append(leaving)
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(1):
                await self.broker().calls.leave(GROUP, leaving)

    async def repeat(self, client: Client) -> None:
        """Have an old request arrive once more."""
        late = one_of(self.random, client.late[-20:]) if client.late else None
        broker = self.broker()
        calls = broker.calls
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(1):
                if isinstance(late, HeartbeatRequest):
                    await calls.heartbeat(GROUP, late)
                elif isinstance(late, SyncRequest):
                    await self.repeat_sync(late)
                elif isinstance(late, Committer):
                    await self.commit_by(broker, late, 0)
                elif isinstance(late, LeaveRequest):
                    await calls.leave(GROUP, late)
                elif late is not None:
                    await calls.join(GROUP, late)

    async def repeat_sync(self, late: SyncRequest) -> None:
        """A late sync gets nothing, unless its generation is the newest one."""
        newest = max((one.generation for one in self.generations()), default=0)
        try:
            await self.leader.calls.sync(GROUP, late)
        except KafkaError:
            self.refused_late += late.generation < newest
            raise
        assert late.generation >= newest, "a late sync was taken"

    # Checks

    def generations(self) -> list[Recorded]:
        """Committed records of the group, the newest last."""
        records = self.leader.records(self.leader.high_watermark)
        return [from_value(one.value) for one in records
                if isinstance(one.value, ClassicGroupValue)]  # fmt: skip

    def check(self) -> None:
        """Check the leader's log, and its memory against it."""
        generation = 0
        records = list(self.leader.records())
        for record in records:
            if isinstance(record.value, ClassicGroupValue):
                assert record.value.generation >= generation, "a generation fell"
                generation = record.value.generation
            elif isinstance(record.value, OffsetCommitValue):
                assert record.value.metadata == str(generation), "an old generation committed"
        assert generation >= self.told_generation, "a generation was told and is gone"
        try:
            shard = self.leader.hosted.shard
        except KafkaError:
            return
        assert _state(shard) == _state(_loaded(records)), "memory is not what the log says"
        newest = {encode(one).key: number for number, one in enumerate(records)}
        compacted = [one for number, one in enumerate(records)
                     if number in newest.values() or self.random.random() < 0.5]  # fmt: skip
        assert _state(shard) == _state(_loaded(compacted)), "a compacted log loads to another state"

    def is_settled(self) -> bool:
        """Whether every client has its part of one generation, and nobody waits."""
        shard = self.leader.hosted.shard
        live = shard.classic.by_id.get(GROUP)
        if live is None or live.state.state is not State.STABLE or self.leader.calls.waiting_count:
            return False
        recorded = live.state.recorded
        return len(recorded.members) == len(self.clients) and all(
            one.joined is not None
            and one.joined.generation == recorded.generation
            and one.member_id in recorded.members
            and one.owned == tuple(recorded.members[one.member_id].assignment)
            for one in self.clients
        )

    async def settle(self) -> None:
        """Let all be well."""
        self.is_calm = True
        await asyncio.sleep(10)  # for what `meddle` has begun
        self.leader.refusals = []
        while self.zombies:
            self.zombies.pop().depose()
        async with asyncio.timeout(CALM_S):
            while not self.is_settled():  # noqa: ASYNC110  # any condition
                await asyncio.sleep(0.01)
        owned = [number for one in self.clients for number in one.owned or ()]
        assert sorted(owned) == list(range(PARTITIONS))
        self.check()


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_members_were_answered_holds_whatever_happens(seed: int) -> None:
    storm = Storm(seed)
    await storm.leader.elected()
    tasks = [asyncio.create_task(storm.run(number)) for number in range(len(storm.clients))]
    meddling = asyncio.create_task(storm.meddle())
    stormy = asyncio.gather(*tasks, meddling)
    done, _ = await asyncio.wait({stormy}, timeout=STORM_S)
    if done:
        stormy.result()
    await storm.settle()
    assert not stormy.done()
    for one in tasks:
        one.cancel()
    await asyncio.wait(tasks)
    assert storm.leader.calls.waiting_count == 0
    assert all(not one.fatal for one in storm.brokers)
    assert storm.epoch > 2
    assert storm.acknowledged > 10
    for broker in storm.brokers:
        await broker.coordinator.stop()


def _loaded(records: list[CoordinatorRecord]) -> GroupShard:
    shard = GroupShard(
        config=CONFIG,
        assignors=assignors_of(["uniform"]),
        topics=ImageTopics(lambda: IMAGE),
        leader_epoch=0,
    )
    for one in records:
        shard.replay(one)
    return shard


def _state(shard: GroupShard) -> object:
    groups = {name: one.state.recorded for name, one in shard.classic.by_id.items()
              if one.state.is_recorded}  # fmt: skip
    return groups, shard.offsets._by_group
