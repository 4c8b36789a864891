"""Node requests that make no sense are refused, and do nothing."""

from __future__ import annotations

import pytest

from tidelog.node.handlers.node import HOLD_MS_DEFAULT, HOLD_MS_MAX, NodeHandler
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    ListEventsRequest,
    ListEventsResponse,
    NodeStatusResponse,
    PrepareStopRequest,
)


@pytest.mark.parametrize(
    ("asked_ms", "held_ms"), [(0, HOLD_MS_DEFAULT), (5, 5), (2**31 - 1, HOLD_MS_MAX), (-1, None)]
)
async def test_a_node_is_held_as_long_as_asked_within_its_limit_and_never_negatively(
    asked_ms: int, held_ms: int | None
) -> None:
    held: list[int] = []

    async def hold(hold_ms: int) -> None:
        held.append(hold_ms)

    def list_events(_: ListEventsRequest) -> ListEventsResponse:
        raise AssertionError("not asked here")

    handler = NodeHandler(
        status=lambda _: NodeStatusResponse(), prepare_stop=hold, list_events=list_events
    )
    answer = await handler.prepare_stop(PrepareStopRequest(hold_ms=asked_ms))
    assert held == ([] if held_ms is None else [held_ms])
    is_refused = answer.error.code == common_pb2.INVALID_REQUEST
    assert is_refused == (held_ms is None)
