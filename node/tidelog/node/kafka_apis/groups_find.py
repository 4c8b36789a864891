"""FindCoordinator: the broker that coordinates a group, at the caller's listener.

Transactions are not served, and said not to be, by a code that all clients take for final.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.core.turns import PER_PIECE, in_turns
from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tidelog.node.handlers.coordinator import CoordinatorHandler
from tidelog.node.kafka_apis.error_codes import TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from tidelog.node.kafka_apis.groups_errors import wire_code
from tidelog.node.kafka_apis.reached import host_and_port
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, coordinator_pb2
from tidelog.v1.common_pb2 import Error

BATCHED_FROM = 4
"""First version in which a request names several keys."""
GROUP, TRANSACTION = 0, 1
_NOBODY = -1


class FindCoordinatorHandler:
    """Handler of FindCoordinator. The first look-up creates the internal topic."""

    def __init__(self, handler: CoordinatorHandler) -> None:
        self._handler = handler

    async def __call__(
        self, request: FindCoordinatorRequest, call: ApiCall
    ) -> FindCoordinatorResponse:
        """See `ApiHandler`."""
        if call.version >= BATCHED_FROM:
            keys = request.coordinator_keys
            return FindCoordinatorResponse(
                coordinators=await self._find(keys, request.key_type, call)
            )
        (found,) = await self._find([request.key], request.key_type, call)
        return FindCoordinatorResponse(
            error_code=found.error_code,
            error_message=found.error_message,
            node_id=found.node_id,
            host=found.host,
            port=found.port,
        )

    async def _find(self, keys: Sequence[str], key_type: int, call: ApiCall) -> list[Coordinator]:
        if key_type != GROUP:
            return [_not_served(key, key_type) async for key in in_turns(keys, PER_PIECE)]
        answer = await self._handler.find_coordinator(
            coordinator_pb2.FindCoordinatorRequest(group_ids=keys), call.call
        )
        if answer.error.code != common_pb2.NONE:
            return [_failed(key, answer.error) async for key in in_turns(keys, PER_PIECE)]
        return [_found(one) async for one in in_turns(answer.coordinators, PER_PIECE)]


def _found(one: coordinator_pb2.FindCoordinatorResponse.Coordinator) -> Coordinator:
    if one.error.code != common_pb2.NONE:
        return _failed(one.group_id, one.error)
    host, port = host_and_port(one.broker.address)
    return Coordinator(
        key=one.group_id, node_id=one.broker.node_id, host=host, port=port, error_message=None
    )


def _failed(key: str, error: Error) -> Coordinator:
    return _nobody(key, wire_code(error.code), error.message)


def _not_served(key: str, key_type: int) -> Coordinator:
    if key_type == TRANSACTION:
        what = f"transactions are not served: leave out transactional.id, here {key[:249]!r}"
        return _nobody(key, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, what)
    what = f"key type {key_type} has no coordinators: 0 is that of groups"
    return _nobody(key, common_pb2.INVALID_REQUEST, what)


def _nobody(key: str, code: int, message: str) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NOBODY, port=_NOBODY, error_code=code, error_message=message
    )
