"""Errors of calls: a status of gRPC is an error of its own where callers go on in another way."""

from __future__ import annotations

import grpc
import pytest

from tidelog.core.errors import CallExhaustedError, CallFailedError, CallUnauthorizedError
from tidelog.net.grpc_streams import failed_call


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, CallExhaustedError),
        (grpc.StatusCode.PERMISSION_DENIED, CallUnauthorizedError),
        (grpc.StatusCode.UNAVAILABLE, CallFailedError),
    ],
)
def test_a_status_is_told_by_the_error(status: grpc.StatusCode, kind: type[Exception]) -> None:
    metadata = grpc.aio.Metadata()
    error = grpc.aio.AioRpcError(status, metadata, metadata, details="no room")

    failed = failed_call(error, "127.0.0.1:9092", "Fetch")

    assert type(failed) is kind
    assert str(failed) == "Fetch at 127.0.0.1:9092 failed: no room"
