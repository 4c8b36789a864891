"""Appenders: transactions of up to four appends to partitions of the ledger.

Most are committed, some aborted; some are left open for longer than the coordinator allows, and
committed then: the answer must say that they are aborted.
"""

from __future__ import annotations

from tidelog.client import Producer, TopicPartition
from tidelog.simulation.transactions.client_process import ClientProcess
from tidelog.simulation.transactions.simulation_config import LEDGER

APPENDS_MAX = 4
PAUSE_S_MAX, SLOW_S_MAX = 0.3, 0.4
ABORT_SHARE, OPEN_SHARE, SLOW_SHARE = 0.15, 0.22, 0.35
"""Below the first a transaction is aborted, below the second left open, below the third slow."""


class Appender(ClientProcess):
    """See the module."""

    async def work(self) -> None:
        """See `ClientProcess.work`."""
        async with self.new_producer(self.plan.transactional_id) as producer:
            while not self.is_closing:
                await self._append_list(producer)
                await self.rest(0.0, PAUSE_S_MAX)

    async def _append_list(self, producer: Producer[bytes, bytes]) -> None:
        draw = self.random.random()
        one = await self.calls.begin(producer, self.name, self.plan.transactional_id)
        self.is_initialised = True
        partitions = self.base.config.plan(LEDGER).partitions
        for _ in range(self.random.randrange(1, APPENDS_MAX + 1)):
            value = self.calls.next_value(self.name.encode())
            to = TopicPartition(LEDGER, self.random.randrange(0, partitions))
            await one.append(to, value)
            if OPEN_SHARE <= draw < SLOW_SHARE:
                await self.rest(0.0, SLOW_S_MAX)
        if draw < ABORT_SHARE:
            await one.abort()
            return
        if draw < OPEN_SHARE:
            timeout_s = self.plan.transaction_timeout_ms / 1000
            await self.rest(timeout_s, 2 * timeout_s)
        await one.commit()
