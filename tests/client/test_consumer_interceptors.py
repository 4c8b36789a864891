"""Interceptors of the consumer: order, what they may change, and that none breaks reading."""

from __future__ import annotations

import logging

import pytest
from tests.client.consumer_cases import consumer, filled, take
from tests.client.real_cluster import started

from tidelog.client import Record, TopicPartition

P0 = TopicPartition("t", 0)


class Tagging:
    """Appends a letter to every value."""

    def __init__(self, letter: bytes) -> None:
        self.letter = letter
        self.calls: list[int] = []

    def on_consume(self, records: list[Record]) -> list[Record]:
        self.calls.append(len(records))
        return [record._replace(value=(record.value or b"") + self.letter) for record in records]


class Dropping:
    """Hands on records of even offsets only."""

    def on_consume(self, records: list[Record]) -> list[Record]:
        return [record for record in records if record.offset % 2 == 0]


class Raising:
    """Raises, after it took all records out of the list it was given."""

    def on_consume(self, records: list[Record]) -> list[Record]:
        records.clear()
        raise RuntimeError("interceptor broke")


async def test_each_gets_what_the_one_before_returned() -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    first, second = Tagging(b"a"), Tagging(b"b")
    async with consumer(cluster, interceptors=[first, second]) as c:
        c.assign([P0])
        assert [r.value for r in await take(c, 5)] == [b"%dab" % n for n in range(5)]
    assert first.calls == second.calls == [5]


async def test_one_that_raises_is_logged_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    with caplog.at_level(logging.ERROR):
        async with consumer(cluster, interceptors=[Raising(), Tagging(b"a")]) as c:
            c.assign([P0])
            assert [r.value for r in await take(c, 5)] == [b"%da" % n for n in range(5)]
    (logged,) = caplog.records
    assert "Raising" in logged.message
    assert logged.exc_info is not None
    assert "interceptor broke" in str(logged.exc_info[1])


async def test_an_iteration_goes_through_them_and_past_what_they_drop() -> None:
    cluster = await started()
    await filled(cluster)
    got = []
    async with consumer(cluster, interceptors=[Dropping(), Raising()]) as c:
        c.assign([P0])
        async for record in c:
            got.append(record.offset)
            if record.offset == 8:
                assert await c.position(P0) == 9
                break
    assert got == [0, 2, 4, 6, 8]
