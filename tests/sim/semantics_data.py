"""Cases of produce, fetch, offsets and idempotence, by either protocol."""

from __future__ import annotations

import asyncio

from tests.sim.both_protocols import EARLIEST, LATEST, NEWEST_TIME, Calls, Found, Produced, codes

from tidelog.records.batch import HEADER_BYTES, iter_batches, parse_header, seal
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, Record, encode_batch

OTHER_ID = b"another topic's!"


def batch(*values: bytes, at_ms: int = 1000) -> bytes:
    """One batch of records without keys."""
    return encode_batch([Record(offset=0, timestamp=at_ms, key=None, value=one) for one in values])


def numbered(producer: tuple[int, int], sequence: int, *values: bytes) -> bytes:
    """The same of an idempotent producer, by id and epoch."""
    builder = BatchBuilder()
    for one in values:
        builder.append(timestamp_ms=1000, key=None, value=one, headers=())
    return builder.build(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence
    )


def offsets(records: bytes) -> list[int]:
    """Base offsets of batches."""
    return [one.base_offset for one, _ in iter_batches(records)]


async def what_is_appended_is_read_from_any_offset(calls: Calls, topic: str) -> None:
    """Batches get following offsets and come back as they are, from the one that has the offset."""
    node = await calls.made(topic)
    first, second = batch(b"a", b"b"), batch(b"c")
    assert await calls.produce(node, topic, first) == Produced(0, 0)
    assert await calls.produce(node, topic, second) == Produced(0, 2)
    code, high_watermark, start, records = await calls.fetch(node, topic, 0)
    assert (code, high_watermark, start) == (0, 3, 0)
    assert offsets(records) == [0, 2]
    assert records[17 : len(first)] == first[17:], "all but the base offset and the epoch"
    inside = (await calls.fetch(node, topic, 1)).records
    assert offsets(inside) == [0, 2], "from the batch that holds the offset"
    assert (await calls.fetch(node, topic, 3)).records == b""


async def all_codecs_are_stored_as_sent(calls: Calls, topic: str) -> None:
    """Compressed batches are not opened up, nor compressed again."""
    node = await calls.made(topic)
    records = [Record(offset=0, timestamp=1000, key=b"k", value=b"v" * 500)]
    for codec in Codec:
        sent = encode_batch(records, compression=codec)
        code, offset, *_ = await calls.produce(node, topic, sent)
        assert code == 0
        read = (await calls.fetch(node, topic, offset, max_bytes=1)).records
        assert read[17:] == sent[17:]


async def one_batch_comes_whatever_the_limit(calls: Calls, topic: str) -> None:
    """A consumer gets on past a batch that is larger than what it asked for."""
    node = await calls.made(topic)
    for _ in range(2):
        await calls.produce(node, topic, batch(b"x" * 5000))
    for max_bytes in (1, 4999):
        assert offsets((await calls.fetch(node, topic, 0, max_bytes=max_bytes)).records) == [0]


async def a_fetch_waits_for_records(calls: Calls, topic: str) -> None:
    """It is answered when there are some, or when its time is over."""
    node = await calls.made(topic)
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    assert (await calls.fetch(node, topic, 0, wait_ms=3_000)).records == b""
    assert 3 <= loop.time() - began_s < 4
    other = type(calls)(calls.cluster)
    waiting = asyncio.ensure_future(other.fetch(node, topic, 0, wait_ms=30_000))
    await asyncio.sleep(1)
    assert (await calls.produce(node, topic, batch(b"x"))).code == 0
    assert offsets((await waiting).records) == [0]
    assert loop.time() - began_s < 10


async def what_is_no_batch_is_refused(calls: Calls, topic: str) -> None:
    """Nothing is appended; what is no batch of this format at all has a code of the protocol."""
    node = await calls.made(topic)
    whole = batch(b"x")
    corrupt = whole[:17] + b"\0\0\0\0" + whole[21:]
    old = b"".join([bytes(8), (22).to_bytes(4, "big"), bytes(4), b"\x01", bytes(17)])
    for records in (b"", old):
        assert {(await calls.produce(node, topic, records)).code} == codes(calls.no_batch)
    for records in (whole[:-1], corrupt):
        assert {(await calls.produce(node, topic, records)).code} == codes("CORRUPT_MESSAGE")
    assert await calls.find(node, topic, LATEST) == Found(0, 0)


