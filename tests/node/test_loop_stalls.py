"""The longest stall of a node's loop: what is measured, for how long it is told, and where."""

from __future__ import annotations

import asyncio

import pytest
from tests.virtual_time import virtual_time

from tidelog.node.loop_stalls import BEAT_S, RECENT_S, LoopStalls
from tidelog.node.metrics import registry_for
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.simulation.engine.loop import NodeLoop


def running_loop() -> NodeLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, NodeLoop)
    return loop


def test_a_loop_that_runs_has_no_stall() -> None:
    async def story() -> None:
        stalls = LoopStalls(running_loop().clock)
        stalls.start()
        await asyncio.sleep(100)
        assert stalls.longest_s < 1e-3

    with virtual_time() as run:
        run(story())


def test_a_stall_is_measured_within_a_beat_and_forgotten_but_for_the_longest() -> None:
    async def story() -> None:
        stalls = LoopStalls(running_loop().clock)
        stalls.start()
        for seconds in (2.0, 4.0, 1.0):
            running_loop().stall(seconds)
            await asyncio.sleep(BEAT_S)
        assert stalls.recent_s == stalls.longest_s
        assert 4.0 - BEAT_S <= stalls.recent_s <= 4.0 + 1e-3
        await asyncio.sleep(RECENT_S / 2 - 4)
        assert stalls.recent_s > 3.9
        await asyncio.sleep(RECENT_S)
        assert stalls.recent_s < 1e-3
        assert stalls.longest_s > 3.9
        running_loop().stall(10 * RECENT_S)
        await asyncio.sleep(2 * BEAT_S)
        assert stalls.recent_s == stalls.longest_s > 9 * RECENT_S
        stalls.stop()
        running_loop().stall(100 * RECENT_S)
        await asyncio.sleep(2 * BEAT_S)
        assert stalls.longest_s < 11 * RECENT_S

    with virtual_time() as run:
        run(story())


@pytest.mark.sim
def test_a_nodes_metrics_tell_how_long_it_was_away() -> None:
    cluster = SimCluster(seed=1, config=SimClusterConfig(node_ids=(1, 2, 3)))

    async def story() -> None:
        await asyncio.sleep(5)
        cluster.pause(2)
        await asyncio.sleep(3)
        cluster.resume(2)
        await asyncio.sleep(1)

    try:
        cluster.run(story())
        for node_id, machine in cluster.machines.items():
            assert machine.node is not None
            registry = registry_for(machine.node.stats)
            for name in ("event_loop_stall_seconds", "event_loop_longest_stall_seconds"):
                stall_s = registry.get_sample_value(f"tidelog_{name}")
                assert stall_s == pytest.approx(3.0 if node_id == 2 else 0.0, abs=0.05)
    finally:
        cluster.close()
