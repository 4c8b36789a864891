"""Topics created and deleted for clients: asked of the controllers, awaited in the image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.broker.controller_channel import ControllerChannel
from tidelog.broker.errors import to_wire
from tidelog.broker.metadata_follower import MetadataFollower
from tidelog.log.env import Random
from tidelog.log.errors import TidelogError
from tidelog.metadata.commands import COMMAND_ID_BYTES, IdentifiedCommand
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from tidelog.v1.methods import (
    CONTROLLER_CREATE_PARTITIONS,
    CONTROLLER_CREATE_TOPICS,
    CONTROLLER_DELETE_TOPICS,
)

REQUEST_TIMEOUT_MS = 15_000
# How long an answer waits until this broker's own image shows the change.
VISIBLE_TIMEOUT_MS = 3_000
_SETTLED = frozenset({common_pb2.NONE, common_pb2.TOPIC_ALREADY_EXISTS})


def give_id(request: IdentifiedCommand, random: Random) -> None:
    """Let the request have an id if it has none, since it may be sent to several controllers."""
    request.command_id = request.command_id or random.randbytes(COMMAND_ID_BYTES)


class TopicCreator:
    """Asks the active controller; waits until this broker sees the outcome."""

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

    async def create(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Create topics; the answer comes when this broker's image holds them."""
        give_id(request, self._random)
        timeout_ms = min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(
                CONTROLLER_CREATE_TOPICS, request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            return CreateTopicsResponse(error=to_wire(error))
        if not request.validate_only:
            created = [t.name for t in response.topics if t.error.code in _SETTLED]
            await self._wait_for(created, present=True)
        return response

    async def delete(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Delete topics; the answer comes when this broker's image lacks them."""
        give_id(request, self._random)
        timeout_ms = min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(
                CONTROLLER_DELETE_TOPICS, request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            return DeleteTopicsResponse(error=to_wire(error))
        gone = [t.name for t in response.topics if t.error.code == common_pb2.NONE]
        await self._wait_for(gone, present=False)
        return response

    async def add_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """Add partitions; the answer comes when this broker's image holds them."""
        give_id(request, self._random)
        timeout_ms = min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(
                CONTROLLER_CREATE_PARTITIONS, request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            return CreatePartitionsResponse(error=to_wire(error))
        await self._follower.wait_until(
            lambda image: image.offset >= response.metadata_offset, timeout_ms=VISIBLE_TIMEOUT_MS
        )
        return response

    async def create_missing(self, names: Mapping[str, None]) -> dict[str, common_pb2.Error]:
        """Create those topics that the image lacks, if the cluster allows it; errors by name."""
        missing = [name for name in names if name not in self._follower.image.topics]
        if not missing or not self._auto_create:
            return {}
        request = CreateTopicsRequest(topics=[NewTopic(name=name) for name in missing])
        response = await self.create(request)
        if response.error.code != common_pb2.NONE:
            return dict.fromkeys(missing, response.error)
        return {t.name: t.error for t in response.topics if t.error.code not in _SETTLED}

    async def _wait_for(self, names: Iterable[str], *, present: bool) -> None:
        wanted = list(names)
        await self._follower.wait_until(
            lambda image: all((name in image.topics) is present for name in wanted),
            timeout_ms=VISIBLE_TIMEOUT_MS,
        )
