"""Plans in the shell: other commands between the slices, one answer, and what is told of a part."""

from __future__ import annotations

import asyncio

import pytest
from tests.metadata.fake_quorum import (
    CONFIG,
    FakeLog,
    Nodes,
    creation,
    registration,
    start_broker,
    until,
)

from tidelog.core.errors import InvariantError
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import DeleteTopicsRequest

ROOM = CONFIG.partitions_per_batch_max
ID = b"p" * 16


def partitions_proposed(log: FakeLog) -> list[int]:
    """New partitions in each batch that has some."""
    counts = (sum(r.HasField("partition") for r in batch.records) for batch in log.proposed)
    return [count for count in counts if count]


async def test_a_plan_is_answered_when_its_last_slice_has_applied(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    asked = asyncio.create_task(active.submit(creation("t", partitions=3 * ROOM + 1)))
    while len(partitions_proposed(log)) < 4:
        assert not asked.done()
        await asyncio.sleep(0)
    topic = (await asked).topics[0]
    assert partitions_proposed(log) == [ROOM, ROOM, ROOM, 1]
    assert topic.partitions == len(active.image.topics["t"].partitions) == 3 * ROOM + 1
    assert nodes.quorums[1].image == active.image


async def test_commands_that_come_meanwhile_are_decided_between_the_slices(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.gate.clear()
    plan = asyncio.create_task(active.submit(creation("t", partitions=9 * ROOM)))
    await until(lambda: len(partitions_proposed(log)) == 1)
    registering = asyncio.create_task(active.submit(registration(2)))
    small = asyncio.create_task(active.submit(creation("small")))
    await asyncio.sleep(0)
    log.gate.set()
    assert not (await registering).error.code
    assert not (await small).topics[0].error.code
    assert not (await plan).topics[0].error.code
    kinds = [{record.WhichOneof("record") for record in one.records} for one in log.proposed]
    names = [{record.topic.name for record in one.records} for one in log.proposed]
    begun = next(number for number, one in enumerate(names) if "t" in one)
    ended = max(number for number, one in enumerate(kinds) if "partition" in one)
    assert "register_broker" in kinds[begun + 1]
    assert "small" in set.union(*names[begun + 1 : begun + 3])
    assert ended > begun + 8


async def test_many_plans_at_once_share_the_room_of_each_batch(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    names = "abcde"
    plans = [active.submit(creation(name, partitions=2 * ROOM)) for name in names]
    for reply in await asyncio.gather(*plans):
        assert not reply.topics[0].error.code
    assert partitions_proposed(log) == [ROOM] * 10
    assert all(len(active.image.topics[name].partitions) == 2 * ROOM for name in names)


async def test_a_repeated_command_joins_its_plan_while_that_is_under_way(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    request = creation("a", "b", command_id=ID, partitions=2 * ROOM)
    replies = await asyncio.gather(active.submit(request), active.submit(request))
    assert replies[0].topics == replies[1].topics
    assert [topic.error.code for topic in replies[0].topics] == [0, 0]
    assert partitions_proposed(log) == [ROOM] * 4


async def test_of_a_plan_that_was_begun_nobody_is_told_that_nothing_happened(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.proposals_left = 2
    request = creation("a", "b", command_id=ID, partitions=2 * ROOM)
    cut = await active.submit(request)
    assert cut.error.code == common_pb2.REQUEST_TIMED_OUT
    assert "part of it has happened" in cut.error.message
    begun = nodes.quorums[1].image
    assert [len(topic.partitions) for topic in begun.topics.values()] == [2 * ROOM]
    done = await nodes.quorums[1].submit(request)
    assert [topic.error.code for topic in done.topics] == [0, 0]
    after = nodes.quorums[1].image.topics
    assert after["a"].topic_id == begun.topics["a"].topic_id == done.topics[0].topic_id
    assert [len(topic.partitions) for topic in after.values()] == [2 * ROOM, 2 * ROOM]


async def test_a_plan_goes_on_when_its_caller_is_gone(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.gate.clear()
    asked = asyncio.create_task(active.submit(creation("t", partitions=3 * ROOM)))
    await until(lambda: len(partitions_proposed(log)) == 1)
    asked.cancel()
    log.gate.set()
    await until(lambda: "t" in active.image.topics)
    await until(lambda: len(active.image.topics["t"].partitions) == 3 * ROOM)


async def test_a_plan_whose_memory_is_gone_is_not_begun_again(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    await active.submit(creation("other"))
    monkeypatch.setattr("tidelog.metadata.images.commands.COMMANDS_MAX", 1)
    log.gate.clear()
    plan = asyncio.create_task(active.submit(creation("a", "b", "c", partitions=ROOM)))
    await until(lambda: len(partitions_proposed(log)) == 2)
    other = DeleteTopicsRequest(names=["other"], command_id=ID)
    deleting = asyncio.create_task(active.submit(other))
    await asyncio.sleep(0)
    log.gate.set()
    assert not (await deleting).topics[0].error.code
    reply = await plan
    assert reply.error.code == common_pb2.REQUEST_TIMED_OUT
    assert "its outcome is no longer known" in reply.error.message


async def test_what_stops_with_the_node_is_answered(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.gate.clear()
    plans = [
        asyncio.create_task(active.submit(creation(name, partitions=2 * ROOM))) for name in "abc"
    ]
    await until(lambda: len(partitions_proposed(log)) == 1)
    await active.stop()
    for plan in plans:
        code = (await plan).error.code
        assert code in {common_pb2.REQUEST_TIMED_OUT, common_pb2.NOT_CONTROLLER}


async def test_a_broken_invariant_is_no_refusal(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)

    def broken(*_: object) -> None:
        raise InvariantError("broken invariant")

    monkeypatch.setattr("tidelog.metadata.quorum_controller.speculate", broken)
    with pytest.raises(InvariantError):
        await active.submit(creation("t"))
    await until(lambda: bool(nodes.fatal))
    assert [type(error) for error in nodes.fatal] == [InvariantError]