async def where_a_request_goes_is_checked(calls: Calls, topic: str) -> None:
    """The broker, topic, partition, epoch and offset have to be right."""
    node = await calls.made(topic)
    sent = batch(b"x")
    unknown = codes("UNKNOWN_TOPIC_OR_PARTITION")
    assert {(await calls.produce(node, topic, sent, partition=7)).code} == unknown
    assert {(await calls.fetch(node, topic + "-no", 0)).code} == unknown
    assert {(await calls.find(node, topic + "-no", LATEST)).code} == unknown
    assert {(await calls.fetch(node, topic, 0, partition=7)).code} == unknown
    assert {(await calls.find(node, topic, LATEST, partition=7)).code} == unknown
    elsewhere = codes("NOT_LEADER_OR_FOLLOWER")
    assert {(await calls.produce(2, topic, sent)).code} == elsewhere
    assert {(await calls.fetch(2, topic, 0)).code} == elsewhere
    assert {(await calls.find(2, topic, LATEST)).code} == elsewhere
    newer = codes("UNKNOWN_LEADER_EPOCH")
    assert {(await calls.fetch(node, topic, 0, epoch=99)).code} == newer
    assert {(await calls.find(node, topic, LATEST, epoch=99)).code} == newer
    beyond = await calls.fetch(node, topic, 9)
    assert {beyond.code} == codes("OFFSET_OUT_OF_RANGE")
    assert {(await calls.produce(node, topic, sent, acks=2)).code} == (
        codes("INVALID_REQUIRED_ACKS")
    )
    assert await calls.find(node, topic, LATEST) == Found(0, 0)


async def a_topic_id_is_of_one_incarnation(calls: Calls, topic: str) -> None:
    """A topic that was made anew takes nothing that was sent to the one before."""
    node = await calls.made(topic)
    for ask in (
        calls.produce(node, topic, batch(b"x"), topic_id=OTHER_ID),
        calls.fetch(node, topic, 0, topic_id=OTHER_ID),
    ):
        assert {(await ask).code} <= codes("UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID")
    assert await calls.find(node, topic, LATEST) == Found(0, 0)


async def offsets_are_found_by_time(calls: Calls, topic: str) -> None:
    """The first record at or after a time; the start, the end, the newest time."""
    node = await calls.made(topic)
    for at_ms in (1000, 3000, 2000):
        await calls.produce(node, topic, batch(b"x", at_ms=at_ms))
    assert await calls.find(node, topic, LATEST) == Found(0, 3)
    assert await calls.find(node, topic, EARLIEST) == Found(0, 0)
    assert await calls.find(node, topic, NEWEST_TIME) == Found(0, 1, 3000)
    assert await calls.find(node, topic, 1001) == Found(0, 1, 3000)
    assert await calls.find(node, topic, 3001) == Found(0)


async def the_broker_gives_the_time_where_the_topic_says_so(calls: Calls, topic: str) -> None:
    """Of LogAppendTime, the answer tells it and records have it."""
    node = await calls.made(topic, message_timestamp_type="LogAppendTime")
    code, _, append_ms, _ = await calls.produce(node, topic, batch(b"x", at_ms=1000))
    assert code == 0
    assert append_ms > 1000
    assert await calls.find(node, topic, NEWEST_TIME) == Found(0, 0, append_ms)


async def a_refused_batch_names_the_records_to_blame(calls: Calls, topic: str) -> None:
    """Those without keys by their places, in small batches and large, plain and compressed."""
    node = await calls.made(topic, cleanup_policy="compact")
    for count in (10, 300):
        keyless = {2, 5, count - 1}
        for codec in Codec:
            builder = BatchBuilder(compression=codec)
            for n in range(count):
                key = None if n in keyless else b"k"
                builder.append(timestamp_ms=1000, key=key, value=b"v")
            refused = await calls.produce(node, topic, builder.build())
            assert {refused.code} == codes("INVALID_RECORD")
            assert set(refused.blamed) == keyless
            assert all("has no key" in message for message in refused.blamed.values())
    ahead = encode_batch([Record(0, at_ms, b"k", b"v") for at_ms in (1000, 1 << 60)])
    refused = await calls.produce(node, topic, ahead)
    assert ({refused.code}, set(refused.blamed)) == (codes("INVALID_TIMESTAMP"), {1})
    assert await calls.find(node, topic, LATEST) == Found(0, 0)


