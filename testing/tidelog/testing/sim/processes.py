"""Processes of a simulated test: machines of the user's own code, beside the brokers'."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, cast

from tidelog.client.observer import ClientObserver
from tidelog.client.ports import OutsidePorts, give_clients
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.network import Host
from tidelog.testing.sim.errors import SimulatedTestError
from tidelog.testing.sim.guest_loop import GuestLoop

STOP_S_MAX = 30.0
"""Virtual time in which a process must end that is stopped; then it is killed."""
STOP_POLL_S = 0.005

Main = Callable[[], Coroutine[Any, Any, object]]


class SimulatedProcess:
    """A machine with a loop, a clock and links of its own, on which `main` runs.

    Ends by itself, with `kill` or with `stop`; `start` calls `main` again. An exception that `main`
    raises fails the seed: a program that may fail catches what it expects.
    """

    def __init__(
        self,
        name: str,
        main: Main,
        *,
        cluster: SimCluster,
        context: Context,
        hosts: list[str],
        fail: Callable[[BaseException], None],
        note: Callable[[str, str], None],
        observer: ClientObserver,
    ) -> None:
        self.name = name
        self._main = main
        self._cluster = cluster
        self._context = context
        self._hosts = hosts
        self._fail = fail
        self._note = note
        self._observer = observer
        self._clock = SimClock(lambda: cluster.scheduler.now_s)
        self._starts = 0
        self._has_ended = False
        self._host: Host | None = None
        self._task: asyncio.Task[object] | None = None
        hosts.append(name)
        self.start()

    @property
    def is_running(self) -> bool:
        """True from its start to its end, also while it is paused."""
        return self._host is not None

    @property
    def loop(self) -> NodeLoop | None:
        """Its present loop; None: it does not run."""
        return None if self._host is None else self._host.loop

    @property
    def has_ended(self) -> bool:
        """True if the program ended by itself, or was stopped: `settle` starts only others."""
        return self._has_ended

    @property
    def is_paused(self) -> bool:
        """True between `pause` and `resume`."""
        return self._host is not None and self._host.loop.is_paused

    def start(self) -> None:
        """Start the program again: `main` is called, on a new loop. No effect while it runs."""
        if self._host is not None:
            return
        self._starts += 1
        self._has_ended = False
        self._say("starts")
        self._host, ports = self._cluster.new_client_process(
            self.name, clock=self._clock, start=self._starts
        )
        host = self._host
        context = self._context.copy()
        given = OutsidePorts(ports.transport, ports.clock, ports.random, self._observer)
        context.run(give_clients, lambda: given)
        host.loop.context = context
        self._task = host.loop.create_task(self._run(host), name=self.name, context=context.copy())

    def kill(self) -> None:
        """End it at once, as SIGKILL does: no `finally` block runs, connections break."""
        if self._host is not None:
            self._say("is killed")
            self._end()

    async def stop(self, *, within_s: float = STOP_S_MAX) -> bool:
        """End it in order; False: it took longer than `within_s` virtual seconds, and was killed.

        Its handler of SIGTERM is called where the program has one, else `main` is cancelled.
        """
        host, task = self._host, self._task
        if host is None or task is None:
            return True
        self._say("is stopped")
        handler = None
        if isinstance(host.loop, GuestLoop):
            handler = host.loop.signal_handlers.get(signal.SIGTERM)
        scheduler = self._cluster.scheduler
        end = task.cancel if handler is None else handler._run  # noqa: SLF001  # as a loop does
        scheduler.deliver(host.loop, cast(Callable[[], None], end), delay_s=0)
        deadline_s = scheduler.now_s + within_s
        while self._host is host:
            if scheduler.now_s > deadline_s:
                self.kill()
                return False
            await asyncio.sleep(STOP_POLL_S)
        return True

    def pause(self) -> None:
        """Step it no more, as SIGSTOP does; its connections stay open."""
        if self._host is not None and not self._host.loop.is_paused:
            self._say("is paused")
            self._host.loop.pause()

    def resume(self) -> None:
        """Step it again, as SIGCONT does; it knows nothing of the time that went by."""
        if self._host is not None and self._host.loop.is_paused:
            self._say("goes on")
            self._host.loop.resume()

    async def _run(self, host: Host) -> None:
        try:
            await self._coroutine()
        except asyncio.CancelledError:
            self._say("was cancelled")
        except BaseException as error:
            if host.loop.is_dead:
                raise
            if isinstance(error, SystemExit) and not error.code:
                self._say("has ended")
            else:
                self._say(f"failed: {error!r}")
                self._fail(error)
        else:
            self._say("has ended")
        if self._host is host:
            self._has_ended = True
            self._end()

    def _coroutine(self) -> Coroutine[Any, Any, object]:
        work: object = self._main()
        if not asyncio.iscoroutine(work):
            raise SimulatedTestError(
                f"sim.process({self.name!r}, main): main() returned {work!r} and no coroutine: "
                "give a function without parameters that returns one, as `lambda: run(…)`"
            )
        return work

    def _end(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            self._cluster.end_client_process(host)

    def _say(self, what: str) -> None:
        scheduler = self._cluster.scheduler
        scheduler.trace.record(scheduler.now_s, "process", self.name, what)
        self._note(self.name, what)
