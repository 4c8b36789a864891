"""Calls of plain messages to a node's coordinator, over the simulated network.

The classic protocol has no RPC of ours: a listener of Kafka's protocol is above it. So its members
call the coordinator's plain interface here, on connections as every other call: messages are late
or lost, a crash breaks them, one that is given up is cancelled, one that is held comes late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.engine.network import Connection, Host
from tidelog.simulation.groups.coordinator_checks import coordinator_of

CONNECT_S = 0.5

T = TypeVar("T")
Serve = Callable[[GroupCoordinator, Machine], Awaitable[T]]


class PlainCalls:
    """A host's way to the coordinators of a cluster."""

    def __init__(self, cluster: SimCluster, host: Host) -> None:
        self._cluster = cluster
        self._host = host

    async def call(self, node_id: int, name: str, serve: Serve[T], *, timeout_s: float) -> T:
        """Have `serve` run at a node; its result, or what it raised.

        Raises `UnreachableError` and `CallFailedError` as a `Transport`.
        """
        machine = self._cluster.machines[node_id]
        if coordinator_of(machine) is None or machine.host is None:
            await asyncio.sleep(CONNECT_S)
            raise UnreachableError(f"{machine.name} is silent")
        call = _PlainCall(self._cluster, self._host, machine, serve)
        call.send(name)
        try:
            async with asyncio.timeout(timeout_s):
                return await call.answered
        except TimeoutError:
            raise CallFailedError(f"{name} was not answered within {timeout_s} s") from None
        finally:
            call.give_up()


class _PlainCall(Generic[T]):
    def __init__(
        self, cluster: SimCluster, caller: Host, machine: Machine, serve: Serve[T]
    ) -> None:
        assert machine.host is not None  # the caller has looked
        self.answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._network = cluster.network
        self._caller = caller
        self._machine = machine
        self._server = machine.host
        self._serve = serve
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection = self._network.connect((caller, self._server), self._broken)

    # At the caller

    def send(self, name: str) -> None:
        if self._network.comes_late(self._caller, name, lambda: self._arrive_late(name)):
            return
        self._connection.send(self._caller, name, b"", self._on_request)

    def give_up(self) -> None:
        if not self.answered.done():
            self.answered.cancel()
            self._connection.send(self._caller, "cancel", b"", self._on_cancel)
        self._network.forget(self._connection)

    def _on_answer(self, answer: T | TidelogError) -> None:
        if self.answered.done():
            return
        if isinstance(answer, TidelogError):
            self.answered.set_exception(answer)
        else:
            self.answered.set_result(answer)

    def _broken(self, end: Host) -> None:
        if end is self._server:
            self._on_cancel()
        else:
            self._on_answer(CallFailedError(f"connection to {end.name} broke", is_broken=True))

    # At the server

    def _on_request(self) -> None:
        self._task = self._server.loop.create_task(self._work(), name="plain call")

    def _on_cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        answer = await self._outcome(self._machine)
        label = type(answer).__name__
        self._connection.send(self._server, label, b"", lambda: self._on_answer(answer))

    async def _outcome(self, machine: Machine) -> T | TidelogError:
        coordinator = coordinator_of(machine)
        if coordinator is None:
            return UnreachableError(f"{machine.name} does not listen yet")
        try:
            return await self._serve(coordinator, machine)
        except TidelogError as error:
            self._network.note_error(self._server, error)
            return error

    def _arrive_late(self, name: str) -> None:
        """Deliver to the process that runs by now; nobody waits for what it is answered."""
        host, machine = self._machine.host, self._machine
        if host is None or self._network.is_cut(self._caller, host):
            return
        scheduler = self._network.scheduler
        scheduler.trace.record(scheduler.now_s, "late", name)
        host.loop.create_task(self._run_unheard(machine), name=f"{name}<<")

    async def _run_unheard(self, machine: Machine) -> None:
        await self._outcome(machine)
