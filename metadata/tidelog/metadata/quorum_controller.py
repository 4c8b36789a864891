"""The shell around the controller: a queue of commands in front, the replicated log behind.

Owns the order of decisions. Decides nothing: `Controller` does, and the image changes by `replay`
alone; whether this node is the active controller, and the proof of it, is `ActiveTerm`'s.

One task decides. It takes the commands that wait, decides each on the image that those before it
will leave, proposes all records as one batch and answers when that has applied. A batch names the
offset it was decided on and is void at any other, so a controller that was replaced without knowing
it changes nothing. Nor does it answer: a reply without records is sent only after a barrier has
proved that this node still led when it was decided.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.core.background import Background
from tidelog.core.env import Clock, Random
from tidelog.core.errors import (
    InvariantError,
    MessageTooLargeError,
    ThrottlingQuotaExceededError,
    TidelogError,
    error_for,
)
from tidelog.core.logs import get_logger
from tidelog.metadata.active_term import ActiveTerm, void_error
from tidelog.metadata.attempts import LATE_CODES, is_numbered
from tidelog.metadata.brokers import ExpireSessions, FenceDeadBroker
from tidelog.metadata.commands import COMMANDS, CommandRow
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.controller import Controller
from tidelog.metadata.decision import Decision, NoRoomError, Reply, size_of, wire_error
from tidelog.metadata.delta import speculate
from tidelog.metadata.election import UncleanElection, find_unclean_elections
from tidelog.metadata.failure_detector import Dial, FailureDetector
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.leaders import RebalanceLeaders, batches_in_round, has_imbalance
from tidelog.metadata.settling import SettlePartitions
from tidelog.metadata.state_machine import Followed, MetadataStateMachine, OnBatch
from tidelog.raft.replicated_log import ProposalUnknownError, QuorumStatus, ReplicatedLog
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import (
    RegisterBrokerRequest,
    ReportUnreachableBrokerRequest,
    ReportUnreachableBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataRecord

STOOD_STILL_MS_MIN = 100
"""Delay of the check of sessions from which on this process counts as one that stood still."""

_log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Waiting:
    command: Any  # of any row
    reply: asyncio.Future[Any]
    is_begun: bool = False
    """A slice of its plan has happened: no later error may say that nothing did."""
    rest: object = None
    """See `Decision.rest`."""

    @property
    def row(self) -> CommandRow[Any, Any]:
        return COMMANDS[type(self.command)]

    def answer(self, reply: Reply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)

    def refuse(self, error: TidelogError) -> None:
        if self.is_begun and not error.is_outcome_unknown:
            error = ProposalUnknownError(f"part of it has happened, ask again: {error.message}")
        self.answer(self.row.refuse(error))

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)


class _Batch:
    """Decisions in one batch, each on the image that those before it will leave."""

    def __init__(self, image: MetadataImage, *, room: int, bytes_left: int) -> None:
        self.image = image
        self.bytes_left = bytes_left
        self.room = room
        """Partitions that it may still create, remove or change."""
        self.records: list[MetadataRecord] = []
        self.decided: list[tuple[_Waiting, Decision[Any]]] = []
        self.unclean: list[UncleanElection] = []
        self.left_over: list[_Waiting] = []

    def add(self, one: _Waiting, decision: Decision[Any]) -> None:
        before = self.image
        if decision.records:
            self.image = speculate(before, decision.records)
        self.room -= decision.partitions
        self.records += decision.records
        self.bytes_left -= size_of(decision.records)
        self.decided.append((one, decision))
        self.unclean += find_unclean_elections(before, decision.records)


class QuorumController:
    """A controller node. All may be asked; all but the active one answer NOT_CONTROLLER.

    A reply without an error is sent only after its records committed and applied. REQUEST_TIMED_OUT
    means that they may yet, or that a part of a large plan has: look, or ask again. Any other error
    means that they never will. A reply with a controller epoch was decided by the controller that
    led in this Raft term, on an image that held every batch committed before the request; without a
    controller epoch no controller decided.
    """

    def __init__(
        self,
        *,
        log: ReplicatedLog,
        clock: Clock,
        random: Random,
        dial: Dial,
        config: ControllerConfig,
        on_fatal: Callable[[BaseException], None],
        on_batch: OnBatch | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._config = config
        self._controller = Controller(config, random)
        self._machine = MetadataStateMachine(config, on_batch)
        self._active = ActiveTerm(
            log=log, machine=self._machine, clock=clock, random=random, config=config
        )
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(config.commands_queued_max)
        self._unfinished: deque[_Waiting] = deque()
        """Plans under way, and those that found no room in the last batch, in their order."""
        self._detector = FailureDetector(
            image=lambda: self.image,
            dial=dial,
            fence=self._fence_dead,
            answered=self._note_answered,
            clock=clock,
            config=config,
        )
        self._background = Background(on_fatal)
        self.unclean_leader_elections = 0
        """Leaders elected by this node that may have lacked committed records."""

    @property
    def image(self) -> MetadataImage:
        """The committed metadata this node knows."""
        return self._machine.image

    @property
    def is_active(self) -> bool:
        """See `ActiveTerm.is_active`."""
        return self._active.is_active

    def stats(self) -> Mapping[str, float]:
        """Metrics of the controller."""
        return {
            "active_controller": float(self.is_active),
            "unclean_leader_elections": self.unclean_leader_elections,
            "committed_metadata_offset": self.image.offset,
            "offline_partitions": self.offline_partitions,
        }

    @property
    def offline_partitions(self) -> int:
        """Number of partitions without a leader; 0 unless this node is the active controller."""
        if not self.is_active:
            return 0
        topics = self.image.topics.values()
        return sum(one.leader_id is None for topic in topics for one in topic.partitions)

    @property
    def leader_id(self) -> int | None:
        """The active controller as far as this node knows."""
        return self._log.leader_id

    async def start(self) -> None:
        """Start the log, replay it, and take part. Errors: `StorageError` as of the log."""
        self._log.on_leadership(self._on_leadership)
        await self._log.start(self._machine)
        self._on_leadership()
        self._background.spawn("decisions", self._decide_forever())
        self._background.spawn("sessions", self._expire_sessions_forever())
        self._background.spawn("leader-balance", self._rebalance_forever())

    async def stop(self) -> None:
        """Leave the quorum; waiting commands are answered, followers end. Each wait is bounded."""
        await self._log.stop()
        self._active.end()
        await self._detector.stop()
        await self._background.stop()
        while not self._queue.empty():
            self._unfinished.append(self._queue.get_nowait())
        for one in self._unfinished:
            one.refuse(self._active.refusal())
        self._machine.close()

    async def submit(self, request: Any) -> Any:  # request and reply of one row of `COMMANDS`
        """Decide on a request, commit and answer; see `commands`, and the class for the reply.

        A registration that is refused as a duplicate has its predecessor dialled.
        """
        row = COMMANDS[type(request)]
        if row.is_quiet is not None:
            try:
                term = await self._active.confirm()
            except TidelogError as error:
                return row.refuse(error)
            now_ms = self._clock.monotonic_ms()
            if self._controller.is_quiet(request, self.image, now_ms):
                reply = self._controller.handle(request, self.image, now_ms).reply
                _log_late(request, reply)
                return _complete(row, reply, offset=self.image.offset, term=term)
        reply = await self._queue_up(request)
        is_duplicate = reply.error.code == common_pb2.DUPLICATE_BROKER_REGISTRATION
        if is_duplicate and isinstance(request, RegisterBrokerRequest):
            self._detector.doubt(request.broker_id)
        return reply

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
        """See `MetadataStateMachine.follow`. Served by any controller."""
        return self._machine.follow(from_offset, accepts_snapshot=accepts_snapshot)

    @property
    def term(self) -> int:
        """The Raft term this node is in, whether it leads or not."""
        return self._log.term

    def status(self) -> QuorumStatus:
        """The quorum as this voter knows it; served by any controller."""
        return self._log.status()

    def hold(self, until_ms: int) -> None:
        """See `Controller.hold`. Hold every controller, since any may become active."""
        self._controller.hold(until_ms)

    def release(self) -> None:
        """See `Controller.release`."""
        self._controller.release()

    async def _queue_up(self, command: Any) -> Any:  # as `submit`
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
        return await waiting.reply

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
            except InvariantError:
                raise
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

        Returns the commands that need another batch: those without room, then plans that go on.
        Raises the `TidelogError` that all commands without an answer get. After an unknown outcome
        nothing is decided until it is known.
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
                raise void_error()
        for election in batch.unclean:
            self._note_unclean(election)
        for one, decision in batch.decided:
            if decision.is_last:
                _log_late(one.command, decision.reply)
                one.answer(_complete(one.row, decision.reply, offset=offset, term=term))
            else:
                one.is_begun, one.rest = True, decision.rest
                batch.left_over.append(one)
        return batch.left_over

    def _decide_in_order(self, waiting: list[_Waiting]) -> _Batch:
        now_ms = self._clock.monotonic_ms()
        bytes_max = self._config.batch_bytes_max
        batch = _Batch(self.image, room=self._config.partitions_per_batch_max, bytes_left=bytes_max)
        for one in waiting:
            if batch.room <= 0 and one.row.plan_items is not None:
                batch.left_over.append(one)
                continue
            try:
                _check_is_known(one, batch.image)
                decision = self._controller.handle(
                    one.command,
                    batch.image,
                    now_ms,
                    room=max(1, batch.room),
                    bytes_left=batch.bytes_left,
                    rest=one.rest,
                )
                batch.add(one, decision)
            except NoRoomError as error:
                if error.size_bytes <= bytes_max:
                    batch.left_over.append(one)
                else:
                    one.refuse(_too_large_error(error.size_bytes, bytes_max))
            except ProposalUnknownError as error:
                one.refuse(error)
            except InvariantError as error:
                one.fail(error)
                raise
            except Exception as error:  # noqa: BLE001  # the caller's edge answers
                one.fail(error)
        return batch

    def _note_unclean(self, election: UncleanElection) -> None:
        self.unclean_leader_elections += 1
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
            await self._sleep_until_check()
            if self.is_active:
                now_ms = self._clock.monotonic_ms()
                for broker_id in self._controller.find_doubtful(self.image, now_ms):
                    self._detector.doubt(broker_id)
            try:
                while (command := self._next_check()) is not None:
                    reply = await self._queue_up(command)
                    _log_checked(command, reply)
                    if reply.error.code:
                        break
            except InvariantError:
                raise
            except Exception:  # noqa: BLE001  # the task's top: sessions go on
                _log.exception("silent brokers were not fenced")

    async def _sleep_until_check(self) -> None:
        """Sleep for the interval; a loop that stood still heard of nobody meanwhile."""
        loop = asyncio.get_running_loop()
        interval_s = self._config.session_check_interval_ms / 1000
        due_s = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        late_ms = int((loop.time() - due_s) * 1000)
        if late_ms >= STOOD_STILL_MS_MIN:
            self._controller.forgive(late_ms, self._clock.monotonic_ms())
            _log.warning("this controller stood still, sessions go on", milliseconds=late_ms)

    def _note_answered(self, broker_id: int, broker_epoch: int) -> None:
        now_ms = self._clock.monotonic_ms()
        self._controller.note_answered(broker_id, broker_epoch, self.image, now_ms)

    def _next_check(self) -> ExpireSessions | SettlePartitions | None:
        """The next thing to decide on unasked; fencing goes before what it leaves to do."""
        now_ms = self._clock.monotonic_ms()
        if not self.is_active:
            return None
        if self._controller.has_expired_sessions(self.image, now_ms):
            return ExpireSessions()
        return SettlePartitions() if self._controller.has_unsettled(self.image, now_ms) else None

    async def _fence_dead(self, broker_id: int, broker_epoch: int, cause: str) -> None:
        reply = await self._queue_up(FenceDeadBroker(broker_id, broker_epoch, cause))
        if reply.error.code:
            raise error_for(reply.error.code, reply.error.message)

    async def _rebalance_forever(self) -> None:
        while True:
            await asyncio.sleep(self._config.leader_imbalance_check_interval_seconds)
            try:
                await self._rebalance()
            except InvariantError:
                raise
            except Exception:  # noqa: BLE001  # the task's top: the next round tries again
                _log.exception("leaderships were not moved back")

    async def _rebalance(self) -> None:
        """Move back as many leaderships as a round may, a batch of them at a time."""
        for _ in range(batches_in_round(self._config)):
            is_wanted = self._config.auto_leader_rebalance_enable and self.is_active
            if not is_wanted or not has_imbalance(self.image):
                return
            reply = await self._queue_up(RebalanceLeaders())
            if reply.error.code:
                return

    def _on_leadership(self) -> None:
        """Activate the controller when this node becomes active: it has heard no heartbeats yet."""
        term = self._active.update()
        if term is not None:
            self._controller.activate(self._clock.monotonic_ms(), controller_epoch=term)
            _log.info("this node is the active controller", controller_epoch=term)


def _log_checked(command: ExpireSessions | SettlePartitions, reply: Reply) -> None:
    is_fencing = isinstance(command, ExpireSessions)
    if reply.error.code:
        what = "silent brokers not fenced yet" if is_fencing else "partitions not settled yet"
        _log.warning(what, error=reply.error.message)
    elif is_fencing:
        _log.info("silent brokers fenced")


def _log_late(command: object, reply: Reply) -> None:
    if is_numbered(command) and reply.error.code in LATE_CODES:
        _log.info(
            "late attempt refused",
            request=type(command).__name__,
            broker_id=command.broker_id,
            attempt=command.attempt,
            error=reply.error.message,
        )


def _too_large_error(size_bytes: int, bytes_max: int) -> MessageTooLargeError:
    return MessageTooLargeError(
        f"what this command changes takes {size_bytes} bytes of metadata at once, and a batch has "
        f"{bytes_max}: ask for less at one time",
    )


def _check_is_known(one: _Waiting, image: MetadataImage) -> None:
    """Raise `ProposalUnknownError` where the progress of a begun plan is no longer known."""
    if one.is_begun and one.row.needs_id and one.command.command_id not in image.commands:
        raise ProposalUnknownError("its outcome is no longer known: look, or ask again")


def _complete(row: CommandRow[Any, Any], reply: Any, *, offset: int, term: int) -> Any:
    """Put into a row's reply the values that the commit gives."""
    reply.controller_epoch = term
    if row.complete is not None:
        row.complete(reply, offset)
    return reply
