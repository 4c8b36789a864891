"""Handlers of `tidelog.v1.Node`: a node's own state, and the coordinated stop of the cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidelog.core.wire_errors import error_message
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    ListEventsRequest,
    ListEventsResponse,
    NodeStatusRequest,
    NodeStatusResponse,
    PrepareStopRequest,
    PrepareStopResponse,
)

HOLD_MS_DEFAULT = 30_000
HOLD_MS_MAX = 60_000


class NodeHandler:
    """Handler that answers even before the node is registered; never forwards."""

    def __init__(
        self,
        *,
        status: Callable[[Call], NodeStatusResponse],
        prepare_stop: Callable[[int], Awaitable[None]],
        list_events: Callable[[ListEventsRequest], ListEventsResponse],
    ) -> None:
        self._status = status
        self._prepare_stop = prepare_stop
        self._list_events = list_events

    async def status(
        self, request: NodeStatusRequest, call: Call = LOCAL_CALL
    ) -> NodeStatusResponse:
        """See `Node.Status`."""
        del request
        return self._status(call)

    async def prepare_stop(self, request: PrepareStopRequest) -> PrepareStopResponse:
        """See `Node.PrepareStop`."""
        if request.hold_ms < 0:
            what = f"hold_ms is {request.hold_ms}: it must not be negative"
            return PrepareStopResponse(error=error_message(common_pb2.INVALID_REQUEST, what))
        await self._prepare_stop(min(request.hold_ms or HOLD_MS_DEFAULT, HOLD_MS_MAX))
        return PrepareStopResponse()

    async def list_events(self, request: ListEventsRequest) -> ListEventsResponse:
        """See `Node.ListEvents`."""
        return self._list_events(request)
