"""Malformed requests to real coordinators of groups that are there: nothing of them changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from tests import change_seeds
from tests.client.patience import PATIENCE_MS
from tests.client.real_cluster import ADDRESSES, RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.chaos.workloads.grpc_rpcs import rpcs
from tidelog.chaos.workloads.malformed import Malformed, MalformedRequests
from tidelog.chaos.workloads.malformed_fields import Known
from tidelog.core.errors import CallFailedError, code_name
from tidelog.v1 import common_pb2, methods

pytestmark = pytest.mark.asyncio

RPCS = [one for one in rpcs() if one.service == "tidelog.v1.Coordinator"]
METHODS = {one.path: one for one in vars(methods).values() if isinstance(one, methods.Method)}
CALLS = 30 * len(RPCS)
KNOWN = Known(
    topics=("orders",), partitions=4, groups=("live", "kept"), members=("first", "second")
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    change_seeds.parametrize(metafunc, "seed", 3)


def codes_of(answer: Any) -> list[str]:
    """Codes of all errors in an answer, each of which says something."""
    found: list[str] = []
    for field, value in answer.ListFields():
        values = value if field.is_repeated else [value]
        for one in values if field.message_type is not None else ():
            if isinstance(one, common_pb2.Error):
                if one.code:
                    assert one.message, answer
                    found.append(code_name(one.code))
            else:
                found += codes_of(one)
    return found


class Caller:
    """Sends malformed calls, to the coordinator of a known group every other time."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster
        self.codes = Counter[str]()
        self.answers = 0
        self.ends: list[str] = []
        """Why streams ended."""

    async def send(self, call: Malformed) -> None:
        address = list(ADDRESSES.values())[call.place % len(ADDRESSES)]
        requests = list(map(call.rpc.request.FromString, readable(call)))
        method = METHODS[call.rpc.path]
        if call.rpc.is_request_stream:
            await self._stream(address, method, requests)
            return
        for request in requests:
            self._note(
                await self.cluster.direct.call(address, method, request, timeout_ms=PATIENCE_MS)
            )

    async def _stream(self, address: str, method: Any, requests: list[Any]) -> None:
        stream = await self.cluster.direct.open_stream(address, method)
        try:
            for request in requests[:20]:
                await stream.send(request)
                async with asyncio.timeout(10):
                    self._note(await stream.receive())
        except CallFailedError as error:
            self.ends.append(str(error))
        finally:
            stream.close()

    def _note(self, answer: Any) -> None:
        self.answers += 1
        self.codes.update(codes_of(answer))


def readable(call: Malformed) -> list[bytes]:
    found: list[bytes] = []
    for message in call.messages:
        try:
            call.rpc.request.FromString(message)
        except DecodeError:
            continue
        found.append(message)
    return found


async def state_of(calls: GroupCalls) -> tuple[Any, ...]:
    group = await calls.describe()
    members = [(one.member_id, one.epoch, str(one.assignment)) for one in group.members]
    return group.state, group.epoch, members, await calls.committed()


async def test_malformed_requests_change_no_group(seed: int) -> None:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    kept, live = GroupCalls(cluster, "kept"), GroupCalls(cluster, "live")
    assert await kept.commit({("orders", 0): 7}) == ["NONE"]
    members = [HandMember(live, one, "orders") for one in ("first", "second")]
    for one in members:
        await one.connect()
        await asyncio.sleep(0.1)
    await live.until_stable(2)
    owner = next(one for one in members if one.owned)
    committed = await live.commit({("orders", 0): 1}, member_id="first", epoch=members[0].epoch)
    del committed  # whose it is does not matter
    before = [await state_of(kept), await state_of(live)]
    caller = Caller(cluster)
    source = MalformedRequests(seed, KNOWN, among=RPCS)
    for place in range(CALLS):
        await caller.send(source.call(place))
    assert [await state_of(kept), await state_of(live)] == before
    assert "UNKNOWN_SERVER_ERROR" not in caller.codes
    assert caller.answers > CALLS / 3
    assert {"INVALID_GROUP_ID", "INVALID_REQUEST"} <= set(caller.codes), caller.codes
    assert len(caller.codes) >= 5, caller.codes
    other = HandMember(GroupCalls(cluster, "other"), "x", "orders")
    await other.connect()
    await other.until_owned(4)
    assert owner.errors == []
    assert {one for one in caller.ends if "one member's" not in one and "ended" not in one} == set()
