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

    async def story(told: Story) -> None:
        first, second, third = await told.create()
        await told.produce(30)
        told.cluster.kill(third)
        await told.until(lambda p: third not in p.isr)
        await told.produce(10)
        told.cluster.kill(second)
        await told.until(lambda p: p.isr == (first,) and p.elr == (second,))
        told.cluster.crash(first)
        told.cluster.start(third)
        await told.until(lambda p: p.leader is None)
        told.cluster.start(first)
        await told.until_alive(first)
        await told.until(lambda p: p.leader is None and p.elr == (second,))
        await asyncio.sleep(5)
        assert (await told.state()).leader is None, "it waits for one that has everything"
        told.cluster.start(second)
        await told.until(lambda p: p.leader == second)
        await told.until(lambda p: len(p.isr) == 3)
        assert await told.read() == told.acked

    lines = play(story, seed=seed)
    assert "UNFLUSHED" in [line["start_loss"] for line in lines if "start_loss" in line]
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]


def test_an_unclean_election_loses_what_its_log_line_counts() -> None:
    """F19: only where the topic allows it, and no more than is told."""

    async def story(told: Story) -> None:
        first, second, third = await told.create(
            min_insync_replicas="1", unclean_leader_election_enable="true"
        )
        await told.produce(20)
        told.cluster.kill(second)
        told.cluster.kill(third)
        await told.until(lambda p: p.isr == (first,))
        await told.produce(7)
        told.cluster.start(second)
        told.cluster.kill(first)
        await told.until(lambda p: p.leader == second)
        told.cluster.start(third)
        told.cluster.start(first)
        await told.until(lambda p: len(p.isr) == 3)
        kept = await told.read()
        assert kept == told.acked[: len(kept)]
        losses.append(len(told.acked) - len(kept))

    losses: list[int] = []
    lines = play(story)
    assert losses == [7]
    cuts = [line["records"] for line in lines if line["event"] == "truncated"]
    assert sum(cuts) == 7
    told = [one for one in lines if one["event"].startswith("leader elected that may lack")]
    assert len({one["leader_epoch"] for one in told}) == 1


def test_a_killed_process_is_no_power_cut() -> None:
    """Its machine kept what it wrote: whoever returns first leads, and all is there."""

    async def story(told: Story) -> None:
        replicas = await told.create()
        await told.produce(20)
        others = [one for one in told.cluster.node_ids if one not in replicas]
        told.cluster.kill(replicas[0])
        told.cluster.kill(replicas[1])
        await told.until(lambda p: len(p.isr) == 1)
        told.cluster.start(replicas[0])
        await told.until_alive(*others, replicas[0])
        told.cluster.start(replicas[1])
        await told.until(lambda p: len(p.isr) == 3)
        assert await told.read() == told.acked

    lines = play(story)
    losses = [line["start_loss"] for line in lines if "start_loss" in line]
    assert losses.count("NOTHING") == 2


def test_a_stop_moves_leaderships_first_and_is_clean() -> None:
    async def story(told: Story) -> None:
        first, *others = await told.create()
        await told.produce(5)
        await told.cluster.stop(first)
        stopped_s = told.cluster.scheduler.now_s
        await told.until(lambda p: p.leader in others and first not in p.isr)
        assert told.cluster.scheduler.now_s < stopped_s + 0.2, "it was so; whom one asks may lag"
        told.cluster.crash(first)
        told.cluster.start(first)
        await told.until(lambda p: len(p.isr) == 3)
        assert await told.read() == told.acked

    lines = play(story)
    assert [line["start_loss"] for line in lines if "start_loss" in line][-1] == "NOTHING"


def test_damage_found_at_a_start_is_told_before_the_broker_may_be_elected() -> None:
    async def story(told: Story) -> None:
        first, second, third = await told.create(flush_messages="1")
        await told.produce(20)
        await asyncio.sleep(6)  # a checkpoint says what is on stable storage
        for one in (first, second, third):
            told.cluster.kill(one)
        disk = told.cluster.disk(first)
        segment = f"/data/{TOPIC}-0/{0:020d}.log"
        disk.open(segment).truncate(disk.size(segment) // 2)
        told.cluster.start(first)
        await told.until(lambda p: p.damaged == (first,))
        state = await told.state()
        assert first not in (state.leader, *state.isr, *state.elr)
        told.cluster.start(second)
        await told.until(lambda p: p.leader == second)
        told.cluster.start(third)
        await told.until(lambda p: len(p.isr) == 3)
        assert (await told.state()).damaged == ()
        assert await told.read() == told.acked

    lines = play(story)
    damaged = next(at for at, line in enumerate(lines) if "first_bad_offset" in line)
    led = [line for line in lines[damaged:] if line["event"] == "leading"]
    assert len(led) == 1, "nobody but the second, though the first was back before it"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_that_starts_as_a_whole_waits_for_one_that_kept_everything(seed: int) -> None:
    """A leader is dead, and the other member of the ISR only presumed alive: nobody is dropped."""

    async def story(told: Story) -> None:
        first, second, third = await told.create(min_insync_replicas="1")
        told.cluster.kill(third)
        await told.until(lambda p: third not in p.isr)
        await told.produce(20)
        for one in sorted({*told.cluster.node_ids} - {second, third}):
            told.cluster.kill(one)
        told.cluster.crash(second)
        for one in sorted({*told.cluster.node_ids} - {first, second, third}):
            told.cluster.start(one)
        for one in (third, second, first):
            told.cluster.start(one)
            await asyncio.sleep(2)
        await told.until(lambda p: len(p.isr) == 3)
        assert await told.read() == told.acked

    lines = play(story, seed=seed)
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]


def test_a_cluster_that_starts_as_a_whole_forgets_nobody_who_was_in_sync() -> None:
    async def story(told: Story) -> None:
        replicas = await told.create(min_insync_replicas="1")
        await told.produce(20)
        first, second, third = replicas
        for one in told.cluster.node_ids:
            if one == first:
                told.cluster.crash(one)  # and would cut the others' logs, if it led
            else:
                told.cluster.kill(one)
        for one in sorted({*told.cluster.node_ids} - {*replicas}):
            told.cluster.start(one)
        for one in (third, second, first):
            told.cluster.start(one)
            await asyncio.sleep(1)
        await told.until(lambda p: len(p.isr) == 3)
        assert await told.read() == told.acked

    lines = play(story)
    assert not [one for one in lines if one["event"].startswith("leader elected that may lack")]