async def a_batch_is_as_new_as_its_newest_record(calls: Calls, topic: str) -> None:
    """Whatever its header says; a producer without an id may write any sequence."""
    node = await calls.made(topic)
    whole = batch(b"old", b"new", at_ms=1000)
    header = parse_header(whole)
    lie = seal(header._replace(max_timestamp=5, base_sequence=0), whole[HEADER_BYTES:])
    assert (await calls.produce(node, topic, lie)).code == 0
    assert await calls.find(node, topic, 1000) == Found(0, 0, 1000)


async def records_are_deleted_before_an_offset(calls: Calls, topic: str) -> None:
    """The start moves, reads before it are out of range, and the end stays."""
    node = await calls.made(topic)
    for _ in range(4):
        await calls.produce(node, topic, batch(b"x"))
    assert await calls.delete_records(node, topic, 3) == (0, 3)
    assert await calls.find(node, topic, EARLIEST) == Found(0, 3)
    assert {(await calls.fetch(node, topic, 1)).code} == codes("OFFSET_OUT_OF_RANGE")
    assert await calls.delete_records(node, topic, -1) == (0, 4), "up to the high watermark"
    assert {(await calls.delete_records(node, topic, 5))[0]} == codes("OFFSET_OUT_OF_RANGE")
    assert await calls.find(node, topic, LATEST) == Found(0, 4)


async def the_end_of_an_epoch_is_told(calls: Calls, topic: str) -> None:
    """Of the current one, the end of the log."""
    node = await calls.made(topic)
    await calls.produce(node, topic, batch(b"a", b"b"))
    code, epoch, end = await calls.end_of_epoch(node, topic, 0)
    assert (code, epoch, end) == (0, 0, 2)
    assert {(await calls.end_of_epoch(2, topic, 0))[0]} == codes("NOT_LEADER_OR_FOLLOWER")


async def a_batch_that_is_sent_twice_is_stored_once(calls: Calls, topic: str) -> None:
    """The second time it is answered as the first; a gap or an older epoch is refused."""
    node = await calls.made(topic)
    code, producer_id, epoch = await calls.producer_id(node)
    assert (code, epoch) == (0, 0)
    producer = (producer_id, 0)
    for _ in range(2):
        assert await calls.produce(node, topic, numbered(producer, 0, b"a", b"b")) == (
            Produced(0, 0)
        )
    assert await calls.produce(node, topic, numbered(producer, 2, b"c")) == Produced(0, 2)
    gap = await calls.produce(node, topic, numbered(producer, 9, b"d"))
    assert {gap.code} == codes("OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert await calls.producers(node, topic) == (0, {(producer_id, 0, 2)})
    assert await calls.produce(node, topic, numbered((producer_id, 1), 0, b"e")) == Produced(0, 3)
    old = await calls.produce(node, topic, numbered(producer, 3, b"f"))
    assert {old.code} == codes("INVALID_PRODUCER_EPOCH")
    assert await calls.find(node, topic, LATEST) == Found(0, 4)


async def producer_ids_are_given_once(calls: Calls, topic: str) -> None:
    """By each broker, and none twice."""
    given = [await calls.producer_id(node) for node in (1, 2, 3, 1, 2, 3)]
    assert {(code, epoch) for code, _, epoch in given} == {(0, 0)}
    assert len({producer_id for _, producer_id, _ in given}) == len(given)
    assert topic


DATA = (
    what_is_appended_is_read_from_any_offset,
    all_codecs_are_stored_as_sent,
    one_batch_comes_whatever_the_limit,
    a_fetch_waits_for_records,
    what_is_no_batch_is_refused,
    where_a_request_goes_is_checked,
    a_topic_id_is_of_one_incarnation,
    offsets_are_found_by_time,
    the_broker_gives_the_time_where_the_topic_says_so,
    a_refused_batch_names_the_records_to_blame,
    a_batch_is_as_new_as_its_newest_record,
    records_are_deleted_before_an_offset,
    the_end_of_an_epoch_is_told,
    a_batch_that_is_sent_twice_is_stored_once,
    producer_ids_are_given_once,
)
