"""A writer of transactions: some records in several partitions, then the end of it; and again.

The same on any loop. One that was fenced as another has its id goes no further.
"""

from __future__ import annotations

import asyncio

from tidelog.chaos.workloads.plans import WriterPlan
from tidelog.chaos.workloads.transaction_calls import (
    ProducerMaker,
    TransactionCalls,
    WriterBook,
    why,
)
from tidelog.client.errors import ProducerFencedError, TidelogError
from tidelog.core.chance import SeededRandom

SENDS_MAX = 5
PAUSE_S_MAX, THINK_S_MAX = 0.15, 0.1
"""Times between transactions, and between the records of one."""
ABORTED_SHARE = 0.2
RETRY_S = 0.2


class TransactionWriter:
    """From its first producer to its end: `run`, until `is_over` is set."""

    def __init__(
        self,
        book: WriterBook,
        plan: WriterPlan,
        producer_of: ProducerMaker,
        random: SeededRandom,
        *,
        is_alone: bool,
    ) -> None:
        """`is_alone`: nobody else has its id, so that it goes on with a new producer if fenced.

        A transaction that was aborted by time-out fences its producer, too.
        """
        self.is_over = False
        self._book = book
        self._plan = plan
        self._producer_of = producer_of
        self._random = random
        self._is_alone = is_alone
        self._lives = 0

    async def run(self) -> None:
        """Write until it is over."""
        while not self.is_over:
            self._lives += 1
            process = f"{self._plan.name}.{self._lives}"
            calls = TransactionCalls(self._book, self._plan, self._producer_of(), process)
            end = "its producer was closed"
            try:
                await calls.start()
                while not self.is_over:
                    await self._write_one(calls)
                    await asyncio.sleep(self._random.uniform(0.0, PAUSE_S_MAX))
            except ProducerFencedError as error:
                end = why(error)
                self._book.note(end)
                if not self._is_alone:
                    return
            except TidelogError as error:
                self._book.note(why(error))
                await asyncio.sleep(RETRY_S)
            finally:
                await calls.close(end)

    async def _write_one(self, calls: TransactionCalls) -> None:
        await calls.begin()
        try:
            for _ in range(self._random.randrange(2, SENDS_MAX + 1)):
                await calls.send(self._random.randrange(0, self._plan.partitions))
                await asyncio.sleep(self._random.uniform(0.0, THINK_S_MAX))
        except ProducerFencedError:
            raise
        except TidelogError as error:
            self._book.note(why(error))
            await calls.abort()
            return
        if self._random.random() < ABORTED_SHARE:
            await calls.abort()
        else:
            await calls.commit()
