"""Headers of requests: a broker reads what each API and version has, and messages come out."""

from __future__ import annotations

import pytest
from tests.proto.kafka_requests import SIZE_BYTES, write_request

from tidelog.broker.kafka.request_header import ApiForm, RequestHeader, read_header
from tidelog.kafka.apis import APIS, request_class

EVERY = [(key, version) for key, api in APIS.items() for version in range(api.first, api.last + 1)]


def form_of(key: int, version: int) -> ApiForm:
    is_flexible = version >= APIS[key].flexible_from
    return ApiForm(1 + is_flexible, is_flexible)


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_request_comes_out_of_its_frame(key: int, version: int) -> None:
    message = request_class(key)()
    frame = b"".join(write_request(message, version=version, correlation_id=-7, client_id="me"))
    assert int.from_bytes(frame[:SIZE_BYTES], "big") == len(frame) - SIZE_BYTES
    header, _, body = read_header(memoryview(frame)[SIZE_BYTES:], form_of)
    assert header == RequestHeader(key, version, -7, "me")
    assert request_class(key).decode(body, version).encode(version) == message.encode(version)


def test_client_id_may_be_null_and_is_never_compact() -> None:
    frame = write_request(request_class(18)(), version=3, correlation_id=1)[0]
    assert bytes(frame)[SIZE_BYTES:] == bytes.fromhex("00120003 00000001 ffff 00")


def test_bytes_behind_a_request_are_passed_over() -> None:
    message = request_class(12)(group_id="g")
    data = b"".join(message.encode(4))
    assert request_class(12).decode_prefix(data + b"quirk", 4) == (message, len(data))
