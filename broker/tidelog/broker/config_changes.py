"""Configs changed for clients: asked of the controllers, awaited in the image."""

from __future__ import annotations

from tidelog.broker.controller_channel import ControllerChannel
from tidelog.broker.errors import to_wire
from tidelog.broker.metadata_follower import MetadataFollower
from tidelog.broker.topics import REQUEST_TIMEOUT_MS, VISIBLE_TIMEOUT_MS, give_id
from tidelog.log.env import Random
from tidelog.log.errors import TidelogError
from tidelog.v1.admin_pb2 import AlterConfigsRequest, AlterConfigsResponse
from tidelog.v1.methods import CONTROLLER_ALTER_CONFIGS


class ConfigChanger:
    """Asks the active controller; waits until this broker works with the outcome."""

    def __init__(
        self, *, controllers: ControllerChannel, follower: MetadataFollower, random: Random
    ) -> None:
        self._controllers = controllers
        self._follower = follower
        self._random = random

    async def alter(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """Set configs or take them back; the answer comes when this broker's image shows it."""
        give_id(request, self._random)
        timeout_ms = min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(
                CONTROLLER_ALTER_CONFIGS, request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            return AlterConfigsResponse(error=to_wire(error))
        await self._follower.wait_until(
            lambda image: image.offset >= response.metadata_offset, timeout_ms=VISIBLE_TIMEOUT_MS
        )
        return response
