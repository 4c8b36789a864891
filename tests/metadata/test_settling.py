"""Fencings of more partitions than a batch has room for: slices, whoever the controller is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.metadata.fake_quorum import (
    CONFIG,
    FakeLog,
    Nodes,
    attempt,
    creation,
    registration,
    start_broker,
    until,
)

from tidelog.core.system import SystemRandom
from tidelog.metadata.brokers import ExpireSessions
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.leaders import RebalanceLeaders
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.metadata.records import fencing
from tidelog.metadata.settling import SettlePartitions
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.raft.config import RaftConfig
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import CreateTopicsRequest, ElectLeadersRequest, NewTopic
from tidelog.v1.controller_pb2 import NOTHING, UNFLUSHED, BrokerHeartbeatRequest, StartLoss
from tidelog.v1.metadata_records_pb2 import MetadataBatch

if TYPE_CHECKING:
    from tests.metadata.conftest import World

ROOM = CONFIG.partitions_per_batch_max
MANY = 4 * ROOM


def changes(batch: MetadataBatch) -> int:
    return sum(record.HasField("partition_change") for record in batch.records)


def held_by(image: MetadataImage, broker_id: int) -> int:
    """Partitions whose ISR a broker is in."""
    return sum(broker_id in partition.isr for _, partition in image.partitions())


@pytest.fixture
def narrow(world: World) -> World:
    """Three brokers, eight partitions, and batches with room for three."""
    world.start_controller(replace(world.config, partitions_per_batch_max=ROOM))
    world.activate()
    world.start(1, 2, 3)
    world.create("t", partitions=8, configs={"min.insync.replicas": "2"})
    return world


# Slices


def test_a_fencing_takes_what_a_batch_has_room_for_and_the_next_ones_the_rest(
    narrow: World,
) -> None:
    narrow.pass_session_but(1, 2)
    assert not narrow.image.is_alive(3)
    assert held_by(narrow.image, 3) == 8 - ROOM
    assert narrow.settle() == 2
    assert held_by(narrow.image, 3) == 0
    assert all(one.leader_id in (1, 2) for _, one in narrow.image.partitions())


def test_all_that_are_silent_are_fenced_before_any_is_replaced_by_another(narrow: World) -> None:
    narrow.pass_session_but(1)
    assert narrow.image.live_brokers() == [1]
    changed = {one.leader_id for _, one in narrow.image.partitions() if one.leader_epoch}
    assert changed <= {1}
    narrow.settle()
    assert {one.leader_id for _, one in narrow.image.partitions()} == {1}


def test_partitions_without_a_live_leader_go_first(narrow: World) -> None:
    narrow.commit([fencing(narrow.image.brokers[3], fenced=True)])
    before = {one.partition for _, one in narrow.image.partitions() if one.leader_id == 3}
    assert 0 < len(before) <= ROOM
    narrow.do(SettlePartitions())
    after = {one.partition for _, one in narrow.image.partitions() if 3 not in one.isr}
    assert len(after) == ROOM
    assert before <= after


@pytest.mark.parametrize("loss", [NOTHING, UNFLUSHED])
def test_a_registration_is_in_the_batch_that_takes_the_broker_out_of_its_last_isr(
    narrow: World, loss: StartLoss
) -> None:
    narrow.activate()  # of broker 3 nothing was heard since
    before = narrow.epoch(3)
    narrow.begin_to_register(3, incarnation=2)
    assert (narrow.epoch(3), narrow.image.is_alive(3)) == (before, False)
    assert held_by(narrow.image, 3) == 8 - ROOM
    assert not narrow.register(3, incarnation=2, start_loss=loss).error.code
    assert narrow.epoch(3) > before
    assert held_by(narrow.image, 3) == 0
    is_eligible = any(3 in one.elr for _, one in narrow.image.partitions())
    assert is_eligible == (loss == NOTHING)


def test_a_registration_goes_on_at_the_next_controller(narrow: World) -> None:
    narrow.activate()
    narrow.begin_to_register(3, incarnation=2)
    narrow.activate()
    narrow.begin_to_register(3, incarnation=2)
    assert held_by(narrow.image, 3) == 8 - 2 * ROOM
    assert not narrow.register(3, incarnation=2).error.code
    assert held_by(narrow.image, 3) == 0


def test_a_broker_may_shut_down_once_it_is_in_no_isr(narrow: World) -> None:
    answers = [narrow.beat(3, want_shut_down=True) for _ in range(3)]
    assert [one.should_shut_down for one in answers] == [False, False, True]
    assert all(one.is_fenced for one in answers)
    assert held_by(narrow.image, 3) == 0


def test_a_broker_that_is_let_in_meanwhile_keeps_what_it_has_left(narrow: World) -> None:
    narrow.pass_session_but(1, 2)
    assert not narrow.beat(3).is_fenced
    left = held_by(narrow.image, 3)
    assert left == 8 - ROOM
    assert narrow.settle() == 0
    assert held_by(narrow.image, 3) == left


def test_a_broker_that_returns_leads_what_waits_for_it_in_slices(narrow: World) -> None:
    narrow.pass_session_but()
    narrow.settle()
    assert all(one.leader_id is None for _, one in narrow.image.partitions())
    narrow.beat(2)
    assert sum(one.leader_id == 2 for _, one in narrow.image.partitions()) == ROOM
    assert narrow.settle() == 2
    assert all(one.leader_id == 2 for _, one in narrow.image.partitions())


def test_configs_that_end_an_elr_end_all_in_slices(narrow: World) -> None:
    narrow.pass_session_but(1)
    narrow.settle()
    assert all(one.elr for _, one in narrow.image.partitions())
    narrow.configure("t", "min.insync.replicas", "1")
    assert sum(not one.elr for _, one in narrow.image.partitions()) == ROOM
    narrow.settle()
    assert not any(one.elr for _, one in narrow.image.partitions())


def test_a_hold_settles_nothing(narrow: World) -> None:
    narrow.pass_session_but(1, 2)
    narrow.controller.hold(narrow.now_ms + 1_000)
    assert narrow.settle() == 0
    narrow.now_ms += 1_000
    assert narrow.settle() == 2


def test_a_new_controller_takes_nobody_out_for_members_it_has_not_heard_of(
    narrow: World,
) -> None:
    narrow.pass_session_but(1, 2)
    narrow.activate()
    assert narrow.settle() == 0
    narrow.beat(1)
    narrow.beat(2)
    assert narrow.settle() == 2
    assert held_by(narrow.image, 3) == 0


def test_leaders_are_elected_in_slices_and_answered_once(narrow: World) -> None:
    narrow.pass_session_but(1, 2)
    narrow.settle()
    narrow.register(3, incarnation=2)
    narrow.beat(3)
    for partition in range(8):
        narrow.alter("t", [1, 2, 3], number=partition)
    asked = ElectLeadersRequest()
    first = narrow.controller.handle(asked, narrow.image, narrow.now_ms)
    away = sum(one.leader_id != one.replicas[0] for _, one in narrow.image.partitions())
    assert 0 < away <= 8
    assert len(first.records) == min(away, ROOM)
    elected = narrow.elect()
    assert len(elected) == away
    assert not any(one.error.code for one in elected.values())
    assert not narrow.controller.handle(RebalanceLeaders(), narrow.image, narrow.now_ms).records


def test_more_silent_brokers_than_a_batch_fences_are_fenced_by_the_next_check(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.metadata.brokers._FENCED_AT_ONCE_MAX", 2)
    world.start(1, 2, 3)
    world.pass_session_but()
    assert len(world.image.live_brokers()) == 1
    world.do(ExpireSessions())
    assert not world.image.live_brokers()


def test_an_election_looks_at_a_bounded_number_of_partitions_at_once(
    narrow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.metadata.leaders._LOOKED_AT_ONCE_MAX", 2)
    asked = ElectLeadersRequest(topics=[ElectLeadersRequest.Topic(name="t")])
    decision = narrow.controller.handle(asked, narrow.image, narrow.now_ms)
    assert not decision.is_last
    assert len(decision.reply.partitions) == 2
    assert len(narrow.elect("t")) == 8


# Bytes


async def test_a_command_that_needs_more_than_a_batch_has_is_refused_alone(nodes: Nodes) -> None:
    active = narrow_quorum(nodes, batch_bytes_max=600)
    await active.start()
    nodes.raft.elect(nodes.raft.logs[-1])
    await start_broker(active, 1)
    large = CreateTopicsRequest(
        topics=[NewTopic(name="l" * 249, partitions=1, configs={"compression.type": "gzip"})] * 1
    )
    large.topics.extend(NewTopic(name=str(one) * 200, partitions=1) for one in range(3))
    replies = await asyncio.gather(
        active.submit(large), active.submit(creation("a")), active.submit(registration(2))
    )
    assert replies[0].error.code == common_pb2.MESSAGE_TOO_LARGE
    assert "ask for less at one time" in replies[0].error.message
    assert not replies[1].topics[0].error.code
    assert not replies[2].error.code
    await active.stop()


async def test_a_decision_that_needs_more_than_is_left_waits_for_the_next_batch(
    nodes: Nodes,
) -> None:
    active = narrow_quorum(nodes, batch_bytes_max=600)
    await active.start()
    log = nodes.raft.logs[-1]
    nodes.raft.elect(log)
    beat = await start_broker(active, 1)
    log.gate.clear()
    first = asyncio.create_task(active.submit(creation("first")))
    await until(lambda: log.proposed[-1].records[0].topic.name == "first")
    asked: list[Any] = [creation(name * 150) for name in "ab"]
    asked += [attempt(active, leaving(beat)), registration(2)]
    waiting = [asyncio.create_task(active.submit(one)) for one in asked]
    await asyncio.sleep(0)
    log.gate.set()
    replies = [await first, *[await one for one in waiting]]
    assert not any(one.error.code for one in replies)
    assert set(active.image.topics) == {"first", "a" * 150, "b" * 150}
    assert active.image.brokers.keys() == {1, 2}
    assert all(len(one.SerializeToString()) <= 600 + 100 for one in log.proposed)
    await active.stop()


def leaving(beat: BrokerHeartbeatRequest) -> BrokerHeartbeatRequest:
    wish = BrokerHeartbeatRequest()
    wish.CopyFrom(beat)
    wish.want_shut_down = True
    return wish


async def silence(_address: str, _timeout_ms: int) -> Dialled:
    return Dialled(DialOutcome.SILENT)


def narrow_quorum(
    nodes: Nodes, *, batch_bytes_max: int = 1_000_000, partitions_per_batch_max: int = 3
) -> QuorumController:
    config = replace(
        CONFIG,
        commands_per_batch_max=8,
        batch_bytes_max=batch_bytes_max,
        partitions_per_batch_max=partitions_per_batch_max,
    )
    return QuorumController(
        log=FakeLog(3, nodes.raft),
        clock=nodes.clock,
        random=SystemRandom(),
        dial=silence,
        on_fatal=nodes.fatal.append,
        config=config,
    )


def test_a_batch_fits_into_a_command_of_the_log() -> None:
    assert ControllerConfig().batch_bytes_max + 1_000 <= RaftConfig().max_command_bytes


# A lost rack


def replicated(name: str, partitions: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[NewTopic(name=name, partitions=partitions, replication_factor=3)]
    )


async def lose_a_rack(
    nodes: Nodes, *, topics: int, partitions: int, a_rack: int, room: int
) -> None:
    """Fence one of three racks; no batch is large, and others are served between the slices."""
    active = narrow_quorum(nodes, partitions_per_batch_max=room)
    await active.start()
    log = nodes.raft.logs[-1]
    nodes.raft.elect(log)
    ids = range(3 * a_rack)
    beats = {one: await start_broker(active, one, rack=f"r{one // a_rack}") for one in ids}
    for number in range(topics):
        asked = replicated(f"t{number}", partitions)
        assert not (await active.submit(asked)).topics[0].error.code
    lost = set(range(a_rack))
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    for broker_id in beats.keys() - lost:
        await active.submit(attempt(active, beats[broker_id]))
    begun = len(log.proposed)
    served = 0
    while any(lost & {*one.isr} for _, one in active.image.partitions()):
        reply = await active.submit(creation("other" + str(served := served + 1)))
        assert not reply.topics[0].error.code
    assert served > 1
    replicas = [one for _, one in active.image.partitions() if len(one.replicas) == 3]
    assert len(replicas) == topics * partitions
    assert all(one.leader_id not in {None, *lost} for one in replicas)
    assert max(map(changes, log.proposed[begun:])) <= room
    assert nodes.quorums[1].image == active.image
    await active.stop()


async def test_a_lost_rack_is_fenced_in_slices(nodes: Nodes) -> None:
    await lose_a_rack(nodes, topics=2, partitions=12, a_rack=2, room=3)


@pytest.mark.long
async def test_a_lost_rack_of_nine_thousand_partitions_is_fenced_in_slices(nodes: Nodes) -> None:
    await lose_a_rack(nodes, topics=9, partitions=1_000, a_rack=5, room=100)


async def test_what_a_lost_controller_left_is_done_by_the_next(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    beats = {one: await start_broker(active, one) for one in (1, 2, 3)}
    await active.submit(replicated("t", MANY))
    log.proposals_left = 2
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    await active.submit(attempt(active, beats[1]))
    await active.submit(attempt(active, beats[2]))
    successor = nodes.quorums[1]
    await until(lambda: successor.is_active)
    left = sum(
        not all(map(successor.image.is_alive, one.isr)) for _, one in successor.image.partitions()
    )
    assert 0 < left < MANY
    for broker_id in (1, 2):
        await successor.submit(attempt(successor, beats[broker_id]))
    image = successor.image
    await until(lambda: not held_by(successor.image, 3))
    assert image.controller_epoch < successor.image.controller_epoch
