"""The benchmark's own cluster: three combined nodes on free ports, in a temporary folder."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.signals import ignore_interrupts
from tidelog.client import Admin, Producer
from tidelog.core.errors import TidelogError
from tidelog.net.quiet_ports import quiet_ports
from tidelog.node.local_cluster import calls as cluster_calls
from tidelog.node.local_cluster import process as cluster_process
from tidelog.node.local_cluster.plan import NodePlan, load_or_create
from tidelog.node.local_cluster.process import Started

NODES = 3
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
PROBE = "bench-probe"
POLL_S = 0.02


class OwnCluster:
    """A context manager that leaves no process and no file, however its block ends."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tidelog-bench-"))
        (self._folder / "data").mkdir()
        ports = quiet_ports(3 * NODES)
        self._plans = load_or_create(
            self._folder / "data",
            ports=ports[:NODES],
            http_ports=ports[NODES : 2 * NODES],
            kafka_ports=ports[2 * NODES :],
        )

    def __enter__(self) -> OwnCluster:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with ignore_interrupts():
            self._kill()
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, comma-separated."""
        return ",".join(plan.address for plan in self._plans)

    @property
    def kafka_bootstrap(self) -> str:
        """The same, where they speak Kafka's protocol."""
        return ",".join(plan.kafka_address or "" for plan in self._plans)

    @property
    def pids(self) -> list[int]:
        """The process ids of all nodes. Errors: `RunFailedError` if a node does not run."""
        found = [cluster_process.running_pid(plan) for plan in self._plans]
        pids = [pid for pid in found if pid is not None]
        if len(pids) < len(found):
            raise RunFailedError("a node of the benchmark's cluster has ended")
        return pids

    def start(self) -> float:
        """Start all nodes; return the seconds from launch to the first acks=all acknowledgement.

        The record goes to a topic of one partition and three replicas, created if it is missing.
        """
        began_s = time.monotonic()
        started = [cluster_process.start(plan) for plan in self._plans]
        asyncio.run(_first_ack(self.bootstrap, self._plans, started))
        return time.monotonic() - began_s

    def stop(self) -> None:
        """Stop all nodes together; a node that does not end in time is killed."""
        alive = self._alive()
        if alive:
            cluster_calls.prepare_stop(alive)
            cluster_process.stop(alive, timeout_s=STOP_TIMEOUT_S)

    def _alive(self) -> list[NodePlan]:
        return [plan for plan in self._plans if cluster_process.running_pid(plan) is not None]

    def _kill(self) -> None:
        """End the nodes without preparation, since their data is deleted too.

        An RPC would need a new event loop, and gRPC may still hold events of the loop that Ctrl-C
        closed, which it would report on stderr.
        """
        cluster_process.stop(self._alive(), timeout_s=0)
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        while self._alive() and time.monotonic() < deadline_s:
            time.sleep(POLL_S)


async def _first_ack(bootstrap: str, plans: Sequence[NodePlan], started: Sequence[Started]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            await _acknowledge(bootstrap)
        except TidelogError as error:
            for plan, mine in zip(plans, started, strict=True):
                if mine.process.poll() is not None:
                    said = cluster_process.last_words(plan, mine)
                    raise RunFailedError(f"node {plan.node_id} ended: {said}") from error
            if time.monotonic() > deadline_s:
                raise RunFailedError(f"no acknowledgement in {START_TIMEOUT_S:g} s") from error
            await asyncio.sleep(POLL_S)
        else:
            return


async def _acknowledge(bootstrap: str) -> None:
    async with Admin(bootstrap) as admin:
        if PROBE not in await admin.list_topics():
            await admin.create_topic(
                PROBE,
                partitions=1,
                replication_factor=NODES,
                configs={"min.insync.replicas": "2"},
            )
    async with Producer(bootstrap) as producer:
        await producer.send(PROBE, value=b"x")
