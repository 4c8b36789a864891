"""The demo's control of the cluster: start it, kill the node with most leaderships, restart it.

Uses only the `tidelog cluster` command, the admin client and a signal.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple, TypedDict

from tidelog.client import Admin
from tidelog.demo.errors import DemoError

TIDELOG = str(Path(sys.executable).with_name("tidelog"))


class Crash(NamedTuple):
    """The node that was killed, and when on the monotonic clock."""

    node_id: int
    partitions: frozenset[int]
    """The partitions of the topic that the node led."""
    at_s: float


async def start() -> None:
    """Start the nodes that do not run."""
    process = await asyncio.create_subprocess_exec(
        TIDELOG, "cluster", "start", stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise DemoError("the cluster did not start, see the message above")


async def bootstrap() -> str:
    """The addresses of all nodes."""
    return ",".join(node["address"] for node in await _nodes())


async def crash_busiest_leader(bootstrap: str, topic: str) -> Crash:
    """Kill -9 the node that leads most partitions of the topic; the lowest id on a tie."""
    async with Admin(bootstrap) as admin:
        described = await admin.describe_topic(topic)
    led: dict[int, set[int]] = defaultdict(set)
    for partition in described.partitions:
        if partition.leader is not None:
            led[partition.leader].add(partition.partition)
    victim = min(led, key=lambda node_id: (-len(led[node_id]), node_id))
    (pid,) = [node["pid"] for node in await _nodes() if node["node_id"] == victim]
    os.kill(pid, signal.SIGKILL)
    return Crash(victim, frozenset(led[victim]), time.monotonic())


class _Node(TypedDict):
    node_id: int
    pid: int
    address: str


async def _nodes() -> list[_Node]:
    process = await asyncio.create_subprocess_exec(
        TIDELOG, "cluster", "status", "--json", stdout=asyncio.subprocess.PIPE
    )
    shown, _ = await process.communicate()
    nodes: list[_Node] = json.loads(shown)["nodes"]
    return nodes
