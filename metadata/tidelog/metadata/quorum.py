"""The shell around the controller: a queue of commands in front, the replicated log behind.

Owns the order of decisions. Decides nothing: `Controller` does, and the image changes by `replay`
alone; whether this node is the active controller, and the proof of it, is `ActiveTerm`'s.

One task decides. It takes the commands that wait, decides each on the image that those before it
will leave, proposes all records as one batch and answers when that has applied. A batch names the
offset it was decided on and is void at any other, so a controller that lost its place without
knowing changes nothing. Nor does it answer: what needs no record is told only after a barrier has
proved that this node still led when it was decided.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TypeVar

import structlog

from tidelog.core.env import Clock, Random
from tidelog.core.errors import ThrottlingQuotaExceededError, TidelogError, error_for, invariant
from tidelog.metadata.active_term import ActiveTerm, void
from tidelog.metadata.attempts import LATE_CODES, NumberedRequest
from tidelog.metadata.commands import PlanCommand
from tidelog.metadata.committed import CommittedMetadata, Followed, OnBatch
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.controller import (
    Checked,
    Command,
    Controller,
    ExpireSessions,
    FenceDeadBroker,
    RebalanceLeaders,
    Reply,
    refusal,
)
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.delta import speculate
from tidelog.metadata.election import IncompleteElection, incomplete_elections
from tidelog.metadata.failure_detector import Dial, FailureDetector
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.leaders import has_imbalance
from tidelog.raft.replicated_log import (
    ProposalUnknownError,
    QuorumStatus,
    ReplicatedLog,
)
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from tidelog.v1.controller_pb2 import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
    ReportUnreachableBrokerRequest,
    ReportUnreachableBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataRecord

_log = structlog.get_logger(__name__)
_ReplyT = TypeVar("_ReplyT", bound=Reply)


@dataclass(slots=True, eq=False)
class _Waiting:
    command: Command
    reply: asyncio.Future[Reply]
    is_begun: bool = False
    """A slice of its plan has happened: whatever comes, its outcome is not that nothing did."""

    def answer(self, reply: Reply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)

    def refuse(self, error: TidelogError) -> None:
        if self.is_begun and not error.is_outcome_unknown:
            error = ProposalUnknownError(f"part of it has happened, ask again: {error.message}")
        self.answer(refusal(self.command, error))

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)


class _Batch:
    """Decisions in one batch, each on the image that those before it will leave."""

    def __init__(self, image: MetadataImage, *, room: int) -> None:
        self.image = image
        self.room = room
        """Partitions that it may still create or remove."""
        self.records: list[MetadataRecord] = []
        self.decided: list[tuple[_Waiting, Decision[Reply]]] = []
        self.incomplete: list[IncompleteElection] = []
        self.left_over: list[_Waiting] = []

    def add(self, one: _Waiting, decision: Decision[Reply]) -> None:
        before = self.image
        if decision.records:
            self.image = speculate(before, decision.records)
        self.room -= decision.partitions
        self.records += decision.records
        self.decided.append((one, decision))
        self.incomplete += incomplete_elections(before, decision.records)


class Quorum:
    """One controller node. Any may be asked; only the active one does not answer NOT_CONTROLLER.

    A reply without an error is told only after its records committed and applied. REQUEST_TIMED_OUT
    means that they may yet, or that a part of a large plan has: look, or ask again. Any other error
    means that they never will. A reply with a controller epoch was decided by the controller that
    led in this Raft term, on an image that held all that was committed before it was asked; without
    one nobody decided.
    """

    def __init__(
        self,
        *,
        log: ReplicatedLog,
        clock: Clock,
        random: Random,
        dial: Dial,
        config: ControllerConfig,
        on_batch: OnBatch | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._config = config
        self._controller = Controller(config, random)
        self._committed = CommittedMetadata(config, on_batch)
        self._active = ActiveTerm(
            log=log, committed=self._committed, clock=clock, random=random, config=config
        )
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(config.commands_queued_max)
        self._unfinished: deque[_Waiting] = deque()
        """Plans under way, and those that found no room in the last batch, in their order."""
        self._detector = FailureDetector(
            image=lambda: self.image, dial=dial, fence=self._fence_dead, clock=clock, config=config
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.incomplete_elections = 0
        """Leaders elected by this node that may have lacked committed records."""

    @property
    def image(self) -> MetadataImage:
        """The committed metadata this node knows."""
        return self._committed.image

    @property
    def is_active(self) -> bool:
        """See `ActiveTerm.is_active`."""
        return self._active.is_active

    @property
    def offline_partitions(self) -> int:
        """Partitions that nobody leads; 0 unless this node is the active controller."""
        if not self.is_active:
            return 0
        topics = self.image.topics.values()
        return sum(one.leader_id is None for topic in topics for one in topic.partitions)

    @property
    def leader_id(self) -> int | None:
        """The controller that leads as far as this node knows."""
        return self._log.leader_id

    async def start(self) -> None:
        """Start the log, replay it, and take part. Errors: `StorageError` as of the log."""
        self._log.on_leadership(self._on_leadership)
        await self._log.start(self._committed)
        self._on_leadership()
        self._tasks = [
            asyncio.create_task(self._decide_forever()),
            asyncio.create_task(self._expire_sessions_forever()),
            asyncio.create_task(self._rebalance_forever()),
        ]

    async def stop(self) -> None:
        """Leave the quorum; all that wait are answered, followers end."""
        await self._log.stop()
        self._active.end()
        await self._detector.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while not self._queue.empty():
            self._unfinished.append(self._queue.get_nowait())
        for one in self._unfinished:
            one.refuse(self._active.refusal())
        self._committed.close()

    async def register_broker(self, request: RegisterBrokerRequest) -> RegisterBrokerResponse:
        """See `brokers.register_broker`. One that is refused has its predecessor looked for."""
        reply = await self._submit(request, RegisterBrokerResponse)
        if reply.error.code == common_pb2.DUPLICATE_BROKER_REGISTRATION:
            self._detector.doubt(request.broker_id)
        return reply

    async def broker_heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        """See `brokers.heartbeat`. One that only keeps a session waits for no other command."""
        try:
            term = await self._active.confirm()
        except TidelogError as error:
            return BrokerHeartbeatResponse(error=wire_error(error))
        now_ms = self._clock.monotonic_ms()
        if not self._controller.is_quiet(request, self.image, now_ms):
            return await self._submit(request, BrokerHeartbeatResponse)
        reply = self._controller.handle(request, self.image, now_ms).reply
        _note_late(request, reply)
        completed = _completed(reply, offset=self.image.offset, term=term)
        return _as(BrokerHeartbeatResponse, completed)

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """See `replication.alter_partition`."""
        return await self._submit(request, AlterPartitionResponse)

    async def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """See `topics.create_topics`."""
        return await self._submit(request, CreateTopicsResponse)

    async def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """See `topics.delete_topics`."""
        return await self._submit(request, DeleteTopicsResponse)

    async def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """See `partitions.create_partitions`."""
        return await self._submit(request, CreatePartitionsResponse)

    async def alter_configs(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """See `configs.alter_configs`."""
        return await self._submit(request, AlterConfigsResponse)

    async def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse:
        """See `producer_ids.allocate_producer_ids`."""
        return await self._submit(request, AllocateProducerIdsResponse)

    async def report_damage(self, request: ReportReplicaStateRequest) -> ReportReplicaStateResponse:
        """See `damage.report_damage`."""
        return await self._submit(request, ReportReplicaStateResponse)

    async def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """See `leaders.elect_leaders`."""
        return await self._submit(request, ElectLeadersResponse)

    async def report_unreachable_broker(
        self, request: ReportUnreachableBrokerRequest
    ) -> ReportUnreachableBrokerResponse:
        """Dial the broker and fence it if it is dead; see `FailureDetector.report`."""
        try:
            self._active.current()
            now_ms = self._clock.monotonic_ms()
            self._controller.hear(request.reporter_id, request.reporter_epoch, self.image, now_ms)
            is_fenced = await self._detector.report(request.broker_id, request.broker_epoch)
            term = await self._active.confirm()
        except TidelogError as error:
            return ReportUnreachableBrokerResponse(error=wire_error(error))
        return ReportUnreachableBrokerResponse(is_fenced=is_fenced, controller_epoch=term)

    def follow(
        self, from_offset: int, *, accepts_snapshot: bool = False
    ) -> AsyncGenerator[Followed, None]:
        """See `CommittedMetadata.follow`. Served by any controller."""
        return self._committed.follow(from_offset, accepts_snapshot=accepts_snapshot)

    @property
    def term(self) -> int:
        """The Raft term this node is in, whether it leads or not."""
        return self._log.term

    def status(self) -> QuorumStatus:
        """What this voter knows of the quorum; served by any controller."""
        return self._log.status()

    def hold(self, until_ms: int) -> None:
        """See `Controller.hold`. Each controller must be told, since any may become active."""
        self._controller.hold(until_ms)

    def release(self) -> None:
        """See `Controller.release`."""
        self._controller.release()

    async def _submit(self, command: Command, reply_type: type[_ReplyT]) -> _ReplyT:
        waiting = _Waiting(command, asyncio.get_running_loop().create_future())
        if not self.is_active:
            waiting.refuse(self._active.refusal())
        elif self._queue.qsize() + len(self._unfinished) >= self._config.commands_queued_max:
            waiting.refuse(
                ThrottlingQuotaExceededError(
                    f"{self._config.commands_queued_max} commands wait already: try again later",
                )
            )
        else:
            self._queue.put_nowait(waiting)
        return _as(reply_type, await waiting.reply)

    async def _decide_forever(self) -> None:
        while True:
            waiting = await self._next()
            unfinished: list[_Waiting] = []
            try:
                unfinished = await self._decide(waiting)
            except TidelogError as error:
                self._active.is_outcome_unknown |= error.is_outcome_unknown
                for one in waiting:
                    one.refuse(error)
            except Exception:  # noqa: BLE001  # the task's top: others wait
                _log.exception("commands failed", commands=len(waiting))
                self._active.is_outcome_unknown = True
            finally:
                for one in waiting:
                    if one not in unfinished:
                        stopped = ProposalUnknownError("the controller stopped in the middle of it")
                        one.refuse(stopped)
            self._unfinished.extend(unfinished)

    async def _next(self) -> list[_Waiting]:
        """Commands for the next batch: plans under way take half of the places at most."""
        places = self._config.commands_per_batch_max
        waiting = [] if self._unfinished else [await self._queue.get()]
        while self._unfinished and len(waiting) < max(1, places // 2):
            waiting.append(self._unfinished.popleft())
        while len(waiting) < places and not self._queue.empty():
            waiting.append(self._queue.get_nowait())
        return waiting

    async def _decide(self, waiting: list[_Waiting]) -> list[_Waiting]:
        """Decide on commands in order, commit their records as one batch, answer.

        Returns those that need another batch: what had no room, then plans that go on. Raises the
        `TidelogError` that all those without an answer get. After an unknown outcome nothing is
        decided until it is known.
        """
        if self._active.is_outcome_unknown:
            await self._active.settle()
        term, decided_on = self._active.current(), self.image
        batch = self._decide_in_order(waiting)
        offset = decided_on.offset
        if batch.records:
            offset = await self._active.commit(batch.records, base_offset=offset, term=term)
        else:
            await self._active.confirm()
            if self.image is not decided_on:
                raise void()
        for election in batch.incomplete:
            self._note_incomplete(election)
        for one, decision in batch.decided:
            if decision.is_last:
                _note_late(one.command, decision.reply)
                one.answer(_completed(decision.reply, offset=offset, term=term))
            else:
                one.is_begun = True
                batch.left_over.append(one)
        return batch.left_over

    def _decide_in_order(self, waiting: list[_Waiting]) -> _Batch:
        now_ms = self._clock.monotonic_ms()
        batch = _Batch(self.image, room=self._config.partitions_per_batch_max)
        for one in waiting:
            if batch.room <= 0 and isinstance(one.command, PlanCommand):
                batch.left_over.append(one)
                continue
            try:
                _check_is_known(one, batch.image)
                decision = self._controller.handle(
                    one.command, batch.image, now_ms, room=max(1, batch.room)
                )
                batch.add(one, decision)
            except ProposalUnknownError as error:
                one.refuse(error)
            except Exception as error:  # noqa: BLE001  # the caller's edge answers
                one.fail(error)
        return batch

    def _note_incomplete(self, election: IncompleteElection) -> None:
        self.incomplete_elections += 1
        _log.error(
            "leader elected that may lack committed records",
            topic=election.topic,
            partition=election.partition,
            leader_id=election.leader_id,
            leader_epoch=election.leader_epoch,
            is_last_known_leader=election.is_last_known_leader,
        )

    async def _expire_sessions_forever(self) -> None:
        while True:
            await asyncio.sleep(self._config.session_check_interval_ms / 1000)
            now_ms = self._clock.monotonic_ms()
            if not self.is_active or not self._controller.has_expired_sessions(self.image, now_ms):
                continue
            try:
                reply = await self._submit(ExpireSessions(), Checked)
            except Exception:  # noqa: BLE001  # the task's top: sessions go on
                _log.exception("silent brokers were not fenced")
                continue
            if reply.error.code:
                _log.warning("silent brokers not fenced yet", error=reply.error.message)
            else:
                _log.info("silent brokers fenced")

    async def _fence_dead(self, broker_id: int, broker_epoch: int, cause: str) -> None:
        reply = await self._submit(FenceDeadBroker(broker_id, broker_epoch, cause), Checked)
        if reply.error.code:
            raise error_for(reply.error.code, reply.error.message)

    async def _rebalance_forever(self) -> None:
        while True:
            await asyncio.sleep(self._config.leader_imbalance_check_interval_ms / 1000)
            is_wanted = self._config.auto_leader_rebalance_enable and self.is_active
            if is_wanted and has_imbalance(self.image):
                try:
                    await self._submit(RebalanceLeaders(), Checked)
                except Exception:  # noqa: BLE001  # the task's top: the next round tries again
                    _log.exception("leaderships were not moved back")

    def _on_leadership(self) -> None:
        """Start anew whenever this node becomes active: it heard no heartbeats while it was not."""
        term = self._active.update()
        if term is not None:
            self._controller.activate(self._clock.monotonic_ms(), controller_epoch=term)
            _log.info("this node is the active controller", controller_epoch=term)


def _as(reply_type: type[_ReplyT], reply: Reply) -> _ReplyT:
    invariant(isinstance(reply, reply_type), "a command has one type of reply", reply)
    return reply  # type: ignore[return-value]  # checked on the line above


def _note_late(command: Command, reply: Reply) -> None:
    if isinstance(command, NumberedRequest) and reply.error.code in LATE_CODES:
        _log.info(
            "late attempt refused",
            request=type(command).__name__,
            broker_id=command.broker_id,
            attempt=command.attempt,
            error=reply.error.message,
        )


def _check_is_known(one: _Waiting, image: MetadataImage) -> None:
    """Raise `ProposalUnknownError` where nobody knows any more how far a plan has come."""
    if not one.is_begun or not isinstance(one.command, PlanCommand):
        return
    if one.command.command_id not in image.commands:
        raise ProposalUnknownError("much was decided meanwhile: look what became of it")


def _completed(reply: Reply, *, offset: int, term: int) -> Reply:
    """With what only the commit tells: a new broker epoch, from which offset on a change shows."""
    if not isinstance(reply, Checked):
        reply.controller_epoch = term
    if isinstance(reply, RegisterBrokerResponse) and not reply.error.code:
        reply.broker_epoch = reply.broker_epoch or offset
    if isinstance(reply, AlterConfigsResponse | CreatePartitionsResponse):
        reply.metadata_offset = offset
    return reply
