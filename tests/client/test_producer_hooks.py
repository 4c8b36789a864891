"""What a producer calls of the application's: serializers, interceptors, delivery callbacks."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, RealCluster, started

from tidelog.client import Producer, ProducerRecord, RecordMetadata, errors
from tidelog.core.system import SystemClock
from tidelog.v1 import common_pb2

Outcome = tuple[RecordMetadata | None, Exception | None]


def producer(cluster: RealCluster, **options: Any) -> Producer[Any, Any]:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def one_partition(**configs: Any) -> RealCluster:
    cluster = await started()
    await cluster.create("t", **configs)
    return cluster


def as_json(_topic: str, thing: object) -> bytes:
    return json.dumps(thing).encode()


def as_text(_topic: str, text: str) -> bytes:
    return text.encode()


class Spy:
    """An interceptor that notes what it sees, and puts `mark` before every value."""

    def __init__(self, mark: bytes = b"") -> None:
        self.mark = mark
        self.sent: list[ProducerRecord[Any, Any]] = []
        self.outcomes: list[Outcome] = []

    def on_send(self, record: ProducerRecord[Any, Any]) -> ProducerRecord[Any, Any]:
        self.sent.append(record)
        return record._replace(value=self.mark + (record.value or b"")) if self.mark else record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        self.outcomes.append((metadata, error))


class Broken:
    """An interceptor that fails at everything."""

    def on_send(self, _record: ProducerRecord[Any, Any]) -> ProducerRecord[Any, Any]:
        raise LookupError("on_send")

    def on_acknowledgement(self, *_outcome: object) -> None:
        raise LookupError("on_acknowledgement")


class Forgetful(Spy):
    """An interceptor that returns nothing."""

    def on_send(self, _record: ProducerRecord[Any, Any]) -> Any:  # what is wrong
        return None


async def test_serializers_make_the_bytes_and_null_stays_null() -> None:
    cluster = await one_partition()
    typed: Producer[str, dict[str, int]] = Producer(
        BOOTSTRAP, transport=cluster, key_serializer=as_text, value_serializer=as_json
    )
    async with typed as p:
        await p.send("t", key="k", value={"a": 1})
        await p.send("t", key="gone", value=None)
        await p.send_many("t", [{"b": 2}, None], keys=[None, "x"])
    stored = [(r.key, r.value) for r in cluster.topics["t"].partitions[0].records()]
    assert stored == [(b"k", b'{"a": 1}'), (b"gone", None), (None, b'{"b": 2}'), (b"x", None)]


@pytest.mark.parametrize("part", ["key", "value"])
async def test_failing_serializer_names_topic_and_part_and_nothing_is_taken(part: str) -> None:
    cluster = await one_partition()
    good: dict[str, Any] = {"key": "k", "value": "v"}
    options = {
        "key_serializer": as_text,
        "value_serializer": as_text,
        f"{part}_serializer": as_json,
    }
    async with producer(cluster, **options) as p:
        for ask in (p.send, p.submit):
            with pytest.raises(errors.SerializationError, match=f"the {part} of .* 't'") as caught:
                await ask("t", **{**good, part: object()})
            assert (caught.value.topic, caught.value.part) == ("t", part)
            assert isinstance(caught.value.__cause__, TypeError)
        many = {"key": ["k"] * 3, "value": ["v"] * 3}
        many[part] = [*many[part][:2], object()]  # type: ignore[list-item]
        with pytest.raises(errors.SerializationError, match=f"the {part} of"):
            await p.send_many("t", many["value"], keys=many["key"])
        await p.flush()
        assert cluster.values("t") == [[]]
        assert (await p.send("t", **good)).offset == 0


async def test_serializer_that_returns_no_bytes_is_named() -> None:
    async with producer(await one_partition(), value_serializer=lambda _, thing: thing) as p:
        with pytest.raises(errors.SerializationError, match="value_serializer answered str"):
            await p.send("t", value="text")


async def test_interceptors_see_each_record_in_turn_and_its_outcome() -> None:
    cluster = await one_partition()
    first, second = Spy(b"1"), Spy(b"2")
    async with producer(cluster, interceptors=[first, second]) as p:
        await p.send("t", key=b"k", value=b"a", headers=[("h", None)], timestamp_ms=7)
        outcome = await p.send_many("t", [b"b", b"c"], keys=[None, b"x"], timestamp_ms=8)
    assert outcome.acknowledged == 2
    assert cluster.values("t") == [[b"21a", b"21b", b"21c"]]
    assert first.sent[0] == ProducerRecord("t", b"a", b"k", (("h", None),), None, 7)
    assert second.sent[1] == ProducerRecord("t", b"1b", None, (), None, 8)
    assert len(first.sent) == 3
    receipts = [RecordMetadata("t", 0, 0, 7), *(RecordMetadata("t", 0, n, 8) for n in (1, 2))]
    assert first.outcomes == second.outcomes == [(receipt, None) for receipt in receipts]


@pytest.mark.parametrize("bad", [Broken(), Forgetful()])
async def test_failing_interceptor_is_logged_and_breaks_nothing(
    bad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = await one_partition()
    spy = Spy(b"+")
    async with producer(cluster, interceptors=[bad, spy]) as p:
        assert (await p.send("t", value=b"a")).offset == 0
        assert (await p.send_many("t", [b"b"])).acknowledged == 1
    assert cluster.values("t") == [[b"+a", b"+b"]]
    assert len(spy.outcomes) == 2
    assert len([line for line in caplog.messages if line.startswith("interceptor ")]) >= 2


async def test_interceptors_hear_of_what_was_not_taken_and_of_what_failed() -> None:
    cluster = await one_partition()
    spy = Spy()
    async with producer(cluster, interceptors=[spy], value_serializer=as_text) as p:
        with pytest.raises(errors.SerializationError):
            await p.send("t", value=5)
        with pytest.raises(errors.SerializationError):
            await p.send_many("t", ["a", 5])
        cluster.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
        with pytest.raises(errors.TidelogError):
            await p.send("t", value="refused")
    assert [metadata for metadata, _ in spy.outcomes] == [None] * 4
    kinds = [type(error) for _, error in spy.outcomes]
    assert kinds[:3] == [errors.SerializationError] * 3
    assert spy.outcomes[3][1] is not None
    assert spy.outcomes[3][1].code == common_pb2.INVALID_RECORD  # type: ignore[attr-defined]


async def test_on_delivery_is_told_once_even_if_nobody_waits() -> None:
    cluster = await one_partition()
    delivered: list[Outcome] = []
    async with producer(cluster, linger_ms=60_000) as p:
        sending = asyncio.ensure_future(
            p.send("t", value=b"a", on_delivery=lambda *outcome: delivered.append(outcome))
        )
        await p.partitions_for("t")
        for _ in range(5):
            await asyncio.sleep(0)
        assert p._engine.accumulator.incomplete
        sending.cancel()
        await asyncio.wait([sending])
        assert delivered == []
        await p.flush()
    assert sending.cancelled()
    assert [metadata and metadata.offset for metadata, _ in delivered] == [0]


async def test_on_delivery_hears_why_a_record_was_given_up() -> None:
    cluster = await one_partition()
    await cluster.move("t", 0, leader_id=None)
    delivered: list[Outcome] = []
    p = producer(cluster)
    await p.submit("t", value=b"a", on_delivery=lambda *outcome: delivered.append(outcome))
    await p.close(timeout_ms=1)
    await p.close(timeout_ms=1)
    assert len(delivered) == 1
    assert delivered[0][0] is None
    assert isinstance(delivered[0][1], errors.ClientClosedError)


async def test_a_failure_that_on_delivery_heard_of_is_no_forgotten_exception() -> None:
    cluster = await one_partition()
    await cluster.move("t", 0, leader_id=None)
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    p = producer(cluster)
    await p.submit("t", value=b"a", on_delivery=lambda *_: None)
    await p.close(timeout_ms=1)
    del p
    gc.collect()
    assert complaints == []


async def test_failing_on_delivery_is_logged_and_its_neighbours_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = await one_partition()
    delivered: list[Outcome] = []

    def fails(*_outcome: object) -> None:
        raise LookupError("mine")

    async with producer(cluster, linger_ms=1) as p:
        await p.submit("t", value=b"a", on_delivery=fails)
        await p.submit("t", value=b"b", on_delivery=lambda *outcome: delivered.append(outcome))
    assert caplog.messages == ["on_delivery raised"]
    assert len(delivered) == 1
    assert cluster.values("t") == [[b"a", b"b"]]


async def test_interceptors_hear_a_brokers_timestamp_of_each_record() -> None:
    cluster = await one_partition(message_timestamp_type="LogAppendTime")
    spy, before_ms = Spy(), SystemClock().wall_ms()
    async with producer(cluster, interceptors=[spy]) as p:
        await p.send_many("t", [b"a", b"b"], timestamp_ms=77)
    (stored,) = {record.timestamp for record in cluster.topics["t"].partitions[0].records()}
    assert stored >= before_ms
    assert [metadata and metadata.timestamp_ms for metadata, _ in spy.outcomes] == [
        stored,
        stored,
    ]
