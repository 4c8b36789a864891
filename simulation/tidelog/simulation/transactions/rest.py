"""The end of a seed of transactions: everything is read, and each input was processed once.

What the history alone shows is judged with the rest of it; here is what only this suite knows: a
copy is of a record of the ledger.
"""

from __future__ import annotations

from collections import Counter

from tidelog.client import Consumer, TopicPartition
from tidelog.client.errors import TidelogError
from tidelog.history.history import Committed
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.transactions.readers import ListReader
from tidelog.simulation.transactions.simulation_config import (
    COPIERS,
    COPIES,
    LEDGER,
    TransactionsConfig,
)
from tidelog.simulation.transactions.transaction_calls import TransactionCalls

SHOWN_MAX = 5


class RestChecks:
    """Checks at rest."""

    def __init__(
        self, base: ClusterSimulation, calls: TransactionCalls, config: TransactionsConfig
    ) -> None:
        self._base = base
        self._calls = calls
        self._config = config

    async def run(self) -> None:
        """Read everything committed, look up the group's offsets, compare."""
        tps = [
            TopicPartition(topic.name, number)
            for topic in self._config.topics
            for number in range(topic.partitions)
        ]
        reader = ListReader(
            self._base, self._calls, "last", tps, level="read_committed", is_final=True
        )
        try:
            await reader.read_all()
            await self._look_up([tp for tp in tps if tp.topic == LEDGER])
        except (TimeoutError, TidelogError) as error:
            self._base.findings.report("I29", f"final reads of transactions: {error!r}")
            return
        self._compare(reader.values[LEDGER], reader.values[COPIES])

    def _compare(self, ledger: list[bytes], copies: list[bytes]) -> None:
        copied = Counter(one.rpartition(b"|copy:")[0] for one in copies)
        again = [value for value, times in copied.items() if times > 1]
        if again:
            what = f"{len(again)} inputs were processed twice: {again[:SHOWN_MAX]}"
            self._base.findings.report("processed-twice", what)
        missing = [value for value in ledger if value not in copied]
        if missing:
            what = f"{len(missing)} inputs were not processed: {missing[:SHOWN_MAX]}"
            self._base.findings.report("not-processed", what)
        strange = set(copied) - set(ledger)
        if strange:
            what = f"{len(strange)} copies are of no input: {sorted(strange)[:SHOWN_MAX]}"
            self._base.findings.report("copied-uncommitted", what)

    async def _look_up(self, tps: list[TopicPartition]) -> None:
        consumer: Consumer[bytes, bytes] = Consumer(
            self._base.bootstrap,
            group_id=COPIERS,
            isolation_level="read_committed",
            enable_auto_commit=False,
            **self._base.client_ports("last-look"),
        )
        async with consumer:
            invoked_s = self._calls.now_s()
            found = await consumer.committed(tps)
        for tp, one in found.items():
            self._base.history.add(
                Committed(
                    process="last-look",
                    number=self._calls.next_number(),
                    group=COPIERS,
                    topic=tp.topic,
                    incarnation=0,
                    partition=tp.partition,
                    invoked_s=invoked_s,
                    ended_s=self._calls.now_s(),
                    offset=None if one is None else one.offset,
                    is_stable=True,
                )
            )
