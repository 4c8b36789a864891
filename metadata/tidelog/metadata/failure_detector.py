"""Dials brokers whose connections broke, and has the dead ones fenced before their session ends.

Owns the dials under way: one for each broker, a bounded number in total, each shared by all reports
about its broker. `reachability` decides what an answer means and how long to wait before the next
dial; the controller decides what fencing changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tidelog.core.background import cancel_tasks, report_failure
from tidelog.core.env import Clock
from tidelog.core.errors import InvariantError, NotControllerError, ThrottlingQuotaExceededError
from tidelog.core.logs import get_logger
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.reachability import Damping, Verdict, live_incarnation, verdict_on
from tidelog.net.transport import Dialled

Dial = Callable[[str, int], Awaitable[Dialled]]
"""Address and time-out, milliseconds. Never raises."""
Fence = Callable[[int, int, str], Awaitable[None]]
"""Broker id, broker epoch, cause. Returns once it has committed; errors: a `TidelogError`."""
Answered = Callable[[int, int], None]
"""Broker id, broker epoch: the process of this incarnation answered a dial."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Probe:
    broker_epoch: int
    has_begun: bool = False
    """True when the dial has begun: a connection that breaks later needs another one."""


class FailureDetector:
    """The failure detector of one controller, while it is the active one."""

    def __init__(
        self,
        *,
        image: Callable[[], MetadataImage],
        dial: Dial,
        fence: Fence,
        answered: Answered,
        clock: Clock,
        config: ControllerConfig,
    ) -> None:
        self._image = image
        self._dial = dial
        self._fence = fence
        self._answered = answered
        self._clock = clock
        self._config = config
        self._damping = Damping(
            vain_ms=config.vain_dial_wait_ms,
            vain_ms_max=config.vain_dial_wait_ms_max,
            fenced_ms=config.fenced_dial_wait_ms,
            fenced_ms_max=config.fenced_dial_wait_ms_max,
        )
        self._probes: dict[int, tuple[_Probe, asyncio.Task[None]]] = {}
        self._slots = asyncio.Semaphore(config.dials_max)
        self._waiting = 0

    async def report(self, broker_id: int, broker_epoch: int) -> bool:
        """Dial an incarnation whose connection broke; return whether it is fenced or replaced now.

        Errors: `KafkaError` THROTTLING_QUOTA_EXCEEDED when too many reports wait; errors of the
        fencing.
        """
        if self._waiting >= self._config.reports_waiting_max:
            raise ThrottlingQuotaExceededError(
                f"{self._waiting} reports wait already: try again later",
            )
        self._waiting += 1
        try:
            await self._await_probe(broker_id, broker_epoch)
        finally:
            self._waiting -= 1
        return live_incarnation(self._image(), broker_id, broker_epoch) is None

    def doubt(self, broker_id: int) -> None:
        """Dial the registered incarnation, unless it is dialled.

        Another one wants its place, or its session is about to end.
        """
        broker = self._image().brokers.get(broker_id)
        if broker is not None and not broker.is_fenced and broker_id not in self._probes:
            self._begin(broker_id, broker.broker_epoch)

    async def stop(self) -> None:
        """End all dials within the limit of `cancel_tasks`; reports that wait fail."""
        await cancel_tasks([task for _, task in self._probes.values()])

    async def _await_probe(self, broker_id: int, broker_epoch: int) -> None:
        """Return once a dial of this incarnation that began after this call has its verdict."""
        while live_incarnation(self._image(), broker_id, broker_epoch) is not None:
            probe, task = self._probes.get(broker_id) or self._begin(broker_id, broker_epoch)
            is_of_use = probe.broker_epoch == broker_epoch and not probe.has_begun
            await asyncio.wait([task])
            if task.cancelled():
                raise NotControllerError("this controller stops")
            if is_of_use:
                task.result()
                return

    def _begin(self, broker_id: int, broker_epoch: int) -> tuple[_Probe, asyncio.Task[None]]:
        probe = _Probe(broker_epoch)
        task = asyncio.create_task(self._probe(broker_id, probe), name=f"dial-{broker_id}")
        self._probes[broker_id] = probe, task

        def forget(task: asyncio.Task[None]) -> None:
            del self._probes[broker_id]
            report_failure(task, InvariantError)  # others are the reports' that wait

        task.add_done_callback(forget)
        return probe, task

    async def _probe(self, broker_id: int, probe: _Probe) -> None:
        broker_epoch = probe.broker_epoch
        wait_ms = self._damping.wait_ms(broker_id, self._clock.monotonic_ms())
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)
        async with self._slots:
            broker = live_incarnation(self._image(), broker_id, broker_epoch)
            if broker is None:
                return
            probe.has_begun = True
            dialled = await self._dial(broker.address, self._config.dial_timeout_ms)
        verdict = verdict_on(broker, dialled)
        is_fenced = False
        try:
            if verdict is Verdict.ALIVE:
                self._answered(broker_id, broker_epoch)
            if verdict.is_dead:
                await self._fence(broker_id, broker_epoch, verdict.value)
                is_fenced = live_incarnation(self._image(), broker_id, broker_epoch) is None
        finally:
            self._damping.note(broker_id, self._clock.monotonic_ms(), is_fenced=is_fenced)
            _log.info(
                "broker dialled",
                broker_id=broker_id,
                broker_epoch=broker_epoch,
                verdict=verdict.value,
                is_fenced=is_fenced,
            )
