"""The hostile caller sees a server that does not say what is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.message import DecodeError

from tidelog.chaos.sockets.grpc_hostile import HostileCaller
from tidelog.chaos.workloads.grpc_rpcs import Rpc, rpcs
from tidelog.chaos.workloads.malformed import MalformedRequests
from tidelog.chaos.workloads.malformed_fields import Known
from tidelog.chaos.workloads.tally import Tally
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import AlterConfigsResponse
from tidelog.v1.controller_pb2 import BrokerHeartbeatRequest, BrokerHeartbeatResponse

pytestmark = pytest.mark.real_time

HEARTBEAT = next(rpc for rpc in rpcs() if rpc.path == methods.BROKER_HEARTBEAT.path)
METADATA = next(rpc for rpc in rpcs() if rpc.path == methods.METADATA.path)
ALTER_CONFIGS = next(rpc for rpc in rpcs() if rpc.path == methods.ALTER_CONFIGS.path)
UNKNOWN_OUTCOME = AlterConfigsResponse(
    resources=[
        AlterConfigsResponse.Resource(
            error=common_pb2.Error(code=common_pb2.UNKNOWN_SERVER_ERROR, message="who knows")
        )
    ]
)


@asynccontextmanager
async def served(rpc: Rpc, behaviour: Callable[[bytes, Any], Any]) -> AsyncIterator[str]:
    """The address of a server that does this for one RPC; a context is gRPC's own."""
    server = grpc.aio.server()
    handlers: Any = {rpc.name: grpc.unary_unary_rpc_method_handler(behaviour)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(rpc.service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


async def tally(rpc: Rpc, behaviour: Callable[[bytes, Any], Any], *, cluster_id: str = "") -> Tally:
    """Of ten requests to such a server."""
    async with served(rpc, behaviour) as address:
        source = MalformedRequests(1, Known(cluster_id=cluster_id), among=[rpc])
        caller = HostileCaller(source, brokers=[address], controllers=[address])
        next_place = await caller.run(first=5, requests=10, at_once=1)
        await caller.close()
    assert next_place == 15
    return caller.tally


async def raises(_request: bytes, _context: Any) -> bytes:
    raise ValueError("a bug")


async def answers_unknown(_request: bytes, _context: Any) -> bytes:
    return UNKNOWN_OUTCOME.SerializeToString()


@pytest.mark.parametrize(
    ("rpc", "behaviour", "said"),
    [(METADATA, raises, "UNKNOWN"), (ALTER_CONFIGS, answers_unknown, "who knows")],
)
async def test_an_answer_without_a_type_is_a_finding_of_its_place(
    rpc: Rpc, behaviour: Callable[[bytes, Any], Any], said: str
) -> None:
    found = await tally(rpc, behaviour)
    assert found.findings_count == found.requests == 10
    assert found.findings[0].startswith(f"5 {rpc.path}: ")
    assert said in found.findings[0]


async def test_a_typed_refusal_is_none() -> None:
    async def refuses(_request: bytes, context: Any) -> bytes:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "name it right")
        return b""

    found = await tally(METADATA, refuses)
    assert not found.findings
    assert found.by_status == {"INVALID_ARGUMENT": 10}
    assert found.by_rpc == {METADATA.path: 10}


async def test_a_call_that_a_full_queue_cancelled_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_cancelled(*_: object) -> tuple[list[bytes], grpc.StatusCode, str]:
        return [], grpc.StatusCode.CANCELLED, "CANCELLED"

    monkeypatch.setattr(HostileCaller, "_collect_answers", is_cancelled)

    async def never(_request: bytes, _context: Any) -> bytes:
        raise AssertionError("called")

    found = await tally(METADATA, never)
    assert not found.findings
    assert found.shed == 10


@pytest.mark.parametrize(("known", "is_heard"), [("ours", True), ("theirs", False)])
async def test_only_who_names_the_cluster_is_looked_into_by_controllers(
    known: str, is_heard: bool
) -> None:
    async def compares(request: bytes, _context: Any) -> bytes:
        try:
            is_ours = BrokerHeartbeatRequest.FromString(request).cluster_id == "ours"
        except DecodeError:
            is_ours = False
        code = common_pb2.STALE_BROKER_EPOCH if is_ours else common_pb2.INCONSISTENT_CLUSTER_ID
        return BrokerHeartbeatResponse(error=common_pb2.Error(code=code)).SerializeToString()

    found = await tally(HEARTBEAT, compares, cluster_id=known)
    assert bool(found.decided) is is_heard
