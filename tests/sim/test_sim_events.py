"""Why is it so: whole nodes on virtual time tell of what was done to them, and of its cause."""

from __future__ import annotations

import asyncio

import pytest
from tests.sim.sim_story import TOPIC, Story, play

from tidelog.client.admin.events import ClusterEvent, EventFilter
from tidelog.client.producing.producer import Producer
from tidelog.v1.admin_pb2 import ListEventsRequest
from tidelog.v1.methods import LIST_EVENTS

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/{0:020d}.log"


async def events_of(story: Story, *kinds: str) -> list[ClusterEvent]:
    """Events of the partition, of these kinds."""
    wanted = EventFilter(topic=TOPIC, partition=0, kinds=kinds)
    return list((await story.admin.list_events(wanted)).events)


async def until_event(story: Story, kind: str, words: str) -> ClusterEvent:
    async with asyncio.timeout(60):
        while True:
            for event in reversed(await events_of(story, kind)):
                if words in event.cause:
                    return event
            await asyncio.sleep(0.1)


def test_every_node_tells_the_same_of_a_leader_that_fell_silent() -> None:
    async def story(s: Story) -> None:
        first, second, _third = await s.create()
        await s.produce(5)
        s.cluster.pause(first)
        await s.until(lambda p: p.leader == second)
        await asyncio.sleep(1)
        (led,) = await events_of(s, "leader")
        alive = tuple(one for one in s.cluster.node_ids if one != first)
        assert (led.before, led.after, led.nodes) == (f"{first}", f"{second}", alive)
        assert led.cause == f"broker {first} fenced: silent for 9000 ms"
        page = await s.ports["transport"].call(
            s.cluster.address(second),
            LIST_EVENTS,
            ListEventsRequest(topic=TOPIC, kinds=["leader"]),
            timeout_ms=1000,
        )
        assert len(page.events) == 1, "once, though both its roles apply the batch"
        (shrunk,) = await events_of(s, "isr")
        assert (shrunk.metadata_offset, shrunk.cause) == (led.metadata_offset, led.cause)
        (began,) = await events_of(s, "epoch")
        assert (began.nodes, began.leader_epoch) == ((second,), led.leader_epoch)
        assert began.after == "5"
        fenced = (await s.admin.list_events(EventFilter(kinds=("fencing",)))).events[-1]
        assert (fenced.broker_id, fenced.after) == (first, "fenced")
        s.cluster.resume(first)
        joined = await until_event(s, "isr", f"replica {first} caught up")
        assert joined.cause == f"leader {second}: replica {first} caught up at offset 5"

    play(story)


def test_a_leader_whose_process_ended_is_told_apart_from_a_silent_one() -> None:
    async def story(s: Story) -> None:
        first, second, _third = await s.create()
        s.cluster.kill(first)
        await s.until(lambda p: p.leader == second)
        led = await until_event(s, "leader", f"broker {first} fenced")
        assert led.cause == f"broker {first} fenced: its address refuses connections"

    play(story)


def test_a_stop_is_told_as_one() -> None:
    async def story(s: Story) -> None:
        first, *_ = await s.create()
        await s.cluster.stop(first)
        (led,) = await events_of(s, "leader")
        assert led.cause == f"broker {first} fenced: controlled shutdown"

    play(story)


def test_a_node_that_starts_anew_has_the_metadatas_story_again_with_its_times() -> None:
    async def story(s: Story) -> None:
        first, second, third = await s.create()
        s.cluster.kill(first)
        await s.until(lambda p: p.leader == second)
        before = [one for one in await events_of(s, "leader") if third in one.nodes]
        s.cluster.kill(third)
        s.cluster.start(third)
        after: list[ClusterEvent] = []
        async with asyncio.timeout(60):
            while not after:
                await asyncio.sleep(0.1)
                after = [one for one in await events_of(s, "leader") if third in one.nodes]
        assert [(one.time_ms, one.cause) for one in after] == [
            (one.time_ms, one.cause) for one in before
        ]
        all_refusals = (await s.admin.list_events(EventFilter(kinds=("refusal",)))).events
        (refused,) = [one for one in all_refusals if one.broker_id == third]
        assert "registration refused by the controller: DUPLICATE_BROKER" in refused.cause

    play(story)


def test_truncation_refusals_and_an_unclean_election() -> None:
    async def story(s: Story) -> None:
        first, second, third = await s.create(
            min_insync_replicas="1", unclean_leader_election_enable="true"
        )
        await s.produce(20)
        s.cluster.kill(second)
        s.cluster.kill(third)
        await s.until(lambda p: p.isr == (first,))
        await s.produce(7)
        s.cluster.start(second)
        s.cluster.kill(first)
        await s.until(lambda p: p.leader == second)
        unclean = await until_event(s, "leader", "unclean: no eligible replica")
        assert unclean.after == f"{second}"
        s.cluster.start(first)
        await s.until(lambda p: first in p.isr)
        (cut,) = await events_of(s, "truncation")
        assert (cut.nodes, cut.before, cut.after) == ((first,), "27", "20")
        assert cut.cause.startswith("7 records: diverging epoch: 0 ended at 20 on the leader")

    play(story)


def test_appends_below_the_minimum_are_refused_once_in_the_journal() -> None:
    async def story(s: Story) -> None:
        first, second, third = await s.create()
        s.cluster.kill(second)
        s.cluster.kill(third)
        await s.until(lambda p: p.isr == (first,))
        addresses = [s.cluster.address(one) for one in s.cluster.node_ids]
        async with Producer(addresses, delivery_timeout_ms=10_000, **s.ports) as producer:
            with pytest.raises(Exception, match=r"min\.insync"):
                await producer.send(TOPIC, value=b"x", partition=0)
        refusals = [
            one
            for one in await events_of(s, "refusal")
            if "append refused: NOT_ENOUGH" in one.cause
        ]
        (refusal,) = refusals
        assert refusal.nodes == (first,)
        assert refusal.count > 3
        assert "smaller than min.insync.replicas 2" in refusal.cause
        assert refusal.last_ms > refusal.time_ms

    play(story)


def test_damage_and_a_failed_disk() -> None:
    async def story(s: Story) -> None:
        first, second, third = await s.create(flush_messages="1")
        await s.produce(20)
        s.cluster.disk(first).faults.fail("write", SEGMENT, count=1)
        await s.produce(5)
        (failed,) = await events_of(s, "disk")
        assert (failed.nodes, failed.after) == ((first,), "offline")
        assert "Input/output error" in failed.cause
        (offline,) = await events_of(s, "offline")
        assert offline.cause == f"broker {first} cannot use its disk: {failed.cause}"
        assert (await events_of(s, "leader"))[-1].cause == offline.cause
        await asyncio.sleep(6)
        s.cluster.kill(third)
        disk = s.cluster.disk(third)
        disk.open(SEGMENT).truncate(disk.size(SEGMENT) // 2)
        s.cluster.start(third)
        damage = await until_event(s, "damage", "")
        assert damage.nodes == (third,)
        known = await until_event(s, "damaged", f"broker {third} found its log damaged")
        assert (known.before, known.after) == ("none", f"{third}")
        cut = await until_event(s, "truncation", "damaged from offset")
        assert cut.nodes == (third,)
        assert second == (await s.state()).leader

    play(story)
