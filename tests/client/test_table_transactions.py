"""Tables in transactions, and transactions without `await`, against the coordinator's core."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.client.arrow_batches import Row, batch_of
from tests.client.meddler import Mishap
from tests.client.transaction_broker import ADDRESS, TransactionBroker

from tidelog.client import GroupMetadata, errors
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.sync import Producer as SyncProducer
from tidelog.v1 import common_pb2

NOBODY = GroupMetadata("g", "", -1, None)

# Tables


def table_writer(broker: TransactionBroker, **options: Any) -> TableWriter:
    options = {"transactional_id": "id", "retry_backoff_ms": 1, **options}
    return TableWriter(ADDRESS, transport=broker, **options)


def rows(*values: bytes) -> pa.RecordBatch:
    return batch_of([Row(value, partition=0) for value in values], "value", "partition")


async def test_a_table_is_written_in_one_transaction() -> None:
    broker = TransactionBroker()
    async with table_writer(broker) as writer:
        async with writer.transaction():
            await writer.write("t", rows(b"a", b"b"))
            await writer.write("u", rows(b"c"))
            assert not broker.requests("Produce"), "gathered"
        assert (broker.values("t"), broker.values("u")) == ([b"a", b"b"], [b"c"])
        with pytest.raises(errors.InvalidTxnStateError):
            await writer.write("t", rows(b"outside"))
    assert len(broker.requests("EndTransaction")) == 1


async def test_gathered_rows_of_an_aborted_transaction_are_in_no_later_one() -> None:
    broker = TransactionBroker()
    async with table_writer(broker) as writer:
        await writer.begin_transaction()
        await writer.write("t", rows(b"void"))
        await writer.flush()
        await writer.write("t", rows(b"gathered"))
        await writer.abort_transaction()
        async with writer.transaction():
            await writer.write("t", rows(b"kept"))
    stored = [one.values for one in broker.logs["t", 0]]
    assert stored == [[b"void"], False, [b"kept"], True]


async def test_a_row_that_is_refused_leaves_only_the_abort_of_the_table() -> None:
    broker = TransactionBroker()
    async with table_writer(broker) as writer:
        await writer.begin_transaction()
        await writer.write("t", rows(b"a"))
        broker.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
        with pytest.raises(errors.TransactionAbortedError):
            await writer.commit_transaction()
        async with writer.transaction():
            await writer.write("t", rows(b"b"))
    assert broker.values() == [b"b"]


async def test_leaving_the_writer_with_an_open_transaction_aborts_it() -> None:
    broker = TransactionBroker()
    async with table_writer(broker) as writer:
        await writer.begin_transaction()
        await writer.write("t", rows(b"a"))
        await writer.flush()
        await writer.write("t", rows(b"b"))
    assert broker.state() == "CompleteAbort"
    assert broker.values() == []


# Without a loop


def test_the_same_without_await() -> None:
    broker = TransactionBroker()
    options: Any = {"transactional_id": "id", "transport": broker}
    with SyncProducer(ADDRESS, **options) as p:
        with p.transaction():
            p.send("t", b"a", partition=0)
            p.send_offsets_to_transaction({("in", 0): 5}, NOBODY)

        def fail() -> None:
            with p.transaction():
                p.send("t", b"void", partition=0)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        p.begin_transaction()
        p.send("t", b"b", partition=0)
        p.commit_transaction()
        p.begin_transaction()
        p.send("t", b"open", partition=0)
    assert broker.values() == [b"a", b"b"]
    assert broker.state() == "CompleteAbort"
    assert len(broker.offsets) == 1
