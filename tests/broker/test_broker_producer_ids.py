"""Producer ids on a broker: each given out once, out of blocks that it asks for one at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tidelog.broker.controller_link import producer_ids
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.core.errors import UnreachableError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tidelog.v1.data_pb2 import InitProducerIdRequest, InitProducerIdResponse

LENGTH = 5


class StubControllers:
    """Gives blocks of five, once it may; `errors` come first."""

    def __init__(self) -> None:
        self.requests: list[AllocateProducerIdsRequest] = []
        self.errors: list[Error | Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.in_flight = self.most_in_flight = 0

    async def call(self, _method: object, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms > 0
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self.gate.wait()
        finally:
            self.in_flight -= 1
        if self.errors:
            error = self.errors.pop(0)
            if isinstance(error, Exception):
                raise error
            return AllocateProducerIdsResponse(error=error)
        start = 100 * len(self.requests)
        return AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=LENGTH)


def broker(controllers: StubControllers, *, epochs: tuple[int, ...] = (3,)) -> ProducerIds:
    left = list(epochs)
    return ProducerIds(
        broker_id=2,
        broker_epoch=lambda: left.pop(0) if len(left) > 1 else left[0],
        controllers=controllers,  # type: ignore[arg-type]
    )


async def ask(ids: ProducerIds, *, timeout_ms: int = 0) -> InitProducerIdResponse:
    return await ids.init_producer_id(InitProducerIdRequest(timeout_ms=timeout_ms))


async def test_each_id_is_given_out_once_and_a_block_is_asked_for_when_one_is_used_up() -> None:
    controllers = StubControllers()
    ids = broker(controllers, epochs=(3, 4))
    given = [(await ask(ids)).producer_id for _ in range(7)]
    assert given == [100, 101, 102, 103, 104, 200, 201]
    assert [(r.broker_id, r.broker_epoch) for r in controllers.requests] == [(2, 3), (2, 4)]


async def test_many_at_once_share_blocks_and_get_an_id_of_their_own() -> None:
    controllers = StubControllers()
    controllers.gate.clear()
    ids = broker(controllers)
    asking = [asyncio.create_task(ask(ids)) for _ in range(3 * LENGTH)]
    await asyncio.sleep(0)
    controllers.gate.set()
    answers = await asyncio.gather(*asking)
    given = [answer.producer_id for answer in answers]
    assert len(set(given)) == len(given)
    assert (len(controllers.requests), controllers.most_in_flight) == (3, 1)
    assert {answer.producer_epoch for answer in answers} == {0}


@pytest.mark.parametrize(
    "code", [common_pb2.STALE_BROKER_EPOCH, common_pb2.BROKER_ID_NOT_REGISTERED]
)
async def test_a_broker_that_is_not_registered_sends_clients_elsewhere(
    code: common_pb2.ErrorCode,
) -> None:
    controllers = StubControllers()
    controllers.errors.append(Error(code=code))
    answer = await ask(broker(controllers))
    assert (answer.error.code, answer.producer_id) == (common_pb2.BROKER_NOT_AVAILABLE, -1)


async def test_a_refusal_is_handed_on_and_asking_again_helps() -> None:
    controllers = StubControllers()
    controllers.errors += [Error(code=common_pb2.POLICY_VIOLATION), UnreachableError("nobody")]
    ids = broker(controllers)
    codes = [(await ask(ids)).error.code for _ in range(3)]
    assert codes == [common_pb2.POLICY_VIOLATION, common_pb2.BROKER_NOT_AVAILABLE, common_pb2.NONE]


async def test_who_waits_in_vain_is_told_in_time_and_blocks_nobody() -> None:
    controllers = StubControllers()
    controllers.gate.clear()
    ids = broker(controllers)
    late = await asyncio.gather(*(ask(ids, timeout_ms=10) for _ in range(3)))
    assert {answer.error.code for answer in late} == {common_pb2.BROKER_NOT_AVAILABLE}
    controllers.gate.set()
    assert not (await ask(ids)).error.code


async def test_no_more_wait_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_ids, "WAITING_MAX", 2)
    controllers = StubControllers()
    controllers.gate.clear()
    ids = broker(controllers)
    waiting = [asyncio.create_task(ask(ids)) for _ in range(2)]
    await asyncio.sleep(0)
    assert (await ask(ids)).error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
    controllers.gate.set()
    assert {(await one).error.code for one in waiting} == {common_pb2.NONE}
