"""Errors in responses are counted, in whatever place of whichever message they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from tests.broker.kafka.memory_streams import Client, fail
from tests.proto.kafka_requests import write_request

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.server import KafkaServer, KafkaTimes
from tidelog.broker.kafka.traffic import KafkaTraffic
from tidelog.kafka.apis import APIS, response_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages.fetch_request import FetchRequest
from tidelog.kafka.messages.fetch_response import FetchResponse
from tidelog.node.kafka_apis.dispatch import dispatch
from tidelog.node.kafka_apis.response_errors import error_codes
from tidelog.node.kafka_apis.served import ApiCall, ServedApi

FETCH = 1
DEPTH_MAX = 5


def filled(of: type[Any], codes: Iterator[int], depth: int = 0) -> Any:
    """A struct with two items in each of its lists, and the next code wherever one belongs."""
    made = of()
    hints = get_type_hints(of)
    for name in of.__struct_fields__:
        if name == "error_code":
            made.error_code = next(codes)
        for part in (hints[name], *get_args(hints[name])):
            for item in get_args(part):
                if isinstance(item, type) and issubclass(item, msgspec.Struct):
                    setattr(made, name, [filled(item, codes, depth + 1) for _ in range(2)])
    assert depth < DEPTH_MAX
    return made


@pytest.mark.parametrize("key", sorted(APIS))
def test_each_code_of_a_response_is_found_and_zeros_are_not(key: int) -> None:
    codes = iter(range(1, 10_000))
    response: Message = filled(response_class(key), codes)
    assert sorted(error_codes(response)) == list(range(1, next(codes)))
    assert list(error_codes(response_class(key)())) == []
    zeros = iter([0] * 10_000)
    assert list(error_codes(filled(response_class(key), zeros))) == []


async def test_a_nodes_metrics_tell_errors_by_api_and_name() -> None:
    codes = iter([6, 0, 6, 10_000, 70, *[0] * 100])

    async def fetch(_request: FetchRequest, _call: ApiCall) -> FetchResponse:
        return FetchResponse(error_code=next(codes))

    traffic = KafkaTraffic()
    server = KafkaServer(
        apis=dispatch([ServedApi(FETCH, 18, fetch)], traffic.note_errors),
        config=KafkaConfig(),
        times=KafkaTimes(),
        on_fatal=fail,
        traffic=traffic,
    )
    client = Client(server)
    for number in range(5):
        request = FetchRequest(max_wait_ms=1, min_bytes=1)
        client.send(b"".join(write_request(request, version=12, correlation_id=number)))
    for _ in range(100):
        await asyncio.sleep(0)
    (errors,) = [one for one in traffic.families() if one.name == "kafka_errors"]
    assert errors.labels == ("api", "error")
    assert dict(errors.samples) == {
        ("Fetch", "NOT_LEADER_OR_FOLLOWER"): 2,
        ("Fetch", "STALE_ATTEMPT"): 1,
        ("Fetch", "70"): 1,
    }
