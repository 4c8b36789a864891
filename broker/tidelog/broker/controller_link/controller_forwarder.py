"""Commands of clients, passed on to the controllers, and awaited in the broker's own image.

A client that was answered finds its change at the broker it asked. When the change is committed and
this broker's image does not show it in time, the client is answered all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.broker.controller_link.channel import ControllerChannel, answer_in
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.core.wire_errors import error_message, raise_for, to_wire
from tidelog.metadata.command_ids import COMMAND_ID_BYTES
from tidelog.metadata.commands import COMMANDS
from tidelog.metadata.topics import SETTLED
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic
from tidelog.v1.methods import CREATE_TOPICS, Method, Request, Response

REQUEST_TIMEOUT_MS = 15_000
VISIBLE_TIMEOUT_MS = 3_000
"""Longest wait of an answer for the change to show in this broker's own image."""


class ControllerForwarder:
    """Asks the active controller; waits until this broker works with the outcome."""

    def __init__(
        self,
        *,
        controllers: ControllerChannel,
        follower: MetadataFollower,
        random: Random,
        auto_create: bool,
        topics_max: int,
    ) -> None:
        self._controllers = controllers
        self._follower = follower
        self._random = random
        self._auto_create = auto_create
        self._topics_max = topics_max

    async def forward(self, method: Method[Request, Response], request: Request) -> Response:
        """Have the controllers decide; the reply comes when this broker's image shows the change.

        The reply of a call that failed holds its error. A command that needs an id gets one: the
        request may be sent to several controllers.
        """
        row = COMMANDS[method.request_type]
        before = self._follower.image
        timeout_ms = self._pass_on(request, needs_id=row.needs_id)
        try:
            response = await self._controllers.call(method, request, timeout_ms=timeout_ms)
        except TidelogError as error:
            response = method.response_type()
            answer_in(response).error.CopyFrom(to_wire(error))
            return response
        if row.visible_when is not None:
            shows = row.visible_when(request, response, before)
            await self._follower.wait_until(shows, timeout_ms=VISIBLE_TIMEOUT_MS)
        return response

    async def create_missing(self, names: Mapping[str, None]) -> dict[str, common_pb2.Error]:
        """Create those topics that the image lacks, if the cluster allows it; errors by name."""
        missing = [name for name in names if name not in self._follower.image.topics]
        if not missing or not self._auto_create:
            return {}
        if len(missing) > self._topics_max:
            what = f"{len(missing)} topics to create in one request: name at most"
            refusal = error_message(common_pb2.INVALID_REQUEST, f"{what} {self._topics_max}")
            return dict.fromkeys(missing, refusal)
        request = CreateTopicsRequest(topics=[NewTopic(name=name) for name in missing])
        response = await self.forward(CREATE_TOPICS, request)
        if response.error.code != common_pb2.NONE:
            return dict.fromkeys(missing, response.error)
        return {t.name: t.error for t in response.topics if t.error.code not in SETTLED}

    async def create_internal(self, topic: NewTopic) -> None:
        """Create an internal topic, for its coordinators; nothing happens if it exists.

        Raises `TidelogError` when it could not be created.
        """
        request = CreateTopicsRequest(topics=[topic], internal_topic=True)
        response = await self.forward(CREATE_TOPICS, request)
        raise_for(response.error)
        for result in response.topics:
            if result.error.code not in SETTLED:
                raise_for(result.error)

    def _pass_on(self, request: Any, *, needs_id: bool) -> int:  # every command of clients
        """Mark the request as a broker's; return the time it has."""
        request.from_broker = True
        if needs_id:
            request.command_id = request.command_id or self._random.randbytes(COMMAND_ID_BYTES)
        return min(request.timeout_ms or REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS)
