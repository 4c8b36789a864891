"""Frames: the header that each API and version has, and what of a bad one is still known."""

from __future__ import annotations

import pytest

from tidelog.kafka.apis import APIS, request_class, response_class
from tidelog.kafka.errors import MalformedMessageError, UnsupportedVersionError
from tidelog.kafka.frames import SIZE_BYTES, read_request, write_request, write_response
from tidelog.kafka.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.kafka.messages.response_header import ResponseHeader

EVERY = [(key, version) for key, api in APIS.items() for version in range(api.first, api.last + 1)]


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_request_comes_out_of_its_frame(key: int, version: int) -> None:
    message = request_class(key)()
    frame = b"".join(write_request(message, version=version, correlation_id=-7, client_id="me"))
    assert int.from_bytes(frame[:SIZE_BYTES], "big") == len(frame) - SIZE_BYTES
    request = read_request(frame[SIZE_BYTES:])
    assert (request.api, request.version) == (APIS[key], version)
    assert (request.correlation_id, request.client_id) == (-7, "me")
    assert request.has_known_version
    assert request.message().encode(version) == message.encode(version)


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_response_has_the_header_of_its_version(key: int, version: int) -> None:
    api, message = APIS[key], response_class(key)()
    frame = b"".join(write_response(message, api=api, version=version, correlation_id=9))
    assert int.from_bytes(frame[:SIZE_BYTES], "big") == len(frame) - SIZE_BYTES
    header_version = 1 if version >= api.flexible_from and api.name != "ApiVersions" else 0
    header, end = ResponseHeader.decode_prefix(frame[SIZE_BYTES:], header_version)
    assert header.correlation_id == 9
    assert frame[SIZE_BYTES + end :] == b"".join(message.encode(version))


def test_client_id_may_be_null_and_is_never_compact() -> None:
    frame = write_request(request_class(18)(), version=3, correlation_id=1)[0]
    assert bytes(frame)[SIZE_BYTES:] == bytes.fromhex("00120003 00000001 ffff 00")
    assert read_request(bytes(frame)[SIZE_BYTES:] + b"\1\1\0").client_id is None


def test_bytes_behind_a_request_are_passed_over() -> None:
    message = request_class(12)(group_id="g")
    frame = b"".join(write_request(message, version=4, correlation_id=1)) + b"quirk"
    assert read_request(frame[SIZE_BYTES:]).message() == message


def test_api_versions_of_tomorrow_are_read_as_far_as_the_header() -> None:
    request = read_request(bytes.fromhex("0012 7fff 00000005 0001 61 00") + b"whatever")
    assert not request.has_known_version
    assert (request.correlation_id, request.client_id) == (5, "a")
    answer = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 4)])
    frame = b"".join(write_response(answer, api=request.api, version=0, correlation_id=5))
    assert frame == bytes.fromhex("00000010 00000005 0023 00000001 0012 0000 0004")


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        ("", "RequestHeader version 1: 0 bytes, where a header has 8 or more"),
        ("0000000300000", "RequestHeader version 1: 6 bytes, where a header has 8 or more"),
        ("0000000300000001", "RequestHeader version 1: RequestHeader.ClientId: "),
        ("00120003000000010001ff00", "RequestHeader version 2: RequestHeader.ClientId: the text"),
    ],
)
def test_header_that_is_none_is_refused(frame: str, error: str) -> None:
    with pytest.raises(MalformedMessageError) as caught:
        read_request(bytes.fromhex(frame[: len(frame) // 2 * 2]))
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("key", "version", "error"),
    [
        (4, 0, "API 4 version 0: there is no such API here"),
        (-1, 0, "API -1 version 0: there is no such API here"),
        (0, 2, "ProduceRequest version 2: there are versions 3 to 13"),
        (1, 19, "FetchRequest version 19: there are versions 4 to 18"),
    ],
)
def test_api_or_version_that_is_not_here_is_refused(key: int, version: int, error: str) -> None:
    head = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big") + bytes(6)
    with pytest.raises(UnsupportedVersionError) as caught:
        read_request(head)
    assert str(caught.value) == error
