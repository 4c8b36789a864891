"""ListGroups and DeleteGroups: groups of either protocol, and those of committed offsets alone."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.group_states import CLASSIC, CONSUMER, EMPTY
from tidelog.core.errors import TidelogError
from tidelog.core.turns import in_turns
from tidelog.kafka.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.kafka.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.kafka.messages.list_groups_request import ListGroupsRequest
from tidelog.kafka.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tidelog.node.kafka_apis.groups_errors import group_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2


class _Listed(NamedTuple):
    """A group, in the order of the fields in Kafka's messages."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class ListGroupsHandler:
    """Handler of ListGroups."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(self, request: ListGroupsRequest, call: ApiCall) -> ListGroupsResponse:
        """See `ApiHandler`."""
        del call
        if self._coordinator.runtime.loading:
            # A list without some of the groups would pass for the whole one.
            return ListGroupsResponse(error_code=common_pb2.COORDINATOR_LOAD_IN_PROGRESS)
        states = {one.strip().lower() for one in request.states_filter}
        types = {one.strip().lower() for one in request.types_filter}
        response = ListGroupsResponse()
        try:
            group_ids = await self._coordinator.group_ids()
        except TidelogError as error:
            return ListGroupsResponse(error_code=group_code(error))
        async for group_id in in_turns(group_ids):
            found = self._coordinator.peek(group_id, _list)
            if found is None or (states and found.state.lower() not in states):
                continue
            if not types or found.type in types:
                response.groups.append(ListedGroup(*found))
        return response


def _list(shard: GroupShard, group_id: str) -> _Listed | None:
    if not shard.exists(group_id):
        return None
    live = shard.group(group_id)
    if live is None:
        return _Listed(group_id, "", EMPTY, CLASSIC)
    protocol_type = CONSUMER
    if isinstance(live, LiveClassicGroup):
        protocol_type = live.state.round.protocol_type
    return _Listed(group_id, protocol_type, live.state_name, live.protocol)


class DeleteGroupsHandler:
    """Handler of DeleteGroups."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(self, request: DeleteGroupsRequest, call: ApiCall) -> DeleteGroupsResponse:
        """See `ApiHandler`."""
        del call
        response = DeleteGroupsResponse()
        async for group_id in in_turns(request.groups_names):
            code = await self._delete(group_id)
            response.results.append(DeletableGroupResult(group_id, code))
        return response

    async def _delete(self, group_id: str) -> int:
        try:
            await self._coordinator.delete_group(group_id)
        except TidelogError as error:
            return group_code(error)
        return common_pb2.NONE
