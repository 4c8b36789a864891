"""Elections ordered by clients: asked of the controllers, awaited in the image."""

from __future__ import annotations

from tidelog.broker.controller_channel import ControllerChannel
from tidelog.broker.errors import to_wire
from tidelog.broker.metadata_follower import MetadataFollower
from tidelog.broker.topics import REQUEST_TIMEOUT_MS, VISIBLE_TIMEOUT_MS
from tidelog.log.errors import TidelogError
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import ElectLeadersRequest, ElectLeadersResponse
from tidelog.v1.methods import CONTROLLER_ELECT_LEADERS


class Elections:
    """Asks the active controller; asked again, what is elected already stays."""

    def __init__(self, *, controllers: ControllerChannel, follower: MetadataFollower) -> None:
        self._controllers = controllers
        self._follower = follower

    async def elect(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Elect leaders; the answer comes when this broker's image shows them, or newer ones."""
        before = self._follower.image
        timeout_ms = min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
        try:
            response = await self._controllers.call(
                CONTROLLER_ELECT_LEADERS, request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            return ElectLeadersResponse(error=to_wire(error))
        await self._follower.wait_until(
            lambda image: _shows(image, response, before), timeout_ms=VISIBLE_TIMEOUT_MS
        )
        return response


def _shows(image: MetadataImage, response: ElectLeadersResponse, before: MetadataImage) -> bool:
    for one in response.partitions:
        now = image.partition(one.topic, one.partition)
        was = before.partition(one.topic, one.partition)
        is_changed = was is None or now is None or now.leader_epoch > was.leader_epoch
        is_led = now is not None and now.leader_id == one.leader_id
        if one.error.code == common_pb2.NONE and not (is_changed or is_led):
            return False
    return True
