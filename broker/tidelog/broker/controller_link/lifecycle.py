"""Broker lifecycle towards the controllers: registration, heartbeats, controlled shutdown.

Owns the incarnation, the broker epoch and the heartbeat; never touches partitions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.core.background import Background
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError, code_name
from tidelog.core.journal import Event, Kind
from tidelog.core.logs import get_logger
from tidelog.metadata.endpoints import endpoints_of
from tidelog.net.listeners import Listener
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    NOTHING,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    StartLoss,
)
from tidelog.v1.methods import BROKER_HEARTBEAT, REGISTER_BROKER

REGISTER_TIMEOUT_MS = 3000
REGISTER_BACKOFF_MS = 200
# Faster heartbeats until the broker is unfenced: a start does not wait for the interval.
STARTING_INTERVAL_MS = 50
MEMORY_LEASE_MS = 3000
"""Time for which a coordinator answers heartbeats from memory after the newest that the controllers
answered. Below every session that a member of a group may have: the next coordinator, which gives
each member a whole one, takes nobody's partitions before the last answer of this one."""
CONFIRM_TIMEOUT_MS = 1000
CONFIRM_LOOK_S = 0.005
LATE_MS_MIN = 1000
"""Delay of a heartbeat that is logged."""
CONTROLLED_SHUTDOWN_TIMEOUT_MS = 5000
CONTROLLED_SHUTDOWN_POLL_MS = 50
# Errors that require a new registration.
_REGISTER_AGAIN = frozenset({common_pb2.STALE_BROKER_EPOCH, common_pb2.BROKER_ID_NOT_REGISTERED})

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Configured facts that a broker registers and keeps its session with."""

    broker_id: int
    cluster_id: str
    listeners: tuple[Listener, ...]
    """Listeners whose endpoints are registered."""
    rack: str
    heartbeat_interval_ms: int
    session_timeout_ms: int
    """The controllers fence a broker that they have not heard for this long."""


class Lifecycle:
    """Registration and session of a broker; `on_registered` gets each new broker epoch."""

    def __init__(
        self,
        *,
        identity: BrokerIdentity,
        controllers: ControllerChannel,
        follower: MetadataFollower,
        random: Random,
        is_prepared: Callable[[], bool],
        on_registered: Callable[[int], Awaitable[None]],
        on_fatal: Callable[[BaseException], None],
        note: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.incarnation_id = random.randbytes(16)
        self.broker_epoch = -1
        self.is_ready = False
        self.start_loss: StartLoss = NOTHING
        """Possible loss of this start; reported once, with the first registration."""
        self._identity = identity
        self._controllers = controllers
        self._follower = follower
        self._answered_ms: int | None = None
        """Time at which the newest heartbeat that was answered was sent."""
        self._answered_offset = 0
        """Metadata offset that the controllers had committed when they answered it."""
        self._sent = 0
        """Number of heartbeats sent; `_answered` is that of the newest that was answered."""
        self._answered = 0
        self._is_stopped = False
        self._is_wanted = asyncio.Event()
        """Somebody waits for the answer to a heartbeat that is sent from now on."""
        self._heard = asyncio.Event()
        """Replaced with each answer, and then set."""
        self._is_prepared = is_prepared
        self._on_registered = on_registered
        self._note_event = note
        self._background = Background(on_fatal)

    @property
    def has_session(self) -> bool:
        """True while the controllers have not given this broker up, unless a dial was refused.

        They do when they have not heard it for a session, which counts here from the sending, and
        for `MEMORY_LEASE_MS` at most. What they decided before they answered the newest heartbeat
        is known here, too: one that they hear again after they gave it up has to learn of that
        first.
        """
        known_ms = self.known_as_of_ms
        if known_ms is None or not self.is_ready:
            return False
        silent_ms = self._controllers.clock.monotonic_ms() - known_ms
        return silent_ms < min(self._identity.session_timeout_ms, MEMORY_LEASE_MS)

    async def confirm(self) -> bool:
        """Ask the controllers now; True: after this call they had not given this broker up.

        All that they had decided is known here then. Heartbeats of many callers are one.
        """
        if self._is_stopped or not self.is_ready:
            return False
        asked = self._sent
        try:
            async with asyncio.timeout(CONFIRM_TIMEOUT_MS / 1000):
                while self._answered <= asked:
                    self._is_wanted.set()
                    await self._heard.wait()
                while self.known_as_of_ms is None:  # noqa: ASYNC110  # an image tells nobody
                    await asyncio.sleep(CONFIRM_LOOK_S)
        except TimeoutError:
            return False
        return self.is_ready

    @property
    def known_as_of_ms(self) -> int | None:
        """Time by the monotonic clock: what was decided before is known here; None: not surely."""
        if self._follower.image.offset < self._answered_offset:
            return None
        return self._answered_ms

    async def start(self) -> None:
        """Start registering; returns at once."""
        self._background.spawn("lifecycle", self._run())

    async def stop(self) -> None:
        """Stop the heartbeats without notice: the controllers notice when the session expires."""
        self._is_stopped = True
        await self._background.stop()

    async def controlled_shutdown(self) -> bool:
        """Ask the controllers to move leaderships away; False when they did not in time.

        No other heartbeat is sent from now on: it would unfence this broker again. An earlier one
        that arrives late has a lower attempt number, and is refused.
        """
        await self.stop()
        if self.broker_epoch < 0:
            return True
        try:
            async with asyncio.timeout(CONTROLLED_SHUTDOWN_TIMEOUT_MS / 1000):
                while True:
                    answer = await self._heartbeat(want_shut_down=True)
                    if answer.should_shut_down:
                        return True
                    await asyncio.sleep(CONTROLLED_SHUTDOWN_POLL_MS / 1000)
        except (TimeoutError, TidelogError) as error:
            log.warning("controlled shutdown not granted", error=str(error))
            return False

    async def _run(self) -> None:
        while True:
            await self._register()
            await self._keep_session()

    async def _register(self) -> None:
        request = RegisterBrokerRequest(
            broker_id=self._identity.broker_id,
            cluster_id=self._identity.cluster_id,
            incarnation_id=self.incarnation_id,
            endpoints=endpoints_of(self._identity.listeners),
            rack=self._identity.rack,
            start_loss=self.start_loss,
            previous_broker_epoch=max(self.broker_epoch, 0),
        )
        while True:
            try:
                response = await self._controllers.call(
                    REGISTER_BROKER, request, timeout_ms=REGISTER_TIMEOUT_MS
                )
            except TidelogError as error:
                if error.code == common_pb2.INCONSISTENT_CLUSTER_ID:
                    raise  # every controller said so
                log.info("not registered yet", error=str(error))
                continue
            if response.error.code == common_pb2.NONE:
                break
            is_late = response.error.code == common_pb2.STALE_BROKER_EPOCH
            if is_late and response.broker_epoch != request.previous_broker_epoch:
                request.previous_broker_epoch = response.broker_epoch
                continue
            # The session of this id's last incarnation may still run: it ends by itself.
            log.info("registration refused", error=response.error.message)
            self._note_refusal("registration refused", response.error)
            await asyncio.sleep(REGISTER_BACKOFF_MS / 1000)
        self.broker_epoch = response.broker_epoch
        self.start_loss = NOTHING
        log.info("registered", broker_epoch=self.broker_epoch)
        await self._on_registered(self.broker_epoch)

    async def _keep_session(self) -> None:
        """Send heartbeats until the controllers do not know this registration anymore."""
        while True:
            self._is_wanted.clear()
            sent_ms = self._controllers.clock.monotonic_ms()
            self._sent += 1
            try:
                response = await self._heartbeat(want_shut_down=False)
            except TidelogError as error:
                log.warning("no heartbeat", error=str(error))
                continue
            if response.error.code in _REGISTER_AGAIN:
                log.warning("registration lost", error=response.error.message)
                self._note_refusal("heartbeat refused", response.error)
                self.is_ready = False
                return
            if response.error.code == common_pb2.NONE:
                self._answered_ms = sent_ms
                self._answered_offset = response.metadata_offset
                self._answered = self._sent
                self._note(response)
                heard, self._heard = self._heard, asyncio.Event()
                heard.set()
            await self._sleep_until_due()

    async def _sleep_until_due(self) -> None:
        """Sleep for the interval, or until somebody waits; a heartbeat that came late is logged."""
        interval_s = self._interval_ms() / 1000
        clock = self._controllers.clock
        due_s = clock.monotonic_s() + interval_s
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_wanted.wait(), interval_s)
        late_ms = int((clock.monotonic_s() - due_s) * 1000)
        if late_ms >= LATE_MS_MIN:
            log.warning("heartbeat late: this process was busy or had no CPU", milliseconds=late_ms)

    def _note_refusal(self, what: str, error: Error) -> None:
        code = code_name(error.code)
        self._note_event(
            Event(
                Kind.REFUSAL,
                f"{what} by the controller: {code}: {error.message}",
                before=what,
                after=code,
                broker_id=self._identity.broker_id,
                broker_epoch=self.broker_epoch if self.broker_epoch >= 0 else None,
            )
        )

    def _interval_ms(self) -> int:
        interval_ms = self._identity.heartbeat_interval_ms
        return interval_ms if self.is_ready else min(interval_ms, STARTING_INTERVAL_MS)

    def _note(self, response: BrokerHeartbeatResponse) -> None:
        if self.is_ready == response.is_fenced:
            log.info("fenced" if response.is_fenced else "unfenced")
        self.is_ready = not response.is_fenced
        self._follower.note_committed_offset(response.metadata_offset)

    async def _heartbeat(self, *, want_shut_down: bool) -> BrokerHeartbeatResponse:
        is_prepared = self.is_ready or self._is_prepared()
        request = BrokerHeartbeatRequest(
            broker_id=self._identity.broker_id,
            broker_epoch=self.broker_epoch,
            # Until then as an offset of 0: this broker must not be elected yet.
            metadata_offset=self._follower.image.offset if is_prepared else 0,
            want_shut_down=want_shut_down,
        )
        return await self._controllers.call(
            BROKER_HEARTBEAT,
            request,
            timeout_ms=self._identity.session_timeout_ms // 2,
        )
