"""Whole nodes on virtual time: who leads after power cuts, kills and stops (F19, F20, KIP-966).

Five nodes, so that a quorum is left while replicas of the one partition go; three hold it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import pytest
import structlog
from structlog.testing import capture_logs

from tidelog.chaos.sim_stage.cluster import SimCluster, SimClusterConfig
from tidelog.client import Consumer, Producer
from tidelog.client.admin import Admin
from tidelog.client.descriptions import PartitionDescription
from tidelog.client.errors import TidelogError

pytestmark = pytest.mark.sim

TOPIC = "t"
WAIT_S = 60.0


class Story:
    """A cluster, a client, and what was acknowledged with acks=all."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.acked: list[bytes] = []
        self.admin = Admin([cluster.address(one) for one in cluster.node_ids], **self.ports)

    @property
    def ports(self) -> dict[str, Any]:
        client = self.cluster.client
        return {"transport": client.transport, "clock": client.clock, "random": client.random}

    async def create(self, **configs: str) -> list[int]:
        """The topic's replicas, the leader first."""
        await self.until_alive(*self.cluster.node_ids)
        named = {name.replace("_", "."): value for name, value in configs.items()}
        await self.admin.create_topic(
            TOPIC, partitions=1, replication_factor=3, configs={"min.insync.replicas": "2", **named}
        )
        return list((await self.state()).replicas)

    async def state(self) -> PartitionDescription:
        return (await self.admin.describe_topics([TOPIC]))[0].partitions[0]

    async def until(self, condition: Callable[[PartitionDescription], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    if condition(await self.state()):
                        return
                except TidelogError:
                    pass
                await asyncio.sleep(0.1)

    async def until_alive(self, *nodes: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    brokers = (await self.admin.describe_cluster()).brokers
                except TidelogError:
                    brokers = ()
                if {one.broker_id for one in brokers if not one.is_fenced} >= set(nodes):
                    return
                await asyncio.sleep(0.1)

    async def produce(self, count: int, *, acks: Literal["all", 1] = "all") -> None:
        addresses = [self.cluster.address(one) for one in self.cluster.node_ids]
        is_all = acks == "all"
        async with Producer(
            addresses, acks=acks, enable_idempotence=is_all, **self.ports
        ) as producer:
            for number in range(count):
                value = b"%s %d" % (str(acks).encode(), number + len(self.acked))
                await producer.send(TOPIC, value=value, partition=0)
                if is_all:
                    self.acked.append(value)

    async def read(self) -> list[bytes]:
        """All there is."""
        listed = await self.admin.list_offsets([(TOPIC, 0)], at="latest")
        (end,) = (one.offset for one in listed.values())
        addresses = [self.cluster.address(one) for one in self.cluster.node_ids]
        consumer = Consumer(addresses, auto_offset_reset="none", **self.ports)
        consumer.assign([(TOPIC, 0)])
        consumer.seek((TOPIC, 0), 0)
        values: list[bytes] = []
        async with consumer:
            while len(values) < end:
                values.append((await anext(aiter(consumer))).value or b"")
        return values


def play(story: Callable[[Story], Coroutine[Any, Any, None]], *, seed: int = 1) -> list[Any]:
    """Tell it on five nodes; the log lines."""
    cluster = SimCluster(seed=seed, config=SimClusterConfig(node_ids=(1, 2, 3, 4, 5)))

    async def tell() -> None:
        told = Story(cluster)
        await story(told)
        await told.admin.close()

    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    try:
        with capture_logs() as lines:
            cluster.run(tell())
    finally:
        cluster.close()
        structlog.configure(**before)
    return lines


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
        state = await told.state()
        assert state.leader in others
        assert first not in state.isr
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
