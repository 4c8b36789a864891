"""Rounds of kill -9 and of SIGSTOP, of a leader, of followers and of all."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter

from tests.integration.live_clients import Reader
from tests.integration.live_nodes import LiveNode
from tests.integration.live_quorum import LiveQuorum

ASKING = 6
QUEUED_TIMEOUT_MS = 60_000
SKEW_S = 0.5
HOLD_S = 1.0

KILLS = ("leader", "follower", "all")
PAUSES = ("leader", "leader", "follower")


class Rounds:
    """Each ends when every voter has everything and a new command was acknowledged."""

    def __init__(self, quorum: LiveQuorum, *, seed: int) -> None:
        self._quorum = quorum
        self._random = random.Random(seed)
        # On connections of their own: in which order a node that wakes reads them, who knows.
        self._readers = [Reader(quorum.voters, quorum.history) for _ in range(ASKING)]
        self._probes = 0
        self.counts: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        """To what a paused node was asked."""
        self.failover_s: list[float] = []
        """From a leader's kill to the acknowledgement of a command sent after it."""

    async def kill(self, kind: str) -> None:
        """`leader`, `follower`, or `all` at once."""
        leader = await self._quorum.leader()
        await self._some_time(SKEW_S)
        victims = self._victims(kind, leader)
        killed_s = time.monotonic()
        await self._quorum.kill(*victims)
        if kind != "all":
            await self._quorum.until_acknowledged()
        if kind == "leader":
            self.failover_s.append(time.monotonic() - killed_s)
        self._quorum.wals.look(self._quorum.voters)
        self._random.shuffle(victims)
        for victim in victims:
            await self._some_time(SKEW_S)
            victim.start()
        await self._quorum.until_whole()
        self.counts[f"kill {kind}"] += 1

    async def pause(self, kind: str) -> None:
        """`leader` until another leads, or `follower`; asked all the while, and before it wakes."""
        leader = await self._quorum.leader()
        await self._some_time(SKEW_S)
        term = await self._quorum.term()
        (paused,) = self._victims(kind, leader)
        self._quorum.wals.look(self._quorum.voters)
        for reader in self._readers:  # connects
            await reader.read(paused, is_forwarded=True, timeout_ms=QUEUED_TIMEOUT_MS)
        self._quorum.pause(paused)
        queued = self._ask(paused)
        if kind == "leader":
            await self._quorum.leader(self._quorum.others(paused), above_term=term)
        for _ in range(3):
            await self._quorum.until_acknowledged()
        await self._some_time(HOLD_S)
        queued += self._ask(paused)
        await self._some_time(SKEW_S)
        self._quorum.resume(paused)
        self.answers.update(await asyncio.gather(*queued))
        await self._quorum.until_whole()
        self.counts[f"pause {kind}"] += 1

    async def close(self) -> None:
        """Close its connections."""
        for reader in self._readers:
            await reader.close()

    def _ask(self, node: LiveNode) -> list[asyncio.Task[str]]:
        """Reads, a heartbeat and a change that the node finds when it wakes, if not before."""
        self._probes += 1
        name = f"asked-{self._probes}"
        limit = QUEUED_TIMEOUT_MS
        calls = [self._readers[0].create(node, name, timeout_ms=limit)]
        for reader in self._readers:
            calls.append(reader.read(node, is_forwarded=True, timeout_ms=limit))
            calls.append(reader.heartbeat(node, timeout_ms=limit))
        return [asyncio.create_task(call) for call in calls]

    def _victims(self, kind: str, leader: LiveNode) -> list[LiveNode]:
        if kind == "all":
            return list(self._quorum.voters)
        if kind == "leader":
            return [leader]
        return [self._random.choice(self._quorum.others(leader))]

    async def _some_time(self, limit_s: float) -> None:
        """So that a fault falls anywhere; nothing is concluded from it."""
        await asyncio.sleep(self._random.random() * limit_s)
