"""Producer ids in blocks: each belongs to one broker, for good, before any of it is used (KIP-730).

The image holds where the next block begins, so no id is in two blocks, whatever fails in between:
a block whose answer was lost, or whose broker died, is never used, and that is harmless.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import PolicyViolationError
from tidelog.metadata.brokers import current_registration
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import MetadataImage
from tidelog.v1.controller_pb2 import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord, ProducerIdsRecord

BLOCK_LENGTH = 1_000
PRODUCER_ID_MAX = 2**63 - 1


def allocate_producer_ids(
    request: AllocateProducerIdsRequest, image: MetadataImage, _context: ControllerContext
) -> Decision[AllocateProducerIdsResponse]:
    """Give the next block to the broker that asks; it may be used once the record has committed.

    Raises `KafkaError` STALE_BROKER_EPOCH and BROKER_ID_NOT_REGISTERED as `current_registration`,
    POLICY_VIOLATION when every producer id was given out.
    """
    current_registration(image, request.broker_id, request.broker_epoch)
    start = image.next_producer_id
    if start > PRODUCER_ID_MAX - BLOCK_LENGTH:
        raise PolicyViolationError("every producer id there is was given out")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + BLOCK_LENGTH,
    )
    reply = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK_LENGTH)
    return Decision([MetadataRecord(producer_ids=record)], reply)
