"""A client's name arrives with each call and stream; a name that none may have does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from tidelog.net.call import LOCAL_CALL, Call
from tidelog.net.client_ids import (
    CLIENT_ID_CHARS_MAX,
    METADATA_KEY,
    UNNAMED,
    client_id_of,
    is_client_id,
)
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import quiet_ports
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse
from tidelog.v1.methods import FETCH, FETCH_STREAM

LONGEST = "x" * CLIENT_ID_CHARS_MAX
INVALID = ("", "a b", "a/b", "ä", "a\n", LONGEST + "x")


class Listener:
    """Answers Fetch and FetchStream, and remembers who asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattr__(self, _name: str) -> object:
        async def other(_request: object) -> object:
            raise AssertionError("not asked here")

        return other

    async def fetch(self, _request: FetchRequest, call: Call = LOCAL_CALL) -> FetchResponse:
        self.heard.append(call.client_id)
        return FetchResponse()

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest], call: Call = LOCAL_CALL
    ) -> AsyncGenerator[FetchResponse, None]:
        async for _ in requests:
            self.heard.append(call.client_id)
            yield FetchResponse()


@pytest.fixture
async def served() -> AsyncIterator[tuple[str, Listener]]:
    (port,) = quiet_ports(1)
    address, listener = f"127.0.0.1:{port}", Listener()
    server = GrpcServer(
        listeners=one_listener(address),
        services={"tidelog.v1.Broker": listener},
        on_fatal=lambda error: None,
    )
    await server.start()
    yield address, listener
    await server.stop(grace_s=0)


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("client_id", "heard"),
    [("orders-1", "orders-1"), (LONGEST, LONGEST), (None, UNNAMED), ("a b", UNNAMED)],
)
async def test_calls_and_streams_carry_the_name(
    served: tuple[str, Listener], client_id: str | None, heard: str
) -> None:
    address, listener = served
    transport = GrpcTransport(client_id=client_id)
    try:
        await transport.call(address, FETCH, FetchRequest(), timeout_ms=30_000)
        stream = await transport.open_stream(address, FETCH_STREAM)
        for _ in range(2):
            await stream.send(FetchRequest())
            await stream.receive()
        stream.close()
    finally:
        await transport.close()
    assert listener.heard == [heard] * 3


@pytest.mark.parametrize("name", [*INVALID, None, 7, b"a"])
def test_an_invalid_name_counts_as_none(name: object) -> None:
    assert not is_client_id(name)
    assert client_id_of([(METADATA_KEY, name)]) == UNNAMED  # type: ignore[list-item]  # any


def test_other_metadata_is_passed_over() -> None:
    assert client_id_of([("user-agent", "x"), (METADATA_KEY, "Ab_1.c-d")]) == "Ab_1.c-d"
    assert client_id_of([]) == UNNAMED
