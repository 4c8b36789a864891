"""Producer ids: committed before they are given, in blocks that never overlap, whatever fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.decision_contexts import decision_context
from tests.metadata.fake_quorum import Nodes, start_broker
from tests.virtual_loop import run_virtual

from tidelog.core.errors import InvariantError
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.producer_ids import BLOCK_LENGTH, PRODUCER_ID_MAX, allocate_producer_ids
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, ProducerIdsRecord

if TYPE_CHECKING:
    from tests.metadata.conftest import SeededRandom, World


def ask(world: World, broker_id: int, *, epoch: int | None = None) -> AllocateProducerIdsResponse:
    broker_epoch = world.epoch(broker_id) if epoch is None else epoch
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    reply = world.do(request)
    assert isinstance(reply, AllocateProducerIdsResponse)
    return reply


def test_blocks_follow_one_another_from_0_on(world: World) -> None:
    world.start(1, 2)
    replies = [ask(world, broker_id) for broker_id in (1, 2, 1)]
    assert [reply.producer_id_start for reply in replies] == [0, 1000, 2000]
    assert {reply.producer_id_len for reply in replies} == {BLOCK_LENGTH}
    assert world.image.next_producer_id == 3000


def test_only_the_brokers_current_incarnation_gets_a_block(world: World) -> None:
    world.start(1)
    assert ask(world, 2).error.code == common_pb2.BROKER_ID_NOT_REGISTERED
    assert ask(world, 1, epoch=world.epoch(1) - 1).error.code == common_pb2.STALE_BROKER_EPOCH
    assert world.image.next_producer_id == 0


@pytest.mark.parametrize(("start", "is_given"), [(-1000, True), (-999, False)])
def test_no_id_is_above_the_largest_there_is(world: World, start: int, is_given: bool) -> None:
    world.start(1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=world.epoch(1))
    world.commit(
        [MetadataRecord(producer_ids=ProducerIdsRecord(next_producer_id=PRODUCER_ID_MAX + start))]
    )
    reply = world.do(request)
    assert reply.error.code == (common_pb2.NONE if is_given else common_pb2.POLICY_VIOLATION)


def test_a_record_that_gives_ids_again_stops_the_node(world: World) -> None:
    world.start(1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=world.epoch(1))
    decision = allocate_producer_ids(request, world.image, decision_context())
    world.commit(decision.records)
    with pytest.raises(InvariantError, match="given out twice"):
        world.commit(decision.records)


async def test_two_requests_of_one_batch_get_two_blocks(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    beat = await start_broker(active, 1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=beat.broker_epoch)
    replies = await asyncio.gather(*(active.submit(request) for _ in range(3)))
    assert len(nodes.logs[0].proposed) == 3
    assert [reply.producer_id_start for reply in replies] == [0, 1000, 2000]
    assert {reply.controller_epoch for reply in replies} == {2}


async def test_a_block_is_told_only_once_it_has_committed(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    beat = await start_broker(active, 1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=beat.broker_epoch)
    log.gate.clear()
    asking = asyncio.create_task(active.submit(request))
    await asyncio.sleep(0.01)
    assert not asking.done()
    nodes.raft.elect(nodes.logs[1])
    log.gate.set()
    assert (await asking).error.code == common_pb2.NOT_CONTROLLER


class _Cluster:
    """Two controllers that change places, lose answers and commit them late; brokers that ask."""

    def __init__(self, random: SeededRandom) -> None:
        self.nodes = Nodes(random)
        self.given: list[int] = []

    async def run(self, steps: list[tuple[str, int]]) -> None:
        for quorum in self.nodes.quorums:
            await quorum.start()
        self.nodes.raft.elect(self.nodes.logs[0])
        beat = await start_broker(self.nodes.quorums[0], 1)
        request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=beat.broker_epoch)
        for what, number in steps:
            await self._take(what, number, request)
        for log in self.nodes.logs:
            log.is_answer_lost = False
        for quorum in self.nodes.quorums:
            await quorum.stop()

    async def _take(self, what: str, number: int, request: AllocateProducerIdsRequest) -> None:
        log = self.nodes.logs[number % 2]
        match what:
            case "elect":
                self.nodes.raft.elect(log)
            case "lose answers":
                log.is_answer_lost = True
            case "find answers":
                log.is_answer_lost = False
            case "ask":
                asked = (
                    quorum.submit(request)
                    for quorum in self.nodes.quorums
                    for _ in range(1 + number)
                )
                for reply in await asyncio.gather(*asked):
                    if not reply.error.code:
                        first = reply.producer_id_start
                        self.given += range(first, first + reply.producer_id_len)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "elect", "lose answers", "find answers"]), st.integers(0, 2)
    ),
    max_size=25,
)


@settings(max_examples=100)
@given(steps=_STEPS)
def test_no_id_is_given_twice_whatever_becomes_of_the_controllers(
    new_random: type[SeededRandom], steps: list[tuple[str, int]]
) -> None:
    cluster = _Cluster(new_random(1))
    run_virtual(cluster.run(steps))
    assert len(cluster.given) == len(set(cluster.given))


def test_a_late_batch_of_a_replaced_controller_gives_nothing_out() -> None:
    def batch(image: MetadataImage, epoch: int) -> MetadataBatch:
        record = ProducerIdsRecord(next_producer_id=image.next_producer_id + BLOCK_LENGTH)
        return MetadataBatch(
            controller_epoch=epoch,
            base_offset=image.offset,
            records=[MetadataRecord(producer_ids=record)],
        )

    late = batch(EMPTY_IMAGE, 1)
    image = replay(EMPTY_IMAGE, batch(EMPTY_IMAGE, 2), offset=5)
    assert replay(image, late, offset=7) is image
