"""Whole nodes on virtual time: who leads after power cuts, kills and stops (F19, F20, KIP-966).

Five nodes, so that a quorum is left while replicas of the one partition go; three hold it.
"""

from __future__ import annotations

import asyncio

import pytest
from tests.sim.sim_story import TOPIC, Story, play

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_replica_standing_does_not_lead_after_a_power_cut(seed: int) -> None:
    """F20: it lost what it had not flushed; an eligible replica leads and nothing is lost."""

    async def story(scenario: Story) -> None:
        first, second, third = await scenario.create()
        await scenario.produce(30)
        scenario.cluster.kill(third)
        await scenario.until(lambda p: third not in p.isr)
        await scenario.produce(10)
        scenario.cluster.kill(second)
        await scenario.until(lambda p: p.isr == (first,) and p.elr == (second,))
        scenario.cluster.crash(first)
        scenario.cluster.start(third)
        await scenario.until(lambda p: p.leader is None)
        scenario.cluster.start(first)
        await scenario.until_alive(first)
        await scenario.until(lambda p: p.leader is None and p.elr == (second,))
        await asyncio.sleep(5)
        assert (await scenario.state()).leader is None, "it waits for one that has everything"
        scenario.cluster.start(second)
        await scenario.until(lambda p: p.leader == second)
        await scenario.until(lambda p: len(p.isr) == 3)
        assert await scenario.read() == scenario.acked

    lines = play(story, seed=seed)
    assert "unflushed" in [line["disk"] for line in lines if "disk" in line]
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]


def test_an_unclean_election_loses_what_its_log_line_counts() -> None:
    """F19: only where the topic allows it, and no more than is told."""

    async def story(scenario: Story) -> None:
        first, second, third = await scenario.create(
            min_insync_replicas="1", unclean_leader_election_enable="true"
        )
        await scenario.produce(20)
        scenario.cluster.kill(second)
        scenario.cluster.kill(third)
        await scenario.until(lambda p: p.isr == (first,))
        await scenario.produce(7)
        scenario.cluster.start(second)
        scenario.cluster.kill(first)
        await scenario.until(lambda p: p.leader == second)
        scenario.cluster.start(third)
        scenario.cluster.start(first)
        await scenario.until(lambda p: len(p.isr) == 3)
        kept = await scenario.read()
        assert kept == scenario.acked[: len(kept)]
        losses.append(len(scenario.acked) - len(kept))

    losses: list[int] = []
    lines = play(story)
    assert losses == [7]
    cuts = [line["records"] for line in lines if line["event"] == "truncated"]
    assert sum(cuts) == 7
    scenario = [one for one in lines if one["event"].startswith("leader elected that may lack")]
    assert len({one["leader_epoch"] for one in scenario}) == 1


def test_a_killed_process_is_no_power_cut() -> None:
    """Its machine kept what it wrote: whoever returns first leads, and all is there."""

    async def story(scenario: Story) -> None:
        replicas = await scenario.create()
        await scenario.produce(20)
        others = [one for one in scenario.cluster.node_ids if one not in replicas]
        scenario.cluster.kill(replicas[0])
        scenario.cluster.kill(replicas[1])
        await scenario.until(lambda p: len(p.isr) == 1)
        scenario.cluster.start(replicas[0])
        await scenario.until_alive(*others, replicas[0])
        scenario.cluster.start(replicas[1])
        await scenario.until(lambda p: len(p.isr) == 3)
        assert await scenario.read() == scenario.acked

    lines = play(story)
    disks = [line["disk"] for line in lines if "disk" in line]
    assert disks.count("kept") == 2


def test_a_stop_moves_leaderships_first_and_is_clean() -> None:
    async def story(scenario: Story) -> None:
        first, *others = await scenario.create()
        await scenario.produce(5)
        await scenario.cluster.stop(first)
        stopped_s = scenario.cluster.scheduler.now_s
        await scenario.until(lambda p: p.leader in others and first not in p.isr)
        assert scenario.cluster.scheduler.now_s < stopped_s + 0.2, (
            "it was so; whom one asks may lag"
        )
        scenario.cluster.crash(first)
        scenario.cluster.start(first)
        await scenario.until(lambda p: len(p.isr) == 3)
        assert await scenario.read() == scenario.acked

    lines = play(story)
    assert [line["disk"] for line in lines if "disk" in line][-1] == "kept"


def test_damage_found_at_a_start_is_told_before_the_broker_may_be_elected() -> None:
    async def story(scenario: Story) -> None:
        first, second, third = await scenario.create(flush_messages="1")
        await scenario.produce(20)
        await asyncio.sleep(6)  # a checkpoint says what is on stable storage
        for one in (first, second, third):
            scenario.cluster.kill(one)
        disk = scenario.cluster.disk(first)
        segment = f"/data/{TOPIC}-0/{0:020d}.log"
        disk.open(segment).truncate(disk.size(segment) // 2)
        scenario.cluster.start(first)
        await scenario.until(lambda p: p.damaged == (first,))
        state = await scenario.state()
        assert first not in (state.leader, *state.isr, *state.elr)
        scenario.cluster.start(second)
        await scenario.until(lambda p: p.leader == second)
        scenario.cluster.start(third)
        await scenario.until(lambda p: len(p.isr) == 3)
        assert (await scenario.state()).damaged == ()
        assert await scenario.read() == scenario.acked

    lines = play(story)
    damaged = next(at for at, line in enumerate(lines) if "first_bad_offset" in line)
    led = [line for line in lines[damaged:] if line["event"] == "leading"]
    assert len(led) == 1, "nobody but the second, though the first was back before it"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_that_starts_as_a_whole_waits_for_one_that_kept_everything(seed: int) -> None:
    """A leader is dead, and the other member of the ISR only presumed alive: nobody is dropped."""

    async def story(scenario: Story) -> None:
        first, second, third = await scenario.create(min_insync_replicas="1")
        scenario.cluster.kill(third)
        await scenario.until(lambda p: third not in p.isr)
        await scenario.produce(20)
        for one in sorted({*scenario.cluster.node_ids} - {second, third}):
            scenario.cluster.kill(one)
        scenario.cluster.crash(second)
        for one in sorted({*scenario.cluster.node_ids} - {first, second, third}):
            scenario.cluster.start(one)
        for one in (third, second, first):
            scenario.cluster.start(one)
            await asyncio.sleep(2)
        await scenario.until(lambda p: len(p.isr) == 3)
        assert await scenario.read() == scenario.acked

    lines = play(story, seed=seed)
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]


def test_a_cluster_that_starts_as_a_whole_forgets_nobody_who_was_in_sync() -> None:
    async def story(scenario: Story) -> None:
        replicas = await scenario.create(min_insync_replicas="1")
        await scenario.produce(20)
        first, second, third = replicas
        for one in scenario.cluster.node_ids:
            if one == first:
                scenario.cluster.crash(one)  # and would cut the others' logs, if it led
            else:
                scenario.cluster.kill(one)
        for one in sorted({*scenario.cluster.node_ids} - {*replicas}):
            scenario.cluster.start(one)
        for one in (third, second, first):
            scenario.cluster.start(one)
            await asyncio.sleep(1)
        await scenario.until(lambda p: len(p.isr) == 3)
        assert await scenario.read() == scenario.acked

    lines = play(story)
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]
