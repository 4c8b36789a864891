"""Reports of brokers with broken connections to the active controller, until it answers.

Owns the suspected brokers: one report at a time for each, none for one fenced already. A report is
only a suspicion: the controller dials the broker itself. Each is repeated while no controller
decides, since the dead node may have been the active controller, but not for longer than the
session timeout, after which the broker is fenced anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.core.background import Background
from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger
from tidelog.metadata.image import MetadataImage
from tidelog.v1.controller_pb2 import ReportUnreachableBrokerRequest
from tidelog.v1.methods import REPORT_UNREACHABLE_BROKER

# A broker that hung up and calls again within this time is alive: a stream may break by itself.
GRACE_S = 0.03
# Pause before a report is repeated after a refusal or another broken connection.
REPEAT_S = 0.05

log = get_logger(__name__)


class UnreachableReports:
    """Reports of one node; `image` is the newest it knows."""

    def __init__(
        self,
        *,
        node_id: int,
        image: Callable[[], MetadataImage],
        broker_epoch: Callable[[], int],
        controllers: ControllerChannel,
        timeout_ms: int,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._node_id = node_id
        self._image = image
        self._broker_epoch = broker_epoch
        self._controllers = controllers
        self._timeout_ms = timeout_ms
        self._background = Background(on_fatal)
        self._is_stopped = False
        # Broker id -> True if its connection broke again since its report was sent.
        self._reported: dict[int, bool] = {}
        self._hung_up: dict[int, asyncio.TimerHandle] = {}

    async def stop(self) -> None:
        """Stop reporting: this node's own connections are about to end."""
        self._is_stopped = True
        for timer in self._hung_up.values():
            timer.cancel()
        await self._background.stop()

    def note_broken(self, broker_id: int) -> None:
        """Report a broker to which a connection was refused or broke."""
        broker = self._image().brokers.get(broker_id)
        if self._is_stopped or broker is None or broker.is_fenced or broker_id == self._node_id:
            return
        if broker_id in self._reported:
            self._reported[broker_id] = True
        else:
            self._reported[broker_id] = False
            self._background.spawn(f"report-{broker_id}", self._report(broker_id))

    def hung_up(self, broker_id: int) -> None:
        """Note that a broker's request ended before its answer: broken, or abandoned for another.

        The broker is reported unless it sends another request within a moment.
        """
        is_known = broker_id in self._image().brokers
        if is_known and not self._is_stopped and broker_id not in self._hung_up:
            loop = asyncio.get_running_loop()
            self._hung_up[broker_id] = loop.call_later(GRACE_S, self._on_silence, broker_id)

    def note_request(self, broker_id: int) -> None:
        """Note a request from the broker."""
        timer = self._hung_up.pop(broker_id, None)
        if timer is not None:
            timer.cancel()

    def _on_silence(self, broker_id: int) -> None:
        del self._hung_up[broker_id]
        self.note_broken(broker_id)

    async def _report(self, broker_id: int) -> None:
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                while (broker := self._image().brokers.get(broker_id)) and not broker.is_fenced:
                    self._reported[broker_id] = False
                    is_answered = await self._send(broker_id, broker.broker_epoch)
                    if is_answered and not self._reported[broker_id]:
                        return
                    await asyncio.sleep(REPEAT_S)
        except TimeoutError:
            log.info("report not answered", broker_id=broker_id)
        finally:
            del self._reported[broker_id]

    async def _send(self, broker_id: int, broker_epoch: int) -> bool:
        request = ReportUnreachableBrokerRequest(
            broker_id=broker_id,
            broker_epoch=broker_epoch,
            reporter_id=self._node_id,
            reporter_epoch=self._broker_epoch(),
        )
        log.info("broker suspected", broker_id=broker_id, broker_epoch=broker_epoch)
        try:
            response = await self._controllers.call(
                REPORT_UNREACHABLE_BROKER, request, timeout_ms=self._timeout_ms
            )
        except TidelogError as error:
            log.info("report failed", broker_id=broker_id, error=str(error))
            return False
        if response.error.code:
            log.info("report refused", broker_id=broker_id, error=response.error.message)
        return not response.error.code
