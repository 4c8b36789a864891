"""Records by POST against real brokers, on virtual time: forms, bounds, errors and statuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client.producing.partitioners import murmur2
from tidelog.core.errors import InvalidConfigError
from tidelog.node.config import parse_config
from tidelog.node.http_produce.answers import Answer
from tidelog.node.http_produce.config import HttpProduceConfig
from tidelog.node.http_produce.posts import (
    RECORD_SLACK_BYTES,
    Post,
    RecordPosts,
    producer_for,
)
from tidelog.v1 import common_pb2

CONFIG = HttpProduceConfig(is_enabled=True, max_bytes=1_000, records_max=3, requests_max=2)
KAFKA_JSON = "application/vnd.kafka.json.v2+json"


class Body:
    """Chunks of a body, and how many of them were read."""

    def __init__(self, *chunks: bytes, pause_s: float = 0) -> None:
        self.read = 0
        self._chunks, self._pause_s = chunks, pause_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            await asyncio.sleep(self._pause_s)
            self.read += 1
            yield chunk


def post(
    body: bytes | Body,
    content_type: str = "text/plain",
    *,
    topic: str = "t",
    query: Sequence[tuple[str, str]] = (),
    content_length: int | None = None,
) -> Post:
    chunks = aiter(body if isinstance(body, Body) else Body(body))
    return Post(topic, query, content_type, content_length, chunks)


def posts(cluster: RealCluster, config: HttpProduceConfig = CONFIG) -> RecordPosts:
    return RecordPosts(producer_for(config, BOOTSTRAP, cluster), config)


async def one_topic(
    *, partitions: int = 1, replicas: int = 3, auto_create: bool = True
) -> RealCluster:
    cluster = await started(auto_create=auto_create)
    await cluster.create("t", partitions=partitions, replicas=replicas)
    return cluster


async def answer(cluster: RealCluster, request: Post) -> Answer:
    under_test = posts(cluster)
    try:
        return await under_test.answer(request)
    finally:
        await under_test.close()


def error(found: Answer) -> tuple[int, object]:
    return found.status, found.body["error"]


@pytest.mark.parametrize(
    ("content_type", "body", "values"),
    [
        ("text/plain", b"two\nlines\n", [b"two\nlines\n"]),
        ("text/plain", b"", [b""]),
        ("application/octet-stream", b"\x00\xff", [b"\x00\xff"]),
        ("application/x-www-form-urlencoded", b"a=1&b=%20", [b"a=1&b=%20"]),
        ("application/json", b' {"n": 1.10, "n": 2}', [b' {"n": 1.10, "n": 2}']),
        ("application/json", b'{"records": []}', [b'{"records": []}']),
        ("application/json", b"null", [b"null"]),
        ("application/x-ndjson", b'{"a":1}\n\n[2]\n"x"', [b'{"a":1}', b"[2]", b'"x"']),
        (KAFKA_JSON, b'{"records": [{"value": null}, {"value": [1.10]}]}', [None, b"[1.10]"]),
    ],
)
async def test_the_content_type_says_what_the_records_are(
    content_type: str, body: bytes, values: list[bytes | None]
) -> None:
    cluster = await one_topic()
    found = await answer(cluster, post(body, content_type))
    offsets = [{"partition": 0, "offset": number} for number in range(len(values))]
    assert found == Answer(200, {"topic": "t", "offsets": offsets})
    assert cluster.values("t") == [values]


async def test_all_replicas_acknowledge_a_record_before_its_answer() -> None:
    cluster = await one_topic()
    await answer(cluster, post(b"v"))
    assert [request.acks for request in cluster.requests("Produce")] == [-1]


async def test_key_and_partition_are_those_of_the_query() -> None:
    cluster = await one_topic(partitions=5)
    found = await answer(cluster, post(b"v", query=[("key", "köln")]))
    place = (murmur2("köln".encode()) & 0x7FFFFFFF) % 5
    assert found.body["offsets"] == [{"partition": place, "offset": 0}]
    found = await answer(cluster, post(b"v", query=[("key", "köln"), ("partition", "4")]))
    assert cast("Any", found.body["offsets"])[0]["partition"] == 4
    assert [record.key for record in cluster.topics["t"].partitions[4].records()][-1:] == [
        "köln".encode()
    ]


async def test_rows_name_key_headers_and_partition_of_their_own() -> None:
    cluster = await one_topic(partitions=2)
    rows = (
        b'{"records": [{"value": {"n": 1}, "key": "a", "partition": 1,'
        b' "headers": {"h": "x", "none": null}}, {"value": 2}]}'
    )
    await answer(cluster, post(rows, KAFKA_JSON, query=[("key", "b"), ("partition", "0")]))
    (other,), (own,) = (part.records() for part in cluster.topics["t"].partitions)
    assert (own.key, own.value, own.headers) == (
        b"a",
        b'{"n": 1}',
        (("h", b"x"), ("none", None)),
    )
    assert (other.key, other.value) == (b"b", b"2")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b""),
        ("application/json", b'{"a": }'),
        ("application/json", b'{"a": 1} 2'),
        ("application/json", b'"\xff"'),
        ("application/json", b"[" * 900),
        ("application/x-ndjson", b'{"a": 1}\nno'),
        (KAFKA_JSON, b"[]"),
        (KAFKA_JSON, b'{"records": [{"key": "a"}]}'),
        (KAFKA_JSON, b'{"records": [{"value": 1, "key": 2}]}'),
        (KAFKA_JSON, b'{"records": [{"value": 1, "kye": "a"}]}'),
        (KAFKA_JSON, b'{"records": [{"value": 1, "partition": "0"}]}'),
    ],
)
async def test_a_body_that_is_not_what_it_says_is_refused_whole(
    content_type: str, body: bytes
) -> None:
    cluster = await one_topic()
    assert error(await answer(cluster, post(body, content_type))) == (400, "INVALID_RECORD")
    assert cluster.calls == []


@pytest.mark.parametrize("body", [b"", b"\n \n"])
async def test_a_body_without_a_record_is_refused(body: bytes) -> None:
    found = await answer(await one_topic(), post(body, "application/x-ndjson"))
    assert error(found) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("change", "status", "name"),
    [
        ({"query": [("kye", "a")]}, 400, "INVALID_REQUEST"),
        ({"query": [("key", "a"), ("key", "b")]}, 400, "INVALID_REQUEST"),
        ({"query": [("partition", "-1")]}, 400, "INVALID_REQUEST"),
        ({"query": [("partition", "9" * 11)]}, 400, "INVALID_REQUEST"),
        ({"content_type": "image/png"}, 415, "INVALID_REQUEST"),
        ({"content_encoding": "gzip"}, 415, "INVALID_REQUEST"),
        ({"content_length": 1_001}, 413, "MESSAGE_TOO_LARGE"),
        ({"origin": "https://example.org"}, 403, "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
async def test_what_the_head_says_is_refused_before_the_body_is_read(
    change: dict[str, Any], status: int, name: str
) -> None:
    cluster, body = await one_topic(), Body(b"v")
    request = post(body)._replace(**change)
    assert error(await answer(cluster, request)) == (status, name)
    refused = posts(cluster).refusal_by_head(request)
    assert refused is not None
    assert error(refused) == (status, name)
    assert (body.read, cluster.calls) == (0, [])


async def test_a_body_of_unknown_length_is_read_no_further_than_max_bytes() -> None:
    cluster = await one_topic()
    body = Body(*[b"x" * 400] * 50)
    assert error(await answer(cluster, post(body))) == (413, "MESSAGE_TOO_LARGE")
    assert body.read == 3
    assert (await answer(cluster, post(b"x" * CONFIG.max_bytes))).status == 200


async def test_a_key_may_be_as_long_as_a_query_with_the_largest_body() -> None:
    query = [("key", "k" * 8_190)]
    found = await answer(await one_topic(), post(b"x" * CONFIG.max_bytes, query=query))
    assert found.status == 200
    beyond = [("key", "k" * (RECORD_SLACK_BYTES + 1))]
    found = await answer(await one_topic(), post(b"x" * CONFIG.max_bytes, query=beyond))
    assert error(found) == (413, "MESSAGE_TOO_LARGE")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-ndjson", b"1\n2\n3\n4"),
        ("application/x-ndjson", b"\n" * 500),
        (KAFKA_JSON, b'{"records": [' + b",".join([b'{"value": 1}'] * 4) + b"]}"),
    ],
)
async def test_more_records_than_records_max_are_refused(content_type: str, body: bytes) -> None:
    cluster = await one_topic()
    found = await answer(cluster, post(body, content_type))
    assert error(found) == (413, "MESSAGE_TOO_LARGE")
    assert cluster.calls == []


async def test_no_more_than_requests_max_are_worked_on() -> None:
    under_test = posts(await one_topic())
    working = [
        asyncio.create_task(under_test.answer(post(Body(b"v", pause_s=1))))
        for _ in range(CONFIG.requests_max)
    ]
    await asyncio.sleep(0.5)
    refused = await under_test.answer(post(b"v"))
    assert error(refused) == (503, "THROTTLING_QUOTA_EXCEEDED")
    assert [(await task).status for task in working] == [200, 200]
    assert (await under_test.answer(post(b"v"))).status == 200
    await under_test.close()


async def test_a_slow_body_is_not_waited_for() -> None:
    cluster = await one_topic()
    config = replace(CONFIG, timeout_ms=4_000)
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    found = await posts(cluster, config).answer(post(Body(*[b"x"] * 50, pause_s=0.3)))
    assert error(found) == (408, "REQUEST_TIMED_OUT")
    assert 1 <= loop.time() - start_s < 1.1
    assert found.body["outcome_unknown"] is False


async def test_a_topic_that_does_not_exist_is_404() -> None:
    cluster = await one_topic(auto_create=False)
    found = await answer(cluster, post(b"v", topic="nosuch"))
    assert error(found) == (404, "UNKNOWN_TOPIC_OR_PARTITION")
    found = await answer(cluster, post(b"v", query=[("partition", "7")]))
    assert error(found) == (404, "UNKNOWN_TOPIC_OR_PARTITION")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (common_pb2.MESSAGE_TOO_LARGE, 413),
        (common_pb2.INVALID_RECORD, 400),
    ],
)
async def test_a_brokers_refusal_has_its_name_and_a_status(
    code: common_pb2.ErrorCode, status: int
) -> None:
    cluster = await one_topic()
    cluster.mishaps.append(Mishap("Produce", code=code))
    found = await answer(cluster, post(b"v"))
    assert error(found) == (status, common_pb2.ErrorCode.Name(code))
    assert found.body["code"] == code


async def test_without_a_leader_it_ends_in_time_and_says_that_nothing_was_stored() -> None:
    cluster = await one_topic(replicas=1)
    cluster.kill(1)
    await cluster.fenced(1)
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    found = await answer(cluster, post(b"v"))
    assert error(found) == (504, "REQUEST_TIMED_OUT")
    assert found.body["outcome_unknown"] is False
    assert loop.time() - start_s <= CONFIG.timeout_ms / 1000


async def test_without_any_broker_it_ends_in_time() -> None:
    cluster = await one_topic()
    cluster.cut_off |= set(ADDRESSES.values())
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    found = await answer(cluster, post(b"v"))
    assert found.status in (503, 504)
    assert loop.time() - start_s <= CONFIG.timeout_ms / 1000


async def test_each_record_says_what_became_of_it() -> None:
    cluster = await one_topic(partitions=2, replicas=1)
    cluster.kill(2)
    await cluster.fenced(2)
    rows = b'{"records": [{"value": 1, "partition": 0}, {"value": 2, "partition": 1}]}'
    found = await answer(cluster, post(rows, KAFKA_JSON))
    assert error(found) == (504, "REQUEST_TIMED_OUT")
    stored, failed = cast("Any", found.body["offsets"])
    assert stored == {"partition": 0, "offset": 0}
    assert (failed["error"], failed["outcome_unknown"]) == ("REQUEST_TIMED_OUT", False)


async def test_records_after_one_that_was_not_taken_are_not_sent() -> None:
    cluster = await one_topic()
    rows = b'{"records": [{"value": 1}, {"value": 2, "partition": 7}, {"value": 3}]}'
    found = await answer(cluster, post(rows, KAFKA_JSON))
    assert found.status == 404
    assert [one.get("error") for one in cast("Any", found.body["offsets"])] == [
        None,
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert cluster.values("t") == [[b"1"]]


async def test_a_node_that_stops_takes_no_more_and_sends_what_it_took() -> None:
    cluster = await one_topic()
    under_test = posts(cluster)
    is_appended = asyncio.Event()
    cluster.before_answer = lambda name: is_appended.set() if name == "Produce" else None
    taken = asyncio.create_task(under_test.answer(post(b"v")))
    await is_appended.wait()
    await under_test.close()
    assert (await taken).status == 200
    refused = await under_test.answer(post(b"v"))
    assert error(refused) == (503, "BROKER_NOT_AVAILABLE")
    assert cluster.values("t") == [[b"v"]]


NODE = """
node.id = 1
cluster.id = "c"
listeners = "127.0.0.1:1"
log.dirs = "/d"
controller.quorum.voters = {1 = "127.0.0.1:1"}
"""


def test_it_is_off_unless_configured() -> None:
    assert parse_config(NODE).http_produce.is_enabled is False
    on = parse_config(NODE + "http.port = 1\nhttp.produce.enable = true\n")
    assert on.http_produce.is_enabled is True


@pytest.mark.parametrize("more", ["", 'http.port = 1\nprocess.roles = ["controller"]\n'])
def test_it_needs_a_port_and_a_broker(more: str) -> None:
    with pytest.raises(InvalidConfigError, match=r"http\.produce\.enable needs"):
        parse_config(NODE + more + "http.produce.enable = true\n")
