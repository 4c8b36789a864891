"""Sampler of a cluster of processes: it samples every node at once, again and again.

Owns the newest sample of each process, and the log lines that samples brought, in order. Samples of
a process that has ended are ignored; those of a paused one are not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample

SAMPLE_EVERY_S = 0.1
POLL_S = 0.01
Round = Mapping[int, NodeSample | None]
"""By node id; None: it is down or paused, or did not answer in time."""


class SamplingEndedError(Exception):
    """Sampling has ended; the cause is what ended it."""


class Sampler:
    """Samples while entered, and calls each of `on_round` with every round."""

    def __init__(self, cluster: SocketCluster) -> None:
        self.lines: list[LogLine] = []
        self.on_round: list[Callable[[Round], None]] = []
        self._cluster = cluster
        self._newest: dict[int, NodeSample] = {}
        self._rounds_begun = 0
        self._rounds_ended = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Sampler:
        self._task = asyncio.create_task(self._sample(), name="samples")
        await self.look()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def sample(self, node_id: int) -> NodeSample | None:
        """The newest sample of the node's present process; None: there is none."""
        known = self._newest.get(node_id)
        return known if known is not None and known.pid == self._cluster.pid(node_id) else None

    def samples(self) -> list[NodeSample]:
        """The newest samples of the nodes that are up."""
        found = map(self.sample, self._cluster.topology.node_ids)
        return [one for one in found if one is not None]

    async def look(self) -> None:
        """Returns when a round that began after this call has ended. Errors: those of listeners."""
        wanted = self._rounds_begun + 1
        while self._rounds_ended < wanted:
            if self._task is None or self._task.done():
                raise SamplingEndedError("nobody samples") from self._cause()
            await asyncio.sleep(POLL_S)

    def _cause(self) -> BaseException | None:
        return self._task.exception() if self._task and not self._task.cancelled() else None

    async def _sample(self) -> None:
        while True:
            self._rounds_begun += 1
            began_s = self._cluster.now_s
            await self._take_round()
            self._rounds_ended += 1
            await asyncio.sleep(max(0.0, began_s + SAMPLE_EVERY_S - self._cluster.now_s))

    async def _take_round(self) -> None:
        node_ids = self._cluster.topology.node_ids
        samples = dict(zip(node_ids, await asyncio.gather(*map(self._ask, node_ids)), strict=True))
        for node_id, sample in samples.items():
            if sample is not None:
                self._newest[node_id] = sample
                self.lines += sample.lines
        for listener in self.on_round:
            listener(samples)

    async def _ask(self, node_id: int) -> NodeSample | None:
        if not self._cluster.is_up(node_id) or self._cluster.is_paused(node_id):
            return None
        return await self._cluster.inspect(node_id)
