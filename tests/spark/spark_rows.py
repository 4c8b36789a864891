"""What became of rows that were to be there once each: which are missing, which came again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

from tidelog.client import Consumer, Record

Row = TypeVar("Row", bound=Hashable)


class Account(NamedTuple):
    """Rows that are not there, that nobody sent, and how often any was there once more."""

    missing: int
    foreign: int
    repeats: int


EXACT = Account(0, 0, 0)


def account(found: Iterable[Row], sent: Iterable[Row]) -> Account:
    """Compare what is there with what was sent, all of it different."""
    times, wanted = Counter(found), set(sent)
    return Account(
        missing=len(wanted - times.keys()),
        foreign=len(times.keys() - wanted),
        repeats=times.total() - len(times),
    )


async def stored(bootstrap: str, topic: str) -> list[Record]:
    """Every committed record of the topic, by partition and offset."""
    async with Consumer(bootstrap, isolation_level="read_committed") as consumer:
        partitions = [(topic, number) for number in await consumer.partitions_for(topic)]
        consumer.assign(partitions)
        records: list[Record] = []
        for partition, end in (await consumer.end_offsets(partitions)).items():
            # By its position: a compacted partition has fewer records than offsets.
            while await consumer.position(partition) < end:
                records += await consumer.getmany(timeout_ms=10_000)
        return sorted(records, key=lambda record: (record.partition, record.offset))
