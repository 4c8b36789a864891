"""The bounds of a cluster in a test: what goes beyond one ends in an error that says so."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.core.errors import RequestTimedOutError
from tidelog.net.listeners import PortTakenError
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.net.transport import Transport
from tidelog.node.local_cluster import process
from tidelog.node.local_cluster.errors import LocalClusterError, TakenPortError
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.node.local_cluster.process import ENDING_TIMEOUT_S
from tidelog.testing import cluster_nodes, plans
from tidelog.testing.cluster_nodes import (
    LOOK_S,
    PORT_TRIES_MAX,
    READY_S_MAX,
    ClusterNodes,
    ClusterSettings,
)
from tidelog.testing.hosted_node import END_S_MAX, HostedNode, _Life, create_noted_task
from tidelog.testing.plans import COMBINED_CONTROLLERS_MAX, NODES_MAX, check_sizes, make_plans
from tidelog.testing.process_node import POLL_S, STATUS_TIMEOUT_MS, ProcessNode

LONG_S = 600.0


class FakeNode:
    """A node that is ready at a time of the loop's, and whose start may fail."""

    failure = None
    is_running = True

    def __init__(self, plan: NodePlan, ready_s: float, error: Exception | None) -> None:
        self.plan = plan
        self._ready_s = ready_s
        self._error = error
        self.looks = 0

    async def start(self) -> None:
        if self._error is not None:
            raise self._error

    async def kill(self) -> None:
        pass

    async def is_ready(self) -> bool:
        self.looks += 1
        return asyncio.get_running_loop().time() >= self._ready_s


def planned(folder: Path, brokers: int = 1) -> list[NodePlan]:
    return make_plans(folder, cluster_id="c", brokers=brokers, controllers=None, configs={})


@pytest.fixture
def make_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ClusterNodes]:
    def make(*, ready_after_s: float, error: Exception | None = None) -> ClusterNodes:
        ready_s = asyncio.get_running_loop().time() + ready_after_s
        monkeypatch.setattr(cluster_nodes, "GrpcTransport", lambda: None)
        monkeypatch.setattr(
            ClusterNodes, "_node", lambda self, plan: FakeNode(plan, ready_s, error)
        )
        return ClusterNodes(ClusterSettings(1, None, {}, tmp_path, processes=False, keep=False))

    return make


async def test_a_cluster_has_its_time_to_be_ready(make_nodes: Callable[..., ClusterNodes]) -> None:
    nodes = make_nodes(ready_after_s=READY_S_MAX - 1)
    await nodes.start()
    await nodes.wait_until_ready(1)
    late = make_nodes(ready_after_s=LONG_S)
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(LocalClusterError, match="the cluster is not ready after 60 s: node 1 runs"):
        await late.start()
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(READY_S_MAX, abs=1)
    with pytest.raises(LocalClusterError, match="node 1 is not ready after 60 s"):
        await late.wait_until_ready(1)


async def test_looks_at_a_cluster_rest_in_between(make_nodes: Callable[..., ClusterNodes]) -> None:
    nodes = make_nodes(ready_after_s=100 * LOOK_S)
    await nodes.start()
    (node,) = nodes.nodes.values()
    assert isinstance(node, FakeNode)
    assert 50 <= node.looks <= 102


