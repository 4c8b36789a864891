"""Whole nodes on virtual time whose disks fail one partition: F36 and F37 of a leader."""

from __future__ import annotations

import asyncio

import pytest
from tests.sim.sim_story import TOPIC, Story, play

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/{0:020d}.log"


@pytest.mark.parametrize("action", ["write", "sync"])
def test_a_leader_whose_disk_fails_hands_over_and_a_restart_brings_it_back(action: str) -> None:
    """F37: nothing acknowledged is lost, and clients notice nothing but a delay."""

    async def story(scenario: Story) -> None:
        first, *others = await scenario.create(flush_messages="1")
        await scenario.produce(20)
        scenario.cluster.disk(first).faults.fail(action, SEGMENT, count=1)
        await scenario.produce(20)
        state = await scenario.state()
        assert state.leader in others
        assert state.offline == (first,)
        await asyncio.sleep(40)
        assert (await scenario.state()).offline == (first,), "it is not tried again by itself"
        marker = f"/data/{TOPIC}-0/.lossy"
        disk = scenario.cluster.disk(first)
        assert disk.exists(marker) == (action == "sync"), "the next start says so"
        scenario.cluster.kill(first)
        scenario.cluster.start(first)
        await scenario.until(lambda p: len(p.isr) == 3 and not p.offline)
        assert not disk.exists(marker)
        assert await scenario.read() == scenario.acked

    play(story)


def test_on_a_full_disk_the_leader_moves_and_space_brings_the_replica_back() -> None:
    """F36, without a restart."""

    async def story(scenario: Story) -> None:
        first, *others = await scenario.create()
        await scenario.produce(20)
        disk = scenario.cluster.disk(first)
        disk.faults.fail("open", "/data/.space")  # what frees a little is not enough
        disk.capacity_bytes = disk.used_bytes()
        await scenario.produce(20)
        state = await scenario.state()
        assert state.leader in others
        assert state.offline == (first,)
        disk.capacity_bytes = None
        disk.faults.heal()
        await scenario.until(lambda p: len(p.isr) == 3 and not p.offline)
        assert await scenario.read() == scenario.acked

    play(story)
