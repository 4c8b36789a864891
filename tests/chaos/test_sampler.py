"""What is seen of processes: newest samples of those that run, and what they said, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest
from tests.virtual_loop import run_virtual

from tidelog.chaos.sockets import sampler as sights
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.sampler import Sampler, SamplingEndedError
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample
from tidelog.chaos.topology import Topology


@dataclass
class FakeProcesses:
    """Node 4 to 6 of a cluster; every sample is a new one, and says so in a line."""

    topology: Topology = field(default_factory=lambda: Topology((), (4, 5, 6)))
    pids: dict[int, int | None] = field(default_factory=lambda: {4: 40, 5: 50, 6: 60})
    paused: set[int] = field(default_factory=set)
    mute: set[int] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)
    now_s: float = 0.0

    def as_cluster(self) -> SocketCluster:
        return cast("SocketCluster", self)  # Sampler asks for no more than this.

    def is_up(self, node_id: int) -> bool:
        return self.pids[node_id] is not None

    def is_paused(self, node_id: int) -> bool:
        return node_id in self.paused

    def pid(self, node_id: int) -> int | None:
        return self.pids[node_id]

    async def inspect(self, node_id: int) -> NodeSample | None:
        self.asked.append(node_id)
        pid = self.pids[node_id]
        if node_id in self.mute or pid is None:
            return None
        line = LogLine(node_id, self.now_s, f"line {len(self.asked)}", {})
        return NodeSample(node_id, pid, self.now_s, True, 1, False, -1, None, lines=(line,))


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sights, "SAMPLE_EVERY_S", 0.0)
    monkeypatch.setattr(sights, "POLL_S", 0.0)


def test_a_look_ends_with_a_round_that_began_after_it() -> None:
    async def run_story() -> None:
        processes = FakeProcesses()
        async with Sampler(processes.as_cluster()) as sampler:
            processes.now_s = 7.0
            await sampler.look()
            assert {one.at_s for one in sampler.samples()} == {7.0}

    run_virtual(run_story())


def test_a_process_that_ended_is_not_seen_and_the_next_one_not_before_it_answers() -> None:
    async def run_story() -> None:
        processes = FakeProcesses()
        async with Sampler(processes.as_cluster()) as sampler:
            processes.pids[4] = None
            assert sampler.sample(4) is None
            processes.mute.add(4)
            processes.pids[4] = 41
            await sampler.look()
            assert sampler.sample(4) is None
            processes.mute.clear()
            await sampler.look()
            found = sampler.sample(4)
            assert found is not None
            assert found.pid == 41

    run_virtual(run_story())


def test_one_that_is_paused_or_slow_is_seen_as_it_was_and_told_as_silent() -> None:
    async def run_story() -> None:
        processes, rounds = FakeProcesses(), list[Mapping[int, NodeSample | None]]()
        async with Sampler(processes.as_cluster()) as sampler:
            processes.paused.add(4)
            processes.mute.add(5)
            await sampler.look()
            sampler.on_round.append(rounds.append)
            processes.asked.clear()
            await sampler.look()
            assert sampler.sample(4) is not None
            assert sampler.sample(5) is not None
        assert (rounds[-1][4], rounds[-1][5]) == (None, None)
        assert rounds[-1][6] is not None
        assert 4 not in processes.asked

    run_virtual(run_story())


def test_every_line_is_kept_once_in_the_order_it_was_told() -> None:
    async def run_story() -> None:
        processes = FakeProcesses()
        async with Sampler(processes.as_cluster()) as sampler:
            await sampler.look()
            await sampler.look()
            events = [line.event for line in sampler.lines]
        assert events == [f"line {number}" for number in range(1, len(events) + 1)]

    run_virtual(run_story())


def test_a_listener_that_fails_is_told_to_who_looks() -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    async def run_story() -> None:
        async with Sampler(FakeProcesses().as_cluster()) as sampler:
            sampler.on_round.append(fail)
            with pytest.raises(SamplingEndedError) as caught:
                await sampler.look()
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

    run_virtual(run_story())
