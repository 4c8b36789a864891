"""The quorum as seen from outside, and the waits of a round: for conditions, never for a time.

Every wait has a limit; what did not come within it is an error of the run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from tests.integration.live_history import History, WatchedTransport
from tests.integration.live_nodes import LiveNode
from tests.integration.live_wals import WalWatch

from tidelog.core.errors import TidelogError
from tidelog.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse
from tidelog.v1.controller_pb2 import DescribeQuorumRequest, DescribeQuorumResponse
from tidelog.v1.methods import DESCRIBE_QUORUM, NODE_STATUS

POLL_S = 0.02
ASK_TIMEOUT_MS = 2_000
WAIT_S = 120.0


class TooLateError(Exception):
    """What the run waited for did not come."""


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for it. Errors: `TooLateError`."""
    began_s = time.monotonic()
    while not await condition():
        if time.monotonic() - began_s > WAIT_S:
            raise TooLateError(f"not within {WAIT_S:.0f} s: {what}")
        await asyncio.sleep(POLL_S)


class LiveQuorum:
    """All nodes of the run. Only the rounds ask it, one after the other."""

    def __init__(self, nodes: Sequence[LiveNode], history: History) -> None:
        self.nodes = nodes
        self.voters = [node for node in nodes if node.is_controller]
        self.history = history
        self.wals = WalWatch(history)
        self.transport = WatchedTransport(history)
        self._paused: set[int] = set()

    async def kill(self, *nodes: LiveNode) -> None:
        """kill -9 all of them at once, and wait until they are gone."""
        for node in nodes:
            node.kill()

        async def are_gone() -> bool:
            return not any(node.is_running for node in nodes)

        await until(are_gone, "killed processes gone")

    def pause(self, node: LiveNode) -> None:
        """SIGSTOP."""
        node.pause()
        self._paused.add(node.node_id)

    def resume(self, node: LiveNode) -> None:
        """SIGCONT."""
        node.resume()
        self._paused.discard(node.node_id)

    def others(self, *nodes: LiveNode) -> list[LiveNode]:
        """All voters but these."""
        return [voter for voter in self.voters if voter not in nodes]

    async def status(self, node: LiveNode) -> DescribeQuorumResponse | None:
        """What a voter says of itself now; None when it does not answer."""
        if not node.is_running or node.node_id in self._paused:
            return None
        try:
            answer = await self.transport.call(
                node.address, DESCRIBE_QUORUM, DescribeQuorumRequest(), timeout_ms=ASK_TIMEOUT_MS
            )
        except TidelogError:
            return None
        self.wals.commit_known(node.node_id, answer.commit_index)
        if answer.role == "leader":
            self.history.note_leader(answer.term, node.node_id, source="its status")
        return answer

    async def leader(self, among: Iterable[LiveNode] = (), *, above_term: int = -1) -> LiveNode:
        """Wait until one of these, or of all, leads in a term above this one."""
        candidates = list(among) or self.voters
        found: list[LiveNode] = []

        async def one_leads() -> bool:
            for node in candidates:
                status = await self.status(node)
                if status is not None and status.role == "leader" and status.term > above_term:
                    found.append(node)
            return bool(found)

        await until(one_leads, f"a leader above term {above_term}")
        return found[-1]

    async def term(self) -> int:
        """The greatest term a voter says."""
        statuses = [await self.status(voter) for voter in self.voters]
        return max((status.term for status in statuses if status is not None), default=0)

    async def until_acknowledged(self) -> None:
        """Wait for the acknowledgement of a command that is sent from now on."""
        from_s = time.monotonic()

        async def is_acknowledged() -> bool:
            return self.history.newest_ack_asked_s >= from_s

        await until(is_acknowledged, "an acknowledged command")

    async def until_whole(self) -> None:
        """Wait until every voter takes part and has what is committed by now."""
        goal = 0

        async def all_have_it() -> bool:
            nonlocal goal
            for voter in self.voters:
                if not voter.is_running:
                    raise TooLateError(f"node {voter.node_id} ended: {voter.last_words()}")
            statuses = [await self.status(voter) for voter in self.voters]
            whole = [status for status in statuses if status is not None]
            if len(whole) < len(self.voters):
                return False
            goal = goal or max(status.commit_index for status in whole)
            return all(
                status.role in {"leader", "follower"} and status.applied_index >= goal
                for status in whole
            ) and any(status.role == "leader" for status in whole)

        await until(all_have_it, "every voter with everything")
        await self.until_acknowledged()
        self.wals.look(self.voters)

    async def until_ready(self) -> None:
        """Wait until every node says that it is."""

        async def all_are() -> bool:
            statuses = [await self.node_status(node) for node in self.nodes]
            return all(status is not None and status.ready for status in statuses)

        await until(all_are, "every node ready")

    async def node_status(self, node: LiveNode) -> NodeStatusResponse | None:
        """What a node says of itself now; None when it does not answer."""
        try:
            return await self.transport.call(
                node.address, NODE_STATUS, NodeStatusRequest(), timeout_ms=ASK_TIMEOUT_MS
            )
        except TidelogError:
            return None
