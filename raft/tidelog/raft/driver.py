"""The shell around a Raft engine: persist, then tell.

It owns the node's Raft task, which turns what arrived and the passing of time into steps of the
engine, syncs the write-ahead log off the loop, and only then sends messages and hands out
committed entries. The engine steps only while nothing is unsynced, so that its own log counts as a
durable copy. It never decides anything about Raft.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from tidelog.log.errors import KafkaError, MessageTooLargeError
from tidelog.raft.config import RaftConfig
from tidelog.raft.engine import Engine, EngineEntry, Leadership, Ready
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError, ProposalUnknownError
from tidelog.raft.transport import RaftTransport
from tidelog.raft.wal import Wal
from tidelog.v1 import common_pb2, raft_pb2

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Proposal:
    command: bytes | None
    result: asyncio.Future[EngineEntry]
    term: int = 0


class RaftDriver:
    """A voter behind the `ReplicatedLog` port; also the `RaftReceiver` of its transport."""

    def __init__(
        self,
        *,
        node_id: int,
        open_wal: Callable[[], Awaitable[Wal]],
        make_engine: Callable[[Wal], Engine],
        transport: RaftTransport,
        config: RaftConfig,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self.node_id = node_id
        self._open_wal = open_wal
        self._make_engine = make_engine
        self._transport = transport
        self._config = config
        self._on_fatal = on_fatal
        self._listeners: list[Callable[[], None]] = []
        self._leadership = Leadership(term=0, leader_id=None, own_term_index=None)
        self._announced: tuple[bool, Leadership] = (False, self._leadership)
        self._commit_index = 0
        self._applied_index = 0
        self._connected: set[int] = set()
        self._inbox: list[raft_pb2.RaftMessage] = []
        self._waiting: list[_Proposal] = []
        self._appended: dict[int, _Proposal] = {}
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._task: asyncio.Task[None] | None = None

    # ReplicatedLog

    async def start(self, on_committed: Callable[[CommittedEntry], None]) -> None:
        """See `ReplicatedLog`."""
        wal = await self._open_wal()
        engine = self._make_engine(wal)
        await self._transport.start(self)
        self._task = asyncio.create_task(
            self._run(wal, engine, on_committed), name=f"raft-{self.node_id}"
        )

    async def stop(self) -> None:
        """See `ReplicatedLog`."""
        self._is_stopping = True
        self._wake.set()
        await self._transport.stop()
        if self._task is not None:
            await self._task

    @property
    def is_leader(self) -> bool:
        """See `ReplicatedLog`."""
        own_term_index = self._leadership.own_term_index
        return own_term_index is not None and self._applied_index >= own_term_index

    @property
    def leader_id(self) -> int | None:
        """See `ReplicatedLog`."""
        return self._leadership.leader_id

    @property
    def term(self) -> int:
        """See `ReplicatedLog`."""
        return self._leadership.term

    @property
    def commit_index(self) -> int:
        """See `ReplicatedLog`."""
        return self._commit_index

    @property
    def applied_index(self) -> int:
        """See `ReplicatedLog`."""
        return self._applied_index

    async def propose(self, command: bytes, *, timeout_ms: int) -> CommittedEntry:
        """See `ReplicatedLog`."""
        limit = self._config.max_command_bytes
        if len(command) > limit:
            raise MessageTooLargeError(f"a command of {len(command)} bytes; the limit is {limit}")
        entry = await self._propose(command, timeout_ms=timeout_ms)
        return CommittedEntry(index=entry.index, term=entry.term, command=command)

    async def read_barrier(self, *, timeout_ms: int) -> int:
        """See `ReplicatedLog`."""
        entry = await self._propose(None, timeout_ms=timeout_ms)
        return entry.index

    def on_leadership(self, listener: Callable[[], None]) -> None:
        """See `ReplicatedLog`."""
        self._listeners.append(listener)

    # RaftReceiver

    def on_message(self, peer_id: int, message: raft_pb2.RaftMessage) -> None:
        """See `RaftReceiver`."""
        if message.sender_id == peer_id and len(self._inbox) < self._config.max_inbox_messages:
            self._inbox.append(message)
            self._wake.set()

    def on_connected(self, peer_id: int) -> None:
        """See `RaftReceiver`."""
        self._connected.add(peer_id)

    def on_disconnected(self, peer_id: int) -> None:
        """See `RaftReceiver`."""
        self._connected.discard(peer_id)

    # The task

    async def _run(
        self, wal: Wal, engine: Engine, on_committed: Callable[[CommittedEntry], None]
    ) -> None:
        try:
            while not self._is_stopping:
                ready = await self._step(wal, engine, on_committed)
                await self._wait_for_work(ready.next_step_in_s)
        except Exception as error:
            logger.exception("raft cannot go on", node_id=self.node_id)
            self._is_stopping = True
            self._on_fatal(error)
        finally:
            self._leadership = Leadership(term=self.term, leader_id=None, own_term_index=None)
            self._fail_all("this node stopped")
            wal.close()

    async def _wait_for_work(self, timeout_s: float) -> None:
        timer = asyncio.get_running_loop().call_later(timeout_s, self._wake.set)
        await self._wake.wait()
        timer.cancel()
        self._wake.clear()

    async def _step(
        self, wal: Wal, engine: Engine, on_committed: Callable[[CommittedEntry], None]
    ) -> Ready:
        received, self._inbox = self._inbox, []
        proposals = [proposal for proposal in self._waiting if not proposal.result.done()]
        self._waiting.clear()
        ready = engine.step(
            connected=sorted(self._connected),
            received=received,
            proposals=[proposal.command for proposal in proposals],
        )
        self._leadership = ready.leadership
        self._keep(proposals, ready.appended)
        self._announce()
        if wal.is_dirty:
            await wal.sync()
            self._wake.set()  # a sole voter may commit now
        self._tell(ready, on_committed)
        return ready

    def _keep(self, proposals: list[_Proposal], appended: list[int]) -> None:
        if not appended:
            self._refuse(proposals)
            return
        for index, proposal in zip(appended, proposals, strict=True):
            proposal.term = self.term
            self._appended[index] = proposal

    def _tell(self, ready: Ready, on_committed: Callable[[CommittedEntry], None]) -> None:
        for message in ready.messages:
            self._transport.send(message.receiver_id, message)
        self._commit_index = ready.commit_index
        for entry in ready.committed:
            if entry.command is not None:
                on_committed(CommittedEntry(entry.index, entry.term, entry.command))
            self._applied_index = entry.index
            self._finish(entry)
        if self._leadership.own_term_index is None:
            self._fail_appended("this node lost the leadership")
        self._announce()

    def _announce(self) -> None:
        state = self.is_leader, self._leadership
        if state != self._announced:
            self._announced = state
            for listener in self._listeners:
                listener()

    # Proposals

    async def _propose(self, command: bytes | None, *, timeout_ms: int) -> EngineEntry:
        if self._leadership.own_term_index is None or self._is_stopping:
            raise self._not_leader()
        limit = self._config.max_pending_proposals
        if len(self._waiting) + len(self._appended) >= limit:
            raise KafkaError(
                common_pb2.THROTTLING_QUOTA_EXCEEDED,
                f"{limit} proposals wait for their commit already: try again later",
            )
        proposal = _Proposal(command, asyncio.get_running_loop().create_future())
        self._waiting.append(proposal)
        self._wake.set()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await proposal.result
        except TimeoutError:
            raise ProposalUnknownError(f"not committed within {timeout_ms} ms") from None

    def _finish(self, entry: EngineEntry) -> None:
        proposal = self._appended.pop(entry.index, None)
        if proposal is None or proposal.result.done():
            return
        if proposal.term == entry.term:
            proposal.result.set_result(entry)
        else:
            proposal.result.set_exception(ProposalUnknownError("another leader's entry took over"))

    def _refuse(self, proposals: list[_Proposal]) -> None:
        for proposal in proposals:
            if not proposal.result.done():
                proposal.result.set_exception(self._not_leader())

    def _fail_appended(self, why: str) -> None:
        for proposal in self._appended.values():
            if not proposal.result.done():
                proposal.result.set_exception(
                    ProposalUnknownError(f"{why}: the command may still be committed")
                )
        self._appended.clear()

    def _fail_all(self, why: str) -> None:
        self._fail_appended(why)
        self._refuse(self._waiting)
        self._waiting.clear()

    def _not_leader(self) -> NotLeaderError:
        leader = "nobody known" if self.leader_id is None else f"node {self.leader_id}"
        return NotLeaderError(
            f"node {self.node_id} does not lead the controllers, {leader} does",
            leader_id=self.leader_id,
        )
