"""Raft simulation: it does what faults ask: both kinds of network, disks, processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.core.env import write_atomically
from tidelog.simulation.engine.disk_faults import PowerCutError
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.simulation.engine.trace import Trace
from tidelog.simulation.raft.disk import ProcessKilledError, VoterDisk
from tidelog.simulation.raft.network import (
    LATENCY_S_MIN,
    NetworkKind,
    RaftNetwork,
    VoterTransport,
    Weather,
)
from tidelog.v1.raft_pb2 import RaftMessage

ORDERED = NetworkKind(is_lawless=False, has_stragglers=False)
STRAGGLING = NetworkKind(is_lawless=False, has_stragglers=True)
LAWLESS = NetworkKind(is_lawless=True, has_stragglers=False)


class Receiver:
    """Writes down what a transport calls."""

    def __init__(self) -> None:
        self.terms: list[int] = []
        self.connected: set[int] = set()
        self.breaks = 0

    def on_message(self, peer_id: int, message: RaftMessage) -> None:
        self.terms.append(message.term)

    def on_connected(self, peer_id: int) -> None:
        self.connected.add(peer_id)

    def on_disconnected(self, peer_id: int) -> None:
        self.connected.discard(peer_id)
        self.breaks += 1


class Pair:
    """Voters 1 and 2; messages are told apart by their term."""

    def __init__(self, kind: NetworkKind) -> None:
        self.scheduler = Scheduler(trace=Trace())
        self.loop = self.scheduler.new_loop("world")
        self.network = RaftNetwork(
            scheduler=self.scheduler,
            loop=self.loop,
            random=SeededRandom(1),
            kind=kind,
            on_delivered=lambda _node, _message: None,
        )
        self.receivers = {1: Receiver(), 2: Receiver()}
        self.transports = {node_id: self._transport(node_id) for node_id in (1, 2)}

    def _transport(self, node_id: int) -> VoterTransport:
        loop = self.scheduler.new_loop(f"n{node_id}")
        transport = VoterTransport(
            network=self.network,
            node_id=node_id,
            peers=[3 - node_id],
            loop=loop,
            on_sent=lambda _: None,
        )
        loop.create_task(transport.start(self.receivers[node_id]), name="start")
        return transport

    def send(self, *terms: int) -> None:
        for term in terms:
            message = RaftMessage(sender_id=1, receiver_id=2, term=term)
            self.transports[1].send(2, message)

    @property
    def received(self) -> list[int]:
        return self.receivers[2].terms

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        try:
            self.scheduler.run(self.loop, story)
        finally:
            self.scheduler.close()


def run_story(kind: NetworkKind, story: Callable[[Pair], Coroutine[Any, Any, None]]) -> Pair:
    pair = Pair(kind)

    async def after_connecting() -> None:
        await asyncio.sleep(0.1)
        await story(pair)

    pair.run(after_connecting())
    return pair


def test_connection_keeps_order_whatever_the_delays() -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(delay_s_max=0.5)
        pair.send(*range(50))
        await asyncio.sleep(2)

    assert run_story(ORDERED, story).received == list(range(50))


def test_cut_link_is_silent_then_broken_then_made_anew() -> None:
    async def story(pair: Pair) -> None:
        pair.send(1)
        await asyncio.sleep(0.05)
        pair.network.cut([(1, 2)])
        pair.send(2)
        await asyncio.sleep(0.01)
        pair.network.mend([(1, 2)])
        pair.send(3)  # nothing follows a loss
        await asyncio.sleep(2)
        pair.send(4)
        await asyncio.sleep(0.1)

    pair = run_story(ORDERED, story)

    assert pair.received == [1, 4]
    assert pair.receivers[1].breaks == 1
    assert pair.receivers[1].connected == {2}
    assert pair.receivers[2].breaks == 0


@pytest.mark.parametrize(("kind", "received"), [(ORDERED, [2]), (STRAGGLING, [2, 1])])
def test_old_connections_messages_are_dropped_or_straggle(
    kind: NetworkKind, received: list[int]
) -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(delay_s_max=20)
        pair.send(1)
        pair.network.weather = Weather(loss=1.0)
        pair.send(0)
        pair.network.weather = Weather()
        await asyncio.sleep(2)
        pair.send(2)
        await asyncio.sleep(25)

    assert run_story(kind, story).received == received


def test_lawless_network_loses_repeats_and_reorders() -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(loss=0.3, repeat=0.3, delay_s_max=0.5)
        pair.send(*range(100))
        await asyncio.sleep(2)

    pair = run_story(LAWLESS, story)

    assert len(set(pair.received)) < 90
    assert len(pair.received) > len(set(pair.received))
    assert pair.received != sorted(pair.received)
    assert pair.receivers[1].breaks == 0


def test_lawless_message_reaches_a_later_life() -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(delay_s_max=5)
        pair.send(*range(20))
        pair.network.detach(2)
        pair.receivers[2] = Receiver()
        pair.transports[2] = pair._transport(2)
        await asyncio.sleep(6)

    assert len(run_story(LAWLESS, story).received) > 10


def test_lawless_message_echoes_seconds_later() -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(echo=1.0)
        pair.send(1)
        pair.network.weather = Weather()
        await asyncio.sleep(0.1)
        pair.send(2)
        await asyncio.sleep(5)

    assert run_story(LAWLESS, story).received == [1, 2, 1]


@pytest.mark.parametrize("kind", [ORDERED, LAWLESS])
def test_held_messages_wait_until_released_and_may_be_overtaken(kind: NetworkKind) -> None:
    async def story(pair: Pair) -> None:
        pair.network.hold([(1, 2)])
        pair.send(1, 2)
        await asyncio.sleep(1)
        pair.network.pass_on([(1, 2)])
        pair.send(3)
        await asyncio.sleep(1)
        assert pair.received == [3]
        pair.network.release()
        await asyncio.sleep(1)

    assert run_story(kind, story).received == [3, 1, 2]


def test_copies_arrive_again_and_again_over_links_that_are_cut() -> None:
    async def story(pair: Pair) -> None:
        pair.network.weather = Weather(delay_s_max=LATENCY_S_MIN)
        pair.send(0)
        pair.network.copy([(1, 2)])
        pair.send(1, 2)
        pair.network.copy_no_more()
        await asyncio.sleep(0.1)
        pair.send(3)
        pair.network.cut([(1, 2)])
        for _ in range(2):
            await asyncio.sleep(0.1)
            pair.network.repeat_copies()
        await asyncio.sleep(0.1)

    pair = run_story(LAWLESS, story)

    assert pair.received == [0, 1, 2, 3, 1, 2, 1, 2]
    assert pair.network.repeated == 4


def test_a_law_allows_no_copies() -> None:
    async def story(pair: Pair) -> None:
        pair.network.copy([(1, 2)])
        pair.send(1)
        await asyncio.sleep(0.1)
        pair.network.repeat_copies()
        await asyncio.sleep(0.1)

    assert run_story(ORDERED, story).received == [1]


def test_link_cut_twice_carries_when_both_cuts_are_mended() -> None:
    async def story(pair: Pair) -> None:
        pair.network.cut([(1, 2)])
        pair.network.cut([(1, 2), (2, 1)])
        pair.network.mend([(1, 2), (2, 1)])
        assert pair.network.is_cut((1, 2))
        assert not pair.network.is_cut((2, 1))
        pair.network.mend([(1, 2)])
        assert not pair.network.is_cut((1, 2))

    run_story(LAWLESS, story)


# Disks


def disk_with(reported: list[str], *, seed: int = 1) -> VoterDisk:
    disk = VoterDisk(
        SeededRandom(seed),
        sync_latency_s=0,
        on_power_cut=lambda: reported.append("power cut"),
        on_killed=lambda: reported.append("killed"),
    )
    disk.make_directory("/d")
    return disk


async def test_sectors_that_a_crash_may_tear_are_counted() -> None:
    disk = disk_with([])
    assert disk.unsynced_sectors("/d/log") == 0
    file = disk.open("/d/log", create=True)
    await file.sync()
    await disk.sync_directory("/d")
    file.write_at(0, b"x" * 1025)
    assert disk.unsynced_sectors("/d/log") == 3

    await file.sync()

    assert disk.unsynced_sectors("/d/log") == 0


async def test_crash_tells_what_it_took() -> None:
    losses = set()
    for seed in range(60):
        disk = disk_with([], seed=seed)
        await write_atomically(disk, "/d/file", bytes(4096))
        assert disk.lose_power() == (False, False)
        disk.open("/d/file").write_at(0, b"x" * 4096)
        losses.add(disk.lose_power())

    assert losses == {(False, False), (True, False), (True, True)}


def test_power_cut_and_kill_are_told_within_the_operation() -> None:
    reported: list[str] = []
    disk = disk_with(reported)
    file = disk.open("/d/file", create=True)
    disk.kill_at(2)
    file.write_at(0, b"1")
    with pytest.raises(ProcessKilledError):
        file.write_at(1, b"2")
    assert reported == ["killed"]
    assert disk.open("/d/file").read_at(0, 9) == b"12"

    disk.crash_at(1)
    with pytest.raises(PowerCutError):
        file.write_at(2, b"3")

    assert reported == ["killed", "power cut"]


def test_sync_that_ends_may_have_begun_on_a_slower_disk() -> None:
    disk = disk_with([])
    disk.slow_down(0.5)
    disk.slow_down(0.01)

    assert disk.slowest_sync_s == 0.5


def test_killed_at_a_rename_leaves_the_name_and_nothing_synced() -> None:
    reported: list[str] = []
    disk = disk_with(reported)
    for name in ("/d/new", "/d/other"):
        disk.open(name, create=True)
    disk.kill_at_rename("/d/file")
    disk.rename("/d/other", "/d/another")
    with pytest.raises(ProcessKilledError):
        disk.rename("/d/new", "/d/file")

    assert reported == ["killed"]
    assert disk.exists("/d/file")
    disk.rename("/d/another", "/d/file")  # only once
