"""What a simulated test does to its cluster: nodes, links, storms, and the end of all that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.testing.simulated_runs import error_of, passes, run, send

from tidelog.client import Consumer, Producer
from tidelog.testing import NotSettledError, SimulatedTestError, Simulation
from tidelog.testing.sim.simulation import POLL_S, READ_POLL_MS, STORM_END_S_MAX
from tidelog.testing.sim.storm import HARSH, Storm

pytestmark = pytest.mark.sim


def is_up(sim: Simulation, node_id: int) -> bool:
    return sim._target.is_up(node_id)


def test_nodes_end_and_start_as_told() -> None:
    async def main(sim: Simulation) -> None:
        sim.kill(1)
        sim.kill(1)
        assert not is_up(sim, 1)
        await asyncio.sleep(5)
        assert not is_up(sim, 1), "nothing starts it but the test"
        sim.start(1)
        assert is_up(sim, 1)
        await sim.stop(2)
        await sim.stop(2)
        assert not is_up(sim, 2)
        await sim.settle()
        assert all(is_up(sim, one) for one in sim.node_ids)

    report = passes(main, brokers=3)
    assert report.seeds == [0]


def test_a_leader_is_named_and_moves_when_it_is_killed() -> None:
    async def main(sim: Simulation) -> None:
        with pytest.raises(NotSettledError, match=r"nobody leads t-0: wait for it with sim.until"):
            sim.leader("t")
        await sim.create_topic("t")
        first = sim.leader("t")
        sim.kill(first)
        await sim.until(lambda: sim.leader("t") != first, within_s=10)
        await sim.settle()

    passes(main, brokers=3)


def test_a_paused_node_stands_still_and_goes_on() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        sim.pause(1)
        sim.pause(1)
        sending = asyncio.create_task(send(sim, b"a"))
        await asyncio.sleep(3)
        assert not sending.done()
        sim.resume(1)
        sim.resume(1)
        await sending
        assert [one.value for one in await sim.read_all("t")] == [b"a"]

    passes(main)


def test_settle_wakes_a_paused_node_and_heals_links() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        sim.pause(1)
        sim.cut("client", 1)
        await sim.settle()
        await send(sim, b"a")
        sim.check()

    passes(main)


def test_settle_names_what_is_not_at_rest() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        follower = next(one for one in sim.node_ids if one != sim.leader("t"))
        sim.isolate(follower)
        await asyncio.sleep(5)
        await sim.settle(within_s=0)

    error = error_of(main, brokers=3)
    assert isinstance(error, NotSettledError)
    assert str(error).startswith("0 virtual s went by before it came to rest: ")
    assert str(error).removesuffix(" ").count(":") > 0


def test_a_cut_link_carries_nothing_until_it_heals() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        sim.cut("client", sim.node_ids)
        sending = asyncio.create_task(send(sim, b"a"))
        await asyncio.sleep(3)
        assert not sending.done()
        sim.heal()
        await sending
        sim.check()

    passes(main)


def test_an_isolated_leader_loses_its_partition() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        first = sim.leader("t")
        sim.isolate(first)
        await sim.until(lambda: sim.leader("t") != first, within_s=20)
        await send(sim, b"a")
        await sim.settle()
        assert sim.check()["acknowledged"] == 1

    passes(main, brokers=3)


def test_power_goes_as_far_as_no_acknowledged_record_is_in_danger() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t", configs={"min.insync.replicas": "2"})
        await send(sim, b"a", b"b")
        sim.power_cut(1)
        assert not is_up(sim, 1)
        with pytest.raises(
            SimulatedTestError, match=r"power_cut.2.: acknowledged records could be"
        ):
            sim.power_cut(2)
        assert is_up(sim, 2)
        await sim.settle()
        assert [one.value for one in await sim.read_all("t")] == [b"a", b"b"]
        sim.check()

    passes(main, brokers=3)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda sim: sim.kill(9), "there is no node 9, but [1]"),
        (lambda sim: sim.cut("nobody", 1), "there is no 'nobody': nodes are [1], processes"),
        (lambda sim: sim.process("client", None), "the name is taken, or empty"),
        (lambda sim: sim.process("node-1", None), "the name is taken, or empty"),
        (lambda sim: sim.process("", None), "the name is taken, or empty"),
    ],
)
def test_what_is_not_there_is_refused_by_name(act: Callable[[Any], None], words: str) -> None:
    async def main(sim: Simulation) -> None:
        act(sim)

    error = error_of(main)
    assert isinstance(error, SimulatedTestError)
    assert words in str(error)


def test_a_condition_that_never_comes_is_named_by_its_place() -> None:
    asked: list[float] = []

    async def main(sim: Simulation) -> None:
        def never() -> None:
            asked.append(sim.now_s)

        await sim.until(never, within_s=1)

    error = error_of(main)
    assert isinstance(error, NotSettledError)
    place = r"1 virtual s went by before the condition of test_simulated_nodes.py:\d+ is true"
    assert pytest.RaisesExc(NotSettledError, match=place).matches(error)
    assert asked[1] - asked[0] == pytest.approx(POLL_S, abs=0.001), "and no more often"


def test_an_async_condition_is_refused() -> None:
    async def main(sim: Simulation) -> None:
        async def never() -> bool:
            return False

        await sim.until(never)

    assert "the condition is async" in str(error_of(main))


def test_all_is_read_up_to_the_ends_of_now_however_long_it_takes() -> None:
    async def main(sim: Simulation) -> None:
        with pytest.raises(
            SimulatedTestError, match=r"there is no topic 't': await sim.create_topi"
        ):
            await sim.read_all("t")
        await sim.create_topic("t", partitions=3)
        assert await sim.read_all("t") == []
        await send(sim, *(b"%d" % number for number in range(10)))
        sim.pause(1)
        reading = asyncio.create_task(sim.read_all("t"))
        await asyncio.sleep(5 * READ_POLL_MS / 1000)
        sim.resume(1)
        found = await reading
        assert sorted(int(one.value or b"") for one in found) == list(range(10))
        places = [(one.partition, one.offset) for one in found]
        assert places == sorted(places)

    passes(main)


def test_notes_are_in_the_timeline_with_their_moment() -> None:
    async def main(sim: Simulation) -> None:
        await asyncio.sleep(1)
        sim.note("half of the orders are sent")
        raise AssertionError

    (failed,) = run(main).failed
    assert failed.timeline[-1].split(maxsplit=2)[1:] == ["test", "half of the orders are sent"]
    assert failed.timeline[-1].split()[0].startswith("1.0")


def test_a_storm_strikes_within_its_block_and_two_go_together() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        assert sim.struck == []
        async with sim.storm("kill"), sim.storm(("pause", "partition")):
            await asyncio.sleep(4)
        seen = list(sim.struck)
        assert seen, "faults struck"
        assert all(one.ended_s is not None for one in seen), "and have ended"
        assert len({one.number for one in seen}) == len(seen), "each by a number of its own"
        await asyncio.sleep(10)
        assert list(sim.struck) == seen
        await sim.settle()
        sim.check()

    passes(main, brokers=3, seeds=[1])


def test_a_storm_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: Simulation) -> None:
        async with sim.storm("weather"):
            pass

    monkeypatch.setattr(Storm, "is_over", False)
    error = error_of(main)
    assert f"{STORM_END_S_MAX:g} virtual s went by before the storm's faults end" in str(error)


@pytest.mark.parametrize("brokers", [1, 2])
def test_every_kind_of_fault_strikes_small_clusters_too(brokers: int) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        for kind in HARSH:
            async with sim.storm(kind):
                await asyncio.sleep(1)
        await sim.settle()
        await send(sim, b"a")
        sim.check()

    passes(main, brokers=brokers, seeds=[2])


def test_storms_cut_no_power_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(node_id: int) -> bool:
        asked.append(node_id)
        return False

    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        monkeypatch.setattr(sim._target.budget, "may_lose_power", refuse)
        async with sim.storm(("power_cut", "crash_at_write", "restart_all")):
            await asyncio.sleep(5)
        assert all(machine.boots == 1 for machine in sim._target.cluster.machines.values())
        await sim.settle()

    passes(main, brokers=3, seeds=[0])
    assert asked


def test_a_client_of_the_test_reads_while_faults_strike() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, *(b"%d" % number for number in range(20)))
        found: list[bytes | None] = []
        async with Consumer(sim.bootstrap) as consumer:
            await consumer.subscribe(["t"])
            while len(found) < 20:
                found += [one.value for one in await consumer.getmany(timeout_ms=500)]
        await sim.settle()
        assert sim.check()["acknowledged"] == 20

    passes(main, brokers=3, faults="standard", seeds=[0, 1])


@pytest.mark.parametrize("brokers", [1, 2])
def test_small_clusters_have_groups_and_transactions(brokers: int) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t", partitions=1)
        async with (
            Producer(sim.bootstrap, transactional_id="id") as sender,
            Consumer(sim.bootstrap, group_id="g", auto_offset_reset="earliest") as reader,
        ):
            async with sender.transaction():
                await sender.send("t", value=b"a")
            await reader.subscribe(["t"])
            found = await reader.getmany(timeout_ms=20_000)
            assert [one.value for one in found] == [b"a"]
            await reader.commit()
        sim.check()

    passes(main, brokers=brokers)
