"""docs/PROTOCOL.md is true: its session runs on a cluster, each call answered as the page says.

The calls are made by Python's gRPC with the page's JSON. Answers are compared by their fields and
error codes: ids, addresses and offsets of a session are its own.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf import json_format
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from tests.doc_blocks import ROOT, blocks_of
from tests.integration.local_cluster import LocalCluster

from tidelog.v1 import methods

pytestmark = pytest.mark.process
PAGE = ROOT / "docs/PROTOCOL.md"
METHODS = {
    f"{method.service}/{method.name}": method
    for method in vars(methods).values()
    if isinstance(method, methods.Method)
}
ELSEWHERE = {
    "text": "tests/test_proto_docs.py decodes the batch",
    "sh": "tests/integration/test_http_produce.py sends records by HTTP",
}
"""Blocks that are not run here, by language."""
TIMEOUT_S = 30.0
JSON = dict[str, Any]  # what json.loads returns


class Call(NamedTuple):
    """A call of the page: the words of its command, and its output."""

    words: tuple[str, ...]
    output: str


@pytest.fixture(scope="module")
def cluster(running_cluster: LocalCluster) -> Iterator[LocalCluster]:
    yield running_cluster
    running_cluster.run("topics", "delete", "tides")


def calls() -> list[Call]:
    console = [block.text for block in blocks_of(PAGE) if block.language == "console"]
    found = [part for text in console for part in re.split(r"^\$ ", text, flags=re.MULTILINE)]
    commands = [part.partition("\n") for part in found if part.startswith("grpcurl")]
    return [Call(tuple(shlex.split(line)), output.strip()) for line, _, output in commands]


def shape(answer: object) -> object:
    """The fields of an answer, and their values where a session has no own: codes, messages."""
    match answer:
        case dict():
            return {
                key: re.sub(r"\d+", "N", value) if key in ("code", "message") else shape(value)
                for key, value in answer.items()
            }
        case list():
            return [shape(one) for one in answer]
    return type(answer).__name__


def settled(expected: JSON, *question: Any) -> JSON:
    """The answer; a refusal is asked for again, since a broker opens a new log a little later."""
    ends_s = time.monotonic() + TIMEOUT_S
    while True:
        answer = asked(*question)
        is_refusal = any('"error"' in json.dumps(one) for one in (expected, answer))
        if not is_refusal or shape(answer) == shape(expected) or time.monotonic() > ends_s:
            return answer
        time.sleep(0.1)


def asked(address: str, path: str, request: JSON) -> JSON:
    method = METHODS[path]
    message = json_format.ParseDict(request, method.request_type())
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(
            method.path,
            request_serializer=method.request_type.SerializeToString,
            response_deserializer=method.response_type.FromString,
        )
        answer = call(message, timeout=TIMEOUT_S)
    found: JSON = json_format.MessageToDict(answer, preserving_proto_field_name=True)
    return found


def test_the_session_of_the_page(cluster: LocalCluster) -> None:
    addresses = dict(zip((9192, 9193, 9194), cluster.addresses, strict=True))
    for call in calls():
        match call.words:
            case ("grpcurl", "-plaintext", "-d", request, address, path):
                port = int(address.rpartition(":")[2])
                expected = json.loads(call.output)
                answer = settled(expected, addresses[port], path, json.loads(request))
                assert shape(answer) == shape(expected), call.words
                if path.endswith("/Metadata"):
                    addresses = with_leader_at(9193, answer, cluster)
            case ("grpcurl", "-plaintext", _, "list"):
                with grpc.insecure_channel(cluster.addresses[0]) as channel:
                    services = ProtoReflectionDescriptorDatabase(channel).get_services()
                assert sorted(services) == call.output.splitlines()
            case ("grpcurl", "-plaintext", _, "describe", "tidelog.v1.FetchPartition"):
                assert fields_of(METHODS["tidelog.v1.Broker/Fetch"]) == fields_in(call.output)
            case ("grpcurl", "-plaintext", _, "grpc.health.v1.Health/Check"):
                assert health(cluster.addresses[0]) == json.loads(call.output)["status"]
            case (*_, "describe", "tidelog.v1.Broker.Fetch"):
                assert remarks(call.output) in remarks(
                    (ROOT / "proto/tidelog/v1/data.proto").read_text()
                )
            case _:
                pytest.fail(f"nobody knows how to run {call.words}")


def test_every_block_of_the_page_is_run() -> None:
    languages = [block.language for block in blocks_of(PAGE)]
    assert {*languages} == {"console", *ELSEWHERE}
    assert len(calls()) == PAGE.read_text(encoding="utf-8").count("\n$ grpcurl") > 9


def with_leader_at(port: int, metadata: JSON, cluster: LocalCluster) -> dict[int, str]:
    """The addresses behind the page's ports, the leader of the only partition behind `port`."""
    (partition,) = metadata["topics"][0]["partitions"]
    brokers = {broker["node_id"]: broker["address"] for broker in metadata["brokers"]}
    leader = brokers[partition["leader_id"]]
    first, second = (address for address in cluster.addresses if address != leader)
    return {9192: first, port: leader, 9194: second}


def fields_of(method: Any) -> dict[str, int]:  # a Method of any request
    message = method.request_type.DESCRIPTOR.fields_by_name["partitions"].message_type
    return {field.name: field.number for field in message.fields}


def fields_in(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+);", text)}


def remarks(text: str) -> str:
    return " ".join(re.findall(r"// (.*)", text))


def health(address: str) -> str:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return name
