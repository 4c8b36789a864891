"""Changes of the cluster for clients: asked of the controllers, awaited in the own image.

A client that was answered finds the change here. When it is decided and this broker's image does
not show it in time, it is answered all the same: decided it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tidelog.broker.controller_link.channel import ControllerChannel, answer_in
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.core.wire_errors import to_wire
from tidelog.metadata.commands import COMMAND_ID_BYTES, IdentifiedCommand
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NewTopic,
)
from tidelog.v1.methods import (
    CONTROLLER_ALTER_CONFIGS,
    CONTROLLER_CREATE_PARTITIONS,
    CONTROLLER_CREATE_TOPICS,
    CONTROLLER_DELETE_TOPICS,
    CONTROLLER_ELECT_LEADERS,
    Method,
    Request,
    Response,
)

REQUEST_TIMEOUT_MS = 15_000
# How long an answer waits until this broker's own image shows the change.
VISIBLE_TIMEOUT_MS = 3_000
_SETTLED = frozenset({common_pb2.NONE, common_pb2.TOPIC_ALREADY_EXISTS})
Shows = Callable[[MetadataImage], bool]


class ClusterChanges:
    """Asks the active controller; waits until this broker works with the outcome."""

    def __init__(
        self,
        *,
        controllers: ControllerChannel,
        follower: MetadataFollower,
        random: Random,
        auto_create: bool,
    ) -> None:
        self._controllers = controllers
        self._follower = follower
        self._random = random
        self._auto_create = auto_create

    async def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Create topics; the answer comes when this broker's image holds them."""

        def shown(response: CreateTopicsResponse) -> Shows:
            is_there = not request.validate_only
            created = [one.name for one in response.topics if one.error.code in _SETTLED]
            return _has_all(created if is_there else [], present=True)

        return await self._ask(CONTROLLER_CREATE_TOPICS, request, request.timeout_ms, shown)

    async def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Delete topics; the answer comes when this broker's image lacks them."""

        def shown(response: DeleteTopicsResponse) -> Shows:
            gone = [one.name for one in response.topics if one.error.code == common_pb2.NONE]
            return _has_all(gone, present=False)

        return await self._ask(CONTROLLER_DELETE_TOPICS, request, request.timeout_ms, shown)

    async def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """Add partitions; the answer comes when this broker's image holds them."""
        return await self._ask(
            CONTROLLER_CREATE_PARTITIONS, request, request.timeout_ms, _has_come_to
        )

    async def alter_configs(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """Set configs or take them back; the answer comes when this broker's image shows it."""
        return await self._ask(CONTROLLER_ALTER_CONFIGS, request, request.timeout_ms, _has_come_to)

    async def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Elect leaders; the answer comes when this broker's image shows them, or newer ones.

        It needs no id: asked again, what is elected already stays.
        """
        before = self._follower.image

        def shown(response: ElectLeadersResponse) -> Shows:
            return lambda image: _has_elected(image, response, before)

        return await self._ask(CONTROLLER_ELECT_LEADERS, request, request.timeout_ms, shown)

    async def create_missing(self, names: Mapping[str, None]) -> dict[str, common_pb2.Error]:
        """Create those topics that the image lacks, if the cluster allows it; errors by name."""
        missing = [name for name in names if name not in self._follower.image.topics]
        if not missing or not self._auto_create:
            return {}
        request = CreateTopicsRequest(topics=[NewTopic(name=name) for name in missing])
        response = await self.create_topics(request)
        if response.error.code != common_pb2.NONE:
            return dict.fromkeys(missing, response.error)
        return {t.name: t.error for t in response.topics if t.error.code not in _SETTLED}

    async def _ask(
        self,
        method: Method[Request, Response],
        request: Request,
        timeout_ms: int,
        shown: Callable[[Response], Shows],
    ) -> Response:
        """The answer, once the image is as `shown` says; an error that the way to it ended with."""
        if isinstance(request, IdentifiedCommand):
            # It may be sent to several controllers.
            request.command_id = request.command_id or self._random.randbytes(COMMAND_ID_BYTES)
        timeout_ms = min(timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(method, request, timeout_ms=timeout_ms)
        except TidelogError as error:
            response = method.response_type()
            answer_in(response).error.CopyFrom(to_wire(error))
            return response
        await self._follower.wait_until(shown(response), timeout_ms=VISIBLE_TIMEOUT_MS)
        return response


def _has_all(names: Iterable[str], *, present: bool) -> Shows:
    wanted = list(names)
    return lambda image: all((name in image.topics) is present for name in wanted)


def _has_come_to(response: AlterConfigsResponse | CreatePartitionsResponse) -> Shows:
    return lambda image: image.offset >= response.metadata_offset


def _has_elected(
    image: MetadataImage, response: ElectLeadersResponse, before: MetadataImage
) -> bool:
    for one in response.partitions:
        now = image.partition(one.topic, one.partition)
        was = before.partition(one.topic, one.partition)
        is_changed = was is None or now is None or now.leader_epoch > was.leader_epoch
        is_led = now is not None and now.leader_id == one.leader_id
        if one.error.code == common_pb2.NONE and not (is_changed or is_led):
            return False
    return True
