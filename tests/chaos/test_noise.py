"""Bytes for ports, and requests that ask for too much."""

from __future__ import annotations

from typing import cast

from google.protobuf.descriptor import Descriptor

from tidelog.chaos.workloads.grpc_rpcs import rpcs
from tidelog.chaos.workloads.noise import PING, PREFACE, frame, noise
from tidelog.chaos.workloads.oversized import REFUSED, oversized
from tidelog.net.grpc_server import RECEIVE_BYTES_MAX
from tidelog.net.request_elements import has_too_many

COUNT = 600


def test_noise_is_what_its_seed_and_place_say() -> None:
    once = [noise(5, place) for place in range(COUNT)]
    assert [noise(5, place) for place in reversed(range(COUNT))] == once[::-1]
    assert [noise(6, place) for place in range(COUNT)] != once
    assert any(one.is_left_open for one in once)
    assert any(one.data.startswith(PREFACE) for one in once)
    assert any(one.data.startswith(b"\x16\x03\x01") for one in once)


def test_a_frame_is_laid_out_as_http2_has_it() -> None:
    assert frame(PING, flags=1, stream=3, payload=b"12345678") == (
        b"\x00\x00\x08\x06\x01\x00\x00\x00\x0312345678"
    )


def test_what_is_refused_unseen_is_above_a_limit_of_the_server_and_nothing_else_is() -> None:
    kinds = {one.path: cast("Descriptor", one.request.DESCRIPTOR) for one in rpcs()}
    for one in oversized("t"):
        data = one.make()
        is_above = len(data) > RECEIVE_BYTES_MAX or has_too_many(data, kinds[one.path])
        assert is_above == (one.answer == REFUSED), one.what
        assert bool(one.elsewhere) == (one.answer == "MESSAGE_TOO_LARGE"), one.what
