"""Whole nodes on virtual time, each broker and controller in one, whose disks are slow."""

from __future__ import annotations

import asyncio

import pytest
from tests.sim.sim_story import TOPIC, Story, play

from tidelog.client import Producer

pytestmark = pytest.mark.sim

READ_S = 4.0
"""Longer than a broker's session, 3 s, and any election."""
OTHER = "other"


async def others_go_on(scenario: Story, *, seconds: float) -> None:
    """Records of another topic, led by the same node, are acknowledged within moments."""
    addresses = [scenario.cluster.address(one) for one in scenario.cluster.node_ids]
    async with Producer(addresses, **scenario.ports) as producer:
        end_s = scenario.cluster.scheduler.now_s + seconds
        while scenario.cluster.scheduler.now_s < end_s:
            began_s = scenario.cluster.scheduler.now_s
            await producer.send(OTHER, value=b"x", partition=0)
            assert scenario.cluster.scheduler.now_s - began_s < 0.5
            await asyncio.sleep(0.05)


async def state_of(scenario: Story) -> tuple[int | None, frozenset[int], int, int | None]:
    """The controllers' view: active one, live brokers, and of the topic its epoch and leader."""
    cluster = await scenario.admin.describe_cluster()
    live = frozenset(one.broker_id for one in cluster.brokers if not one.is_fenced)
    state = await scenario.state()
    return cluster.controller_id, live, state.leader_epoch, state.leader


def test_a_read_longer_than_a_session_costs_none_and_holds_up_no_other_partition() -> None:
    async def story(scenario: Story) -> None:
        replicas = await scenario.create()
        await scenario.admin.create_topic(
            OTHER, assignments=[replicas], configs={"min.insync.replicas": "2"}
        )
        await scenario.produce(20)
        before = await state_of(scenario)
        first = replicas[0]
        disk = scenario.cluster.disk(first)
        disk.faults.slow_reads(f"/data/{TOPIC}-0/", READ_S)
        began_s = scenario.cluster.scheduler.now_s
        reading = asyncio.create_task(scenario.read())
        await others_go_on(scenario, seconds=2 * READ_S)
        assert await reading == scenario.acked
        assert scenario.cluster.scheduler.now_s - began_s >= READ_S
        assert await state_of(scenario) == before
        for machine in scenario.cluster.machines.values():
            assert machine.node is not None
            assert machine.node.stats()["event_loop_longest_stall_seconds"] < 0.05

    play(story)


def test_slow_flushes_and_removals_hold_up_no_election() -> None:
    """The metadata log's syncs wait behind none of them: no term passes."""

    async def story(scenario: Story) -> None:
        await scenario.create(flush_messages="1")
        before = await state_of(scenario)
        for node_id in scenario.cluster.node_ids:
            scenario.cluster.disk(node_id).slow_down_records(
                flush_delay_s=2.0, removal_latency_s=5.0
            )
        await scenario.admin.create_topic(
            "doomed", partitions=20, replication_factor=3, configs={"flush.messages": "1"}
        )
        await asyncio.sleep(5)
        await scenario.admin.delete_topic("doomed")
        await scenario.produce(3)
        await asyncio.sleep(10)
        assert await state_of(scenario) == before

    play(story)
