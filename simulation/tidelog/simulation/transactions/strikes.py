"""Faults of transactional clients and of their coordinators, beside the storm's.

Each takes itself back. Zombies: a process that is paused, or just goes on, while another one is
started under its id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from tidelog.broker.coordinator.runtime import Hosted
from tidelog.broker.transactions.transaction import (
    EPOCH_LAST,
    IDLE,
    Producer,
    State,
    Transaction,
)
from tidelog.broker.transactions.transaction_key import partition_of
from tidelog.broker.transactions.transaction_shard import TransactionShard
from tidelog.chaos.faults.drawer import Span
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.engine.network import Lateness
from tidelog.simulation.transactions.client_process import ClientProcess
from tidelog.simulation.transactions.coordinator_watch import coordinator_of
from tidelog.simulation.transactions.simulation_config import ClientPlan

GAP_S = Span(0.3, 2.0)
PAUSED_S, DEAF_S, LATE_FOR_S = Span(0.5, 6.0), Span(0.3, 5.0), Span(0.5, 3.0)
LATE_PROBABILITY, LATE_S = 0.4, Span(0.1, 3.0)
PROCESSES_MAX = 3
"""Processes under one id at a time."""
EPOCHS_LEFT_MAX, EPOCH_EARLY = 6, 10_000


class Struck(Protocol):
    """The clients that are struck."""

    @property
    def base(self) -> ClusterSimulation:
        """Their cluster."""

    @property
    def admin(self) -> Admin:
        """An operator's client."""

    @property
    def processes(self) -> Sequence[ClientProcess]:
        """Processes that were started and have not ended."""

    def of(self, plan: ClientPlan) -> Sequence[ClientProcess]:
        """Processes under an id, the oldest first."""

    def start(self, plan: ClientPlan) -> ClientProcess:
        """Start a process, whether another one has the id or not."""


class Strikes:
    """Strikes until the storm is over."""

    def __init__(self, clients: Struck, actions: FaultActions) -> None:
        self.actions = actions
        self._clients = clients
        self._base = clients.base
        self._kinds: tuple[Callable[[], Awaitable[None]], ...] = (
            *(self._kill, self._kill, self._zombie, self._zombie, self._twin),
            *(self._coordinator_kill, self._coordinator_pause, self._coordinator_move),
            *(self._deaf, self._late, self._last_epochs),
        )
        if len(self._base.config.broker_ids) == 1:
            self._kinds = tuple(one for one in self._kinds if one != self._coordinator_move)
        self._tasks: list[asyncio.Future[None]] = []

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """Strike again and again; return when all is taken back."""
        await self._last_epochs()
        while not is_over():
            await asyncio.sleep(GAP_S.draw(self.actions.random))
            kind = self.actions.one_of(self._kinds)
            self._tasks.append(asyncio.ensure_future(kind()))
        await asyncio.gather(*self._tasks)

    # Clients

    def _victim(self) -> ClientProcess | None:
        running = [one for one in self._clients.processes if not one.is_over]
        return self.actions.one_of(running) if running else None

    async def _kill(self) -> None:
        victim = self._victim()
        if victim is not None:
            self.actions.count("client_kill", victim.name)
            victim.kill()

    async def _zombie(self) -> None:
        """A process stands still, and another one takes its id; then it goes on."""
        victim = self._victim()
        if victim is None or victim.is_paused or self._is_full(victim.plan):
            return
        self.actions.count("client_zombie", victim.name)
        victim.host.loop.pause()
        await asyncio.sleep(PAUSED_S.draw(self.actions.random) / 4)
        if not self._is_full(victim.plan):
            self._clients.start(victim.plan)
        await asyncio.sleep(PAUSED_S.draw(self.actions.random))
        if victim.is_paused:
            victim.host.loop.resume()

    async def _twin(self) -> None:
        """A process takes the id of one that goes on."""
        victim = self._victim()
        if victim is not None and not self._is_full(victim.plan):
            self.actions.count("client_twin", victim.name)
            self._clients.start(victim.plan)

    def _is_full(self, plan: ClientPlan) -> bool:
        return len(self._clients.of(plan)) >= PROCESSES_MAX

    async def _deaf(self) -> None:
        """Hears no node, or none hears it."""
        victim = self._victim()
        if victim is None:
            return
        self.actions.count("client_deaf", victim.name)
        nodes = [self.actions.host(one) for one in self._base.config.node_ids]
        links = [(node, victim.name) for node in nodes]
        if self.actions.happens(0.5):
            links = [link[::-1] for link in links]
        await self.actions.cut(links, *DEAF_S)

    async def _late(self) -> None:
        """Its requests come late, some of them when their transaction is over."""
        victim = self._victim()
        if victim is None:
            return
        self.actions.count("client_late", victim.name)
        lateness = self._base.cluster.network.lateness
        links = [(victim.name, self.actions.host(one)) for one in self._base.config.node_ids]
        for link in links:
            lateness[link] = Lateness(LATE_PROBABILITY, *LATE_S)
        await asyncio.sleep(LATE_FOR_S.draw(self.actions.random))
        for link in links:
            lateness.pop(link, None)

    # Coordinators

    def _coordinator(self) -> int | None:
        """The node that coordinates some client's transactions."""
        topic = self._base.image.topics.get(TRANSACTIONS_TOPIC)
        victim = self._victim()
        if topic is None or victim is None:
            return None
        number = partition_of(victim.plan.transactional_id, len(topic.partitions))
        return topic.partitions[number].leader_id

    async def _coordinator_kill(self) -> None:
        victim = self._coordinator()
        if victim is not None and self.actions.kill(victim):
            self.actions.count("coordinator_kill", f"node {victim}")
            await self.actions.start_later(victim)

    async def _coordinator_pause(self) -> None:
        victim = self._coordinator()
        if victim is not None:
            self.actions.count("coordinator_pause", f"node {victim}")
            await self.actions.pause(victim, *PAUSED_S)

    async def _coordinator_move(self) -> None:
        """The preferred replicas lead again."""
        self.actions.count("coordinator_move")
        try:
            await self._clients.admin.elect_leaders([TRANSACTIONS_TOPIC])
        except TidelogError as error:
            self._base.note("admin", f"{type(error).__name__} {error}")

    async def _last_epochs(self) -> None:
        """An idle id is near its producer's last epoch, as if it had had 32,000 transactions.

        Its process is fenced by that, as by another one's start.
        """
        for machine in self._base.cluster.machines.values():
            coordinator = coordinator_of(machine)
            for hosted in () if coordinator is None else coordinator.runtime.active():
                known = hosted.shard.transactions.values()
                idle = [
                    one for one in known if one.state in IDLE and one.producer.epoch < EPOCH_EARLY
                ]
                if not idle or machine.host is None or machine.host.loop.is_paused:
                    continue
                one = self.actions.one_of(idle)
                epoch = EPOCH_LAST - self.actions.random.randrange(1, EPOCHS_LEFT_MAX)
                producer = Producer(one.producer.id, epoch)
                raised = replace(one, state=State.Empty, producer=producer, last=None)
                self.actions.count("last_epochs", one.transactional_id)
                machine.host.loop.call_soon(_append, hosted, raised, one)
                return


def _append(hosted: Hosted[TransactionShard], raised: Transaction, expected: Transaction) -> None:
    """Append a state to the coordinator's log, unless the id has another one by now."""
    if hosted.shard.transactions.get(raised.transactional_id) is not expected:
        return
    with suppress(TidelogError):
        hosted.append([raised.record()])