@pytest.mark.parametrize("error", [PortTakenError("127.0.0.1:1"), TakenPortError("port 1 is")])
async def test_ports_are_chosen_anew_only_so_often(
    make_nodes: Callable[..., ClusterNodes],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    calls = 0

    def counted(count: int) -> list[int]:
        nonlocal calls
        calls += 1
        assert calls < 10 * PORT_TRIES_MAX, "it goes on for ever"
        return quiet_ports(count)

    monkeypatch.setattr(plans, "quiet_ports", counted)
    nodes = make_nodes(ready_after_s=0, error=error)
    with pytest.raises(LocalClusterError, match="a port was taken 5 times, others each time: `ss"):
        await nodes.start()
    assert calls == PORT_TRIES_MAX


@pytest.fixture
async def life(tmp_path: Path) -> _Life:
    (plan,) = planned(tmp_path)
    asyncio.get_running_loop().set_task_factory(create_noted_task)
    return _Life(plan, HostedNode(plan))


async def begun(life: _Life, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task of the node that has come to its first wait."""
    tasks: list[asyncio.Task[None]] = []

    async def begin() -> None:
        tasks.append(asyncio.create_task(work))

    await life.run(begin())
    await asyncio.sleep(0)
    return tasks[0]


async def test_a_task_that_swallows_its_end_holds_up_no_kill(life: _Life) -> None:
    loop, released = asyncio.get_running_loop(), asyncio.Event()

    async def swallow() -> None:
        while not released.is_set():
            try:
                await asyncio.sleep(LONG_S)
                return
            except asyncio.CancelledError:
                continue

    stubborn = await begun(life, swallow())
    began_s = loop.time()
    await life.end_at_once()
    assert loop.time() - began_s == pytest.approx(END_S_MAX, abs=0.1)
    released.set()
    stubborn.cancel()
    await stubborn


async def test_a_task_that_begins_at_the_end_of_another_ends_too(life: _Life) -> None:
    last: list[asyncio.Task[None]] = []

    async def report() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            last.append(asyncio.create_task(asyncio.sleep(LONG_S)))

    await begun(life, report())
    await life.end_at_once()
    assert [task.cancelled() for task in last] == [True]


def test_a_cluster_has_no_more_nodes_than_a_test_needs() -> None:
    check_sizes(NODES_MAX, NODES_MAX)
    with pytest.raises(LocalClusterError, match="brokers=17: a cluster in a test has 1 to 16"):
        check_sizes(NODES_MAX + 1, None)
    with pytest.raises(LocalClusterError, match="controllers=17: 1 to 16"):
        check_sizes(1, NODES_MAX + 1)


def test_of_more_brokers_than_three_the_first_are_controllers(tmp_path: Path) -> None:
    found = planned(tmp_path, COMBINED_CONTROLLERS_MAX + 2)
    assert [plan.config.is_controller for plan in found] == [True, True, True, False, False]
    assert all(plan.config.is_broker for plan in found)


async def test_a_process_that_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    class Silent:
        async def call(self, *request: object, timeout_ms: int) -> None:
            await asyncio.sleep(timeout_ms / 1000)
            raise RequestTimedOutError("no answer")

    (plan,) = planned(tmp_path)
    silent: Any = Silent()
    node = ProcessNode(plan, silent)
    running: Any = SimpleNamespace(process=SimpleNamespace(poll=lambda: None))
    node._started = running
    began_s = asyncio.get_running_loop().time()
    assert not await node.is_ready()
    elapsed_s = asyncio.get_running_loop().time() - began_s
    assert elapsed_s == pytest.approx(STATUS_TIMEOUT_MS / 1000, abs=0.1)
    assert elapsed_s < READY_S_MAX / 10, "of a paused node it is known before the cluster's time"


async def test_a_stranger_on_a_port_of_a_process_holds_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plan,) = planned(tmp_path)
    look, looks = process.taken_port, 0

    def counted(plan: NodePlan) -> TakenPortError | None:
        nonlocal looks
        looks += 1
        return look(plan)

    monkeypatch.setattr(process, "taken_port", counted)
    unused: Any = None
    transport: Transport = unused
    loop = asyncio.get_running_loop()
    with closing(socket.create_server((HOST, int(plan.address.rpartition(":")[2])))):
        began_s = loop.time()
        with pytest.raises(TakenPortError, match="of node 1 is taken"):
            await ProcessNode(plan, transport).start()
    assert loop.time() - began_s >= ENDING_TIMEOUT_S, "the loop went on"
    assert looks <= ENDING_TIMEOUT_S / POLL_S + 2
