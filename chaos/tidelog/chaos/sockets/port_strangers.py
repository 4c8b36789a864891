"""`Strangers` over sockets: straight to every port of a cluster of processes.

Owns the connections it makes, and closes them; it waits for no node longer than a bound, and what
took longer is a finding.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tidelog.chaos.scenarios.strangers import Unread, Vitals
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.grpc_forger import Forger
from tidelog.chaos.sockets.grpc_hostile import HostileCaller
from tidelog.chaos.sockets.kafka_strangers import KafkaStrangers
from tidelog.chaos.sockets.unread_callers import CONNECTIONS, fill_topic, leave_unread
from tidelog.chaos.sockets.wide_callers import in_a_process
from tidelog.chaos.story.samples import NodeSample
from tidelog.chaos.workloads.forged_raft import Random
from tidelog.chaos.workloads.malformed import MalformedRequests
from tidelog.chaos.workloads.malformed_fields import Known
from tidelog.chaos.workloads.noise import PREFACE, SETTINGS, Noise, frame, noise
from tidelog.chaos.workloads.oversized import oversized
from tidelog.chaos.workloads.tally import Tally
from tidelog.net.grpc_transport import GrpcTransport

CALLS_AT_ONCE = 32
NOISE_AT_ONCE = 64
HUNG_UP_S_MAX = 45.0
"""Idle time, or a ping and the wait for its answer, and patience: cores are shared."""
HEARD_S = 0.05
CONNECT_S_MAX = 10.0
DIALS_AT_ONCE = 100
FREED_S = 1.0
"""After its connections a node's memory is free again."""
UNREAD_GAUGE = "unread_response_bytes"
"""As on /metrics, where `tidelog_` stands before it."""
Samples = Callable[[int], NodeSample | None]


