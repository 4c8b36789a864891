"""A cluster of real processes: what is done to it happens, and nothing goes past its proxies."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from tests.chaos.tcp_owners import dialled_ports

from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.sockets import cluster as socket_cluster
from tidelog.chaos.sockets import guardian
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.disks import DiskUnavailableError
from tidelog.chaos.sockets.toxiproxy import ProxyError
from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.chaos.topology import CLIENTS, Link, Topology, node_name
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.net.transport import DialOutcome
from tidelog.simulation.mutants.socket_hunt import patch_of
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic, NodeStatusRequest
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.methods import CREATE_TOPICS, NODE_STATUS

pytestmark = [pytest.mark.chaos, pytest.mark.asyncio(loop_scope="module")]
WAIT_S = 120.0
POLL_S = 0.05
CALL_MS = 10_000
SILENT_MS = 1000
"""How long an answer is awaited that must not come."""
NODE_IDS = Topology().node_ids
ALONE = Topology(controller_ids=(1,), broker_ids=(1,))
SILENCE_UP = ProxyToxic("timeout", "upstream", {"timeout": 0})
SILENCE_DOWN = ProxyToxic("timeout", "downstream", {"timeout": 0})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SocketCluster]:
    async with SocketCluster(folder=tmp_path_factory.mktemp("chaos") / "run") as cluster:
        yield cluster


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(shared: SocketCluster) -> AsyncIterator[SocketCluster]:
    """Ready, and whole again for the next test."""
    await shared.until_ready()
    yield shared
    await shared.proxies.reset()
    for node_id in shared.topology.node_ids:
        await shared.resume(node_id)
        if not shared.is_up(node_id):
            await shared.start(node_id)


async def comes(cluster: SocketCluster, node_id: int, is_so: Callable[[NodeSample], bool]) -> None:
    """Wait until what the node tells of itself is so."""
    async with asyncio.timeout(WAIT_S):
        while True:
            sample = await cluster.inspect(node_id)
            if sample is not None and is_so(sample):
                return
            await asyncio.sleep(POLL_S)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(POLL_S)


async def answers(cluster: SocketCluster, node_id: int) -> bool:
    """Whether clients that connect anew get an answer of the node."""
    transport = cluster.client_transport()
    try:
        address = cluster.address(node_id)
        await transport.call(address, NODE_STATUS, NodeStatusRequest(), timeout_ms=CALL_MS)
    except (UnreachableError, CallFailedError):
        return False
    finally:
        await transport.close()
    return True


def links_of(cluster: SocketCluster, node_id: int) -> list[Link]:
    """All to and from a node."""
    ends = (node_name(node_id), node_id)
    return [link for link in cluster.proxies.links if {link.source, link.target} & set(ends)]


async def ask_for(
    cluster: SocketCluster,
    topic: str,
    node_id: int,
    *,
    replicas: int = 3,
    timeout_ms: int = CALL_MS,
) -> int:
    """Ask one broker for a topic of one partition; the code of its answer."""
    transport = cluster.client_transport()
    request = CreateTopicsRequest(
        topics=[NewTopic(name=topic, partitions=1, replication_factor=replicas)],
        timeout_ms=timeout_ms,
    )
    try:
        address = cluster.address(node_id)
        response = await transport.call(address, CREATE_TOPICS, request, timeout_ms=timeout_ms)
    finally:
        await transport.close()
    return response.error.code or response.topics[0].error.code


async def create(cluster: SocketCluster, topic: str, node_id: int, *, replicas: int = 3) -> None:
    """Have one broker create a topic of one partition, however busy the machine is.

    A heartbeat that came late fences its broker for a moment: the topic is refused then.
    """
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                code = await ask_for(cluster, topic, node_id, replicas=replicas)
            except (UnreachableError, CallFailedError):
                code = ErrorCode.REQUEST_TIMED_OUT
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            await asyncio.sleep(POLL_S)


# Nothing goes past the proxies


async def test_no_node_is_connected_with_another_but_by_a_proxy(cluster: SocketCluster) -> None:
    await create(cluster, "all-talk", 4)
    listeners = {_port(cluster.address(one)): one for one in cluster.topology.node_ids}
    for node_id in cluster.topology.node_ids:
        pid = cluster.pid(node_id)
        assert pid is not None
        called = {listeners[port] for port in dialled_ports(pid) if port in listeners}
        assert called <= {node_id}


async def test_every_link_in_use_carries_bytes_both_ways(cluster: SocketCluster) -> None:
    await create(cluster, "all-fetch", 4)
    for broker_id in cluster.topology.broker_ids:
        await comes(cluster, broker_id, lambda sample: sample.replica("all-fetch", 0) is not None)
    # Toxiproxy counts a connection when it ends.
    await cluster.proxies.disable(cluster.proxies.links)
    assert set(await cluster.proxies.bytes_carried()) == set(cluster.topology.links())
    links = cluster.topology.links()
    used = [link for link in links if link.role == "raft"] + [Link(CLIENTS, 4, "broker")]
    async with asyncio.timeout(WAIT_S):
        while not await have_carried(cluster, used):
            # One that was dialled just before has carried nothing: it is dialled again.
            await cluster.proxies.enable(cluster.proxies.links)
            await asyncio.sleep(1 + POLL_S)
            await cluster.proxies.disable(cluster.proxies.links)


async def have_carried(cluster: SocketCluster, links: list[Link]) -> bool:
    carried = await cluster.proxies.bytes_carried()
    return all(min(carried[link]) > 0 for link in links)


async def test_a_node_without_proxies_reaches_nobody_and_is_reached_by_nobody(
    cluster: SocketCluster,
) -> None:
    await cluster.proxies.disable(links_of(cluster, 5))
    assert not await answers(cluster, 5)
    assert await answers(cluster, 4)
    for controller_id in cluster.topology.controller_ids:
        await comes(cluster, controller_id, lambda sample: sample.image.brokers[5].is_fenced)
    await create(cluster, "past-5", 4, replicas=2)
    await comes(cluster, 6, lambda sample: "past-5" in sample.image.topics)
    sample = await cluster.inspect(5)
    assert sample is not None
    assert "past-5" not in sample.image.topics


# Links


async def test_a_cut_of_what_is_said_lets_no_request_arrive(cluster: SocketCluster) -> None:
    await cluster.proxies.add([Link(CLIENTS, 4, "broker")], SILENCE_UP)
    with pytest.raises(CallFailedError):
        await ask_for(cluster, "never-heard", 4, timeout_ms=SILENT_MS)
    await create(cluster, "heard", 5)
    for controller_id in cluster.topology.controller_ids:
        await comes(cluster, controller_id, lambda sample: "heard" in sample.image.topics)
        sample = await cluster.inspect(controller_id)
        assert sample is not None
        assert "never-heard" not in sample.image.topics


async def test_a_cut_of_what_is_answered_lets_a_sent_request_happen(
    cluster: SocketCluster,
) -> None:
    link, address = [Link(CLIENTS, 4, "broker")], cluster.address(4)
    transport = cluster.client_transport()
    await transport.call(address, NODE_STATUS, NodeStatusRequest(), timeout_ms=CALL_MS)
    await cluster.proxies.add(link, SILENCE_DOWN)
    topic = NewTopic(name="unanswered", partitions=1, replication_factor=3)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=2 * SILENT_MS)
    with pytest.raises(CallFailedError):
        await transport.call(address, CREATE_TOPICS, request, timeout_ms=2 * SILENT_MS)
    await comes(cluster, 1, lambda sample: "unanswered" in sample.image.topics)
    with pytest.raises(UnreachableError):  # a new connection hears no greeting
        await ask_for(cluster, "not-sent", 4, timeout_ms=SILENT_MS)
    await transport.close()


async def test_a_cut_is_taken_back_by_closing_its_connections(cluster: SocketCluster) -> None:
    link, address = [Link(CLIENTS, 4, "broker")], cluster.address(4)
    transport = cluster.client_transport()
    await transport.call(address, NODE_STATUS, NodeStatusRequest(), timeout_ms=CALL_MS)
    await cluster.proxies.add(link, SILENCE_UP)
    call = transport.call(address, NODE_STATUS, NodeStatusRequest(), timeout_ms=60_000)
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_error_of(call))
        await asyncio.sleep(0)
        await cluster.proxies.remove(link, SILENCE_UP)
    assert isinstance(waiting.result(), CallFailedError)
    await transport.close()


async def test_a_toxic_that_is_there_is_refused_by_name(cluster: SocketCluster) -> None:
    link = [Link(CLIENTS, 4, "broker")]
    await cluster.proxies.add(link, SILENCE_UP)
    with pytest.raises(ProxyError, match=r"clients\.node-4\.broker.*already exists"):
        await cluster.proxies.add(link, SILENCE_UP)
    await cluster.proxies.remove(link, SILENCE_DOWN)
    await cluster.proxies.remove(link, SILENCE_UP)
    await cluster.proxies.remove(link, SILENCE_UP)


async def test_a_toxic_of_no_known_kind_is_refused(cluster: SocketCluster) -> None:
    with pytest.raises(ProxyError, match="invalid toxic type"):
        await cluster.proxies.add([Link(CLIENTS, 4, "broker")], ProxyToxic("nonsense", "upstream"))


# Processes


async def test_a_killed_node_comes_back_as_another_process(cluster: SocketCluster) -> None:
    before = await cluster.inspect(6)
    assert await cluster.kill(6)
    assert not await cluster.kill(6)
    assert (cluster.is_up(6), cluster.pid(6), await cluster.inspect(6)) == (False, None, None)
    assert not await answers(cluster, 6)
    await cluster.start(6)
    await cluster.until_ready()
    after = await cluster.inspect(6)
    assert before is not None
    assert after is not None
    assert after.broker_epoch > before.broker_epoch
    assert after.pid == cluster.pid(6) != before.pid
    assert cluster.ended_by_themselves() == {}


async def test_a_node_that_is_told_to_stop_ends_by_itself(cluster: SocketCluster) -> None:
    assert await cluster.stop(5)
    assert not cluster.is_up(5)
    assert cluster.ended_by_themselves() == {}
    assert "event=stopped" in cluster.log_path(5).read_text()


async def test_a_paused_node_is_up_and_silent(cluster: SocketCluster) -> None:
    await cluster.pause(4)
    assert (cluster.is_up(4), cluster.is_paused(4)) == (True, True)
    assert await cluster.inspect(4, timeout_s=0.3) is None
    transport = cluster.client_transport()
    dialled = await transport.dial(cluster.address(4), timeout_ms=300)
    await transport.close()
    assert dialled.outcome is DialOutcome.SILENT
    await cluster.resume(4)
    await comes(cluster, 4, lambda sample: sample.is_ready)
    assert not cluster.is_paused(4)


async def test_a_dead_node_refuses_through_its_proxy(cluster: SocketCluster) -> None:
    await cluster.kill(4)
    transport = cluster.client_transport()
    dialled = await transport.dial(cluster.address(4), timeout_ms=CALL_MS)
    await transport.close()
    assert dialled.outcome is DialOutcome.REFUSED


async def test_a_node_that_ends_unasked_is_told_of_with_its_last_words(
    cluster: SocketCluster,
) -> None:
    pid = cluster.pid(6)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not cluster.is_up(6))
    assert set(cluster.ended_by_themselves()) == {6}
    await cluster.start(6)
    assert cluster.ended_by_themselves() == {}


# Eyes


async def test_a_node_tells_what_it_holds(cluster: SocketCluster) -> None:
    await create(cluster, "looked-at", 4)
    async with asyncio.timeout(WAIT_S):  # a busy machine may have the leader changed meanwhile
        while True:
            samples = [await cluster.inspect(one) for one in NODE_IDS]
            if are_agreed(samples):
                break
            await asyncio.sleep(POLL_S)
    (leader,) = leaders_in(samples)
    assert sorted(leader.isr) == list(cluster.topology.broker_ids)
    assert (leader.log_end_offset, leader.epochs) == (0, ((leader.leader_epoch, 0),))
    for sample in samples:
        assert sample is not None
        assert min(sample.rss_bytes, sample.tasks, sample.open_files) > 0


def leaders_in(samples: Sequence[NodeSample | None]) -> list[ReplicaSample]:
    held = [sample.replica("looked-at", 0) for sample in samples if sample is not None]
    return [replica for replica in held if replica is not None and replica.role == "leader"]


def are_agreed(samples: Sequence[NodeSample | None]) -> bool:
    """Whether there is one leader, one active controller, and one ISR in every image."""
    present = [sample for sample in samples if sample is not None]
    leaders = leaders_in(present)
    images = [sample.image.topics.get("looked-at") for sample in present]
    return (
        len(present) == len(samples)
        and len(leaders) == 1
        and sum(sample.is_active_controller for sample in present) == 1
        and all(image and image.partitions[0].isr == leaders[0].isr for image in images)
    )


async def test_each_line_of_a_nodes_log_is_told_once(cluster: SocketCluster) -> None:
    await cluster.inspect(6)
    await cluster.kill(6)
    await cluster.start(6)
    await cluster.until_ready()
    answer = await cluster.inspect(6)
    again = await cluster.inspect(6)
    assert answer is not None
    assert again is not None
    assert [line.event for line in answer.lines].count("registered") == 1
    assert "registered" not in [line.event for line in again.lines]
    assert all(line.at_s <= cluster.now_s for line in answer.lines)


# Clusters of their own


async def test_a_mutant_is_wrong_from_its_start(tmp_path: Path) -> None:
    mutants = (None, patch_of("epoch_not_assigned"))
    epochs = [await _epochs_with(tmp_path / str(n), m) for n, m in enumerate(mutants)]
    assert epochs == [((0, 0),), ()]


async def _epochs_with(folder: Path, mutant: str | None) -> object:
    async with SocketCluster(folder=folder, topology=ALONE, mutant=mutant) as cluster:
        await cluster.until_ready()
        transport = cluster.client_transport()
        topic = NewTopic(name="t", partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=CALL_MS)
        await transport.call(cluster.address(1), CREATE_TOPICS, request, timeout_ms=CALL_MS)
        await transport.close()
        await comes(cluster, 1, _leads_topic)
        sample = await cluster.inspect(1)
        replica = None if sample is None else sample.replica("t", 0)
        return None if replica is None else replica.epochs


def _leads_topic(sample: NodeSample) -> bool:
    replica = sample.replica("t", 0)
    return replica is not None and replica.role == "leader"


async def test_a_disk_of_a_size_fills_and_empties(tmp_path: Path) -> None:
    sizes = {1: 256 << 20}
    try:
        async with SocketCluster(
            folder=tmp_path / "run", topology=ALONE, disk_bytes=sizes
        ) as cluster:
            await cluster.fill(1, room_bytes=64 << 10)
            free = cluster.data_dir(1) / "free"
            with pytest.raises(OSError, match="No space"):
                free.write_bytes(bytes(1 << 20))
            await cluster.make_room(1)
            free.write_bytes(bytes(1 << 20))
            await cluster.kill(1)
            await cluster.wipe(1)
            assert not cluster.data_dir(1).exists()
    except DiskUnavailableError as error:
        pytest.skip(str(error))
    assert not (tmp_path / "run").exists()


async def test_a_node_that_cannot_start_is_told_of_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    cluster = SocketCluster(folder=folder, topology=ALONE, settings={"no.such.key": 1})
    with pytest.raises(TidelogError, match=r"no\.such\.key"):
        await cluster.__aenter__()
    assert not folder.exists()


async def test_a_port_that_was_taken_meanwhile_is_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((HOST, 0)) as stranger:
        taken = stranger.getsockname()[1]
        choices = [[taken, *quiet_ports(9)], quiet_ports(9)]
        monkeypatch.setattr(socket_cluster, "quiet_ports", lambda _count: choices.pop(0))
        async with SocketCluster(folder=tmp_path / "run", topology=ALONE) as cluster:
            await cluster.until_ready()
            assert _port(cluster.address(1)) != taken
    assert choices == []


async def test_a_kept_folder_stays(tmp_path: Path) -> None:
    async with SocketCluster(folder=tmp_path / "run", topology=ALONE) as cluster:
        await cluster.until_ready()
        cluster.keep()
    assert "started" in cluster.log_path(1).read_text()


_RUN = """
import asyncio, sys
from pathlib import Path
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.topology import Topology
async def main():
    topology = Topology(controller_ids=(1,), broker_ids=(1,))
    async with SocketCluster(folder=Path(sys.argv[1]), topology=topology) as cluster:
        await cluster.pause(1)
        print(cluster.pid(1), flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _RUN, str(folder), stdout=subprocess.PIPE
    )
    try:
        assert run.stdout is not None
        async with asyncio.timeout(WAIT_S):
            assert (await run.stdout.readline()).strip().isdigit()
    finally:
        run.kill()
        await run.wait()
    await until(lambda: not folder.exists())
    assert not guardian.kill_all(folder)


async def _error_of(call: Awaitable[object]) -> TidelogError | None:
    try:
        await call
    except TidelogError as error:
        return error
    return None


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
