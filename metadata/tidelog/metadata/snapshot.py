"""Snapshots: an image as records, and the image that records make again, exactly.

Owns the order of the aspects and how their records are cut into pieces. Pieces are made while they
are asked for, out of an image that never changes, so that no loop waits for a whole snapshot.
Replay is `delta`'s alone.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tidelog.core.errors import CorruptMessageError
from tidelog.metadata.delta import Assembly
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.images import brokers, commands, configs, producer_ids, topics
from tidelog.v1.metadata_records_pb2 import MetadataRecord, MetadataSnapshotPiece

PIECE_BYTES = 16_384
"""Size at which a piece ends; a piece takes a few milliseconds to make."""
RECORDS_MAX = 1 << 20
"""Records in a snapshot; more than any image has within the limits of its controllers."""


def pieces_of(image: MetadataImage) -> Iterator[MetadataSnapshotPiece]:
    """Yield the image piece by piece, each made when it is asked for; the last one is marked.

    Topics, brokers, configs and commands keep their order: some decisions depend on it.
    """
    piece = MetadataSnapshotPiece(offset=image.offset, controller_epoch=image.controller_epoch)
    size_bytes = 0
    for record in _records_of(image):
        if size_bytes >= PIECE_BYTES:
            yield piece
            piece = MetadataSnapshotPiece(
                offset=image.offset,
                controller_epoch=image.controller_epoch,
                number=piece.number + 1,
            )
            size_bytes = 0
        piece.records.append(record)
        size_bytes += record.ByteSize()
    piece.is_last = True
    yield piece


class SnapshotReader:
    """Makes an image of the pieces of one snapshot, once the last one has come."""

    def __init__(self) -> None:
        self._first: MetadataSnapshotPiece | None = None
        self._pieces_count = self._records_count = 0
        self._assembly = Assembly()

    def take(self, piece: MetadataSnapshotPiece) -> MetadataImage | None:
        """Add a piece; return the image when it was the last one.

        Errors: `CorruptMessageError` for a piece that does not continue the last: begin again with
        another reader. `InvariantError` for records that no image has.
        """
        first = self._first = self._first or piece
        is_next = piece.number == self._pieces_count
        if not is_next or _identity(piece) != _identity(first):
            raise CorruptMessageError(
                f"snapshot {_identity(piece)} piece {piece.number} does not follow piece "
                f"{self._pieces_count - 1} of snapshot {_identity(first)}: ask for it again"
            )
        self._pieces_count += 1
        self._records_count += len(piece.records)
        if self._records_count > RECORDS_MAX:
            raise CorruptMessageError(f"a snapshot of more than {RECORDS_MAX} records")
        self._assembly.add(piece.records)
        if not piece.is_last:
            return None
        image = self._assembly.image(offset=piece.offset, controller_epoch=piece.controller_epoch)
        self._first, self._pieces_count, self._assembly = None, 0, Assembly()
        return image


def _identity(piece: MetadataSnapshotPiece) -> tuple[int, int]:
    return piece.offset, piece.controller_epoch


def _records_of(image: MetadataImage) -> Iterator[MetadataRecord]:
    return chain(
        brokers.records_of(image.brokers),
        configs.records_of(image.cluster_configs),
        topics.records_of(image.topics),
        commands.records_of(image.commands),
        producer_ids.records_of(image.next_producer_id),
    )
