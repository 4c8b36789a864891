"""The way of metadata images from the broker's follower to its replica manager."""

from __future__ import annotations

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.metadata.image import MetadataImage
from tidelog.node.start_record import StartRecord


class ImagePublisher:
    """Passes images to the replica manager, except those older than the broker's registration.

    An older image may still name an earlier incarnation of this broker as leader.
    """

    def __init__(self, replica_manager: ReplicaManager, start_record: StartRecord) -> None:
        self._replica_manager = replica_manager
        self._start_record = start_record
        self._broker_epoch: int | None = None
        self._newest: MetadataImage | None = None

    async def on_registered(self, broker_epoch: int) -> None:
        """Note a registration: images from its epoch on are passed on."""
        await self._start_record.note_reported()
        if self._broker_epoch is None:
            await self._replica_manager.start(broker_epoch)
        else:
            self._replica_manager.set_broker_epoch(broker_epoch)
        self._broker_epoch = broker_epoch
        if self._newest is not None:
            self.on_image(self._newest)

    def on_image(self, image: MetadataImage) -> None:
        """Pass an image on, unless it is older than the registration."""
        self._newest = image
        if self._broker_epoch is not None and image.offset >= self._broker_epoch:
            self._replica_manager.on_image(image)
