"""The RPCs of `tidelog cluster` to its nodes: status, and preparation for a stop of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tidelog.core.errors import TidelogError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse, PrepareStopRequest
from tidelog.v1.methods import NODE_STATUS, PREPARE_STOP, Method, Request, Response

STATUS_TIMEOUT_MS = 2_000
PREPARE_STOP_TIMEOUT_MS = 10_000


def statuses(plans: Sequence[NodePlan]) -> list[NodeStatusResponse | None]:
    """The status that each node reports; None for a node that does not answer."""
    return asyncio.run(
        _call_each(plans, NODE_STATUS, NodeStatusRequest(), timeout_ms=STATUS_TIMEOUT_MS)
    )


def prepare_stop(plans: Sequence[NodePlan]) -> None:
    """Announce to all nodes that the cluster stops; nodes that do not answer are skipped."""
    asyncio.run(
        _call_each(plans, PREPARE_STOP, PrepareStopRequest(), timeout_ms=PREPARE_STOP_TIMEOUT_MS)
    )


async def _call_each(
    plans: Sequence[NodePlan],
    method: Method[Request, Response],
    request: Request,
    *,
    timeout_ms: int,
) -> list[Response | None]:
    transport = GrpcTransport()

    async def ask(plan: NodePlan) -> Response | None:
        try:
            return await transport.call(plan.address, method, request, timeout_ms=timeout_ms)
        except TidelogError:
            return None

    try:
        return list(await asyncio.gather(*map(ask, plans)))
    finally:
        await transport.close()
