"""The producer against real brokers: order, retries, leader changes, limits, cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.loop_peers import LoopPeers
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.client.topic_changes import add_partitions

from tidelog.client import Producer, errors
from tidelog.client.producing.partitioners import murmur2
from tidelog.core.system import SystemClock
from tidelog.v1 import common_pb2


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


def unknown_after_append(times: int = 1) -> Mishap:
    error = errors.CallFailedError("the connection broke")
    return Mishap("Produce", error=error, is_after_work=True, times=times)


async def test_send_tells_where_the_record_lies() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with producer(cluster) as p:
        first = await p.send("t", value=b"a", key=b"k", headers=[("h", b"x")], partition=1)
        second = await p.send("t", value=None, partition=1, timestamp_ms=77)
    assert (first.topic, first.partition, first.offset) == ("t", 1, 0)
    assert (second.offset, second.timestamp_ms) == (1, 77)
    records = cluster.topics["t"].partitions[1].records()
    assert [(r.key, r.value, r.headers) for r in records] == [
        (b"k", b"a", (("h", b"x"),)),
        (None, None, ()),
    ]


async def test_missing_topic_is_made_on_first_use() -> None:
    cluster = await started()
    async with producer(cluster) as p:
        await p.send("new", value=b"a")
    assert cluster.values("new") == [[b"a"]]


async def test_records_with_a_key_go_where_kafka_would_put_them() -> None:
    cluster = await started()
    await cluster.create("t", partitions=5)
    async with producer(cluster) as p:
        for number in range(20):
            key = str(number).encode()
            metadata = await p.send("t", value=b"v", key=key)
            assert metadata.partition == (murmur2(key) & 0x7FFFFFFF) % 5


async def test_records_sent_together_share_requests_and_keep_their_order() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, batch_size=500) as p:
        futures = [await p.submit("t", value=str(n).encode()) for n in range(300)]
        offsets = [(await future).offset for future in futures]
    assert offsets == list(range(300))
    assert cluster.values("t") == [[str(n).encode() for n in range(300)]]
    assert len(cluster.requests("Produce")) < 100


async def test_a_broker_gets_one_request_at_a_time() -> None:
    cluster = await started()
    await cluster.create("t", partitions=6)
    async with producer(cluster) as p:
        for n in range(60):
            await p.submit("t", value=b"v", partition=3 * (n % 2))
            for _ in range(3):
                await asyncio.sleep(0)
    assert len(cluster.requests("Produce")) > 1
    assert cluster.most_in_flight == 1


async def test_one_request_carries_all_partitions_of_a_broker() -> None:
    cluster = await started()
    await cluster.create("t", partitions=6)
    async with producer(cluster, linger_ms=1) as p:
        for n in range(600):
            await p.submit("t", value=b"v" * 50, partition=n % 6)
    assert max(len(r.partitions) for r in cluster.requests("Produce")) == 2
    assert [len(values) for values in cluster.values("t")] == [100] * 6


@pytest.mark.parametrize("code", [common_pb2.NOT_ENOUGH_REPLICAS, common_pb2.REQUEST_TIMED_OUT])
async def test_retries_never_let_a_later_batch_overtake(code: common_pb2.ErrorCode) -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=code, times=3))
    async with producer(cluster, batch_size=200) as p:
        futures = [await p.submit("t", value=b"%03d" % n) for n in range(50)]
        await asyncio.gather(*futures)
    assert cluster.values("t") == [[b"%03d" % n for n in range(50)]]


async def test_unknown_outcome_may_store_twice_but_loses_nothing_and_keeps_order() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(unknown_after_append(times=2))
    async with producer(cluster, batch_size=200, enable_idempotence=False) as p:
        futures = [await p.submit("t", value=b"%03d" % n) for n in range(50)]
        await asyncio.gather(*futures)
    stored = cluster.values("t")[0]
    assert len(stored) > 50
    assert list(dict.fromkeys(stored)) == [b"%03d" % n for n in range(50)]


async def test_leader_named_in_the_refusal_is_used_at_once() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, retry_backoff_ms=60_000, retry_backoff_max_ms=60_000) as p:
        await p.send("t", value=b"a")
        asked = len(cluster.requests("Metadata"))
        await cluster.move("t", 0, leader_id=3)
        async with asyncio.timeout(5):
            await p.send("t", value=b"b")
        assert len(cluster.requests("Metadata")) == asked
    assert cluster.values("t") == [[b"a", b"b"]]


async def test_news_of_another_leader_end_the_pause_after_a_failure() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, retry_backoff_ms=60_000, retry_backoff_max_ms=60_000) as p:
        await p.send("t", value=b"a")
        await asyncio.sleep(0)
        p._engine.routing._not_before_ms = 0  # the last refresh was long ago
        cluster.kill(1)
        await cluster.failed_over()
        async with asyncio.timeout(5):
            await p.send("t", value=b"b")
    assert cluster.values("t") == [[b"a", b"b"]]


async def test_nothing_acknowledged_is_lost_when_the_leader_dies() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    async with producer(cluster) as p:
        acknowledged = []
        for n in range(60):
            if n == 30:
                cluster.kill(1)
            metadata = await p.send("t", value=b"%d" % n, partition=n % 3)
            acknowledged.append((metadata.partition, metadata.offset, b"%d" % n))
    for partition, offset, value in acknowledged:
        assert cluster.topics["t"].partitions[partition].records()[offset].value == value


async def test_partition_without_a_leader_waits_for_one() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=None)
    async with producer(cluster) as p:
        future = await p.submit("t", value=b"a")
        for _ in range(3):
            await p._engine.routing._try_refresh()
        assert not future.done()
        await cluster.move("t", 0, leader_id=2)
        assert (await future).offset == 0


async def test_refused_record_fails_with_its_own_error_and_its_neighbours_do_not() -> None:
    cluster = await started()
    await cluster.create("t", max_message_bytes=5_000)
    async with producer(cluster, batch_size=4_000) as p:
        sizes = [10, 3_000, 3_000, 9_000, 10]
        futures = [await p.submit("t", value=b"x" * size) for size in sizes]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
    assert [isinstance(o, errors.MessageTooLargeError) for o in outcomes] == [
        *(False, False, False, True, False)
    ]
    assert cluster.values("t") == [[b"x" * size for size in sizes if size < 5_000]]


async def test_batch_above_the_topics_limit_is_halved_until_it_fits() -> None:
    cluster = await started()
    await cluster.create("t", max_message_bytes=500)
    async with producer(cluster, batch_size=10_000) as p:
        outcome = await p.send_many("t", [b"%03d" % n + b"x" * 80 for n in range(64)])
    assert outcome.acknowledged == 64
    assert [v[:3] for v in cluster.values("t")[0] if v] == [b"%03d" % n for n in range(64)]


async def test_record_above_the_request_size_fails_at_send() -> None:
    cluster = await started()
    async with producer(cluster, max_request_size=300_000) as p:
        with pytest.raises(errors.MessageTooLargeError, match="max_request_size=300000"):
            await p.send("t", value=b"x" * 300_000)
        with pytest.raises(errors.MessageTooLargeError):
            await p.send_many("t", [b"ok", b"x" * 300_000])
    assert cluster.requests("Produce") == []


async def test_delivery_timeout_of_a_refused_record_says_it_is_not_in_the_log() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.NOT_ENOUGH_REPLICAS, times=10**6))
    async with producer(cluster, delivery_timeout_ms=30) as p:
        with pytest.raises(errors.DeliveryTimeoutError) as caught:
            await p.send("t", value=b"a")
    assert not caught.value.is_outcome_unknown
    assert cluster.values("t") == [[]]


async def test_delivery_timeout_after_a_broken_call_says_nobody_knows() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(unknown_after_append())
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.NOT_ENOUGH_REPLICAS, times=10**6))
    async with producer(cluster, delivery_timeout_ms=30) as p:
        with pytest.raises(errors.DeliveryTimeoutError) as caught:
            await p.send("t", value=b"a")
    assert caught.value.is_outcome_unknown
    assert cluster.values("t") == [[b"a"]]


async def test_cancelled_send_leaves_its_batch_alone() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, linger_ms=20) as p:
        waiting = asyncio.create_task(p.send("t", value=b"a"))
        other = asyncio.create_task(p.send("t", value=b"b"))
        await p.partitions_for("t")
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await other).offset == 1
    assert waiting.cancelled()
    assert cluster.values("t") == [[b"a", b"b"]]


async def test_full_buffer_makes_senders_wait_and_then_fail() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=None)
    p = producer(cluster, batch_size=500, max_request_size=900, buffer_memory=1000, max_block_ms=20)
    async with p:
        await p.submit("t", value=b"x" * 700)
        with pytest.raises(errors.BufferExhaustedError, match="buffer_memory=1000"):
            await p.submit("t", value=b"x" * 700)
        await cluster.move("t", 0, leader_id=2)
        assert (await p.send("t", value=b"y")).offset >= 0


async def test_send_many_counts_every_record_once() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    values = [b"%d" % n for n in range(1000)]
    keys = [b"k%d" % (n % 7) if n % 2 else None for n in range(1000)]
    async with producer(cluster, batch_size=2_000, max_request_size=5_000) as p:
        outcome = await p.send_many("t", values, keys=keys)
        empty = await p.send_many("t", [])
    assert (outcome.acknowledged, outcome.failed, outcome.error) == (1000, 0, None)
    assert empty.acknowledged == 0
    stored = [r for s in cluster.topics["t"].partitions for r in s.records()]
    assert sorted(int(r.value or b"-1") for r in stored) == list(range(1000))
    for state in cluster.topics["t"].partitions:
        for key in range(7):
            mine = [int(r.value or b"-1") for r in state.records() if r.key == b"k%d" % key]
            assert mine == sorted(mine)


async def test_bulk_result_counts_what_was_given_up() -> None:
    cluster = await started()
    await cluster.create("t", max_message_bytes=500)
    async with producer(cluster) as p:
        outcome = await p.send_many("t", [b"a", b"x" * 600, b"b"])
    assert (outcome.acknowledged, outcome.failed) == (2, 1)
    assert isinstance(outcome.error, errors.MessageTooLargeError)


async def test_acks_0_knows_no_offset() -> None:
    cluster = await started()
    async with producer(cluster, acks=0) as p:
        assert (await p.send("t", value=b"a")).offset == -1
    assert cluster.requests("Produce")[0].acks == 0


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
async def test_compressed_records_arrive_as_they_were(compression: str) -> None:
    cluster = await started()
    async with producer(cluster, compression=compression) as p:
        await p.send_many("t", [b"x" * 1000] * 100)
    assert cluster.values("t") == [[b"x" * 1000] * 100]
    assert sum(map(len, cluster.topics["t"].partitions[0].batches)) < 20_000


async def test_the_compression_level_is_the_codecs() -> None:
    value = b"".join(b"%d," % (place * 7919 % 10007) for place in range(4000))
    sizes = []
    for level in (1, 22):
        cluster = await started()
        async with producer(cluster, compression="zstd", compression_level=level) as p:
            await p.send("t", value=value)
        assert cluster.values("t") == [[value]]
        sizes.append(sum(map(len, cluster.topics["t"].partitions[0].batches)))
    assert sizes[1] < sizes[0]
    with pytest.raises(ValueError, match="zstd has no compression level 23"):
        producer(cluster, compression="zstd", compression_level=23)


async def test_unknown_partition_is_named() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with producer(cluster) as p:
        with pytest.raises(errors.KafkaError, match="partitions 0 to 1, not 5"):
            await p.send("t", value=b"a", partition=5)


async def test_a_partition_that_is_newer_than_the_metadata_is_written_to() -> None:
    cluster = await started()
    await cluster.create("t", partitions=1)
    async with producer(cluster) as p:
        await p.send("t", value=b"a", partition=0)
        await add_partitions(cluster, "t", 1, 2)
        assert (await p.send("t", value=b"b", partition=1)).partition == 1
        await add_partitions(cluster, "t", 3)
        await p.send_many("t", [b"c"], partition=3)
    assert cluster.values("t") == [[b"a"], [b"b"], [], [b"c"]]


async def test_wrong_type_is_refused_before_it_harms_a_batch() -> None:
    cluster = await started()
    async with producer(cluster) as p:
        good = await p.submit("t", value=b"a")
        with pytest.raises(TypeError, match="value must be bytes or None, not str"):
            await p.send("t", value="text")  # type: ignore[arg-type]
        assert (await good).offset == 0


async def test_unreachable_cluster_is_named_after_max_block_ms() -> None:
    cluster = await started()
    cluster.cut_off.update(ADDRESSES.values())
    async with producer(cluster, max_block_ms=20) as p:
        with pytest.raises(errors.UnreachableError, match="node1:9192, node2:9192"):
            await p.send("t", value=b"a")


async def test_any_one_bootstrap_address_is_enough() -> None:
    cluster = await started()
    cluster.cut_off.update((ADDRESSES[1], ADDRESSES[2]))
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=3)
    async with producer(cluster) as p:
        assert (await p.send("t", value=b"a")).offset == 0


async def test_close_sends_what_lingers_and_later_sends_are_refused() -> None:
    cluster = await started()
    p = producer(cluster, linger_ms=60_000)
    future = await p.submit("t", value=b"a")
    await p.close()
    assert future.result().offset == 0
    with pytest.raises(errors.ClientClosedError):
        await p.send("t", value=b"b")


async def test_close_gives_up_after_its_timeout() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=None)
    p = producer(cluster)
    future = await p.submit("t", value=b"a")
    await p.close(timeout_ms=10)
    with pytest.raises(errors.ClientClosedError) as caught:
        await future
    assert not caught.value.is_outcome_unknown


async def test_flush_waits_for_what_was_taken_before_it() -> None:
    cluster = await started()
    async with producer(cluster, linger_ms=60_000) as p:
        futures = [await p.submit("t", value=b"%d" % n) for n in range(10)]
        await p.flush()
        assert all(future.done() for future in futures)


def test_contradictory_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_size <= max_request_size"):
        Producer(BOOTSTRAP, batch_size=2 << 20, transport=LoopPeers({}))
    with pytest.raises(ValueError, match="acks"):
        Producer(BOOTSTRAP, acks=2, transport=LoopPeers({}))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not host:port"):
        Producer("localhost", transport=LoopPeers({}))


async def test_a_brokers_timestamp_is_told_where_the_topic_has_it() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster) as p:
        assert (await p.send("t", value=b"own", timestamp_ms=77)).timestamp_ms == 77
        await cluster.configure("t", message_timestamp_type="LogAppendTime")
        before_ms = SystemClock().wall_ms()
        stored_ms = (await p.send("t", value=b"a", timestamp_ms=77)).timestamp_ms
        assert before_ms <= stored_ms <= SystemClock().wall_ms()
        assert cluster.topics["t"].partitions[0].headers()[1].max_timestamp == stored_ms
