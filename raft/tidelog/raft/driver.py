"""The shell around a Raft engine: persist, then send.

Owns the node's Raft task, which feeds received messages and elapsed time to the engine in steps.
The writes of a step are synced concurrently with further steps (`syncing`); messages that depend on
them leave after that, all others at once. Entries are applied as soon as they are committed,
whether or not this node's copy is stored. Never decides anything about Raft.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable

from tidelog.core.background import CLOSE_MS_MAX, wait_for_end
from tidelog.core.env import Clock
from tidelog.core.errors import invariant
from tidelog.core.logs import get_logger
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.engine import Engine, Leadership, Ready
from tidelog.raft.pending import Proposals, Reads
from tidelog.raft.replicated_log import (
    CommittedEntry,
    NotLeaderError,
    QuorumStatus,
    StateMachine,
)
from tidelog.raft.run_clock import RunClock
from tidelog.raft.snapshotting import Snapshotting
from tidelog.raft.storage import Storage
from tidelog.raft.syncing import Syncing
from tidelog.raft.transport import RaftTransport
from tidelog.v1 import raft_pb2

logger = get_logger(__name__)

SHORTEST_WAIT_S = 0.001
"""Minimum wait, so that rounding does not start a step before its deadline."""
_NOBODY = Leadership(role="follower", term=0, leader_id=None, own_term_index=None)


class RaftDriver:
    """A voter behind the `ReplicatedLog` port; also the `RaftReceiver` of its transport."""

    def __init__(
        self,
        *,
        node_id: int,
        open_storage: Callable[[], Awaitable[Storage]],
        make_engine: Callable[[Storage], Engine],
        transport: RaftTransport,
        clock: Clock,
        config: RaftConfig,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self.node_id = node_id
        self.storage: Storage | None = None
        self.engine: Engine | None = None
        self._open_storage = open_storage
        self._make_engine = make_engine
        self._transport = transport
        self._clock = clock
        self._config = config
        self._on_fatal = on_fatal
        self._listeners: list[Callable[[], None]] = []
        self._leadership = _NOBODY
        self._announced: tuple[bool, Leadership] = (False, _NOBODY)
        self._commit_index = 0
        self._applied_index = 0
        self._connected: set[int] = set()
        self._inbox: list[raft_pb2.RaftMessage] = []
        self._inbox_bytes = 0
        self._proposals = Proposals(config)
        self._reads = Reads(config)
        self._run_clock = RunClock()
        self._wake = asyncio.Event()
        self._waits_for: list[int] = []
        self._warns_at_s = math.inf
        self._is_stopping = False
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    # ReplicatedLog

    async def start(self, machine: StateMachine) -> None:
        """See `ReplicatedLog`."""
        self.storage = storage = await self._open_storage()
        snapshot = storage.snapshots.latest
        if snapshot is not None:
            self._restore(machine, storage, snapshot)
            self._commit_index = snapshot.index
        self.engine = engine = self._make_engine(storage)
        await self._transport.start(self)
        self._task = asyncio.create_task(
            self._run(storage, engine, machine), name=f"raft-{self.node_id}"
        )

    async def stop(self) -> None:
        """See `ReplicatedLog`."""
        self._is_stopping = True
        self._wake.set()
        await self._transport.stop()
        if self._task is not None:
            await wait_for_end(self._ended.wait(), name="raft", limit_ms=CLOSE_MS_MAX)
            if self._task.done():
                self._task.result()

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
        self._check_leads()
        entry = self._proposals.add(command)
        self._wake.set()
        return await self._proposals.outcome(entry, timeout_ms=timeout_ms)

    async def read_barrier(self, *, timeout_ms: int) -> int:
        """See `ReplicatedLog`."""
        self._check_leads()
        read = self._reads.add()
        self._wake.set()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await read
        except TimeoutError:
            raise NotLeaderError(
                f"node {self.node_id} could not prove within {timeout_ms} ms that it is still the "
                "active controller: ask the others",
                leader_id=None,
            ) from None

    def on_leadership(self, listener: Callable[[], None]) -> None:
        """See `ReplicatedLog`."""
        self._listeners.append(listener)

    def status(self) -> QuorumStatus:
        """See `ReplicatedLog`."""
        storage, engine = self.storage, self.engine
        now_s = self._run_clock.now(self._clock.monotonic_s())
        snapshot = storage.snapshots.latest if storage else None
        return QuorumStatus(
            node_id=self.node_id,
            role=self._leadership.role,
            term=self.term,
            leader_id=self.leader_id,
            last_index=storage.wal.last_index if storage else 0,
            commit_index=self._commit_index,
            applied_index=self._applied_index,
            snapshot_index=snapshot.index if snapshot else 0,
            snapshot_bytes=storage.snapshots.size_bytes if storage else 0,
            wal_bytes=storage.wal.size_bytes if storage else 0,
            last_contact_ms=engine.last_contact_ms(now_s) if engine else None,
            peers=engine.peers(now_s) if engine else (),
        )

    # RaftReceiver

    def on_message(self, peer_id: int, message: raft_pb2.RaftMessage) -> None:
        """See `RaftReceiver`."""
        size_bytes = self._inbox_bytes + message.ByteSize()
        is_full = (
            len(self._inbox) >= self._config.max_inbox_messages
            or size_bytes > self._config.max_inbox_bytes
        )
        if message.sender_id == peer_id and not is_full:
            self._inbox_bytes = size_bytes
            self._inbox.append(message)
            self._wake.set()

    def on_connected(self, peer_id: int) -> None:
        """See `RaftReceiver`."""
        self._connected.add(peer_id)
        self._wake.set()

    def on_disconnected(self, peer_id: int) -> None:
        """See `RaftReceiver`."""
        self._connected.discard(peer_id)
        self._wake.set()

    # The task

    async def _run(self, storage: Storage, engine: Engine, machine: StateMachine) -> None:
        snapshotting = Snapshotting(storage, self._config)
        syncing = Syncing(storage, snapshotting, config=self._config, on_done=self._wake.set)
        try:
            while not self._is_stopping:
                next_step_in_s = await self._step(storage, engine, machine, syncing)
                self._report_missing_voters(list(engine.waits_for))
                snapshotting.begin_if_due(
                    machine,
                    applied_index=self._applied_index,
                    now_s=self._clock.monotonic_s(),
                    may_replace=not engine.is_sending_snapshot,
                    on_done=self._wake.set,
                )
                await self._wait_for_work(next_step_in_s)
            await syncing.finish()
        except Exception as error:
            logger.exception("raft failed: this node must stop", node_id=self.node_id)
            self._is_stopping = True
            self._on_fatal(error)
        finally:
            self._leadership = Leadership(
                role="follower", term=self.term, leader_id=None, own_term_index=None
            )
            await syncing.abandon()
            await snapshotting.abandon()
            self._proposals.fail_all("this node stopped", self._not_leader())
            self._reads.fail_all(self._not_leader())
            try:
                storage.close()
            finally:
                self._ended.set()

    async def _wait_for_work(self, next_step_in_s: float) -> None:
        # Short waits, so that a blocked loop is noticed.
        longest_s = 2 * self._config.heartbeat_interval_ms / 1000
        timeout_s = min(max(next_step_in_s, SHORTEST_WAIT_S), longest_s) if next_step_in_s else 0.0
        self._run_clock.plan(self._clock.monotonic_s(), timeout_s)
        timer = asyncio.get_running_loop().call_later(timeout_s, self._wake.set)
        await self._wake.wait()
        timer.cancel()
        self._wake.clear()

    async def _step(
        self, storage: Storage, engine: Engine, machine: StateMachine, syncing: Syncing
    ) -> float:
        """Send the promises stored by now, step the engine, and start storing its writes."""
        syncing.begin_if_due()
        self._send(syncing.take_kept())
        ready = self._step_engine(engine)
        syncing.promise(ready.messages)
        syncing.begin_if_due()
        if not engine.steps_while_syncing:
            await syncing.finish()
        self._send(ready.at_once)
        self._send(syncing.take_kept())
        self._apply(ready, storage, machine)
        return ready.next_step_in_s

    def _step_engine(self, engine: Engine) -> Ready:
        received, self._inbox, self._inbox_bytes = self._inbox, [], 0
        proposals = self._proposals.take()
        ready = engine.step(
            now_s=self._run_clock.step(self._clock.monotonic_s()),
            connected=sorted(self._connected),
            received=received,
            proposals=[proposal.command for proposal in proposals],
            reads=self._reads.take(),
        )
        self._leadership = ready.leadership
        if ready.appended or not proposals:
            self._proposals.keep(proposals, ready.appended, term=self.term)
        else:
            self._proposals.refuse(proposals, self._not_leader())
        self._announce()
        return ready

    def _send(self, messages: Iterable[raft_pb2.RaftMessage]) -> None:
        for message in messages:
            self._transport.send(message.receiver_id, message)

    def _apply(self, ready: Ready, storage: Storage, machine: StateMachine) -> None:
        self._commit_index = ready.commit_index
        if ready.restored is not None:
            invariant(storage.snapshots.latest == ready.restored, "installed", ready.restored)
            self._restore(machine, storage, ready.restored)
        for entry in ready.committed:
            if entry.command is not None:
                machine.apply(CommittedEntry(entry.index, entry.term, entry.command))
            self._applied_index = entry.index
            self._proposals.on_committed(entry)
        self._reads.on_confirmed(ready.reads)
        self._reads.on_applied(self._applied_index)
        if self._leadership.own_term_index is None:
            self._proposals.on_leadership_lost()
            self._reads.fail_all(self._not_leader())
        self._announce()

    def _restore(self, machine: StateMachine, storage: Storage, snapshot: SnapshotId) -> None:
        machine.restore(storage.snapshots.records(), index=snapshot.index, term=snapshot.term)
        self._applied_index = snapshot.index

    def _announce(self) -> None:
        state = self.is_leader, self._leadership
        if state == self._announced:
            return
        self._announced = state
        for listener in self._listeners:
            listener()

    def _report_missing_voters(self, waits_for: list[int]) -> None:
        """Log which voters a new disk waits for; a warning when they take long.

        On a cluster's first start every disk is new, and all answer at once.
        """
        now_s = self._clock.monotonic_s()
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            self._warns_at_s = now_s + self._config.election_timeout_max_ms / 1000
            if waits_for:
                logger.info(
                    "new disk: asking the other controllers",
                    node_id=self.node_id,
                    waits_for=waits_for,
                )
            else:
                logger.info("all other controllers have answered", node_id=self.node_id)
        elif waits_for and now_s >= self._warns_at_s:
            self._warns_at_s = math.inf
            logger.warning(
                "this controller's disk is new: it participates once all others have answered",
                node_id=self.node_id,
                waits_for=waits_for,
            )

    def _check_leads(self) -> None:
        if self._leadership.own_term_index is None or self._is_stopping:
            raise self._not_leader()

    def _not_leader(self) -> NotLeaderError:
        leader = "no leader is known" if self.leader_id is None else f"node {self.leader_id} is"
        return NotLeaderError(
            f"node {self.node_id} is not the active controller: {leader}",
            leader_id=self.leader_id,
        )