class PortStrangers:
    """Implements `Strangers`. Nothing may change `topic` but the load.

    `sample` is the newest of a node, taken many times a second.
    """

    def __init__(self, cluster: SocketCluster, topic: str, sample: Samples) -> None:
        self._cluster = cluster
        self._topic = topic
        self._sample = sample

    async def send_malformed(self, *, seed: int, first: int, requests: int) -> tuple[Tally, int]:
        """See `Strangers`."""
        async with self._calling(seed) as caller:
            place = await caller.run(first=first, requests=requests, at_once=CALLS_AT_ONCE)
            return caller.tally, place

    async def make_noise(self, *, seed: int, first: int, connections: int) -> Tally:
        """See `Strangers`."""
        tally, places = Tally(), iter(range(first, first + connections))

        async def work() -> None:
            for place in places:
                await self._say(noise(seed, place), tally)

        await asyncio.gather(*(work() for _ in range(NOISE_AT_ONCE)))
        return tally

    async def ask_too_much(self) -> Tally:
        """See `Strangers`."""
        async with self._calling(0) as caller:
            for address in self._addresses(self._cluster.topology.broker_ids):
                for one in oversized(self._topic):
                    await caller.ask_too_much(address, one)
            return caller.tally

    async def ask_widely(self, *, seconds: float) -> Tally:
        """See `Strangers`."""
        addresses = self._addresses(self._cluster.topology.broker_ids)
        return await in_a_process("grpc", addresses, self._topic, seconds=seconds)

    async def start_foreign(self, node_id: int) -> None:
        """See `Strangers`."""
        await self._cluster.start_foreign(node_id)

    async def stop_foreign(self, node_id: int) -> bool:
        """See `Strangers`."""
        return await self._cluster.stop_foreign(node_id)

    async def forge_raft(self, *, random: Random, messages: int, leaps: int) -> int:
        """See `Strangers`."""
        forger = Forger(self._cluster, random)
        taken = 0
        for number in range(messages):
            taken += await forger.send(is_leap=number < leaps)
        return taken

    async def connect_and_wait(self, *, connections: int) -> Tally:
        """See `Strangers`."""
        tally, dialling = Tally(), asyncio.Semaphore(DIALS_AT_ONCE)
        addresses = self._addresses(self._cluster.topology.node_ids)

        async def wait(number: int) -> None:
            said = PREFACE + frame(SETTINGS) if number % 2 else b""
            address = addresses[number // 2 % len(addresses)]
            async with dialling:
                reader, writer = await _connect(address)
            tally.requests += 1
            writer.write(said)
            if not await _is_hung_up(reader):
                tally.find(f"idle connection {number} to {address} is still open")
            writer.close()

        await asyncio.gather(*map(wait, range(connections)))
        return tally

    async def leave_unread(self, *, calls: int, within_s: float) -> Unread:
        """See `Strangers`."""
        broker_ids = self._cluster.topology.broker_ids
        transport = GrpcTransport()
        try:
            first, *_ = self._addresses(broker_ids)
            node_id = await fill_topic(transport, first, replicas=min(3, len(broker_ids)))
        finally:
            await transport.close()
        before = peak = self.vitals(node_id).rss_bytes
        held = 0

        def look() -> None:
            nonlocal peak, held
            peak = max(peak, self.vitals(node_id).rss_bytes)
            held = max(held, self._unread_bytes(node_id))

        address = self._cluster.address(node_id)
        closed = await leave_unread(address, calls=calls, within_s=within_s, look=look)
        await asyncio.sleep(FREED_S)
        left = self.vitals(node_id).rss_bytes - before
        return Unread(CONNECTIONS, closed, held, peak_bytes=peak - before, left_bytes=left)

    @property
    def at_kafka(self) -> KafkaStrangers:
        """See `Strangers`."""
        return KafkaStrangers(self._cluster.kafka_listeners, self._topic)

    def vitals(self, node_id: int) -> Vitals:
        """See `Strangers`."""
        pid = self._cluster.pid(node_id)
        if pid is None:
            raise LookupError(f"node {node_id} is down")
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        return Vitals(
            pid=pid,
            rss_bytes=int(status["VmRSS"].split()[0]) << 10,
            peak_rss_bytes=int(status["VmHWM"].split()[0]) << 10,
            connections=sum(map(_is_socket, Path(f"/proc/{pid}/fd").iterdir())),
        )

    def _unread_bytes(self, node_id: int) -> int:
        sample = self._sample(node_id)
        return 0 if sample is None else int(sample.stats[UNREAD_GAUGE])

    @asynccontextmanager
    async def _calling(self, seed: int) -> AsyncIterator[HostileCaller]:
        topology = self._cluster.topology
        known = Known(
            topics=(self._topic,),
            node_ids=tuple(topology.node_ids),
            controller_ids=tuple(topology.controller_ids),
            cluster_id=self._cluster.cluster_id,
        )
        caller = HostileCaller(
            MalformedRequests(seed, known),
            brokers=self._addresses(topology.broker_ids),
            controllers=self._addresses(topology.controller_ids),
        )
        try:
            yield caller
        finally:
            await caller.close()

    def _addresses(self, node_ids: Iterable[int]) -> Sequence[str]:
        return [self._cluster.address(node_id) for node_id in node_ids]

    async def _say(self, one: Noise, tally: Tally) -> None:
        addresses = self._addresses(self._cluster.topology.node_ids)
        address = addresses[one.place % len(addresses)]
        tally.requests += 1
        try:
            reader, writer = await _connect(address)
            writer.write(one.data)
            await writer.drain()
            if not one.is_left_open:
                await _listen(reader)
            elif not await _is_hung_up(reader):
                tally.find(f"noise {one.place}: {address} did not hang up")
            writer.close()
        except ConnectionError:
            tally.by_status["broken"] += 1
        except TimeoutError:
            tally.find(f"noise {one.place}: {address} takes no connection")


def _is_socket(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor).startswith("socket:")
    except FileNotFoundError:  # it was closed meanwhile
        return False


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(CONNECT_S_MAX):
        return await asyncio.open_connection(host, int(port))


async def _listen(reader: asyncio.StreamReader) -> None:
    """Listen for a moment."""
    try:
        async with asyncio.timeout(HEARD_S):
            await reader.read()
    except TimeoutError:
        return


async def _is_hung_up(reader: asyncio.StreamReader) -> bool:
    """Wait until the other side closes; False: it does not."""
    try:
        async with asyncio.timeout(HUNG_UP_S_MAX):
            await reader.read()
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True
