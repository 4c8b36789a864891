"""Follower of the committed metadata from any controller, which publishes each new image.

Owns the broker's image; it changes only by `replay` and by complete snapshots, and never goes back.
Never interprets the image.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.epoch import StaleControllerError
from tidelog.core.background import Background
from tidelog.core.env import Clock
from tidelog.core.errors import (
    CallFailedError,
    KafkaError,
    UnreachableError,
)
from tidelog.core.logs import get_logger
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.snapshot import SnapshotReader
from tidelog.metadata.state_machine import OnBatch
from tidelog.net.peers import Peers
from tidelog.v1.controller_pb2 import FollowMetadataRequest, FollowMetadataResponse
from tidelog.v1.methods import FOLLOW_METADATA

# Controllers send a keep-alive at least every second; a source silent for longer is abandoned.
SOURCE_SILENCE_MS_MAX = 3000
# Maximum time for which a source may lag behind the active controller's committed offset.
SOURCE_LAG_MS_MAX = 2000
RETRY_BACKOFF_MS = 100
RECORDS_PER_SLICE = 100
"""Records of one answer applied before yielding to other tasks."""

# Errors after which another source is tried.
_LOST = (UnreachableError, CallFailedError, KafkaError, StaleControllerError, TimeoutError)

log = get_logger(__name__)


class MetadataFollower:
    """The broker's copy of the metadata; calls `listener` with each new image, on the loop.

    It calls `on_batch` with each applied batch, except for batches inside a snapshot. Losing a
    source is no error; exceptions of `replay` or the listener go to `on_fatal`.
    """

    def __init__(
        self,
        *,
        broker_id: int,
        peers: Peers,
        source: ControllerChannel,
        clock: Clock,
        listener: Callable[[MetadataImage], None],
        on_fatal: Callable[[BaseException], None],
        on_batch: OnBatch | None = None,
    ) -> None:
        self.image = EMPTY_IMAGE
        self.leader_id: int | None = None
        self._broker_id = broker_id
        self._peers = peers
        self._source = source
        self._clock = clock
        self._listener = listener
        self._on_batch = on_batch
        self._background = Background(on_fatal)
        self._task: asyncio.Task[None] | None = None
        self._behind_since_ms: int | None = None
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Start following; returns at once."""
        self._task = self._background.spawn("metadata-follower", self._run())

    async def stop(self) -> None:
        """Stop following; the last image stays."""
        await self._background.stop()

    def note_committed_offset(self, offset: int) -> None:
        """Note the active controller's committed offset; abandon a source that lags too long."""
        now_ms = self._clock.monotonic_ms()
        if self.image.offset >= offset:
            self._behind_since_ms = None
        elif self._behind_since_ms is None:
            self._behind_since_ms = now_ms
        elif now_ms - self._behind_since_ms > SOURCE_LAG_MS_MAX:
            log.warning("metadata source lags", source=self._source.address, committed=offset)
            self._behind_since_ms = None
            self._restart()

    async def wait_until(
        self, condition: Callable[[MetadataImage], bool], *, timeout_ms: int
    ) -> bool:
        """Wait for an image that meets `condition`; False once `timeout_ms` has passed."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not condition(self.image):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _restart(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._source.rotate()
        self._task = self._background.spawn("metadata-follower", self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self._follow_one_source()
            except _LOST as error:
                log.info("metadata source lost", source=self._source.address, error=str(error))
            self._source.rotate()
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)

    async def _follow_one_source(self) -> None:
        request = FollowMetadataRequest(
            from_offset=self.image.offset, broker_id=self._broker_id, accepts_snapshot=True
        )
        self._source.own.stamp(request)
        reader = SnapshotReader()
        stream = self._peers.stream(self._source.address, FOLLOW_METADATA, request)
        async with aclosing(stream) as responses:  # type: ignore[type-var]  # a generator
            while True:
                async with asyncio.timeout(SOURCE_SILENCE_MS_MAX / 1000):
                    response = await anext(responses, None)
                if response is None:
                    return
                await self._apply(response, reader)

    async def _apply(self, response: FollowMetadataResponse, reader: SnapshotReader) -> None:
        """Apply an answer of the source.

        Raises `StaleControllerError` for a source that is unaware of a new controller, `KafkaError`
        INCONSISTENT_CLUSTER_ID for one of another cluster.
        """
        self._source.own.check(response, who=f"the node at {self._source.address}")
        self._source.epoch.check(response.controller_epoch, source=self._source.address)
        self.leader_id = response.leader_id if response.HasField("leader_id") else None
        image = self.image
        records = 0
        for entry in response.entries:
            if records >= RECORDS_PER_SLICE:
                self._publish(image)
                records = 0
                await asyncio.sleep(0)
            before, image = image, replay(image, entry.batch, offset=entry.offset)
            records += len(entry.batch.records)
            if image is not before and self._on_batch is not None:
                self._on_batch(before, entry.batch, entry.offset)
        if response.HasField("snapshot"):
            whole = reader.take(response.snapshot)
            if whole is not None and whole.offset > image.offset:
                log.info("metadata snapshot applied", offset=whole.offset)
                image = whole
        self._publish(image)

    def _publish(self, image: MetadataImage) -> None:
        if image is not self.image:
            self.image = image
            self._source.epoch.learn(image.controller_epoch)
            self._listener(image)
            self._changed.set()
