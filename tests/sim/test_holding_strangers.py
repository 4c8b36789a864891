"""Strangers that hold what a node has: its rooms are not exceeded, and clients go on beside."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sim import kafka_groups
from tests.sim.kafka_groups import World, commit, committed
from tests.sim.kafka_wire import WireClient, metadata

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.chaos.workloads.holding_frames import KINDS, PROTOCOL_BYTES, PROTOCOLS
from tidelog.core.chance import SeededRandom
from tidelog.net.unfinished_requests import UnfinishedLimits
from tidelog.net.unread_responses import UnreadLimits
from tidelog.node.config import NodeConfig
from tidelog.simulation.engine import byte_streams
from tidelog.simulation.wire.holding_strangers import HoldingStrangers

pytestmark = pytest.mark.sim

MIB = 1 << 20
CONNECTIONS, STORM_S = 20, 16


def small(config: NodeConfig) -> NodeConfig:
    """Rooms of a megabyte or two, and time-outs that a story sees."""
    config = kafka_groups.configured(config)
    unread = UnreadLimits(timeout_ms=6_000, answer_bytes_max=MIB)
    return replace(
        config,
        kafka=KafkaConfig(queued_bytes_max=18 * MIB, connections_max=CONNECTIONS),
        unfinished=UnfinishedLimits(timeout_ms=3_000),
        replica=replace(config.replica, unread=unread),
        groups=replace(config.groups, group_members_max_bytes=MIB),
    )


def test_slow_unread_parked_and_half_open_ones_hold_their_rooms_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_streams, "WINDOW_BYTES", 16 << 10)

    async def story(world: World) -> None:
        address = f"node-{world.coordinator_id}:9092"
        outside = world.cluster.new_client("outside")
        strangers = HoldingStrangers(outside.dialer, [address], SeededRandom(1))
        holding = asyncio.ensure_future(strangers.hold(connections=CONNECTIONS, for_s=STORM_S))
        node = world.cluster.machines[world.coordinator_id].node
        assert node is not None
        peaks: dict[str, float] = {}
        beside: Any = SimpleNamespace(client=world.cluster.client)
        for turn in range(STORM_S // 2):
            await asyncio.sleep(2)
            client = await WireClient.connect(beside, address)
            async with asyncio.timeout(5):
                assert (await metadata(client, "t")).topics[0].error_code == 0
                offsets = commit({0: turn}, metadata="x" * 1_000)
                assert await committed(client, offsets, 9) == [0]
            client.leave()
            stats = {**node.stats(), **(node.kafka.stats() if node.kafka else {})}
            peaks = {name: max(peaks.get(name, 0), size) for name, size in stats.items()}
        await holding
        assert set(strangers.came) == set(KINDS)
        assert strangers.hung_up["unread"]
        assert PROTOCOLS * PROTOCOL_BYTES < peaks["group_member_bytes"] <= MIB
        assert 0 < peaks["unread_answer_bytes"] <= MIB
        assert 0 < peaks["kafka_queued_request_bytes"] <= 18 * MIB
        assert peaks["kafka_connections"] <= CONNECTIONS
        await asyncio.sleep(STORM_S)
        left = {**node.stats(), **(node.kafka.stats() if node.kafka else {})}
        assert left["unread_answer_bytes"] == left["kafka_queued_request_bytes"] == 0

    kafka_groups.play(story, small)
