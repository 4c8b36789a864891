"""A transactional client in a simulated process of its own: what all kinds of them share.

Nothing but being fenced, or an error for which an application starts again, may end one.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from tidelog.client import Producer
from tidelog.client.errors import ClientConfigError, ProducerFencedError, TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.transactions.simulation_config import ClientPlan
from tidelog.simulation.transactions.transaction_calls import TransactionCalls


class ClientProcess(ABC):
    """A process; `is_over` when it has ended, by itself or killed."""

    def __init__(
        self,
        base: ClusterSimulation,
        calls: TransactionCalls,
        plan: ClientPlan,
        random: SeededRandom,
        name: str,
    ) -> None:
        self.plan = plan
        self.name = name
        self.is_over = self.is_closing = self.is_initialised = False
        self.base = base
        self.calls = calls
        self.random = random
        self.host, ports = base.cluster.new_client_process(name)
        base.client_processes.append(name)
        self.ports = ports
        self._task = self.host.loop.create_task(self._run(), name=name)

    @property
    def is_paused(self) -> bool:
        """True while it is not stepped."""
        return not self.is_over and self.host.loop.is_paused

    def failure(self) -> BaseException | None:
        """Find what ended it, which nothing may."""
        if self._task.done() and not self._task.cancelled():
            return self._task.exception()
        return None

    def kill(self) -> None:
        """End it at once."""
        if not self.is_over:
            self.is_over = True
            self.base.note(self.name, "is killed")
            self.base.client_processes.remove(self.name)
            self.base.cluster.end_client_process(self.host)

    @abstractmethod
    async def work(self) -> None:
        """Do the application's work, until it is to close. Raises `KafkaError` to end."""

    def new_producer(self, transactional_id: str) -> Producer[bytes, bytes]:
        """Make a producer of this process."""
        plan = self.plan
        return Producer(
            self.base.bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=plan.transaction_timeout_ms,
            request_timeout_ms=plan.request_timeout_ms,
            delivery_timeout_ms=plan.delivery_timeout_ms,
            client_id=self.name,
            transport=self.ports.transport,
            clock=self.ports.clock,
            random=self.ports.random,
        )

    async def _run(self) -> None:
        self.base.note(self.name, "starts")
        try:
            await self.work()
        except ClientConfigError:
            raise  # a mistake of this suite
        except ProducerFencedError as error:
            self.calls.count("fenced")
            self.base.note(self.name, f"fenced: {error}")
        except TidelogError as error:
            self.base.note(self.name, f"ends: {type(error).__name__} {error}")
        self.is_over = True
        self.base.note(self.name, "is over")

    async def rest(self, low_s: float, high_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(self.random.uniform(low_s, high_s))
